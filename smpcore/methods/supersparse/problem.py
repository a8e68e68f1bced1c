"""What the super-sparse estimators hand to their kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from smpcore.methods.shared.problem import (
    ClassificationProblem,
    RegressionProblem,
    SolverOptions,
)
from smpcore.methods.shared.recorded import recorded_places
from smpcore.methods.supersparse import kernel as solvers
from smpcore.methods.supersparse.rows import Rows
from smpcore.similarity import SIMILARITIES, SMOOTH, Similarity
from smpcore.solvers import similarity as forms
from smpcore.solvers.coefficients import LEAST_PIVOT, fit_coefficients

#: Errors that cost nothing, where errors are squared: as the kernels want it.
SQUARED = -1.0


@dataclass(frozen=True, eq=False)
class SuperSparseProblem(ClassificationProblem):
    """Training rows for super-sparse classification."""

    rows: Rows  # With the labels as targets
    mass: float  # Sum of the sample weights: what the rows weigh for a teacher


@dataclass(frozen=True, eq=False)
class SuperSparseRegression(RegressionProblem):
    """Training rows for super-sparse regression; see `SuperSparseProblem`."""

    rows: Rows
    mass: float


AnyProblem = SuperSparseProblem | SuperSparseRegression


@dataclass(frozen=True, eq=False)
class SuperSparseState:
    """Where a solver ended: the warm start of the next."""

    Z: np.ndarray  # (n_prototypes, n_features), scaled units

    def fits(self, problem: AnyProblem) -> bool:
        """Whether it has the features of this problem."""
        return self.Z.shape[1] == problem.rows.cases.shape[1]


@dataclass(frozen=True, eq=False)
class Objective:
    """What is minimised: errors of sums of similarities, and a ridge."""

    rows: Rows
    similarity: Similarity
    lam: float  # Ridge on the coefficients
    #: Errors of one output that cost nothing, larger ones by their size; SQUARED:
    #: errors are squared
    free: float = SQUARED

    @property
    def sample(self) -> Objective:
        """The same objective of rows on which steps cost little: here of all."""
        return self

    def condensed(self, Z: np.ndarray) -> Objective:
        """The same objective of any of these prototypes, of few rows if it can be."""
        return self

    @cached_property
    def kernel(self) -> tuple[int, float, int, float]:
        """A similarity with a gradient as its kernels want it."""
        return (
            SIMILARITIES[self.similarity.kind].kernel,
            float(self.similarity.gamma),
            int(self.similarity.degree),
            float(self.similarity.coef0),
        )

    def similarities(self, Z: np.ndarray) -> np.ndarray:
        """Similarity of each row to each prototype, (n_samples, n_prototypes)."""
        return self.similarity.values(self.rows.cases, Z)

    def refit(self, S: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Best coefficients for any similarities."""
        if self.free != SQUARED:
            return refit_insensitive(S, self)
        u, targets = self.rows.weights, self.rows.Y
        A, means, S_centred = normal_matrix(S, u, self.lam)
        middle = targets @ u
        Y = targets.T - middle
        B = np.linalg.solve(A, S_centred.T @ (u[:, None] * Y))
        residuals = S_centred @ B - Y
        F = float(u @ (residuals**2).sum(axis=1) + self.lam * (B**2).sum())
        return F, B, middle - means @ B, residuals

    def coefficients(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Best coefficients of prototypes, as their solver computes them."""
        if self.rows.constant:
            return np.zeros((len(Z), len(self.rows.Y))), np.zeros(len(self.rows.Y))
        if self.similarity.kind in SMOOTH:
            return evaluate(self, Z)[2:]
        return self.refit(self.similarities(Z))[1:3]

    def solve(self, Z: np.ndarray, box: Box, options: SolverOptions) -> Solution:
        """Call the kernel."""
        rows, similarity = self.rows, self.similarity
        S, D, W = np.empty((3, len(Z), len(rows.X)))
        is_rbf = similarity.kind == "rbf"
        first = 1.0 / math.sqrt(similarity.gamma) if is_rbf else rows.spread
        Z = np.array(Z, dtype=np.float64, order="C")
        limits, history = options.for_kernel(Z)
        Z, B, intercept, *rest = solvers.solve_supersparse(
            *self.kernel, rows.X, rows.sizes, rows.Y, rows.weights,
            float(self.lam), self.free, Z, box.low, box.high, box.radius, first,
            S, D, W, S.reshape(-1).view(np.int64), *limits, history[-1],
        )  # fmt: skip
        places = ()
        if options.record:
            places = recorded_places(options, rest[1], len(rest[-1]))
        return Solution(Z, np.ascontiguousarray(B.T), intercept, *rest, places)


@dataclass(frozen=True, eq=False)
class Box:
    """Where prototypes may be."""

    low: np.ndarray  # (n_features,), scaled units
    high: np.ndarray  # (n_features,), scaled units
    radius: float = 0.0  # Of the ball around 0 that they stay in; 0 for none


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver returned."""

    Z: np.ndarray  # (n_prototypes, n_features)
    #: (n_prototypes, n_outputs): Coefficients, in the targets' standard units
    B: np.ndarray
    intercept: np.ndarray  # (n_outputs,)
    status: int
    n_iter: int
    objective: np.ndarray  # (n_iter + 1,)
    #: (n_prototypes, n_features): Recorded Z, the last one included
    steps: Sequence[np.ndarray] = ()
    #: (n_recorded,): Entry of `objective` that belongs to each
    places: np.ndarray | Sequence[int] = ()
    pairs: Any = None  # What the solver by blocks knows of curvature


def evaluate(
    objective: Objective, Z: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """F and its gradient at Z, for similarities that have one."""
    rows, lam = objective.rows, objective.lam
    Z = np.array(Z, dtype=np.float64, order="C")
    (m, n), c = (len(Z), len(rows.X)), len(rows.Y)
    S, D, W = np.empty((3, m, n))
    sz, B, b, G = np.empty(m), np.zeros((c, m)), np.zeros(c), np.empty(Z.shape)
    R, A = np.empty((c, n)), np.empty((m, m))
    call = objective.kernel
    bits = S.reshape(-1).view(np.int64)
    forms.write_values(*call, rows.X, rows.sizes, Z, sz, S, D, bits)
    loss = rows.Y, rows.weights, float(lam), objective.free
    F = fit_coefficients(S, *loss, B, b, R, W, A)
    forms.pull_back(call[0], rows.X, Z, sz, S, D, W, G)
    return F, G, np.ascontiguousarray(B.T), b


def refit_insensitive(
    S: np.ndarray, objective: Objective
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """As `Objective.refit`, where errors up to epsilon cost nothing."""
    rows, (n, m) = objective.rows, S.shape
    B, b, R = np.zeros((1, m)), np.zeros(1), np.empty((1, n))
    loss = rows.Y, rows.weights, float(objective.lam), objective.free
    S = np.array(S.T, order="C")
    F = fit_coefficients(S, *loss, B, b, R, np.empty((m, n)), np.empty((m, m)))
    return F, np.ascontiguousarray(B.T), b, (R / (2.0 * rows.weights)).T


def normal_matrix(
    S: np.ndarray, weights: np.ndarray, lam: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrix of the equations for the coefficients, intercept eliminated."""
    means = weights @ S
    S_centred = S - means
    A = S_centred.T @ (weights[:, None] * S_centred)
    floor = LEAST_PIVOT * np.trace(A) / len(A) + 1e-300
    A[np.diag_indices(len(A))] += max(lam, floor)
    return A, means, S_centred
