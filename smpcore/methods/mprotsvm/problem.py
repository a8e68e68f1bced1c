"""Training rows of the multi-prototype SVM, and what its solvers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from smpcore.errors import SmpcoreError, caution
from smpcore.methods.shared.dask_rows import dask_sample, is_dask
from smpcore.methods.shared.distinct import joined_along
from smpcore.methods.shared.gram import make_semidefinite
from smpcore.methods.shared.linear import class_totals
from smpcore.methods.shared.problem import (
    ClassificationProblem,
    Fitted,
    Problem,
    Recorder,
    SolverOptions,
    spread_trace,
)
from smpcore.methods.shared.starts import (
    cluster_rows,
    kmeans_centers,
    warn_if_fewer,
)
from smpcore.model import History, PrototypeModel
from smpcore.similarity import Similarity
from smpcore.solvers.iterations import CONVERGED, ITERATION_LIMIT, STOPPED

#: Similarities beyond this leave no digits for the margin of 1.
MOST_SIMILAR = 1e12

#: Rows whose similarities are computed at once.
ROWS_AT_ONCE = 2048

#: Landmarks where no number is asked for.
N_LANDMARKS = 500

#: A landmark is left out if others make up all of it but this part; where rows are
#: mapped by themselves, only if rounding is all that is left of it.
SAME, ROUNDING = 1e-8, 1e-13

#: Rows up to which it pays to map them by themselves, in twice as many columns or more.
MOST_SPANNED = 1000

#: Rows for each landmark that are clustered, and steps of k-means.
CLUSTERED, MOST_STEPS = 20, 10

#: Memory that mapped rows may take, in bytes.
MOST_MAP_BYTES = 2**31


def refuse_values(kernel: str, top: float) -> None:
    """Refuse similarities that leave no digits for the margin."""
    if not top <= MOST_SIMILAR:
        remedy = "lower degree, gamma or coef0, or use standardize=True."
        if kernel == "precomputed":
            remedy = "divide X, to fit and to predict, by a power of ten."
        raise SmpcoreError(
            f"kernel={kernel!r} gives values as large as {top:.3g} and "
            f"should give at most {MOST_SIMILAR:g}; {remedy}"
        )


def _values(similarity: Similarity, X: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        values = similarity.values(X, anchors)
        top = np.abs(values).max()
    refuse_values(similarity.kind, top)
    return values


class Landmarks(NamedTuple):
    """An explicit map of many rows for a kernel: similarities to a few training rows.

    Nyström's approximation: with k the similarities to the landmarks and L the Cholesky
    factor of those among them, ``phi(x) = inv(L) k(x)``, and ``phi(x) . phi(z)`` is the
    kernel itself where x is a landmark. A prototype M of the mapped rows is the mix
    ``inv(L).T M`` of landmarks, whose norm and scores under the kernel are those of M:
    its objective is that of a model of the kernel. Pivots leave out landmarks that
    others are as good as: under a smooth kernel most are.
    """

    points: np.ndarray  # (n_landmarks, n_features), scaled units
    #: (n_landmarks, n_landmarks): Turns the similarities into the map: the inverse of
    #: the Cholesky factor
    root: np.ndarray

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        weights: np.ndarray,
        similarity: Similarity,
        count: int | None,
        random: Any,
    ) -> Self:
        """The rows nearest to the centres of k-means, less those that others make
        up.
        """
        from sklearn.metrics import pairwise_distances_argmin

        count, some = min(count or N_LANDMARKS, len(X)), np.arange(len(X))
        if len(X) > CLUSTERED * count:
            some = random.choice(len(X), CLUSTERED * count, replace=False)
        points = np.unique(X[some], axis=0)
        if len(points) > count:
            rows, limits = X[some], {"max_iter": MOST_STEPS, "tol": 1e-12}
            centres = kmeans_centers(
                rows.copy(), weights[some], count, random, **limits
            )
            points = rows[np.unique(pairwise_distances_argmin(centres, rows))]
        return cls.spanned_by(points, similarity, SAME)[0]

    @classmethod
    def spanned_by(
        cls, points: np.ndarray, similarity: Similarity, same: float
    ) -> tuple[Self, np.ndarray]:
        """The points that no others make up all of but this part; the map of all."""
        gram = _values(similarity, points, points)
        # Of length 1 each: beside a far one others would seem to be made up.
        lengths = np.sqrt(gram.diagonal())
        lengths[lengths == 0] = 1.0
        gram /= lengths * lengths[:, None]
        factor, order, rank, _ = dpstrf(gram, tol=same, lower=1)
        if not rank:  # every row is like nothing, not even like itself
            return cls(points[:1], np.zeros((1, 1))), np.zeros((len(points), 1))
        pivots, factor = order[:rank] - 1, np.tril(factor)[:, :rank]
        scale = np.diag(1.0 / lengths[pivots])
        root = solve_triangular(factor[:rank], scale, lower=True)
        rows = np.empty((len(points), rank))
        rows[order - 1] = lengths[order - 1, None] * factor
        return cls(points[pivots], np.ascontiguousarray(root)), rows

    def mixed(self, prototypes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Prototypes of mapped rows as mixes of landmarks."""
        return self.points, self.root.T @ prototypes

    def mapped(self, X: np.ndarray, similarity: Similarity) -> np.ndarray:
        """Map rows."""
        needed = 8 * len(X) * len(self.points)
        if needed > MOST_MAP_BYTES:
            raise SmpcoreError(
                f"landmarks={len(self.points)} with {len(X)} different rows take "
                f"{needed / 2**30:.3g} GiB and should take at most "
                f"{MOST_MAP_BYTES / 2**30:g}; use fewer landmarks or rows."
            )
        rows = np.empty((len(X), len(self.points)))
        for first in range(0, len(X), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            rows[part] = _values(similarity, X[part], self.points) @ self.root.T
        return rows


@dataclass(frozen=True)
class Certificate:
    """Objective at some prototypes and how far it can be from the best."""

    objective: float  # Of the rows as assigned
    free: float  # If every row took its best prototype
    gap: float  # `objective` minus the dual's bound


class Monitor:
    """Collects the certificates of a fit and reports its progress."""

    def __init__(self, options: SolverOptions, span: tuple[float, float]) -> None:
        self.options, self.span = options, span
        self.rows: list[tuple[float, float, float]] = []
        self.recorder = Recorder(options.record)
        self.phases: list[tuple[float, str]] = []

    def begin(self, phase: str, n_sweeps: int) -> None:
        """Begin a phase of the fit after so many sweeps."""
        self.phases.append((float(n_sweeps), phase))

    def add(
        self,
        certificate: Certificate,
        n_sweeps: int,
        state: Callable[[], Any],
        last: bool = False,
    ) -> None:
        """Add a certificate to the history."""
        if self.recorder.every:
            self.recorder.add(len(self.rows), state, last)
        self.rows.append((n_sweeps, certificate.objective, certificate.gap))
        share = certificate.gap / max(certificate.objective, 1e-300)
        if 0.0 < share < 1.0:
            far = np.log(share) / np.log(min(self.options.tol, 0.99))
            far = self.span[0] + self.span[1] * min(far, 0.99)
            self.options.progress[0] = max(self.options.progress[0], far)

    def history(
        self,
        finished: bool,
        n_iter: int,
        problem: Problem,
        build: Callable[[Any, History], Fitted],
    ) -> History:
        """All certificates as a history, how the fit ended, and the recorded states."""
        states, places = self.recorder.states, self.recorder.places
        iteration, objective, gap = np.array(self.rows, dtype=np.float64).T
        status = CONVERGED if finished else ITERATION_LIMIT
        return History(
            iteration=iteration,
            objective=objective,
            gap=gap,
            steps=spread_trace(problem, states, places, build, "best assignments"),
            status=STOPPED if self.options.stopped else status,
            n_iter=n_iter,
            seconds=self.options.seconds,
            phases=tuple(self.phases),
        )


#: Rows side by side in memory that a sweep visits one after the other. The problem's
#: rows are in a drawn order: a sweep draws no more than the order of such stretches.
STRETCH = 8

#: Orders of the rows that sweeps take in turns, and numbers that they may fill.
ORDERS, MOST_NUMBERS = 16, 2_000_000

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
    orders: np.ndarray  # (n_orders, n_distinct): Orders that sweeps take in turns
    #: Without a Gram matrix, for a similarity that is not linear; or the rows
    #: themselves, where they have so many columns that this map is shorter, and exact
    landmarks: Landmarks | None = None
    #: (n_distinct, n_landmarks), or None: The rows as the landmarks map them
    mapped: np.ndarray | None = None

    @property
    def linear_rows(self) -> np.ndarray:
        """What scores are linear in, without a Gram matrix; may be sparse."""
        return self.X if self.mapped is None else self.mapped

    @property
    def is_plain(self) -> bool:
        """Whether the model is linear in the features."""
        return self.gram is None and self.similarity.kind == "linear"

    @property
    def precomputed(self) -> bool:
        """Whether the features are the similarities to the training rows."""
        return self.gram is not None and self.similarity.kind == "linear"

    def mixed_model(
        self,
        anchors: np.ndarray,
        mixing: np.ndarray,
        prototype_labels: np.ndarray,
        history: History,
    ) -> PrototypeModel:
        """Wrap prototypes that are mixes of cases."""
        return self.model(
            anchors,
            self.class_votes(prototype_labels),
            history,
            np.ascontiguousarray(mixing),
            similarity=self.similarity,
            kind_of_prototype="mix of real cases",
        )

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
    first, _, place = joined_along(X, along, y_encoded, weights)
    drawn = random.permutation(len(first))
    return first[drawn], np.append(np.argsort(drawn), -1)[place]


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
        gram[part] = _values(similarity, X[part], X)
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
    problem: SVMProblem, final: SVMState, used: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with dual mass, and their signed mass on the prototypes that are kept."""
    heavy = np.flatnonzero(final.count)
    mixing = np.zeros((len(heavy), len(final.prototype_labels)))
    row = np.repeat(np.arange(len(heavy)), final.count[heavy])
    np.subtract.at(mixing, (row, final.index), final.value)
    mass = np.bincount(row, final.value, len(heavy))
    mixing[np.arange(len(heavy)), final.assignment[heavy]] += mass
    return heavy, mixing[:, used]


def best_of_class(
    scores: np.ndarray, y_encoded: np.ndarray, prototype_labels: np.ndarray
) -> np.ndarray:
    """Best prototype of its own class for each row."""
    other = prototype_labels != y_encoded[:, None]
    return np.where(other, -np.inf, scores).argmax(axis=1)


#: Rows that are drawn, and the fewest of a class that has them.
DRAWN, FEWEST = 100_000, 1000


def in_memory_problem(
    estimator: Any,
    entries: dict[str, Any],
    total: float,
    similarity: Similarity,
    random: np.random.RandomState,
) -> SVMProblem:
    """Tie each distinct row to a prototype, and compare them all with a kernel."""
    chosen, row = distinct_rows(
        entries["X"], entries["y_encoded"], entries["weights"], random
    )
    weights = np.bincount(row[row >= 0], entries["weights"][row >= 0])
    rows, labels = entries["X"][chosen], entries["y_encoded"]
    rows = rows if issparse(rows) else np.ascontiguousarray(rows)
    entries = entries | {"X": rows, "y_encoded": labels[chosen], "weights": weights}
    columns = chosen if estimator.kernel == "precomputed" else None
    spanned = _landmarks(estimator, rows, weights, similarity)
    seed = int(random.randint(2**31 - 1))
    assignment, prototype_labels = drawn_start(
        rows, labels[chosen], weights, estimator.n_prototypes, estimator.start, seed
    )
    landmarks, mapped = spanned or (None, None)
    if mapped is None:
        gram, squares = compared_rows(rows, similarity, columns)
    else:
        gram, squares = None, np.maximum(squared_lengths(mapped), 1e-12)
    warn_if_fewer(estimator.n_prototypes, prototype_labels, entries["classes"])
    return SVMProblem(
        **entries,
        shares=total * weights,
        row=row,
        assignment=assignment,
        prototype_labels=prototype_labels,
        similarity=similarity,
        landmarks=landmarks,
        mapped=mapped,
        gram=gram,
        squares=squares,
        chosen=chosen,
        seed=seed,
        orders=drawn_orders(rows.shape[0], seed),
    )


def _landmarks(
    estimator: Any, rows: np.ndarray, weights: np.ndarray, similarity: Similarity
) -> tuple[Landmarks, np.ndarray] | None:
    """Landmarks, where they are asked for or memory is short, and the map of the rows.

    A few rows of many columns are landmarks of their own: what a sweep reads of a row
    is as long as there are rows.
    """
    wanted, n_rows = estimator.landmarks, rows.shape[0]
    if estimator.kernel == "linear" and not issparse(rows):
        if n_rows <= min(MOST_SPANNED, rows.shape[1] // 2):
            squared_lengths(rows)  # refuses rows that are too long
            return Landmarks.spanned_by(rows, similarity, ROUNDING)
        return None
    if estimator.kernel not in ("rbf", "poly"):
        return None
    if not wanted and (wanted == 0 or not fills_memory(n_rows)):
        return None
    random = check_random_state(estimator.random_state)
    landmarks = Landmarks.of(rows, weights, similarity, wanted, random)
    if not wanted:
        caution(
            f"kernel={estimator.kernel!r} with {n_rows} different rows: prototypes "
            f"are mixes of {len(landmarks.points)} landmarks; raise landmarks to come "
            "closer to mixes of all rows."
        )
    return landmarks, landmarks.mapped(rows, similarity)


def total_weight(sample_weight: Any) -> float:
    """Sum of the weights that a user gave."""
    return float(np.asarray(sample_weight, dtype=np.float64).sum())


def draw_rows(entries: dict[str, Any], random: np.random.RandomState) -> dict[str, Any]:
    """Draw rows of every class, which weigh as much together as all of the class."""
    X, y_encoded, weights = (entries[name] for name in ("X", "y_encoded", "weights"))
    share = DRAWN / X.shape[0]

    def draw(n_rows: int) -> np.ndarray:
        n_drawn = min(n_rows, max(FEWEST, round(share * n_rows)))
        return np.sort(sample_without_replacement(n_rows, n_drawn, random_state=random))

    rows, masses, codes = [], [], []
    for code, total in enumerate(class_totals(entries)):
        if is_dask(X):
            of_class, mass = dask_sample(X, y_encoded, weights, code, draw)
        else:
            counted = np.flatnonzero((y_encoded == code) & (weights > 0))
            of_class = counted[draw(len(counted))]
            mass = weights[of_class]
        rows.append(of_class)
        masses.append(mass * (total / mass.sum()))
        codes.append(np.full(len(mass), code))
    rows, masses, codes = map(np.concatenate, (rows, masses, codes))
    if not is_dask(X):
        order = np.argsort(rows)  # a file is read once, from its start to its end
        rows, masses, codes = X[rows[order]], masses[order], codes[order]
    return entries | {"X": rows, "y_encoded": codes, "weights": masses}


def drawn_orders(n_rows: int, seed: int) -> np.ndarray:
    """Orders of the rows, in which stretches of them stay together."""
    stretches = np.arange(-(-n_rows // STRETCH))
    count = int(np.clip(MOST_NUMBERS // n_rows, 2, ORDERS))
    random = np.random.default_rng([seed, 0])
    drawn = random.permuted(np.tile(stretches, (count, 1)), axis=1)
    places = (STRETCH * drawn[:, :, None] + np.arange(STRETCH)).reshape(count, -1)
    return places[places < n_rows].reshape(count, n_rows)


def drawn_start(
    rows: np.ndarray,
    y_encoded: np.ndarray,
    weights: np.ndarray,
    count: int,
    start: str,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Tie every row to a prototype of its class, by chance or by k-means."""
    count = min(count, int(np.bincount(y_encoded).max()))
    random = np.random.RandomState([seed, count])
    if start == "kmeans":
        return cluster_rows(rows, y_encoded, weights, count, random)
    sizes = np.minimum(np.bincount(y_encoded), count)
    starts = np.cumsum(sizes) - sizes
    draws = random.uniform(size=len(y_encoded))
    assignment = starts[y_encoded] + (draws * sizes[y_encoded]).astype(np.int64)
    return assignment, np.repeat(np.arange(len(sizes)), sizes)
