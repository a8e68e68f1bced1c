"""The model that a visitor keeps as A while another one changes."""

from __future__ import annotations

from typing import Any

from pages.state import session, widget_state
from pages.state.choice import Choice
from pages.state.context import Context
from pages.ui import workspace
from pages.work.comparisons import Entry
from pages.work.memo import pairs


def entry(context: Context, key: str = "") -> Entry:
    """The chosen method with its values, or another one at its defaults."""
    chosen = context.method
    if key not in ("", chosen.key):
        return Entry(key)
    start = chosen.defaults(context.task)
    start |= chosen.data_params(context.dataset, context.values)  # nobody chose these
    mine = {n: v for n, v in context.values.items() if n in start and v != start[n]}
    return Entry(chosen.key, pairs(mine))


def button(context: Context, place: Any) -> None:
    """A button that keeps the model of Explore as A, or lets it go."""
    here = entry(context)
    held = session.get().pinned == here
    place.button(
        "Unpin A" if held else "Pin as A",
        key="unpin" if held else "pin",
        icon=":material/keep_off:" if held else ":material/keep:",
        on_click=_keep,
        args=(None if held else here, context.choice),
        help="Keep the current model as A on Compare while you change it on Explore.",
    )


def _keep(pinned: Entry | None, choice: Choice) -> None:
    session.get().pinned = pinned
    if pinned:
        widget_state.set_value("compare_a", pinned.title)
    workspace.keep(choice)
