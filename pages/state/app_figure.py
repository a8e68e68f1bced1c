"""The live figure with the visitor's own tables, undo and lesson."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pages.state import lesson_run, links, session, table_store, undo
from pages.state.host import HOST, resolve
from pages.work import sources
from smpcore import Dataset
from smpcore.datasets import Split
from smpcore.live import MINE, Choice, Figure


class AppFigure(Figure):
    """The figure of a visit; what it shows is a `Live`."""

    @property
    def hides_test(self) -> bool:
        """Test rows stay closed while a lesson's question is open."""
        return lesson_run.hides_numbers()

    def data_options(self, choice: Choice) -> list[tuple[str, str]]:
        """Also what the visitor has brought or fetched."""
        fetched = sources.listed(session.get().fetched)
        options = super().data_options(choice)
        options += [(key, sources.title(key)) for key in fetched]
        return [*options, *table_store.titles(choice).items()]

    def with_data(self, choice: Choice, key: str) -> Choice:
        """One of the visitor's own tables by its token."""
        choice = super().with_data(choice, key)
        first = links.read_url(session.FIRST)[0]
        if key == first.data:  # picked again it is what was seen first
            choice = replace(choice, data_values=first.data_values)
        _, mine, token = key.partition(f"{MINE}:")
        return table_store.show(choice, token) if mine else choice

    def with_table(
        self, choice: Choice, dataset: Dataset, division: Split, step: str
    ) -> Choice:
        """Make an edited table the visitor's."""
        live, data = self.shown, resolve(choice).data
        drawn = choice.data == MINE and table_store.is_drawing(choice.token)
        if step:
            points = (data.dataset, data.split) if drawn else None
            undo.push(live, undo.Step(step, choice, points, data.dataset.digest, True))
        # What is drawn on other data or an upload leaves them and the upload alone.
        live.edited = table_store.keep(dataset, division, choice.token if drawn else "")
        return replace(table_store.show(choice, live.edited), data_values={})

    def undo(self, choice: Choice) -> Choice:
        """Take the last step back."""
        return undo.back(choice, self.shown)


def set_values(choice: Choice, values: Mapping[str, Any]) -> Choice:
    """The choice of this visit with other values of controls."""
    return AppFigure(HOST, session.get().live).set_values(choice, values)
