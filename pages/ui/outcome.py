"""Which of two classes is the event: one control, wherever it stands."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.state import session, widget_state
from pages.ui.text import message, short_label
from smpcore.datasets import likely_outcome
from smpcore.live import Context, define


def outcome_picker(place: Any, context: Context) -> None:
    """Let the visitor say which class is the event, and say what speaks for it.

    On every page all that is shown is about this class.
    """
    chosen = context.labels[context.outcome]
    place.selectbox(
        "Outcome",
        context.labels,
        format_func=short_label,
        help=define("Outcome"),
        **widget_state.for_choice("outcome", chosen, _choose),
    )
    if session.current().outcome != context.choice.outcome:
        st.rerun()  # not this section only: every figure of the page is about it
    if words := _remarks(context, chosen):
        message(place.caption, " ".join(words))


def _choose(label: str) -> None:
    session.choose(session.get().choice.with_outcome(label))


def _remarks(context: Context, chosen: str) -> list[str]:
    """Why this class, where that is in doubt; and a model that is about the other."""
    proposed, words = likely_outcome(context.dataset, context.data.split.train), []
    if not proposed.is_sure:
        words.append("Both classes are about equally frequent; choose the outcome.")
    elif chosen == proposed.label:
        words.append(f"Proposed: {proposed.why}.")
    for param in context.params:
        if param.scale != "class":
            continue
        label = context.values[param.name]
        label = context.labels[1] if label is None else str(label)
        if label != chosen:
            words.append(
                f"{context.method.title} has prototypes of {short_label(label)}, as "
                "its link says."
            )
    return words
