"""Training rows as the super-sparse kernels want them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.spatial.distance import cdist

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.row_blocks import ScaledRows, row_blocks
from smpcore.methods.shared.starts import MOST_ROWS
from smpcore.solvers.similarity import SHORTEST

#: Rows that say how near each other rows usually are, at most.
NEAR_ROWS = 1000
#: Share of the rows that have another one at most so far away.
NEAR_SHARE = 0.95


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows and targets as the kernels want them."""

    cases: np.ndarray  # (n_samples, n_features): In scaled units
    #: (n_samples, n_features): The same; of length 1 for the cosine and NCC
    X: np.ndarray
    #: (n_samples,): Squared lengths (RBF) or sums (intersection) of the rows
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
    if kind == "intersection" and X.min() < 0:
        raise SmpcoreError(
            f"X holds {X.min():.3g} and should not be negative for "
            "similarity='intersection'; shift the columns or choose another similarity."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        spread = math.sqrt(weights @ ((X - weights @ X) ** 2).sum(axis=1))
        sizes = X.sum(axis=1) if kind == "intersection" else np.einsum("ij,ij->i", X, X)
    if not (np.isfinite(sizes).all() and math.isfinite(spread)):
        raise SmpcoreError(
            f"X holds values as large as {np.abs(X).max():.3g}, too large for a "
            "similarity; use standardize=True or divide such columns."
        )
    cases = X
    if kind in ("cosine", "ncc"):
        X = X - X.mean(axis=1, keepdims=True) if kind == "ncc" else X
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
