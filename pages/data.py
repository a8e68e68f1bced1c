"""What am I looking at? Choose or bring a table, give its columns roles, divide it."""

import streamlit as st

from pages.data import charts, checks, editor, openml, roles, uploads
from pages.state import session
from pages.ui import workspace
from pages.ui.text import escape_markdown, number_columns, short_label
from smpcore import Dataset, SmpcoreError
from smpcore.datasets import Split


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
    with st.container(horizontal=True):
        for name, count in facts.items():
            st.metric(name, f"{count:,}", width=110)
    st.caption(
        escape_markdown(f"{dataset.description} Source: {dataset.source}.".strip())
    )


def _columns(dataset: Dataset) -> None:
    uploads.how_read(dataset)
    if dataset.private:
        st.caption(
            escape_markdown(
                f"Target: {short_label(dataset.target)}. If that is not right, "
                'give another column the role "target". A column that says which '
                'rows belong together (a patient, a machine) gets the role "group".'
            )
        )
    roles.task(dataset)
    roles.roles(dataset)
    if not dataset.private:
        st.caption("Roles can be changed in uploaded tables.")
        uploads.copy(dataset)


session.current()
picker = st.container()
with st.expander("Upload data", icon=":material/upload:"):
    uploads.uploads()
with st.expander("Fetch from OpenML", icon=":material/cloud_download:"):
    openml.controls()
openml.problem()
workspace.await_table(session.current())
with picker:
    editor.pick()
try:
    table, drawn = editor.shown()
    dataset = editor.posed(table)
    editor.divide(dataset, drawn)
    division = editor.division_of(dataset, drawn)
except SmpcoreError as problem:
    st.error(escape_markdown(str(problem)))
    st.stop()
_facts(dataset, division)
checks.remarks(dataset, division, table)
names = ["Columns", "Table", "Classes", "Missing values", "Two columns"]
tabs = st.tabs([*names, "Series"] if dataset.channels else names)
with tabs[0]:
    _columns(table)
some = dataset.frame.iloc[:200, :200]
tabs[1].dataframe(some, key="table", column_config=number_columns(some))
tabs[1].caption("At most the first 200 rows and columns.")
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
