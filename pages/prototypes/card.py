"""The score card: a small linear model as points that are added by hand."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from pages.prototypes.context import ModelContext
from pages.state import session
from pages.ui.elements import table
from pages.ui.readouts import TITLES, percent
from pages.ui.text import escape_markdown
from smpcore import SmpcoreError
from smpcore.explain import ScoreCard, score_card


def card_of(context: ModelContext) -> ScoreCard:
    """The card of the model, or an error that says why there is none."""
    return score_card(context.model, context.data.preparation, context.rows[0])


def expander(context: ModelContext) -> None:
    """The card with its accuracy beside the model's, or why there is none."""
    with st.expander("Score card", icon=":material/calculate:"):
        try:
            key = context.key, context.operating
            card = session.remembered("score_card", key, partial(card_of, context))
        except SmpcoreError as problem:
            st.caption(escape_markdown(str(problem)))
            return
        table(card.to_frame(), height="content")
        st.markdown(f"**{escape_markdown(card.rule)}**")
        st.caption(
            "Add the points of one line of each column; a star marks the line of a "
            "missing number. Ranges and points are chosen on the training rows. "
            + escape_markdown(" ".join(accuracies(context, card)))
        )


def accuracies(context: ModelContext, card: ScoreCard) -> list[str]:
    """Accuracy of the card and of the model on each open part, a sentence each."""
    sentences = []
    for part in context.open_parts:
        X, y = context.data.of(part)
        if len(y):
            weights = context.data.weights(part)
            right = [
                np.average(one.predict(X) == y, weights=weights)
                for one in (card, context.model)
            ]
            sentences.append(
                f"{TITLES[part]}: accuracy of the card {percent(right[0])}, of the "
                f"model {percent(right[1])} ({len(y)} rows"
                f"{context.data.weight_note})."
            )
    return sentences


def for_report(context: ModelContext) -> tuple[ScoreCard | None, str]:
    """Card and its accuracy for the report; None where there is no card."""
    if context.model.classes is None:
        return None, ""
    try:
        card = card_of(context)
    except SmpcoreError:
        return None, ""
    return card, " ".join(accuracies(context, card))
