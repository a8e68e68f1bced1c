"""How good is it, and for whom? The model on rows that it was not fitted on."""

import streamlit as st

from pages.performance import confusion, errors, optimism, sites, subgroups, threshold
from pages.performance.operating_point import EvaluatedRows
from pages.state import session, widget_state
from pages.ui.elements import await_fit, problems_shown, trained_on
from pages.ui.text import message
from pages.work import cache
from smpcore.live import TITLES, quality_of

SECTIONS = {
    "classification": {
        "Confusion": confusion.section,
        "Threshold": threshold.section,
        "Probabilities": threshold.probabilities,
        "Subgroups": subgroups.section,
        "Sites and periods": sites.section,
        "Optimism": optimism.section,
    },
    "regression": {
        "Errors": errors.section,
        "Intervals": threshold.probabilities,
        "Subgroups": subgroups.section,
        "Sites and periods": sites.section,
        "Optimism": optimism.section,
    },
}

with problems_shown(st.error, stop=True):
    context = session.resolved()
    data = context.data
    await_fit(context)
    estimator = context.of_outcome(context.fit().finished())
trained_on(context)
used = context.with_threshold(estimator).model_
message(st.caption, quality_of(used, data))
if data.dataset.task == "regression":
    codes = cache.suggested_codes(context.table)
    for one in (one for one in codes if one.step.column == context.table.target):
        message(st.warning, f"{one.reason} It counts as a number until Data cleans it.")
sections = SECTIONS[data.dataset.task]
left, right = st.columns([5, 2], vertical_alignment="center")
shown = widget_state.choose_one(
    *(left, "Show", sections, "performance_section"),
    buttons=True,
    label_visibility="collapsed",
)
# Rows that fitted the model judge it too kindly: they come last.
parts = [p for p in ("validation", "test", "train") if p in context.open_parts]
part = widget_state.choose_one(
    *(right, "Rows", parts, "performance_part"),
    format_func=TITLES.get,
    label_visibility="collapsed",
)
if part == "train":
    st.caption("The model was fitted on these rows: figures on them are too good.")
sections[shown](context.extended(EvaluatedRows, fitted=estimator.model_, part=part))
