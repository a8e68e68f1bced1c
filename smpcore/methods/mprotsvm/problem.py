"""What the multi-prototype SVM's estimator hands to its solver, and gets back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from smpcore.errors import SmpcoreError
from smpcore.methods.mprotsvm.landmarks import (
    MOST_SIMILAR,
    ROWS_AT_ONCE,
    Landmarks,
    refuse_values,
)
from smpcore.methods.shared.distinct import sorted_by_projection
from smpcore.methods.shared.gram import make_semidefinite
from smpcore.methods.shared.problem import ClassificationProblem
from smpcore.similarity import Similarity

#: Memory that a Gram matrix may take, in bytes.
MOST_GRAM_BYTES = 500 * 10**6


@dataclass(frozen=True, eq=False)
class SVMProblem(ClassificationProblem):
    """Training rows for the multi-prototype SVM: distinct ones, in a drawn order.

    Equal rows of a class are one row with their weights' sum, and the order depends
    on the rows' values only: a row of weight 3 and three equal rows are the same
    problem, down to the random numbers each row meets.
    """

    #: (n_distinct,): ``C * shares`` is the most dual mass of each row; sum of all
    #: weights
    shares: np.ndarray
    #: (n_samples,): Distinct row that each training row became; -1 for rows of weight 0
    row: np.ndarray
    assignment: np.ndarray  # (n_distinct,): Prototype that each row is tied to at first
    prototype_labels: np.ndarray  # (n_prototypes,): Class of each prototype, ascending
    similarity: Similarity
    #: (n_distinct, n_distinct), or None: None for the linear similarity, whose
    #: prototypes are kept themselves
    gram: np.ndarray | None
    squares: np.ndarray  # (n_distinct,): Similarity of each row to itself; above 0
    chosen: np.ndarray  # (n_distinct,): A training row that is each distinct one
    seed: int  # Of the draws while solving
    #: Without a Gram matrix, for a similarity that is not linear
    landmarks: Landmarks | None = None
    #: (n_distinct, n_landmarks), or None: The rows as the landmarks map them
    mapped: np.ndarray | None = None

    @property
    def linear_rows(self) -> np.ndarray:
        """What scores are linear in, without a Gram matrix; may be sparse."""
        return self.X if self.mapped is None else self.mapped

    @property
    def precomputed(self) -> bool:
        """Whether the features are the similarities to the training rows."""
        return self.gram is not None and self.similarity.kind == "linear"

    def anchors(self, rows: np.ndarray) -> np.ndarray:
        """Points whose similarity to an input is that of distinct rows."""
        if not self.precomputed:
            return self.X[rows]
        picked = np.zeros((len(rows), self.n_features))
        picked[np.arange(len(rows)), self.chosen[rows]] = 1.0
        return picked

    @property
    def starts(self) -> np.ndarray:
        """First prototype of each class, and their number at the end."""
        return np.searchsorted(
            self.prototype_labels, np.arange(self.prototype_labels[-1] + 2)
        )


@dataclass(frozen=True)
class SVMParameters:
    """The objective and the search, as in `MultiPrototypeSVC`."""

    C: float
    temperature: float  # Where annealing starts, in units of C
    cooling: float
    start: str  # {"random", "kmeans"}
    n_init: int  # New starts, at numbers of prototypes that have any


@dataclass(frozen=True, eq=False)
class SVMState:
    """Where a solver ended: the warm start of the next."""

    prototype_labels: np.ndarray  # (n_prototypes,)
    assignment: np.ndarray  # (n_distinct,)
    limits: np.ndarray  # (n_distinct,): Most dual mass of each row
    count: np.ndarray  # (n_distinct,): Length of each row's list
    index: np.ndarray  # (count.sum(),): Rival prototypes, row by row
    value: np.ndarray  # (count.sum(),): Their dual masses
    #: Prototypes that its fit was asked for; fewer may have a lower objective
    n_asked: int = 0

    def fits(self, problem: SVMProblem) -> bool:
        """Whether it is of the same rows, with as many prototypes or fewer."""
        if not isinstance(problem, SVMProblem) or not np.array_equal(
            self.prototype_labels[self.assignment], problem.y_encoded
        ):
            return False
        most = np.bincount(problem.prototype_labels)
        return bool(
            (np.bincount(self.prototype_labels, minlength=len(most)) <= most).all()
        )


def distinct_rows(
    X: np.ndarray, y_encoded: np.ndarray, weights: np.ndarray, random: Any
) -> tuple[np.ndarray, np.ndarray]:
    """One of each set of equal rows of a class, in a drawn order."""
    direction, along = random.normal(size=X.shape[1]), np.zeros(X.shape[0])
    if issparse(X):
        along = X @ direction
    else:  # not by BLAS, whose sums depend on the places of the rows
        for j, step in enumerate(direction):
            along += step * X[:, j]
    order, new = sorted_by_projection(X, along, y_encoded, weights)
    drawn = random.permutation(np.count_nonzero(new))
    row = np.full(X.shape[0], -1)
    row[order] = np.argsort(drawn)[np.cumsum(new) - 1]
    return order[new][drawn], row


def compared_rows(
    X: np.ndarray, similarity: Similarity, columns: np.ndarray | None = None
) -> tuple[np.ndarray | None, np.ndarray]:
    """Similarity of every row to every row, and of each row to itself."""
    if columns is not None:
        gram = _checked_gram(X, columns)
    elif similarity.kind == "linear":
        return None, squared_lengths(X)
    else:
        gram = gram_matrix(X, similarity)
    return gram, np.maximum(gram.diagonal().astype(np.float64), 1e-12)


def fills_memory(n_rows: int) -> bool:
    """Whether a Gram matrix of so many rows is too large."""
    return 4 * n_rows**2 > MOST_GRAM_BYTES


def refuse_oblong(X: np.ndarray) -> None:
    """Refuse similarities of training rows that are not of each to each."""
    if X.shape[0] != X.shape[1]:
        raise SmpcoreError(
            f"X has {X.shape[1]} columns for {X.shape[0]} rows and should have a "
            "column for each row; with kernel='precomputed' X holds the similarity "
            "of every two training rows."
        )


def _checked_gram(X: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Similarities that the user has computed, semidefinite."""
    _refuse_large("precomputed", len(X))
    refuse_values("precomputed", np.abs(X).max())
    gram = X[:, columns]
    make_semidefinite(gram, "X")
    return gram.astype(np.float32, order="C")


