"""What has the model learned, and why this answer? Prototypes one by one."""

import streamlit as st

from pages.prototypes import (
    answers,
    forbidden,
    one,
    portraits,
    report,
    rules,
    stability,
)
from pages.prototypes.context import ModelContext
from pages.state import session, widget_state
from pages.ui import readouts, worth
from pages.ui.text import escape_markdown
from smpcore import SmpcoreError

SECTIONS = {
    "All": portraits.gallery,
    "One by one": one.single,
    "Rule in words": rules.section,
    "Why this prediction": answers.why,
    "Stability": stability.section,
    "Report": report.section,
}

context = session.resolved()
st.subheader("Prototypes")
try:
    data = context.data
    forbidden.control(context)
    model = context.model()
except SmpcoreError as problem:
    st.error(escape_markdown(str(problem)))
    st.stop()
name = escape_markdown(data.dataset.name)
st.caption(
    f"{context.method.title}, trained on {name}. "
    f"{readouts.KINDS[model.kind_of_prototype]}"
)
st.caption(escape_markdown(worth.worth(model, data)))
shown = st.segmented_control(
    "Show",
    list(SECTIONS),
    required=True,
    **widget_state.press("prototypes_section", SECTIONS, "All"),
    label_visibility="collapsed",
)
SECTIONS[shown](ModelContext(context, model))
