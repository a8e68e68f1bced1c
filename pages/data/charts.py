"""The charts of the Data page."""

import numpy as np
import streamlit as st

from pages.state import session
from pages.ui.text import short_label
from smpcore import Dataset, figures
from smpcore.datasets import Split


def balance(dataset: Dataset, division: Split) -> None:
    """Rows of each class in each part; of a number to predict, its distribution."""
    figure = figures.class_balance(dataset, division)
    of = (
        "each class" if dataset.task == "classification" else "each range of the target"
    )
    st.plotly_chart(figure, key="balance", alt=f"Rows of {of} in each part")


def missing(dataset: Dataset, division: Split) -> None:
    """Which values are missing, and what becomes of them."""
    if dataset.frame[dataset.feature_columns].isna().any(axis=None):
        figure = figures.missing_values(dataset)
        st.plotly_chart(figure, key="missing", alt="Share of missing values by column")
        st.caption(
            "By default, a missing number becomes the median of the training rows; a "
            "missing category is none of the levels (of two it counts as the "
            "commoner). Clean, in Columns, sets it for each column."
        )
    else:
        st.success("No value is missing.")


@st.fragment
def scatter(dataset: Dataset, division: Split) -> None:
    """Two columns against each other."""
    names = dataset.feature_columns
    if not names:
        return
    left, right = st.columns(2)
    first = left.selectbox("x axis", names, 0, short_label, key="scatter_x")
    last = min(1, len(names) - 1)
    second = right.selectbox("y axis", names, last, short_label, key="scatter_y")
    figure = figures.scatter(
        dataset, visible_rows(division, _is_open(dataset)), first, second
    )
    alt = f"{short_label(first)} against {short_label(second)}, by target"
    st.plotly_chart(figure, key="scatter", alt=alt)


def series(dataset: Dataset, division: Split) -> None:
    """A few series of each class."""
    rows = visible_rows(division, _is_open(dataset))
    words = "A few series of each class against time, a panel for each channel"
    st.plotly_chart(figures.series(dataset, rows), key="series", alt=words)
    st.caption("At most three series of each class, spread over its rows.")


def visible_rows(division: Split, open_test: bool) -> np.ndarray:
    """Rows that may be drawn: the test rows only if they are open."""
    if not open_test:
        st.caption("The test rows are not drawn: they stay closed.")
    parts = [division.train, division.validation, *([division.test] * open_test)]
    return np.sort(np.concatenate(parts))


def _is_open(dataset: Dataset) -> bool:
    return dataset.open_test or session.current().open_test
