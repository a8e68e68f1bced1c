"""The live figure in a notebook cell, by anywidget: one kernel, one viewer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anywidget
import numpy as np
import traitlets

from smpcore.datasets import Dataset, Split
from smpcore.errors import SmpcoreError
from smpcore.live.alone import bundled_table, host_of
from smpcore.live.choice import MINE, Choice
from smpcore.live.context import Context, resolve
from smpcore.live.figure import BACKGROUND, Figure, Shown
from smpcore.live.messages import Message, pack, read_message
from smpcore.live.page_file import FOLDER, STYLE, saved_page
from smpcore.live.settings import validated


class _CellFigure(Figure):
    """A figure whose own tables are the caller's and what was drawn from it."""

    def __init__(self, table: Dataset) -> None:
        super().__init__(host_of(self._table), Shown())
        self.tables: dict[str, tuple[Dataset, Split | None]] = {"": (table, None)}
        #: What can be taken back: in words, and the choice before it.
        self.steps: list[tuple[str, Choice]] = []

    def _table(self, choice: Choice) -> tuple[Dataset, Split | None]:
        if choice.data == MINE:
            return self.tables[choice.token]
        return bundled_table(choice)

    def data_options(self, choice: Choice) -> list[tuple[str, str]]:
        """The caller's table first."""
        return [(MINE, self.tables[""][0].name), *super().data_options(choice)]

    def with_data(self, choice: Choice, key: str) -> Choice:
        """The caller's table as it came."""
        return replace(super().with_data(choice, key), token="")

    def with_table(
        self, choice: Choice, dataset: Dataset, division: Split, step: str
    ) -> Choice:
        """Keep what was drawn for as long as the figure lives."""
        if step:
            self.steps.append((step, choice))
        self.shown.edited = token = str(len(self.tables))
        self.tables[token] = dataset, division
        return replace(choice, data=MINE, token=token, data_values={})

    def undo(self, choice: Choice) -> Choice:
        """Take the last step back."""
        if not self.steps:
            raise SmpcoreError("There is nothing to undo.")
        return self.steps.pop()[1]


class LiveFigure(anywidget.AnyWidget):
    """The live figure in a cell.

    Parameters
    ----------
    dataset : Dataset
        What is explored.
    method : str
        Key in ``METHODS``; any that learns the data if empty.
    values : mapping
        Parameters of the method.

    Attributes
    ----------
    method : str
        Of the model on the screen; it can be set.
    values : dict
        Its parameters as they were chosen; they can be set.
    selected : list of int
        Rows of the table on the screen, from 0, that are selected; they can be set.
    """

    _esm = FOLDER / "figure.js"
    _style = traitlets.Unicode(STYLE).tag(sync=True)
    #: The last picture at rest, for a notebook that is opened without its kernel.
    _last = traitlets.Bytes(b"").tag(sync=True)
    method = traitlets.Unicode().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    selected = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(self, dataset: Dataset, method: str, values: Mapping[str, Any]):
        super().__init__()
        self._figure = _CellFigure(dataset)
        self._own, self._choice = False, Choice(data=MINE, outcome=None)
        self._choose(replace(self._choice, method=method, values=dict(values)))
        self.on_msg(self._answer)
        self.observe(self._set, ["method", "values"])
        self.observe(self._select, "selected")

    def _choose(self, wish: Choice) -> None:
        """Make a wish the choice; what cannot be is refused."""
        choice, left_out = validated(wish, host=self._figure.host)
        if left_out:
            raise SmpcoreError(" ".join(left_out))
        self._take(choice)

    def _take(self, choice: Choice) -> None:
        self._choice, self._own = choice, True
        try:
            with self.hold_trait_notifications():
                self.method, self.values = choice.method, dict(choice.values)
        finally:
            self._own = False

    def _set(self, change: Mapping[str, Any]) -> None:
        """The caller has set the method, or its values: the picture follows."""
        if self._own:
            return
        values = {} if change["name"] == "method" else self.values
        try:
            self._choose(replace(self._choice, method=self.method, values=values))
        except SmpcoreError:
            self._take(self._choice)  # what was valid stays
            raise
        self._answer(self, {"kind": "poll", "seq": self._seq}, [])

    def _select(self, change: Mapping[str, Any]) -> None:
        """The caller has selected rows: they light up in the picture."""
        if self._own:
            return
        numbers = np.asarray(change["new"], dtype=int) + 1
        dataset = self._context.dataset
        rows = np.isin(dataset.row_numbers(np.arange(dataset.n_samples)), numbers)
        want = np.flatnonzero(rows).tolist()
        scene = self._figure.shown.scene
        have = scene.header["id"] if scene else ""
        sent = {"kind": "select", "seq": self._seq, "have": have, "want": want}
        self._answer(self, sent, [])

    _seq = 0

    def _answer(self, _: Any, content: Any, buffers: list) -> None:
        """Answer a message of the browser."""
        header: dict[str, Any] = {"v": 1, "seq": self._seq, "busy": 0, "undo": ""}
        notices: list[dict[str, str]] = []
        try:
            message = read_message(content)
            self._seq = header["seq"] = message.seq
            self._follow(header, notices, message)
        except SmpcoreError as error:
            notices.append({"level": "error", "text": str(error)})
            header["kind"] = "notice"
        header["notices"] = notices
        steps = self._figure.steps
        header["undo"] = steps[-1][0] if steps else ""
        self.send({"kind": "answer"}, buffers=[pack(header)])
        picture = header.get("picture")
        if picture and picture["canonical"]:
            scene = self._figure.shown.scene.header | {"present": False}
            self._last = pack(header | {"kind": "full", "scene": scene, "seq": 0})

    def _follow(self, header: dict[str, Any], notices: list, message: Message) -> None:
        figure, before = self._figure, self._choice
        context, changes, _ = figure.follow(header, before, message)
        notices += [{"level": "info", "text": text} for text in changes]
        texts = [] if message.kind in BACKGROUND else figure.shown.cautions
        notices += [{"level": "warning", "text": text} for text in texts]
        if context.choice is not before:
            self._take(context.choice)
        if message.kind == "select":
            self._own = True
            rows = np.asarray(message.want, dtype=int)
            self.selected = (context.dataset.row_numbers(rows) - 1).tolist()
            self._own = False

    @property
    def _context(self) -> Context:
        return resolve(self._choice, host=self._figure.host)

    @property
    def model_(self) -> Any:
        """The fitted estimator at the moment; it waits for a fit under way."""
        return self._context.with_threshold(self._context.fit().finished())

    def save(self, path: str, second: bool = False) -> None:
        """Write the figure as a page that needs no kernel and no network.

        Parameters
        ----------
        path : str
            Of the HTML file.
        second : bool
            Whether a second slider can be dragged, too.
        """
        with open(path, "wb") as file:
            file.write(saved_page(self._context, "", second=second))
