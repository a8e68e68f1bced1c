"""What am I looking at? Choose or bring a table, give its columns roles, divide it."""

import streamlit as st

from pages.data import (
    charts,
    checks,
    cleaning,
    editor,
    openml,
    roles,
    time_to_event,
    uploads,
)
from pages.state import session
from pages.ui import workspace
from pages.ui.elements import problems_shown
from pages.ui.elements import table as show_table
from pages.ui.text import message, short_label
from pages.work import cache
from smpcore import Dataset
from smpcore.datasets import Split, answered


def _facts(dataset: Dataset, division: Split) -> None:
    facts = {"Rows": dataset.n_samples, "Features": len(dataset.feature_columns)}
    if dataset.classes is not None:
        facts["Classes"] = len(dataset.classes)
    if dataset.channels:
        facts |= {"Channels": len(dataset.channels), "Length": dataset.sample_shape[1]}
    for name, part in zip(
        ("Training", "Validation", "Test"),
        (division.train, division.validation, division.test),
        strict=True,
    ):
        facts[name] = part.size
    if dataset.follow_up is not None:
        facts["No answer"] = int((~answered(dataset)[0]).sum())
    with st.container(horizontal=True):
        for name, count in facts.items():
            st.metric(name, f"{count:,}", width=110)
    message(st.caption, f"{dataset.description} Source: {dataset.source}.".strip())


def _columns(dataset: Dataset) -> None:
    uploads.reading_settings(dataset)
    if dataset.private:
        message(
            st.caption,
            f"Target: {short_label(dataset.target)}. If that is not right, "
            'give another column the role "target". A column that says which '
            'rows belong together (a patient, a machine) gets the role "group".',
        )
    roles.task(dataset)
    time_to_event.section(dataset)
    roles.roles(dataset)
    cleaning.clean(dataset)
    if not dataset.private:
        st.caption("Roles can be changed in uploaded tables.")
        uploads.copy(dataset)


session.current()
picker = st.container()
with st.expander("Upload data", icon=":material/upload:"):
    uploads.uploads()
with st.expander("Fetch from OpenML", icon=":material/cloud_download:"):
    openml.controls()
workspace.await_table(session.current())
workspace.opened_state()
uploads.same_columns()
with picker:
    editor.dataset_picker()
with problems_shown(st.error, stop=True):
    table, drawn = editor.shown()
    choice = session.current()
    dataset = cache.asked(table, choice.follow_up, choice.two_classes)
    editor.split_controls(dataset, drawn)
    division = editor.division_of(dataset, drawn)
_facts(dataset, division)
checks.remarks(dataset, division, table)
names = ["Columns", "Table", "Classes", "Missing values", "Two columns"]
tabs = st.tabs([*names, "Series"] if dataset.channels else names)
with tabs[0]:
    _columns(table)
some = time_to_event.answered_frame(dataset).iloc[:200, :200]
with tabs[1]:
    show_table(some, hide_index=False, key="table")
    st.caption("At most the first 200 rows and columns.")
with tabs[2]:
    charts.balance(dataset, division)
with tabs[3]:
    charts.missing(dataset)
with tabs[4]:
    charts.scatter(dataset, division)
if dataset.channels:
    with tabs[5]:
        charts.series(dataset, division)
session.show_url(session.current())
