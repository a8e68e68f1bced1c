"""Features that an expert forbids: every method learns without them, on every page."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.prototypes.context import ModelContext
from pages.state import session, undo
from pages.state.context import Context
from pages.ui.text import escape_markdown, short_label
from smpcore.datasets import MOST_FORBIDDEN, forbiddable, plural

_KEY = "forbidden_features"


def control(context: Context) -> None:
    """Say which features must not be used; the model is learned anew without them."""
    choice, known = context.choice, forbiddable(context.whole)
    if len(known) < 2:
        return
    label = "Forbid features"
    if n := len(choice.forbidden):
        label = f"{plural(n, 'feature')} forbidden"
    with st.expander(label, icon=":material/block:"):
        # Another page, a button or a link may have changed it.
        st.session_state[_KEY] = list(choice.forbidden)
        st.multiselect(
            "Features that must not be used",
            list(known),
            format_func=short_label,
            key=_KEY,
            on_change=lambda: _set(context, tuple(st.session_state[_KEY])),
            max_selections=min(MOST_FORBIDDEN, len(known) - 1),
            placeholder="None: all features are allowed",
        )
        what = "A category is forbidden with all its levels."
        if channels := context.whole.channels:
            what = "A channel is forbidden at all its time points."
            if len(channels) < 2:
                what = "Each time point of the series can be forbidden."
        st.caption(
            "On every page, models are trained as if the table had no such column. "
            f"{what} Names, notes and how often test rows were opened stay."
        )


def button(context: ModelContext, feature: int) -> None:
    """Forbid one feature of the model, beside where it is shown."""
    choice, name = context.choice, _source(context, feature)
    known = forbiddable(context.whole)
    full = len(choice.forbidden) >= min(MOST_FORBIDDEN, len(known) - 1)
    st.button(
        "Forbid and refit",
        key="forbid_feature",
        icon=":material/block:",
        on_click=_set,
        args=(context, (*choice.forbidden, name)),
        disabled=full,
        help=escape_markdown(f"Refit without {short_label(name)}."),
    )


def _source(context: ModelContext, feature: int) -> str:
    """What a feature of the model is forbidden with: its column, or its channel."""
    preparation = context.data.preparation
    column = preparation.inputs[preparation.column_of_feature[feature]].name
    known = forbiddable(context.data.dataset)
    return next(name for name, columns in known.items() if column in columns)


def _set(context: Context, names: tuple[str, ...]) -> None:
    """Forbid exactly these."""
    choice, known = context.choice, forbiddable(context.whole)
    # Places of features among those that are left say nothing any more.
    view = {name: kind for name, kind in choice.view.items() if name == "kind"}
    undo.push(session.get().live, undo.Step("what is forbidden", choice))
    forbidden = tuple(name for name in known if name in names)
    session.choose(replace(choice, forbidden=forbidden, view=view))
