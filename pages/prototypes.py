"""What has the model learned, and why this answer? Prototypes one by one."""

import streamlit as st

from pages.prototypes import (
    answers,
    detail,
    model_context,
    report,
    score,
    stability,
)
from pages.prototypes.model_context import with_model
from pages.state import session, widget_state
from pages.ui import saved_page
from pages.ui.elements import await_fit, problems_shown, trained_on
from pages.ui.text import message
from smpcore.live import KINDS, quality_of

SECTIONS = {
    "All": detail.gallery,
    "One by one": detail.single,
    "Rule in words": report.rule,
    "Score": score.section,
    "Why this prediction": answers.why,
    "Stability": stability.section,
    "Report": report.section,
}

above = st.container()
with problems_shown(st.error, stop=True):
    context = session.resolved()
    data = context.data
    detail.forbidden(context)
    await_fit(context)
    model = context.model()
if stability.lists_parameter(context):
    SECTIONS |= {"Alternatives": stability.alternatives}
with above:
    shown = widget_state.choose_one(
        *(st, "Show", SECTIONS, "prototypes_section"),
        buttons=True,
        label_visibility="collapsed",
    )
    of_model = with_model(context, model)
    model_context.lost_notes(of_model)
    SECTIONS[shown](of_model)
    message(st.caption, quality_of(model, data))
    trained_on(context, f" {KINDS[model.kind_of_prototype]}")
    saved_page.offer(context)
