"""Matrices of similarities: how their file is read, and what they look like."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from pages.data import charts
from pages.state import session
from pages.ui.elements import table as show_table
from pages.ui.text import short_label
from smpcore import Dataset, figures
from smpcore.datasets import Split, matrix_of, used_matrices

ENDING = "npz"
#: Rows of a map at most; of more, so many spread evenly over the classes.
MOST_ROWS = 400
_INDEFINITE = {
    "refuse": "refuse the file",
    "shift": "raise the diagonal",
    "clip": "clip: set them to 0",
    "flip": "flip: make them positive",
    "square": "square all eigenvalues",
    "keep": "keep: similarities only",
}


def settings(number: int) -> dict[str, Any]:
    """What the visitor says about a file of matrices: settings for `read_matrices`."""
    left, right = st.columns(2, vertical_alignment="bottom")
    indefinite = left.selectbox(
        "Negative eigenvalues",
        list(_INDEFINITE),
        format_func=_INDEFINITE.get,
        key=f"indefinite_{number}",
        help="A kernel has none. Raising the diagonal by the smallest makes one of the "
        "matrix and leaves similarities of different rows as they are; clip, flip and "
        "square change eigenvalues, and those of new rows alike. Kept as it is, only "
        "methods that need similarities can learn from it.",
    )
    normalise = right.toggle(
        "Normalise to 1 on the diagonal",
        key=f"normalise_{number}",
        help="Each entry is divided by √(k(x, x) k(z, z)).",
    )
    return {"indefinite": indefinite, "normalise": normalise}


def used(dataset: Dataset) -> None:
    """The matrices, and a choice of those that models may use."""
    rows = [
        {
            "matrix": matrix.name,
            "smallest eigenvalue": matrix.least,
            "diagonal": "the same everywhere" if matrix.even else "varies",
        }
        for matrix in dataset.matrices
    ]
    show_table(rows)
    st.caption(
        "A model compares an input with the training rows only. A smallest eigenvalue "
        "of 0: there is no negative one."
    )
    choice, names = session.current(), [matrix.name for matrix in dataset.matrices]
    if len(names) < 2:
        return
    chosen = st.multiselect(
        "Matrices that models may use",
        names,
        [name for name in names if name not in choice.forbidden],
        short_label,
        key=f"matrices_{dataset.digest}_{hash(choice.forbidden)}",
    )
    forbidden = tuple(name for name in names if name not in chosen)
    if not chosen:
        st.warning("Choose at least one matrix.")
    elif forbidden != choice.forbidden:
        session.choose(replace(choice, forbidden=forbidden))
        st.rerun()


@st.fragment
def map_of(dataset: Dataset, division: Split) -> None:
    """One matrix as a map."""
    names = [matrix.name for matrix in used_matrices(dataset)]
    name = st.selectbox("Matrix", names, 0, short_label, key="matrix_map")
    opened = dataset.open_test or session.current().open_test
    rows = charts.visible_rows(division, opened)
    rows = rows[np.argsort(dataset.y[rows], kind="stable")]
    if len(rows) > MOST_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(int)]
    K = matrix_of(dataset, name)[np.ix_(rows, rows)]
    figure = figures.similarity_map(K, dataset.y[rows], dataset.row_numbers(rows))
    words = f"Similarities of {len(rows):,} rows by {short_label(name)}"
    st.plotly_chart(figure, key="similarity_map", alt=words)
    st.caption(f"{words}, sorted by {short_label(dataset.target)}.")
