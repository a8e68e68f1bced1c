"""The confusion matrix: counts and rates with intervals, each cell with its cases."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.performance import cases, operating_point, rates
from pages.performance.matrix import OTHER_CLASS, Matrix, of_classes, of_two_classes
from pages.performance.rows import EvaluatedRows
from pages.state import widget_state
from pages.ui.readouts import percent
from pages.ui.text import short_label
from smpcore.datasets import plural

ALL = "all classes"
#: Right answers and wrong ones; faint enough for text of both themes.
_COLOURS = "0, 114, 178", "213, 94, 0"
_ROW_PIXELS = 44
#: Cells that the list of cells offers, the most wrong answers first.
_MOST_CELLS = 200


@st.fragment
def section(rows: EvaluatedRows) -> None:
    """Show the matrix with its rates, and the cases of one cell."""
    controls = st.columns([2, 4, 2], vertical_alignment="top")
    if rows.is_binary:
        positive = operating_point.positive_class(controls[0], rows)
        operating_point.slider(controls[1], rows, positive)
        matrix = of_two_classes(rows, positive)
    else:
        options = [ALL, *rows.names]
        state = widget_state.for_selectbox("one_class", options, ALL)
        chosen = controls[0].selectbox(
            "Classes", options, format_func=short_label, **state
        )
        positive = None if chosen == ALL else rows.names.index(chosen)
        matrix = of_classes(rows, positive)
    left, right = st.columns([5, 6])
    with left:
        _draw(matrix, weighted=rows.weights is not None)
        if rows.is_binary and not rows.fitted.code_size:
            operating_point.use(rows)
    with right:
        if positive is None:
            rates.class_table(rows)
        else:
            rates.rate_table(rows, matrix, controls[2])
    _cell(rows, matrix)


def _draw(matrix: Matrix, weighted: bool) -> None:
    """The matrix as a table whose cells can be chosen, by mouse and by keyboard."""
    counts = matrix.counts
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    columns = [str(j) for j in range(counts.shape[1])]
    texts = [
        [f"{n:,} ({percent(s)})" for n, s in zip(*line, strict=True)]
        for line in zip(counts, shares, strict=True)
    ]
    index = pd.Index([f"true {short_label(name)}" for name in matrix.names])
    frame = pd.DataFrame(texts, pd.RangeIndex(len(index)), columns)
    frame.insert(0, "truth", index)
    style = frame.style.apply(lambda _: _styles(frame, shares), axis=None)
    names = [
        name if j >= len(matrix.names) else f"predicted {short_label(name)}"
        for j, name in enumerate(matrix.predictions)
    ]
    config: dict[str, Any] = dict(zip(columns, names, strict=True))
    st.dataframe(
        style,
        key="confusion_matrix",
        hide_index=True,
        row_height=_ROW_PIXELS,
        column_config=config | {"truth": st.column_config.Column("", pinned=True)},
        on_select=partial(_clicked, matrix),
        selection_mode="single-cell",
    )
    n = int(counts.sum())
    counted = " Rows are counted here; shares beside are weighted." * weighted
    fewer = f" The {len(index)} classes with the most wrong answers."
    st.caption(
        f"{plural(n, 'row')} by true class; per cent of the true class. Click a cell "
        f"to list its rows below.{fewer * (matrix.other == OTHER_CLASS)}{counted}"
    )


def _styles(frame: pd.DataFrame, shares: np.ndarray) -> pd.DataFrame:
    """Blue for right answers and vermilion for wrong ones, by their share."""
    styles = pd.DataFrame("", frame.index, frame.columns)
    for (i, j), share in np.ndenumerate(shares):
        colour = _COLOURS[i != j]
        if share:
            styles.iloc[i, j + 1] = (
                f"background-color: rgba({colour}, {0.08 + 0.3 * share:.2f})"
            )
    return styles


def _clicked(matrix: Matrix) -> None:
    cells = st.session_state["confusion_matrix"].selection.cells
    cell = "-".join(map(str, cells[0])) if cells else ""
    if cell in _offered(matrix):
        widget_state.set_value("confusion_cell", cell)


def _offered(matrix: Matrix) -> dict[str, tuple[int, int]]:
    """Cells that can be chosen, those with the most wrong answers first."""
    counts = matrix.counts
    wrong = np.where(np.eye(*counts.shape, dtype=bool), -1, counts)
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CELLS]
    places = zip(*np.unravel_index(order, counts.shape), strict=True)
    return {f"{i}-{j}": (int(i), int(j)) for i, j in places}


def _cell(rows: EvaluatedRows, matrix: Matrix) -> None:
    """The cases of one cell; at first of the one with the most wrong answers."""
    cells = _offered(matrix)

    def label(option: str) -> str:
        i, j = cells[option]
        truth, said = matrix.names[i], matrix.predictions[j]
        return f"true {short_label(truth)}, predicted {short_label(said)}"

    state = widget_state.for_selectbox("confusion_cell", cells, next(iter(cells)))
    left, right = st.columns([3, 5], vertical_alignment="bottom")
    chosen = left.selectbox("Rows of the cell", list(cells), format_func=label, **state)
    inside = matrix.inside(cells[chosen])
    right.caption(f"{plural(len(inside), 'row')}, the least sure first.")
    said = np.array(rows.names)[rows.answers[inside]]
    if len(matrix.names) == 2 and rows.is_binary:
        said = np.array(matrix.predictions)[matrix.said[inside]]
    name = "margin" if len(matrix.names) == 2 else "lead"
    columns = {"true": rows.y[inside], "predicted": said, name: matrix.margin[inside]}
    cases.show(rows, inside, columns)
