"""Rows by true class and by what is predicted, at the threshold that is tried."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pages.performance import operating_point
from pages.performance.rows import EvaluatedRows
from smpcore.evaluation import margins


@dataclass(frozen=True, eq=False)
class Matrix:
    """Rows by true class and by what is predicted.

    Parameters
    ----------
    truth, said : ndarray of int, shape (n_rows,)
        Number of the true class and of what is predicted.
    names : list of str
        Of the classes; one more prediction than classes is "not sure".
    """

    truth: np.ndarray
    said: np.ndarray
    names: list[str]

    @property
    def predictions(self) -> list[str]:
        """Names of the columns."""
        unsure = ["not sure"] * bool((self.said >= len(self.names)).any())
        return self.names + unsure

    @property
    def counts(self) -> np.ndarray:
        """Rows of each cell; what is no class of the model is in none."""
        shape = len(self.names), len(self.predictions)
        known = self.truth >= 0
        cells = self.truth[known] * shape[1] + self.said[known]
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)

    def inside(self, cell: tuple[int, int]) -> np.ndarray:
        """Places of the rows of a cell."""
        return np.flatnonzero((self.truth == cell[0]) & (self.said == cell[1]))


def of_two_classes(rows: EvaluatedRows, positive: int) -> tuple[Matrix, np.ndarray]:
    """The matrix at the threshold that is tried; the positive class is first."""
    point, sign = operating_point.current(rows), 1 if positive else -1
    margin = sign * margins(rows.model, rows.X)
    away = margin - sign * point.threshold
    said = np.where(np.abs(away) <= point.band, 2, np.where(away > 0, 0, 1))
    if not point.band:
        said = np.where(away > 0, 0, 1)
    truth = np.where(rows.truth < 0, -1, (rows.truth != positive) * 1)
    names = [rows.names[positive], rows.names[1 - positive]]
    return Matrix(truth, said, names), margin


def of_classes(rows: EvaluatedRows, positive: int | None) -> tuple[Matrix, np.ndarray]:
    """The matrix of all classes, or of one against the rest."""
    scores = np.sort(rows.scores, axis=1)
    if positive is None:
        lead = scores[:, -1] - scores[:, -2]
        return Matrix(rows.truth, rows.answers, rows.names), lead
    others = np.delete(rows.scores, positive, axis=1).max(axis=1)
    truth = np.where(rows.truth < 0, -1, (rows.truth != positive) * 1)
    said = (rows.answers != positive) * 1
    names = [rows.names[positive], "all other classes"]
    return Matrix(truth, said, names), rows.scores[:, positive] - others
