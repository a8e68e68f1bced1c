"""Few training rows, or few vectors of an SVM, in place of virtual prototypes.

PS-R, PS-B, PS-S, PS-KM and PS-KC choose rows by their places alone (Spillmann, Neuhaus,
Bunke, Pekalska, Duin: Transforming strings to vector spaces using prototype selection.
2006; Riesen, Neuhaus, Bunke: Graph embedding in vector spaces by means of prototype
selection. 2007); ridge regression on the similarities to them answers. SVM-sel drops
support vectors of an SVM and SVM-red makes new vectors; their coefficients come as near
as they can to its decision (Schölkopf et al.: Input space versus feature space in
kernel-based methods. IEEE Transactions on Neural Networks 10, 1999). SVM-sel drops the
vector without which the decision changes least; the print takes one eigenvector of the
kernel for a bound of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.allowed_values import OneOf
from smpcore.threads import one_core

#: Ways to choose rows by their places.
WAYS = ("random", "border", "spanning", "kmedians", "kcentres")
#: Rounds of k-centres, which ends when no centre moves, at most.
MOST_ROUNDS = 100
#: Rows whose distances are looked at: of more, this many are drawn first. And support
#: vectors that are made fewer: each that goes takes a pass over all pairs.
MOST_ROWS, MOST_VECTORS = 5000, 4000
#: Steps of a new vector to the place where it says most, and starts that are tried.
MOST_STEPS, STARTS = 100, 10


def select_rows(X: np.ndarray, n_rows: int, way: str, seed: Any = 0) -> np.ndarray:
    """Choose rows by their places."""
    OneOf(WAYS).check("way", way)
    random = check_random_state(seed)
    n_rows = min(n_rows, len(X))
    if way == "random":
        return random.choice(len(X), n_rows, replace=False)
    if len(X) > MOST_ROWS:
        drawn = np.sort(random.choice(len(X), MOST_ROWS, replace=False))
        return drawn[select_rows(X[drawn], n_rows, way, random)]
    if way == "kmedians":
        with one_core:
            labels = KMeans(n_rows, n_init=1, random_state=random).fit_predict(X)
        return np.array([_middle(X, np.flatnonzero(labels == k)) for k in set(labels)])
    distances = cdist(X, X)
    total = distances.sum(axis=1)
    if way == "border":
        chosen = []
        for _ in range(n_rows):
            chosen.append(int(total.argmax()))
            total = total - distances[chosen[-1]]
            total[chosen] = -np.inf
        return np.array(chosen)
    chosen = [int(total.argmin())]
    while len(chosen) < n_rows:
        chosen.append(int(distances[chosen].min(axis=0).argmax()))
    return np.array(chosen) if way == "spanning" else _centres(distances, chosen)


def _centres(distances: np.ndarray, chosen: list[int]) -> np.ndarray:
    """Move each row to the centre of those that are nearest to it, until none moves."""
    for _ in range(MOST_ROUNDS):
        nearest, before = distances[chosen].argmin(axis=0), chosen
        chosen = []
        for k in range(len(before)):
            members = np.flatnonzero(nearest == k)
            if len(members):  # else an equal row comes before it
                radii = distances[np.ix_(members, members)].max(axis=1)
                chosen.append(int(members[radii.argmin()]))
        if chosen == before:
            break
    return np.array(chosen)


def _middle(X: np.ndarray, members: np.ndarray) -> int:
    """The member nearest to all others."""
    return int(members[cdist(X[members], X[members]).sum(axis=1).argmin()])


def similarities(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """RBF of rows and vectors, with the width that super-sparse prototypes begin at."""
    return np.exp(-cdist(X, Z, "sqeuclidean") / X.shape[1])


def fewer_vectors(
    K: np.ndarray, duals: np.ndarray, n_kept: int
) -> tuple[np.ndarray, np.ndarray]:
    """Drop vectors one by one; the others move as close to the whole as they can."""
    K = K + 1e-8 * np.eye(len(K))
    remaining, inverse, left = np.arange(len(K)), np.linalg.inv(K), duals.copy()
    while len(remaining) > n_kept:
        cost = (left**2).sum(axis=1) / np.diag(inverse)
        out = int(cost.argmin())
        column, pivot = inverse[:, out], inverse[out, out]
        left = left - np.outer(column, left[out]) / pivot
        inverse = inverse - np.outer(column, column) / pivot
        stay = np.arange(len(remaining)) != out
        remaining, left = remaining[stay], left[stay]
        inverse = inverse[np.ix_(stay, stay)]
    return remaining, np.linalg.solve(
        K[np.ix_(remaining, remaining)], K[remaining] @ duals
    )


def reduced_vectors(
    vectors: np.ndarray, duals: np.ndarray, n_vectors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Make vectors one by one, each where it takes most of what is left of a decision.

    A fixed-point iteration from the vectors that take most, then the best coefficients
    of all vectors so far in the space of the kernel.
    """
    Z = np.empty((0, vectors.shape[1]))
    B = np.empty((0, duals.shape[1]))
    for _ in range(n_vectors):
        anchors, left = np.vstack([vectors, Z]), np.vstack([duals, -B])

        def taken(points: np.ndarray, anchors: Any = anchors, left: Any = left) -> Any:
            return ((similarities(points, anchors) @ left) ** 2).sum(axis=1)

        order = np.argsort(-taken(vectors), kind="stable")
        points = vectors[order[:STARTS]].copy()
        for _ in range(MOST_STEPS):
            similarity = similarities(points, anchors)
            pulls = similarity * ((similarity @ left) @ left.T)
            total = pulls.sum(axis=1, keepdims=True)
            moved = np.where(
                total > 1e-9, pulls @ anchors / np.where(total > 1e-9, total, 1), points
            )
            better = taken(moved) >= taken(points)
            moved[~better] = points[~better]
            if np.abs(moved - points).max() < 1e-6:
                break
            points = moved
        Z = np.vstack([Z, points[int(taken(points).argmax())]])
        K = similarities(Z, Z) + 1e-8 * np.eye(len(Z))
        B = np.linalg.solve(K, similarities(Z, vectors) @ duals)
    return Z, B


