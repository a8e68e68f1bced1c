"""Rows by true class and by what is predicted, at the threshold that is tried."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pages.performance import operating_point
from pages.performance.rows import EvaluatedRows

#: Of more classes those with the most wrong answers are shown.
MOST_CLASSES = 30
OTHER_CLASS = "another class"


@dataclass(frozen=True, eq=False)
class Matrix:
    """Rows by true class and by what is predicted."""

    truth: np.ndarray
    said: np.ndarray
    names: list[str]
    margin: np.ndarray
    threshold: float = 0.0
    other: str = "not sure"

    @property
    def predictions(self) -> list[str]:
        """Names of the columns."""
        others = [self.other] * bool((self.said >= len(self.names)).any())
        return self.names + others

    @property
    def counts(self) -> np.ndarray:
        """Rows of each cell; what is no class of the model is in none."""
        shape = len(self.names), len(self.predictions)
        known = self.truth >= 0
        cells = self.truth[known] * shape[1] + self.said[known]
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)

    def inside(self, cell: tuple[int, int]) -> np.ndarray:
        """Places of the rows of a cell; the least sure, which change first, first."""
        places = np.flatnonzero((self.truth == cell[0]) & (self.said == cell[1]))
        distance = np.abs(self.margin[places] - self.threshold)
        return places[np.argsort(distance, kind="stable")]


def of_two_classes(rows: EvaluatedRows, positive: int) -> Matrix:
    """The matrix at the threshold that is tried; the positive class is first."""
    point, sign = operating_point.current(rows), 1 if positive else -1
    margin, threshold = sign * rows.margin, sign * point.threshold
    said = np.where(margin > threshold, 0, 1)
    if point.band:
        said[np.abs(margin - threshold) <= point.band] = 2
    names = [rows.names[positive], rows.names[1 - positive]]
    return Matrix(_against_rest(rows, positive), said, names, margin, threshold)


def of_classes(rows: EvaluatedRows, positive: int | None) -> Matrix:
    """The matrix of all classes, or of one against the rest."""
    if positive is None:
        scores = np.sort(rows.scores, axis=1)
        return _largest(rows, scores[:, -1] - scores[:, -2])
    others = np.delete(rows.scores, positive, axis=1).max(axis=1)
    said = (rows.answers != positive) * 1
    names = [rows.names[positive], "all other classes"]
    margin = rows.scores[:, positive] - others
    return Matrix(_against_rest(rows, positive), said, names, margin)


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
    said = np.where(place[rows.answers] < 0, MOST_CLASSES, place[rows.answers])
    names = [rows.names[number] for number in shown]
    return Matrix(place[rows.truth], said, names, lead, other=OTHER_CLASS)


def _against_rest(rows: EvaluatedRows, positive: int) -> np.ndarray:
    """0 of the positive class, 1 of another one, -1 of none of the model's."""
    return np.where(rows.truth < 0, -1, (rows.truth != positive) * 1)
