"""The model that a visitor keeps as A while another one changes."""

from __future__ import annotations

from typing import Any

from pages.state import session, widget_state
from pages.state.choice import Choice
from pages.ui import workspace
from pages.work import cache
from pages.work.comparisons import Entry
from smpcore import METHODS


def chosen_values(choice: Choice, key: str) -> tuple[tuple[str, Any], ...]:
    """A method's values where they differ from its defaults."""
    if key != choice.method:
        return ()
    start = METHODS[key].defaults(choice.dataset().task)
    mine = {n: v for n, v in choice.all_values.items() if v != start.get(n)}
    return cache.pairs({name: v for name, v in mine.items() if name in start})


def button(choice: Choice, place: Any) -> None:
    """A button that keeps the model of Explore as A, or lets it go.

    Parameters
    ----------
    choice : Choice
    place : container of Streamlit
    """
    here = Entry(choice.method, chosen_values(choice, choice.method))
    held = session.get().pinned == here
    place.button(
        "Unpin A" if held else "Pin as A",
        key="unpin" if held else "pin",
        icon=":material/keep_off:" if held else ":material/keep:",
        on_click=_keep,
        args=(None if held else here, choice),
        help="The model of Explore stays on Compare as A while you change it.",
    )


def _keep(entry: Entry | None, choice: Choice) -> None:
    session.get().pinned = entry
    if entry:
        widget_state.say("compare_a", entry.title)
    workspace.keep(choice)