def gram_matrix(X: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Similarity of every row to every row."""
    n_rows = len(X)
    _refuse_large(similarity.kind, n_rows)
    gram = np.empty((n_rows, n_rows), dtype=np.float32)
    for first in range(0, n_rows, ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        with np.errstate(over="ignore", invalid="ignore"):
            values = similarity.values(X[part], X)
            top = np.abs(values).max()
        refuse_values(similarity.kind, top)
        gram[part] = values
    return gram


def _refuse_large(kernel: str, n_rows: int) -> None:
    """Refuse a Gram matrix that is too large for memory."""
    if fills_memory(n_rows):
        raise SmpcoreError(
            f"kernel={kernel!r} with {n_rows} different rows takes a matrix "
            f"of {4e-6 * n_rows**2:.0f} MB and should take at most "
            f"{MOST_GRAM_BYTES // 10**6} MB; use landmarks, kernel='linear', or at "
            f"most {int((MOST_GRAM_BYTES / 4) ** 0.5)} rows."
        )


def squared_lengths(X: np.ndarray) -> np.ndarray:
    """Squared length of each row."""
    with np.errstate(over="ignore"):
        if issparse(X):
            squares = X.power(2).sum(axis=1)
        else:
            squares = np.einsum("ij,ij->i", X, X)
    if not squares.max() <= MOST_SIMILAR:
        raise SmpcoreError(
            f"X holds rows of length {squares.max() ** 0.5:.3g} and should hold none "
            f"beyond {MOST_SIMILAR**0.5:g}; use standardize=True or divide large "
            "columns by a power of ten."
        )
    return squares


def support_rows(
    problem: SVMProblem, final: SVMState, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with dual mass, and their signed mass on the prototypes that are kept."""
    heavy = np.flatnonzero(final.count)
    mixing = np.zeros((len(heavy), len(final.prototype_labels)))
    row = np.repeat(np.arange(len(heavy)), final.count[heavy])
    np.subtract.at(mixing, (row, final.index), final.value)
    mass = np.bincount(row, final.value, len(heavy))
    mixing[np.arange(len(heavy)), final.assignment[heavy]] += mass
    return heavy, np.ascontiguousarray(mixing[:, kept])


def best_of_class(
    problem: SVMProblem, prototype_labels: np.ndarray, alive: np.ndarray
) -> np.ndarray:
    """Best prototype of its own class for each row."""
    best = np.empty(len(problem.y_encoded), dtype=np.int64)
    for code in range(len(problem.classes)):
        rows = np.flatnonzero(problem.y_encoded == code)
        own = np.flatnonzero(prototype_labels == code)
        if problem.gram is None:
            scores = problem.linear_rows[rows] @ alive[own].T
        else:
            scores = alive[np.ix_(own, rows)].T
        best[rows] = own[scores.argmax(axis=1)]
    return best
