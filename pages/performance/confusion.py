"""The confusion matrix: counts and rates with intervals, each cell with its cases."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.performance import operating_point
from pages.performance.operating_point import EvaluatedRows
from pages.state import widget_state
from pages.state.session import Slot
from pages.ui.elements import table
from pages.ui.outcome import outcome_picker
from pages.ui.text import escape_markdown, short_label
from smpcore.colors import NEGATIVE, POSITIVE, translucent
from smpcore.datasets import plain_number, plural
from smpcore.evaluation import REST, WILSON, rate, two_class_measures
from smpcore.explain import doubts
from smpcore.live import define
from smpcore.readouts import READOUTS, Shown, number_text
from smpcore.report import class_lines

#: Of more classes those with the most wrong answers are shown.
MOST_CLASSES = 30
OTHER_CLASS = "another class"
_PREVALENCE = Slot[float | None]("prevalence")


@dataclass(frozen=True, eq=False)
class Matrix:
    """Rows by true class and by what is predicted."""

    truth: np.ndarray
    predicted: np.ndarray
    names: list[str]
    margin: np.ndarray
    threshold: float = 0.0
    other: str = "not sure"

    @property
    def predictions(self) -> list[str]:
        """Names of the columns."""
        has_others = (self.predicted >= len(self.names)).any()
        return [*self.names, self.other] if has_others else self.names

    @property
    def counts(self) -> np.ndarray:
        """Rows of each cell; what is no class of the model is in none."""
        shape = len(self.names), len(self.predictions)
        known = self.truth >= 0
        cells = self.truth[known] * shape[1] + self.predicted[known]
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)

    def inside(self, cell: tuple[int, int]) -> np.ndarray:
        """Places of the rows of a cell; the least sure, which change first, first."""
        places = np.flatnonzero((self.truth == cell[0]) & (self.predicted == cell[1]))
        distance = np.abs(self.margin[places] - self.threshold)
        return places[np.argsort(distance, kind="stable")]


def of_two_classes(rows: EvaluatedRows) -> Matrix:
    """The matrix at the threshold that is tried; the outcome is first."""
    point, margin, outcome = operating_point.current(rows), rows.margin, rows.outcome
    predicted = np.where(margin > point.threshold, 0, 1)
    if point.band:
        predicted[np.abs(margin - point.threshold) <= point.band] = 2
    names = [rows.names[outcome], rows.names[1 - outcome]]
    return Matrix(
        _against_rest(rows, outcome), predicted, names, margin, point.threshold
    )


def of_classes(rows: EvaluatedRows, one: int | None) -> Matrix:
    """The matrix of all classes, or of one against the rest."""
    if one is None:
        scores = np.sort(rows.scores, axis=1)
        return _largest(rows, scores[:, -1] - scores[:, -2])
    others = np.delete(rows.scores, one, axis=1).max(axis=1)
    predicted = (rows.answers != one) * 1
    names = [rows.names[one], REST]
    margin = rows.scores[:, one] - others
    return Matrix(_against_rest(rows, one), predicted, names, margin)


def _largest(rows: EvaluatedRows, lead: np.ndarray) -> Matrix:
    """The matrix of all classes; of many, of those with the most wrong answers."""
    n_classes = len(rows.names)
    if n_classes <= MOST_CLASSES:
        return Matrix(rows.truth, rows.answers, rows.names, lead)
    wrong = rows.truth[(rows.truth != rows.answers) & (rows.truth >= 0)]
    counts = np.bincount(wrong, minlength=n_classes)
    shown = np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])
    place = np.full(n_classes + 1, -1)  # the last one is of an unknown class
    place[shown] = np.arange(len(shown))
    predicted = np.where(place[rows.answers] < 0, MOST_CLASSES, place[rows.answers])
    names = [rows.names[number] for number in shown]
    return Matrix(place[rows.truth], predicted, names, lead, other=OTHER_CLASS)


def _against_rest(rows: EvaluatedRows, one: int) -> np.ndarray:
    """0 of one class, 1 of another one, -1 of none of the model's."""
    return np.where(rows.truth < 0, -1, (rows.truth != one) * 1)


def class_table(rows: EvaluatedRows) -> None:
    """Recall and precision of every class with their intervals."""
    classes = rows.fitted.classes
    table(class_lines(rows.truth, rows.answers, classes, **rows.dependence()))
    hits = rate(rows.truth == rows.answers, **rows.dependence())
    basis = f"{hits.hits:,} of {hits.n:,} rows"
    shown = Shown(READOUTS["accuracy"].label, hits.estimate, basis)
    st.caption(
        f"{shown.in_words}. Intervals of the table: "
        f"{WILSON}{rows.data.cluster_note}{escape_markdown(rows.data.weight_note)}."
    )


