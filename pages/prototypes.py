"""What has the model learned, and why this answer? Prototypes one by one."""

import streamlit as st

from pages.prototypes import (
    alternatives,
    answers,
    detail,
    forbidden,
    notes,
    portraits,
    report,
    rules,
    stability,
)
from pages.prototypes.context import with_model
from pages.state import session, widget_state
from pages.ui import quality, readouts
from pages.ui.elements import problems_shown, trained_on
from pages.ui.text import message

SECTIONS = {
    "All": portraits.gallery,
    "One by one": detail.single,
    "Rule in words": rules.section,
    "Why this prediction": answers.why,
    "Stability": stability.section,
    "Report": report.section,
}

above = st.container()
with problems_shown(st.error, stop=True):
    context = session.resolved()
    data = context.data
    forbidden.control(context)
    model = context.model()
if alternatives.parameter(context):
    SECTIONS |= {"Alternatives": alternatives.section}
with above:
    shown = widget_state.choose_one(
        *(st, "Show", SECTIONS, "prototypes_section"),
        buttons=True,
        label_visibility="collapsed",
    )
    of_model = with_model(context, model)
    notes.caption(of_model)
    SECTIONS[shown](of_model)
    message(st.caption, quality.quality_of(model, data))
    trained_on(context, f" {readouts.KINDS[model.kind_of_prototype]}")
