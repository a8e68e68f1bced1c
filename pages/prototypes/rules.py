"""The rule in words: sentences, a score card, tables of points, and the formula."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.prototypes.context import ModelContext
from pages.state import session
from pages.ui import explanation_sheet, sections
from pages.ui.text import message
from smpcore import SmpcoreError


def section(context: ModelContext) -> None:
    """What the explanation sheet says of the rule."""
    if context.texts:
        st.caption(
            "A score is the sum over prototypes of weight times exp(−γ edits), where "
            "edits counts the letters that are added, left out or replaced between a "
            "text and the prototype. Under All are the texts with their weights."
        )
        return
    seen = tuple(context.names), tuple(context.open_parts)
    key = context.key, context.operating, seen
    make = partial(explanation_sheet.rule, context, context.model, context.names)
    sections.show(session.remembered("rule", key, make))
    if context.model.classes is None:
        return
    st.markdown("**Score card**")
    make = partial(explanation_sheet.card, context, context.model)
    try:
        sections.show(session.remembered("score_card", key, make))
    except SmpcoreError as problem:
        message(st.caption, str(problem))
