"""What am I looking at? Choose or bring a table, give its columns roles, divide it."""

import streamlit as st

from pages.shared import data_charts, data_checks, desk, links, openml, tables, uploads
from smpcore import Dataset, SmpcoreError, Split


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
    st.caption(tables.plain(f"{dataset.description} Source: {dataset.source}.".strip()))


def _columns(dataset: Dataset) -> None:
    uploads.reading(dataset)
    if dataset.private:
        st.caption(
            tables.plain(
                f"What is predicted: {tables.short(dataset.target)}. If that is not "
                'it, give another column the role "target". A column that says which '
                'rows belong together (a patient, a machine) gets the role "group".'
            )
        )
    tables.task(dataset)
    tables.roles(dataset)
    if not dataset.private:
        st.caption("Roles can be changed in a table of your own.")
        uploads.copy(dataset)


links.current()
picker = st.container()
with st.expander("Bring a table of your own", icon=":material/upload:"):
    uploads.uploads()
with st.expander("Fetch from OpenML", icon=":material/cloud_download:"):
    openml.controls()
openml.problem()
desk.await_table(links.current())
with picker:
    tables.pick()
try:
    table, drawn = tables.shown()
    dataset = tables.posed(table)
    tables.divide(dataset, drawn)
    division = tables.division_of(dataset, drawn)
except SmpcoreError as problem:
    st.error(tables.plain(str(problem)))
    st.stop()
_facts(dataset, division)
data_checks.remarks(dataset, division, table)
names = ["Columns", "Table", "Classes", "Missing values", "Two columns"]
tabs = st.tabs([*names, "Series"] if dataset.channels else names)
with tabs[0]:
    _columns(table)
some = dataset.frame.iloc[:200, :200]
tabs[1].dataframe(some, key="table", column_config=tables.numbers(some))
tabs[1].caption("At most the first 200 rows and columns.")
with tabs[2]:
    data_charts.balance(dataset, division)
with tabs[3]:
    data_charts.missing(dataset)
with tabs[4]:
    data_charts.scatter(dataset, division)
if dataset.channels:
    with tabs[5]:
        data_charts.series(dataset, division)
links.show_url(links.current())