class _OnSimilarities(BaseEstimator):
    """Answers are linear in the similarities to few vectors."""

    def _values(self, X: np.ndarray) -> np.ndarray:
        return similarities(np.asarray(X), self.Z_) @ self.B_ + self.intercept_

    def _weights(self, X: np.ndarray, sample_weight: Any) -> np.ndarray:
        u = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        return u / u.sum()


@dataclass(eq=False, repr=False)
class _ChosenByPlaces(_OnSimilarities):
    way: str = "kmedians"
    n_prototypes: int = 10
    lam: float = 1e-4
    random_state: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Ridge regression on the similarities to selected rows."""
        X, Y, u = np.asarray(X), self._targets(y), self._weights(X, sample_weight)
        self.Z_ = X[select_rows(X, self.n_prototypes, self.way, self.random_state)]
        S = similarities(X, self.Z_)
        middle, mean = u @ S, u @ Y
        S = S - middle
        A = (S.T * u) @ S + self.lam * np.eye(len(self.Z_))
        self.B_ = np.linalg.solve(A, (S.T * u) @ (Y - mean))
        self.intercept_ = mean - middle @ self.B_
        return self


class _OfClasses(ClassifierMixin, _OnSimilarities):
    def _targets(self, y: np.ndarray) -> np.ndarray:
        """1 for the class and -1 for the others; one output for two classes."""
        self.classes_ = np.unique(y)
        codes = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return np.where(np.asarray(y)[:, None] == codes, 1.0, -1.0)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class with the highest value."""
        values = self._values(X)
        two = values.shape[1] == 1
        code = (values[:, 0] > 0).astype(int) if two else values.argmax(axis=1)
        return self.classes_[code]


class SelectedClassifier(_OfClasses, _ChosenByPlaces):
    """Classifier on the similarities to training rows, chosen by their places."""


class SelectedRegressor(RegressorMixin, _ChosenByPlaces):
    """Regression on the similarities to training rows, chosen by their places."""

    def _targets(self, y: Any) -> np.ndarray:
        return np.asarray(y, dtype=float)[:, None]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Value of each row."""
        return self._values(X)[:, 0]


@dataclass(eq=False, repr=False)
class FewVectorSVC(_OfClasses):
    """An RBF-SVM, one against the rest, whose decision has few vectors."""

    way: str = "selected"
    n_prototypes: int = 10
    C: float = 1.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FewVectorSVC:
        """Fit an SVM for each output, then their vectors, which they share."""
        OneOf(("selected", "reduced")).check("way", self.way)
        X = np.asarray(X)
        targets = self._targets(y)
        duals, intercepts = np.zeros(targets.shape), []
        for output, labels in enumerate(targets.T):
            svm = SVC(C=self.C, gamma=1.0 / X.shape[1])
            svm.fit(X, labels, sample_weight)
            duals[svm.support_, output] = svm.dual_coef_[0]
            intercepts.append(svm.intercept_[0])
        support = np.flatnonzero(duals.any(axis=1))
        if len(support) > MOST_VECTORS:
            raise SmpcoreError(
                f"The SVM has {len(support):,} support vectors, and at most "
                f"{MOST_VECTORS:,} are reduced; use fewer rows."
            )
        vectors, duals = X[support], duals[support]
        n = min(self.n_prototypes, len(support))
        if self.way == "selected":
            remaining, self.B_ = fewer_vectors(similarities(vectors, vectors), duals, n)
            self.Z_ = vectors[remaining]
        else:
            self.Z_, self.B_ = reduced_vectors(vectors, duals, n)
        self.intercept_ = np.array(intercepts)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Scores: of the second of two classes, or of each class."""
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values