def rate_table(rows: EvaluatedRows, matrix: Matrix, place: Any) -> None:
    """Sensitivity, specificity, predictive values and AUC with their intervals."""
    known = matrix.truth >= 0
    prevalence = _prevalence(rows, (matrix.truth == 0)[known], place)
    measures = two_class_measures(
        matrix.truth,
        matrix.predicted,
        matrix.margin,
        [short_label(name) for name in matrix.names],
        prevalence,
        **rows.dependence(),
    )
    table([measure.line for measure in measures])
    outside = ""
    if (matrix.predicted > 1).any():
        outside = ", which is that of all rows, with those within the band,"
    st.caption(
        f"Predictive values by Bayes' rule with the prevalence{outside} taken as known"
        f"{rows.data.cluster_note}{escape_markdown(rows.data.weight_note)}.",
        help=define("Predictive value", "ROC"),
    )


def _prevalence(rows: EvaluatedRows, truth: np.ndarray, place: Any) -> float:
    """Share of the outcome that is asked for; at first that of the rows."""
    known = rows.truth >= 0
    share = rate(truth, **rows.dependence(known)).share
    digest = rows.data.dataset.digest
    prevalence = place.number_input(
        "Prevalence, %",
        0.01,
        99.99,
        value=_PREVALENCE.get(digest),
        placeholder=f"{plain_number(100 * share, 3)} (in these rows)",
        key="prevalence",
        help=define("Prevalence"),
    )
    _PREVALENCE.put(digest, prevalence)
    return share if prevalence is None else prevalence / 100


ALL = "all classes"
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
        outcome_picker(controls[0], rows)
        operating_point.slider(controls[1], rows)
        one, matrix = rows.outcome, of_two_classes(rows)
    else:
        options, place = [ALL, *rows.names], controls[0]
        chosen = widget_state.choose_one(
            place, "Classes", options, "one_class", format_func=short_label
        )
        one = None if chosen == ALL else rows.names.index(chosen)
        matrix = of_classes(rows, one)
    left, right = st.columns([5, 6])
    with left:
        _draw(rows, matrix)
        if rows.is_binary and not rows.fitted.code_size:
            operating_point.use(rows)
    with right:
        if one is None:
            class_table(rows)
        else:
            rate_table(rows, matrix, controls[2])
    _cell(rows, matrix)


def _draw(rows: EvaluatedRows, matrix: Matrix) -> None:
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
    unknown = int((rows.truth < 0).sum())
    percent_of = "per cent" if is_small else "colour: share"
    words = f"{plural(n, 'row')} by true class; {percent_of} of the true class. Click "
    words += "a cell to list its rows below."
    if matrix.other == OTHER_CLASS:
        words += f" The {len(frame)} classes with the most wrong answers."
    if rows.data.weights(rows.part) is not None:
        words += " Rows are counted here; shares beside are weighted."
    if unknown:
        words += f" Without {plural(unknown, 'row')} of classes that training lacks."
    st.caption(words)


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
    others = matrix.predictions[len(matrix.names) :]
    predicted = [words[1] + short_label(name) for name in matrix.names] + others
    names: dict[str, Any] = dict(zip(columns, predicted, strict=True))
    corner = "" if is_small else "true, predicted"
    return frame, names | {"truth": st.column_config.Column(corner, pinned=True)}


def _text(count: int, share: float, is_small: bool) -> str:
    """A count, with its share where there is room and anything to say."""
    return f"{count:,} ({number_text(share)})" if is_small and count else f"{count:,}"


def _styles(frame: pd.DataFrame, shares: np.ndarray) -> pd.DataFrame:
    """Teal for right answers and crimson for wrong ones, by their share."""
    styles = pd.DataFrame("", frame.index, frame.columns)
    for (i, j), share in np.ndenumerate(shares):
        if share:  # faint enough for text of both themes
            colour = translucent(POSITIVE if i == j else NEGATIVE, 0.08 + 0.3 * share)
            styles.iloc[i, j + 1] = f"background-color: {colour}"
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
        truth, answer = map(short_label, (matrix.names[i], matrix.predictions[j]))
        return f"true {truth}, predicted {answer}"

    left, right = st.columns([3, 5], vertical_alignment="bottom")
    chosen = widget_state.choose_one(
        left, "Rows of the cell", cells, "confusion_cell", format_func=label
    )
    inside = matrix.inside(cells[chosen])
    right.caption(f"{plural(len(inside), 'row')}, the least sure first.")
    predicted = np.array(rows.names)[rows.answers[inside]]
    if len(matrix.names) == 2 and rows.is_binary:
        predicted = np.array(matrix.predictions)[matrix.predicted[inside]]
    name = f"margin of {matrix.names[0]}" if len(matrix.names) == 2 else "lead"
    columns = {
        "true": rows.y[inside],
        "predicted": predicted,
        name: matrix.margin[inside],
    }
    doubt = doubts(operating_point.tried_model(rows), rows.X[inside])
    columns |= {"doubt": np.array(doubt)} if any(doubt) else {}
    operating_point.cases(rows, inside, columns)
