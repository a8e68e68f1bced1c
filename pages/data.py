"""What am I looking at? Choose or bring a table, give its columns roles, divide it."""

import streamlit as st

from pages.shared import links, tables
from smpcore import Dataset, SmpcoreError, Split, figures


def _facts(dataset: Dataset, division: Split) -> None:
    facts = {"Rows": dataset.n_samples, "Features": len(dataset.feature_columns)}
    if dataset.classes is not None:
        facts["Classes"] = len(dataset.classes)
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
    tables.reading(dataset)
    tables.task(dataset)
    tables.roles(dataset)
    if not dataset.private:
        st.caption("Roles can be changed in a table of your own.")


def _missing(dataset: Dataset) -> None:
    if dataset.frame[dataset.feature_columns].isna().any(axis=None):
        figure = figures.missing_values(dataset)
        st.plotly_chart(figure, key="missing", alt="Share of missing values by column")
        st.caption(
            "A missing number becomes the median of the training rows; a missing "
            "category is none of the categories."
        )
    else:
        st.success("No value is missing.")


@st.fragment
def _scatter(dataset: Dataset, division: Split) -> None:
    names = dataset.feature_columns
    if not names:
        return
    open_test = dataset.open_test or links.current().open_test
    across, up = st.columns(2)
    first = across.selectbox("Across", names, 0, tables.short, key="scatter_x")
    last = min(1, len(names) - 1)
    second = up.selectbox("Up", names, last, tables.short, key="scatter_y")
    rows = tables.visible_rows(division, open_test)
    figure = figures.scatter(dataset, rows, first, second)
    words = f"{tables.short(first)} against {tables.short(second)}, by target"
    st.plotly_chart(figure, key="scatter", alt=words)
    if not open_test:
        st.caption("The test rows are not drawn: they stay closed.")


links.current()
for notice in links.take_notices():
    st.warning(tables.plain(notice))
picker = st.container()
with st.expander("Bring a table of your own", icon=":material/upload:"):
    tables.uploads()
with picker:
    tables.pick()
try:
    dataset, drawn = tables.shown()
    tables.divide(dataset, drawn)
    division = tables.division_of(dataset, drawn)
except SmpcoreError as problem:
    st.error(tables.plain(str(problem)))
    st.stop()
_facts(dataset, division)
tables.remarks(dataset, division)
tabs = st.tabs(["Columns", "Table", "Classes", "Missing values", "Two columns"])
with tabs[0]:
    _columns(dataset)
tabs[1].dataframe(dataset.frame.iloc[:200, :200], key="table")
tabs[1].caption("At most the first 200 rows and columns.")
figure = figures.class_balance(dataset, division)
tabs[2].plotly_chart(figure, key="balance", alt="Rows of each class in each part")
with tabs[3]:
    _missing(dataset)
with tabs[4]:
    _scatter(dataset, division)
links.show_url(links.current())
