"""What has the model learned, and why this answer? Prototypes one by one."""

import streamlit as st

from pages.prototypes import (
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
from pages.ui.elements import problems_shown
from pages.ui.text import escape_markdown, message

SECTIONS = {
    "All": portraits.gallery,
    "One by one": detail.single,
    "Rule in words": rules.section,
    "Why this prediction": answers.why,
    "Stability": stability.section,
    "Report": report.section,
}

with problems_shown(st.error, stop=True):
    context = session.resolved()
    data = context.data
    forbidden.control(context)
    model = context.model()
name = escape_markdown(data.dataset.name)
st.caption(
    f"{context.method.title}, trained on {name}. "
    f"{readouts.KINDS[model.kind_of_prototype]}"
)
message(st.caption, quality.quality_of(model, data))
shown = st.segmented_control(
    "Show",
    list(SECTIONS),
    required=True,
    **widget_state.for_buttons("prototypes_section", SECTIONS, "All"),
    label_visibility="collapsed",
)
of_model = with_model(context, model)
notes.caption(of_model)
SECTIONS[shown](of_model)
