"""Nearest neighbour with prototype selection: edited, then condensed training rows.

Wilson: Asymptotic Properties of Nearest Neighbor Rules Using Edited Data. IEEE
Transactions on Systems, Man, and Cybernetics 2, 1972. Hart: The Condensed Nearest
Neighbor Rule. IEEE Transactions on Information Theory 14, 1968.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin


class CondensedNeighbour(ClassifierMixin, BaseEstimator):
    """Answer with the class of the nearest of few training rows."""

    def __init__(self, editing: int = 3, random_state: int = 0) -> None:
        self.editing, self.random_state = editing, random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Edit, then condense."""
        X = np.asarray(X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        distances = cdist(X, X, "sqeuclidean")
        rows = np.arange(len(X))
        if self.editing:
            rows = _edited(distances, codes, self.editing)
        rows = np.random.default_rng(self.random_state).permutation(rows)
        self.selected_ = _condensed(distances, codes, rows)
        self.X_, self.y_ = X[self.selected_], self.classes_[codes[self.selected_]]
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class of the nearest selected row."""
        return self.y_[cdist(np.asarray(X), self.X_, "sqeuclidean").argmin(axis=1)]


def _edited(distances: np.ndarray, codes: np.ndarray, n_neighbours: int) -> np.ndarray:
    """Rows whose nearest others are mostly of their class; each class keeps one."""
    others = distances + np.diag(np.full(len(distances), np.inf))
    nearest = others.argsort(axis=1, kind="stable")[:, :n_neighbours]
    share = (codes[nearest] == codes[:, None]).mean(axis=1)
    remains = share >= 0.5
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        remains[members[share[members].argmax()]] = True
    return np.flatnonzero(remains)


def _condensed(
    distances: np.ndarray, codes: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Begin with a row of each class; add every row that these get wrong."""
    first = np.unique(codes[rows], return_index=True)[1]
    selected = rows[first].tolist()
    while True:
        n_before = len(selected)
        for row in rows:
            nearest = selected[int(distances[row, selected].argmin())]
            if codes[nearest] != codes[row] and row not in selected:
                selected.append(int(row))
        if len(selected) == n_before:
            return np.array(selected)
