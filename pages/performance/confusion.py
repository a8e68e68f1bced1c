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
from smpcore.explain import doubts

ALL = "all classes"
#: Right answers and wrong ones; faint enough for text of both themes.
_COLOURS = "0, 114, 178", "213, 94, 0"
#: More classes have narrow cells, without the share.
_FEW_CLASSES = 4
#: Pixels of a row with many and with few classes, and of the table at most.
_ROW_HEIGHTS, _HIGHEST = (35, 44), 640
#: Cells that the list of cells offers, the most wrong answers first.
_MOST_CELLS = 200


@st.fragment
def section(rows: EvaluatedRows) -> None:
    """Show the matrix with its rates, and the cases of one cell."""
    controls = st.columns([2, 4, 2], vertical_alignment="top")
    if rows.is_binary:
        positive = operating_point.positive_class(controls[0], rows)
        operating_point.slider(controls[1], rows)
        matrix = of_two_classes(rows, positive)
    else:
        of = controls[0], "Classes", [ALL, *rows.names], "one_class"
        chosen = widget_state.choose_one(*of, format_func=short_label)
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
    is_small = len(counts) <= _FEW_CLASSES
    frame, names = _cells(matrix, counts, shares, is_small)
    row_height = _ROW_HEIGHTS[is_small]
    st.dataframe(
        frame.style.apply(lambda _: _styles(frame, shares), axis=None),
        key="confusion_matrix",
        hide_index=True,
        height=min(_HIGHEST, 40 + row_height * len(frame)),
        row_height=row_height,
        column_config=names,
        on_select=partial(_clicked, matrix),
        selection_mode="single-cell",
    )
    n = int(counts.sum())
    counted = " Rows are counted here; shares beside are weighted." * weighted
    fewer = f" The {len(frame)} classes with the most wrong answers."
    percent_of = "per cent" if is_small else "colour: share"
    st.caption(
        f"{plural(n, 'row')} by true class; {percent_of} of the true class. Click a "
        f"cell to list its rows below.{fewer * (matrix.other == OTHER_CLASS)}{counted}"
    )


def _cells(
    matrix: Matrix, counts: np.ndarray, shares: np.ndarray, is_small: bool
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Text of the cells, and what the columns, which have numbers, are called."""
    columns = [str(j) for j in range(counts.shape[1])]
    texts = [
        [_text(*cell, is_small) for cell in zip(*line, strict=True)]
        for line in zip(counts, shares, strict=True)
    ]
    words = ("true ", "predicted ") if is_small else ("", "")
    frame = pd.DataFrame(texts, columns=columns)
    frame.insert(0, "truth", [words[0] + short_label(name) for name in matrix.names])
    names: dict[str, Any] = {
        column: name if j >= len(matrix.names) else words[1] + short_label(name)
        for j, (column, name) in enumerate(
            zip(columns, matrix.predictions, strict=True)
        )
    }
    corner = "" if is_small else "true, predicted"
    return frame, names | {"truth": st.column_config.Column(corner, pinned=True)}


def _text(count: int, share: float, is_small: bool) -> str:
    """A count, with its share where there is room and anything to say."""
    return f"{count:,} ({percent(share)})" if is_small and count else f"{count:,}"


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

    left, right = st.columns([3, 5], vertical_alignment="bottom")
    of = left, "Rows of the cell", cells, "confusion_cell"
    chosen = widget_state.choose_one(*of, format_func=label)
    inside = matrix.inside(cells[chosen])
    right.caption(f"{plural(len(inside), 'row')}, the least sure first.")
    said = np.array(rows.names)[rows.answers[inside]]
    if len(matrix.names) == 2 and rows.is_binary:
        said = np.array(matrix.predictions)[matrix.said[inside]]
    name, margin = "lead", matrix.margin[inside]
    if rows.is_binary:
        name = f"margin of {rows.names[rows.rarer_class]}"
        margin = rows.threshold_sign * rows.margin[inside]
    elif len(matrix.names) == 2:
        name = f"margin of {matrix.names[0]}"
    columns = {"true": rows.y[inside], "predicted": said, name: margin}
    doubt = doubts(operating_point.tried_model(rows), rows.X[inside])
    columns |= {"doubt": np.array(doubt)} if any(doubt) else {}
    cases.show(rows, inside, columns)
