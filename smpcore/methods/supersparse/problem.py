"""What a super-sparse fit minimises, over which rows, and what it leaves out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.spatial.distance import cdist

from smpcore.errors import SmpcoreError, caution
from smpcore.methods.shared.problem import (
    ClassificationProblem,
    Recorder,
    RegressionProblem,
    SolverOptions,
    recorded_places,
)
from smpcore.methods.shared.row_blocks import ScaledRows, row_blocks
from smpcore.methods.shared.scaling import gamma_range
from smpcore.methods.shared.starts import MOST_ROWS, count_distinct
from smpcore.methods.supersparse.kernel import Box, solve_supersparse
from smpcore.model import History, PrototypeModel
from smpcore.similarity import SIMILARITIES, SMOOTH, Similarity
from smpcore.solvers import similarity as forms
from smpcore.solvers.coefficients import LEAST_PIVOT, Fit, Loss, fit_coefficients
from smpcore.solvers.iterations import CONVERGED, ITERATION_LIMIT, STOPPED
from smpcore.solvers.similarity_kind import DEVIATION, LENGTH, SHORTEST, TOTAL

#: Rows that say how near each other rows usually are, at most.
NEAR_ROWS = 1000
#: Share of the rows that have another one at most so far away.
NEAR_SHARE = 0.95


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows and targets as the kernels want them."""

    cases: np.ndarray  # (n_samples, n_features): In scaled units
    #: (n_samples, n_features): The same, or their directions at length 1
    X: np.ndarray
    #: (n_samples,): Squared lengths of the rows, or sums if none may be negative
    sizes: np.ndarray
    #: (n_outputs, n_samples): Targets in standard units: ``(y - middle) / unit``
    Y: np.ndarray
    weights: np.ndarray  # (n_samples,)
    middle: np.ndarray  # (n_outputs,)
    unit: float  # Root of the mean variance of the outputs; 1 if they are constant
    spread: float  # Root of the sum of the features' variances
    #: (n_cases, n_features): Cases among which there are enough different ones: all
    #: that are in memory
    pool: np.ndarray
    #: Of rows that are read in blocks: the first of each set of equal ones, as
    #: `joined_rows` gives them, and the weight of the set. None: all differ
    joined: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def n_distinct(self) -> int:
        """Rows that differ, in features or target."""
        return len(self.weights if self.joined is None else self.joined[0])

    def distinct(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Some of the rows that differ."""
        if self.joined is None:
            return self.cases[places], self.Y.T[places], self.weights[places]
        first = self.joined[0][places]
        cases = rows_in_any_order(self.cases, first)
        return cases, self.Y[:, first].T, self.joined[1][places]

    def sampled(self, n_rows: int) -> Rows:
        """Draw rows that differ into memory, about as many of each class.

        A class weighs what it weighs here; of numbers to predict, those above and
        below the mean are the classes.
        """
        random = np.random.default_rng(0)
        classes = self.Y[0] > 0.0 if len(self.Y) == 1 else self.Y.argmax(axis=0)
        classes = classes[self.joined[0]]
        chosen, masses = [], []
        codes = np.unique(classes)
        for code in codes:
            places = np.flatnonzero(classes == code)
            mass, most = self.joined[1][places].sum(), n_rows // len(codes)
            if len(places) > most:
                places = places[random.choice(len(places), most, replace=False)]
            masses.append(self.joined[1][places])
            masses[-1] *= mass / masses[-1].sum()
            chosen.append(places)
        cases, targets, _ = self.distinct(np.concatenate(chosen))
        weights, Y = np.concatenate(masses), np.ascontiguousarray(targets.T)
        weights /= weights.sum()
        return replace(self, cases=cases, X=cases, Y=Y, weights=weights, joined=None)

    @property
    def constant(self) -> bool:
        """Whether there is nothing to learn."""
        return not self.Y.any()


def rows_in_any_order(X: Any, places: np.ndarray) -> np.ndarray:
    """Read rows by their numbers, which need not ascend."""
    order = np.argsort(places, kind="stable")
    rows = np.empty((len(places), X.shape[1]))
    rows[order] = X[places[order]]
    return rows


def rows_in_blocks(
    cases: ScaledRows,
    targets: tuple[np.ndarray, np.ndarray],
    weights: np.ndarray,
    joined: tuple[np.ndarray, np.ndarray],
) -> Rows:
    """As `standard_rows`, of standardised rows that stay where they are."""
    values, places = targets
    totals = np.bincount(places, weights, len(values))
    Y, *units = standard_targets(values, totals)
    Y = np.take(Y, places, axis=1)
    means, square = np.zeros(cases.shape[1]), 0.0
    for part, block in row_blocks(cases):
        means += weights[part] @ block
        square += weights[part] @ np.einsum("ij,ij->i", block, block)
    spread = math.sqrt(max(square - means @ means, 0.0)) or 1.0
    pool = rows_in_any_order(cases, joined[0][:MOST_ROWS])
    return Rows(cases, cases, np.empty(0), Y, weights, *units, spread, pool, joined)


def standard_targets(
    targets: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Bring targets to mean 0 and a mean variance of 1."""
    middle = weights @ targets
    centred = targets - middle
    unit = math.sqrt((weights @ centred**2).mean())
    if unit <= 1e-14 * np.abs(targets).max():
        centred, unit = np.zeros_like(centred), 1.0
    return np.ascontiguousarray((centred / unit).T), middle, unit


def standard_rows(
    X: np.ndarray, targets: np.ndarray, weights: np.ndarray, kind: str
) -> Rows:
    """Bring rows and targets into the form that the kernels want."""
    row = SIMILARITIES[kind]
    if X.min() < row.least:
        raise SmpcoreError(
            f"X holds {X.min():.3g} and should not be negative for "
            f"similarity={kind!r}; shift the columns or choose another similarity."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        spread = math.sqrt(weights @ ((X - weights @ X) ** 2).sum(axis=1))
        total = row.measure == TOTAL
        sizes = X.sum(axis=1) if total else np.einsum("ij,ij->i", X, X)
    if not (np.isfinite(sizes).all() and math.isfinite(spread)):
        raise SmpcoreError(
            f"X holds values as large as {np.abs(X).max():.3g}, too large for a "
            "similarity; use standardize=True or divide such columns."
        )
    cases = X
    if row.measure in (LENGTH, DEVIATION):
        if row.measure == DEVIATION:
            X = X - X.mean(axis=1, keepdims=True)
        length = np.linalg.norm(X, axis=1, keepdims=True)
        X = X / np.where(length > SHORTEST, length, 1.0)
    Y, middle, unit = standard_targets(targets, weights)
    spread = spread if spread > 0 else 1.0
    return Rows(cases, X, sizes, Y, weights, middle, unit, spread, cases)


#: Rows -> some of them, and within which distance most have a neighbour; kept, as each
#: fit needs it.
_nearness: WeakKeyDictionary[Rows, tuple[np.ndarray, float]] = WeakKeyDictionary()


def off_the_data(rows: Rows, Z: np.ndarray) -> np.ndarray:
    """Tell which cases lie farther from the rows than these from each other."""
    if rows not in _nearness:
        chosen = np.random.default_rng(0).permutation(rows.n_distinct)[:NEAR_ROWS]
        some = rows.distinct(chosen)[0]
        distances = cdist(some, some)
        np.fill_diagonal(distances, np.inf)
        nearest = distances.min(axis=1)
        limit = np.quantile(nearest, NEAR_SHARE) if len(some) > 1 else np.inf
        _nearness[rows] = some, float(limit)
    some, limit = _nearness[rows]
    return cdist(Z, some).min(axis=1) > limit


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


def similarity_model(
    problem: AnyProblem,
    anchors: np.ndarray,
    outputs: tuple[np.ndarray, np.ndarray],
    history: History,
    **parts: Any,
) -> PrototypeModel:
    """A sum of similarities as a model; of two classes each gets half of the output."""
    votes, intercept = outputs
    if problem.classes is not None and len(problem.classes) == 2:
        votes, intercept = votes * [-0.5, 0.5], intercept * [-0.5, 0.5]
    sums = {"pooling": "sum", "kind_of_prototype": "invented case"}
    return problem.model(anchors, votes, history, intercept=intercept, **(sums | parts))


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
    def form(self) -> forms.Form:
        """A similarity with a gradient as its kernels want it."""
        similarity = self.similarity
        numbers = similarity.gamma, similarity.degree, similarity.coef0
        return forms.form_of(similarity.kind, *numbers)

    @cached_property
    def loss(self) -> Loss:
        """Targets and errors as the kernels want them."""
        return Loss(self.rows.Y, self.rows.weights, float(self.lam), float(self.free))

    @cached_property
    def reach(self) -> float:
        """Unit of the first step's length."""
        reach = SIMILARITIES[self.similarity.kind].reach
        return reach(self.similarity.gamma) if reach else self.rows.spread

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
        Z = np.array(Z, dtype=np.float64, order="C")
        limits, history = options.for_kernel(Z)
        inputs = self.form, self.rows.X, self.rows.sizes, self.loss
        room = limits, history[-1]
        solved = solve_supersparse(*inputs, Z, box, float(self.reach), *room)
        Z, B, intercept, *rest = solved
        places = ()
        if options.record:
            places = recorded_places(options, rest[1], len(rest[-1]))
        return Solution(Z, np.ascontiguousarray(B.T), intercept, *rest, places)


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
    form, rows = objective.form, objective.rows
    Z = np.array(Z, dtype=np.float64, order="C")
    S, D = np.empty((2, len(Z), len(rows.X)))
    sz, G = np.empty(len(Z)), np.empty(Z.shape)
    forms.write_values(form, rows.X, rows.sizes, Z, sz, S, D)
    F, fit = _fitted(S, objective.loss)
    forms.pull_back(form, rows.X, Z, sz, S, D, fit.W, G)
    return F, G, np.ascontiguousarray(fit.B.T), fit.b


def _fitted(S: np.ndarray, loss: Loss) -> tuple[float, Fit]:
    """F and the best coefficients of similarities, a row for each prototype."""
    (m, n), c = S.shape, len(loss.Y)
    room = np.empty((c, n)), np.empty((m, n)), np.empty((m, m))
    fit = Fit(np.zeros((c, m)), np.zeros(c), *room)
    return fit_coefficients(S, loss, fit), fit


def refit_insensitive(
    S: np.ndarray, objective: Objective
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """As `Objective.refit`, where errors up to epsilon cost nothing."""
    F, fit = _fitted(np.array(S.T, order="C"), objective.loss)
    errors = (fit.R / (2.0 * objective.rows.weights)).T
    return F, np.ascontiguousarray(fit.B.T), fit.b, errors


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


class StepLog:
    """Objective after each step, and every so-many-th position of the prototypes."""

    def __init__(self, F: float, Z: np.ndarray, options: SolverOptions) -> None:
        self.values, self.options = [F], options
        self.recorder = Recorder(options.record)
        self._record(Z)

    def _record(self, Z: np.ndarray, last: bool = False) -> None:
        at = len(self.values) - 1
        self.recorder.add(at, lambda: np.array(Z, dtype=np.float64), last)

    def add(self, F: float, Z: np.ndarray, n_steps: int, done: bool = False) -> int:
        """Add a step and return the status; there are `n_steps` of them at most."""
        self.options.progress[0] = len(self.values) / n_steps
        self.values.append(F)
        self._record(Z)
        if self.options.stopped:
            return STOPPED
        return CONVERGED if done else ITERATION_LIMIT

    def solution(
        self,
        objective: Objective,
        Z: np.ndarray,
        status: int,
        coefficients: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> Solution:
        """The whole as what a compiled solver returns; None: the best coefficients."""
        self.options.progress[0] = 1.0
        self._record(Z, last=True)
        values = np.array(self.values)
        return Solution(
            Z,
            *(coefficients or objective.coefficients(Z)),
            status,
            len(values) - 1,
            values,
            self.recorder.states,
            np.array(self.recorder.places, dtype=np.int64),
        )


#: gamma of strings: how much one edit counts.
STRING_GAMMA = 0.3

#: Most prototypes that a slider offers.
MOST_PROTOTYPES = 40


def slider_ranges(rows: Rows, kind: str) -> dict[str, tuple[float, float]]:
    """Useful ranges of `n_prototypes`, `gamma` and `lam` for these rows."""
    return {
        "n_prototypes": (1, count_distinct(rows.pool, MOST_PROTOTYPES)),
        "gamma": gamma_range(natural_gamma(rows, kind)),
        "lam": (1e-6, 0.1),
    }


def natural_gamma(rows: Rows, kind: str) -> float:
    """Give the gamma that suits the spread of the rows; 1 / features if
    standardised.
    """
    if kind == "strings":
        return STRING_GAMMA
    if kind == "callable":
        return 1.0  # it is not asked for
    if SIMILARITIES[kind].power == 1:
        return 1.0 / (rows.spread * math.sqrt(rows.cases.shape[1]))
    return 1.0 / rows.spread**2


def clipped_count(rows: Rows, requested: int) -> int:
    """Clip the number of prototypes to the distinct rows; warn if that changes it."""
    distinct = count_distinct(rows.pool, requested)
    if distinct < requested:
        caution(
            f"n_prototypes={requested} is more than the {distinct} distinct rows; "
            f"{distinct} are used."
        )
    return distinct


def scaled_box(box: Any, kind: str, center: np.ndarray, scale: np.ndarray) -> Box:
    """Where prototypes may be: a box given in the user's units, or the method's own.

    Without a box those of products stay in the unit ball, because longer prototypes
    make the ridge on their coefficients void.
    """
    low, high = np.full(len(center), -np.inf), np.full(len(center), np.inf)
    if box is not None:
        try:
            bounds = [np.asarray(end, dtype=np.float64) for end in box]
            low, high = (np.broadcast_to(end, center.shape).copy() for end in bounds)
        except (TypeError, ValueError):
            low, high = np.full((2, len(center)), np.nan)
        if not (low < high).all():
            raise SmpcoreError(
                f"box={box!r} should be (low, high) with low below high, two numbers "
                "or one pair for each feature; change box."
            )
    row = SIMILARITIES[kind]
    low, high = np.maximum(low, row.least), np.maximum(high, row.least)
    radius = 1.0 if row.in_ball and box is None else 0.0
    return Box((low - center) / scale, (high - center) / scale, radius)


#: Ways to leave prototypes out.
REMOVALS = ("rise", "coefficient")

#: Mean similarity below which a prototype is dead: nothing is like it.
DEAD = 1e-6

#: A prototype is idle if its loss costs less than this share of the median cost.
IDLE = 0.05


def without_dead(objective: Objective, Z: np.ndarray) -> np.ndarray:
    """Leave out prototypes that no row is like."""
    if not SIMILARITIES[objective.similarity.kind].vanishes or not len(Z):
        return Z
    return Z[objective.rows.weights @ objective.similarities(Z) >= DEAD]


def without_idle(objective: Objective, Z: np.ndarray) -> np.ndarray:
    """Leave out the cheapest prototype if it does next to nothing beside the others."""
    costs = removal_increases(objective, Z)
    if costs.min() >= IDLE * np.median(costs):
        return Z
    return np.delete(Z, costs.argmin(), axis=0)


def kept_columns(
    objective: Objective, S: np.ndarray, n_kept: int, removal: str = "rise"
) -> np.ndarray:
    """Drop prototypes until so many remain."""
    remaining = np.arange(S.shape[1])
    if removal == "coefficient":
        sizes = np.linalg.norm(objective.refit(S)[1], axis=1)
        return np.sort(np.argsort(-sizes, kind="stable")[:n_kept])
    if objective.free != SQUARED:
        while len(remaining) > n_kept:
            costs = _costs_by_refits(objective, S[:, remaining])
            remaining = np.delete(remaining, costs.argmin())
        return remaining
    A, C = _equations(objective, S)
    while len(remaining) > n_kept:
        costs = column_costs(A[np.ix_(remaining, remaining)], C[remaining])
        remaining = np.delete(remaining, costs.argmin())
    return remaining


def removal_increases(objective: Objective, Z: np.ndarray) -> np.ndarray:
    """Exact rise of the objective when one of these prototypes is left out."""
    S = objective.similarities(Z)
    if objective.free != SQUARED:
        return _costs_by_refits(objective, S)
    return column_costs(*_equations(objective, S))


def _equations(objective: Objective, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Matrix and right side of the equations for the coefficients."""
    rows = objective.rows
    A, _, S_centred = normal_matrix(S, rows.weights, objective.lam)
    return A, S_centred.T @ (rows.weights[:, None] * rows.Y.T)


def _costs_by_refits(objective: Objective, S: np.ndarray) -> np.ndarray:
    """As `column_costs`, for a loss without equations: by as many fits."""
    columns = range(S.shape[1])
    left = [objective.refit(np.delete(S, j, axis=1))[0] for j in columns]
    return np.array(left) - objective.refit(S)[0]


def column_costs(A: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Exact rise of the objective when a column is left out and the others refitted."""
    inverse = np.linalg.inv(A)
    return ((inverse @ C) ** 2).sum(axis=1) / np.diag(inverse)
