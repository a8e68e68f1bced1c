"""What has the model learned, and why this answer? Prototypes one by one."""

import streamlit as st

from pages.shared import (
    answers,
    forbidding,
    kept,
    links,
    new_rows,
    portraits,
    readouts,
    reports,
    rules,
    steadiness,
    tables,
)
from pages.shared.sight import Sight
from smpcore import METHODS, SmpcoreError

SECTIONS = {
    "All": portraits.gallery,
    "One by one": portraits.single,
    "Rule in words": rules.section,
    "Why this answer": answers.why,
    "How stable": steadiness.section,
    "Report": reports.section,
}

choice = links.current()
st.subheader("Prototypes")
try:
    data = choice.parts()
    forbidding.control(choice)
    model = new_rows.model(choice, data)
except SmpcoreError as problem:
    st.error(tables.plain(str(problem)))
    st.stop()
name = tables.plain(data.dataset.name)
st.caption(
    f"{METHODS[choice.method].title}, learned on {name}. "
    f"{readouts.KINDS[model.kind_of_prototype]}"
)
st.caption(tables.plain(readouts.worth(model, data)))
shown = st.segmented_control(
    "Show",
    list(SECTIONS),
    required=True,
    **kept.press("prototypes_section", SECTIONS, "All"),
    label_visibility="collapsed",
)
SECTIONS[shown](Sight(choice, data, model))
