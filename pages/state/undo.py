"""Steps back on Explore: over points and settings, in the order they were made."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pages.state import table_store
from pages.state.host import resolve
from pages.state.session import Live
from smpcore import Dataset, SmpcoreError
from smpcore.datasets import Split
from smpcore.live import MINE, Choice

#: Steps that can be taken back.
MOST_STEPS = 50


@dataclass(frozen=True, eq=False)
class Step:
    """What was before a step that changed points (`moved`) or settings.

    `points` are held if they were drawn or are about to be; of a table from a file its
    digest only.
    """

    what: str
    choice: Choice
    points: tuple[Dataset, Split] | None = None
    digest: str = ""
    moved: bool = False


def push(live: Live, step: Step) -> None:
    """Remember a step."""
    live.undo.append(step)
    del live.undo[:-MOST_STEPS]


def next_undo(live: Live) -> str:
    """What the next undo takes back, in words; empty if there is nothing."""
    return live.undo[-1].what if live.undo else ""


def follow(
    live: Live, before: Choice, after: Choice, kind: str, dragging: bool
) -> None:
    """Remember the settings that a message changed: a whole drag is one step."""
    if kind == "edit":
        live.drag_from = None
    if kind not in ("set", "reset"):
        return
    start = live.drag_from or before
    live.drag_from = start if dragging else None
    if dragging:
        return
    if what := _changed(start, after):
        what = "the reset" if kind == "reset" else what
        points, digest = None, ""
        if start.data == MINE and after.source != start.source:
            dataset, division = table_store.visit(start.token)
            points = (dataset, division) if division is not None else None
            digest = dataset.digest
        push(live, Step(what, start, points, digest))


def _changed(before: Choice, after: Choice) -> str:
    """Which setting differs, in words; views and the test set are none."""
    if before.source != after.source:
        return "the choice of data"
    if before.data_values != after.data_values:
        return "a setting of the data"
    if before.method != after.method:
        return "the choice of method"
    if before.values == after.values:
        return ""
    now = resolve(after)
    old, new = resolve(before).values, now.values
    labels = [p.label for p in now.params if old.get(p.name) != new.get(p.name)]
    return labels[0] if labels else ""


def back(choice: Choice, live: Live) -> Choice:
    """Take the last step back."""
    if not live.undo:
        raise SmpcoreError("There is nothing to undo.")
    step = live.undo.pop()
    before = step.choice
    if before.data == MINE and step.points is None:
        _check_table(step)
    if step.moved and step.points is None:
        # The first edit made a drawing of other data: it is no more.
        left = [token for token in choice.user_tables if token != live.edited]
        choice = replace(choice, token="", others=tuple(left))
        live.edited = ""
    if step.moved and before.data != MINE:
        choice = replace(choice, data=before.data, data_values=before.data_values)
        return replace(choice, **table_store.with_first(choice, before.token))
    if step.points is not None:
        token = table_store.keep(*step.points, before.token)
        live.edited = token
        tables = table_store.with_first(choice, token)
        start = choice if step.moved else replace(before, **tables)
        start = replace(start, data_values={}, opened=choice.opened)
        return table_store.show(start, token)
    same = step.moved or choice.source == before.source
    return replace(
        before,
        view=choice.view if same else before.view,
        open_test=same and choice.open_test,
        # How often a test part was opened is never taken back.
        opened=choice.opened,
        **table_store.with_first(choice, before.token),
    )


def _check_table(step: Step) -> None:
    """Refuse a step back to a table that is gone or was replaced."""
    table = table_store.find(step.choice.token)
    if table is None:
        raise SmpcoreError(
            f"Undo cannot take back {step.what}: the table before this step was "
            "deleted or has expired. Nothing changed; upload the table again on Data."
        )
    if step.digest and table.dataset.digest != step.digest:
        raise SmpcoreError("The table before this step was replaced; upload it again.")
