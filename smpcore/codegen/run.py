"""The emulator: what a program computes, operation by operation, in NumPy.

It is the specification. Every target gives each score bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from smpcore.codegen import program
from smpcore.codegen.arithmetic import exp2_minus, inverse_root
from smpcore.codegen.inputs import CompiledInput


def run(operations: Iterable[program.Operation], values: np.ndarray) -> np.ndarray:
    """Apply operations to the values of the inputs."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for operation in operations:
            values = apply(operation, values)
    return values


def input_values(inputs: Sequence[CompiledInput], rows: np.ndarray) -> np.ndarray:
    """Values of the inputs of a program in floats, in the dtype of the rows."""
    values = np.array(rows)
    for place, entry in enumerate(inputs):
        if entry.kind == "number":
            filled = entry.filled(values[:, place])
            values[:, place] = filled - values.dtype.type(entry.offset)
    return values


def term(values: np.ndarray, place: int, level: int) -> np.ndarray:
    """Value of an input; 1 or 0 of one of its levels."""
    column = values[:, place]
    return column if level < 0 else (column == level).astype(values.dtype)


def terms(values: np.ndarray, place: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Terms of several inputs, shape (n, n_terms)."""
    taken = values[:, place]
    return np.where(level < 0, taken, taken == level).astype(values.dtype)


@singledispatch
def apply(operation: program.Operation, values: np.ndarray) -> np.ndarray:
    """Result of one operation, see its docstring."""
    raise NotImplementedError(type(operation).__name__)


@apply.register
def _(operation: program.WeightedInputs, values: np.ndarray) -> np.ndarray:
    scores = np.empty((len(values), operation.n_rows), dtype=values.dtype)
    for row, bias in enumerate(operation.bias):
        total = np.full(len(values), bias)
        for place, level, weight in operation.terms(row):
            total = total + weight * term(values, place, level)
        scores[:, row] = total
    return scores


@apply.register
def _(operation: program.Features, values: np.ndarray) -> np.ndarray:
    features = terms(values, operation.input, operation.level) * operation.factor
    if operation.is_moved:
        features = features + operation.move
    if not operation.normalise:
        return features
    if "mean" in operation.normalise:
        features = features - (_added(features) * operation.share)[:, None]
    return features * inverse_root(_added(features * features))[:, None]


def _added(values: np.ndarray) -> np.ndarray:
    """Sums of rows, column by column, beginning with 0."""
    total = np.zeros(len(values), dtype=np.float32)
    for column in values.T:
        total = total + column
    return total


@apply.register
def _(operation: program.Similarities, values: np.ndarray) -> np.ndarray:
    step, finish, *_ = operation.kind
    total = whole = np.tile(operation.constant, (len(values), 1))
    shares = np.ones(values.shape[1]) if operation.share is None else operation.share
    columns = zip(values.T[:, :, None], operation.anchor.T, shares, strict=True)
    for t, anchor, share in columns:
        if step == "overlap":
            below = t < anchor
            whole = whole + np.where(below, anchor, t)
            total = total + np.where(below, t, anchor)
        else:
            total = total + added(step, t, anchor, share)
    if finish == "ratio":
        root = inverse_root(whole)
        return total * root * root
    return finished(finish, total, operation.degree)


def added(
    step: str, t: np.ndarray, anchor: np.ndarray, share: np.floating
) -> np.ndarray:
    """What one feature adds to a total, in the dtype given; not of an overlap."""
    if step == "product":
        return anchor * t
    apart = t - anchor
    if step == "absolute":
        return np.abs(apart)
    return apart * apart if step == "square" else share * exp2_minus(apart * apart)


def finished(finish: str, total: np.ndarray, degree: int) -> np.ndarray:
    """Similarity of a total, in the dtype given; not of a ratio."""
    if finish == "exp2":
        exact = total.dtype != np.float32  # in float64 by the library
        return np.exp2(-total) if exact else exp2_minus(total)
    power = total
    for _ in range(degree - 1):
        power = power * total
    return power


@apply.register
def _(operation: program.WeightedSums, values: np.ndarray) -> np.ndarray:
    scores = np.tile(operation.bias, (len(values), 1)) + operation.bias.dtype.type(0)
    for anchor, (rows, weights) in enumerate(operation.terms()):
        scores[:, rows] += weights * values[:, anchor, None]
    return scores


@apply.register
def _(operation: program.SparseCode, values: np.ndarray) -> np.ndarray:
    codes = sparse_codes(operation.gram, values, operation.limit)
    scores = np.zeros((len(values), operation.votes.shape[1]), dtype=np.float32)
    for r in range(operation.limit):
        own = codes.size > r
        votes = operation.votes[codes.support[own, r]]
        scores[own] += votes * codes.amount[own, r, None]
    scores[codes.size == 0, operation.fallback] = np.float32(operation.unrepresented)
    return scores


@apply.register
def _(operation: program.FixedPointFeatures, values: np.ndarray) -> np.ndarray:
    count = terms(values, operation.input, operation.level)
    numbers = operation.factor, operation.origin, operation.places, operation.top
    return whole_features(count, *numbers)


def whole_features(
    count: np.ndarray,
    factor: np.ndarray,
    origin: np.ndarray,
    places: np.ndarray,
    top: int,
) -> np.ndarray:
    """Whole features of terms, see `FixedPointFeatures`."""
    return np.minimum(np.maximum(count * factor + origin, 0) >> places, top)


@apply.register
def _(operation: program.FixedPointSimilarities, values: np.ndarray) -> np.ndarray:
    return operation.exp2.similarity(distances(operation, values))


def distances(
    operation: program.FixedPointSimilarities, features: np.ndarray
) -> np.ndarray:
    """Whole distances to each anchor, shape (n, n_anchors), int64."""
    total = np.zeros((len(features), len(operation.anchor)), dtype=np.int64)
    for t, anchor in zip(features.T, operation.anchor.T, strict=True):
        total += np.abs(t[:, None] - anchor) ** operation.power
    return total


def class_scores(
    row_scores: np.ndarray, prototype_labels: np.ndarray, n_outputs: int
) -> np.ndarray:
    """Largest score among the rows of each class, see `program`."""
    lowest = (
        program.LOWEST if row_scores.dtype == np.float32 else np.iinfo(np.int64).min
    )
    shape = len(row_scores), n_outputs
    scores = np.full(shape, lowest, dtype=row_scores.dtype)
    for label, score in zip(prototype_labels, row_scores.T, strict=True):
        better = score > scores[:, label]  # never of what is no number
        scores[better, label] = score[better]
    return scores


#: Slope, relative to the largest similarity, that counts as none: float32 cannot tell
#: the 1e-10 of the float64 model.
FLAT = np.float32(2.0**-20)

#: Slopes no further apart, relative to the largest similarity, are equal: the lowest
#: prototype enters. The float64 model has the same.
EQUAL = np.float32(2.0**-16)

#: Share of G_jj that is left of a prototype which depends on the others; the pivot of
#: 10 prototypes is rounded by up to 2^-20 of it. The float64 model has the same.
DEPENDENT = np.float32(2.0**-16)

#: Relative decrease of the objective that ends the search (float64: 1e-9).
LITTLE = np.float32(2.0**-20)

#: Weight, relative to the largest, that a drop leaves behind as 0 (float64: 1e-14).
GONE = np.float32(2.0**-20)


class Codes(NamedTuple):
    """Codes of n inputs."""

    support: np.ndarray
    amount: np.ndarray
    size: np.ndarray


def most_steps(limit: int) -> int:
    """Steps after which the search ends in any case."""
    return 4 * limit + 20


def sparse_codes(gram: np.ndarray, alike: np.ndarray, limit: int) -> Codes:
    """Weights of prototypes that reconstruct inputs of these similarities."""
    coder = _Coder(gram, alike, limit)
    with np.errstate(all="ignore"):
        active = np.arange(len(alike))
        while len(active):
            active = coder.step(active)
    return Codes(coder.support, coder.amount, coder.size)


class _Coder:
    """The state of the search for each input; `rows` are indices of inputs."""

    def __init__(self, gram: np.ndarray, alike: np.ndarray, limit: int) -> None:
        n, zero = len(alike), np.float32(0)
        self.gram, self.alike, self.limit = gram, alike, limit
        self.support = np.zeros((n, limit), dtype=np.int64)
        self.amount = np.zeros((n, limit), dtype=np.float32)
        self.solved = np.zeros((n, limit), dtype=np.float32)
        self.factor = np.zeros((n, limit, limit), dtype=np.float32)
        self.size, self.steps = np.zeros((2, n), dtype=np.int64)
        self.value = np.zeros(n, dtype=np.float32)
        self.free = ~np.isnan(alike)
        sizes = np.where(self.free, np.abs(alike), zero)
        largest = sizes.max(axis=1, initial=zero)
        self.flat, self.near = FLAT * largest, EQUAL * largest

    def step(self, rows: np.ndarray) -> np.ndarray:
        """Let one prototype in and solve again; return the rows that go on."""
        rows = rows[self.steps[rows] < most_steps(self.limit)]
        slopes = self.slopes(rows)
        near = slopes.min(axis=1) + self.near[rows]
        equal = (slopes <= near[:, None]) & (slopes < -self.flat[rows, None])
        found = equal.any(axis=1)
        rows, chosen = rows[found], equal.argmax(axis=1)[found]
        self.free[rows, chosen] = False
        pivot = np.empty(len(rows), dtype=np.float32)
        for size in np.unique(self.size[rows]):
            own = self.size[rows] == size
            pivot[own] = self.append(rows[own], size, chosen[own])
        enters = pivot > DEPENDENT * self.gram[chosen, chosen]
        again, rows, chosen = rows[~enters], rows[enters], chosen[enters]
        self.support[rows, self.size[rows]] = chosen
        self.amount[rows, self.size[rows]] = 0.0
        self.size[rows] += 1
        self.steps[rows] += 1
        self.refit(rows)
        return np.concatenate([again, self.improved(rows)])

    def slopes(self, rows: np.ndarray) -> np.ndarray:
        """Slope of each prototype, infinite where it may not enter."""
        slopes = -self.alike[rows]
        for r in range(self.limit):
            own = self.size[rows] > r
            some = rows[own]
            columns = self.gram[self.support[some, r]]
            slopes[own] = slopes[own] + self.amount[some, r, None] * columns
        usable = self.free[rows] & ~np.isnan(slopes)
        return np.where(usable, slopes, np.float32(np.inf))

    def append(self, rows: np.ndarray, size: int, chosen: np.ndarray) -> np.ndarray:
        """Write row `size` of the factor for prototypes; return the pivots."""
        factor = self.factor[rows]
        pivot = self.gram[chosen, chosen]
        for r in range(size):
            v = self.gram[chosen, self.support[rows, r]]
            for t in range(r):
                v = v - factor[:, r, t] * factor[:, size, t]
            v = v * factor[:, r, r]
            factor[:, size, r] = v
            pivot = pivot - v * v
        factor[:, size, size] = inverse_root(pivot)
        self.factor[rows] = factor
        return pivot

    def solve(self, rows: np.ndarray, size: int) -> np.ndarray:
        """Solve on the support; return where all weights are above 0."""
        factor, z = self.factor[rows], np.zeros((len(rows), size), dtype=np.float32)
        for r in range(size):
            v = self.alike[rows, self.support[rows, r]]
            for t in range(r):
                v = v - factor[:, r, t] * z[:, t]
            z[:, r] = v * factor[:, r, r]
        for r in range(size - 1, -1, -1):
            v = z[:, r]
            for t in range(r + 1, size):
                v = v - factor[:, t, r] * z[:, t]
            z[:, r] = v * factor[:, r, r]
        self.solved[rows, :size] = z
        return (z > 0).all(axis=1)

    def refit(self, rows: np.ndarray) -> None:
        """Best weights on the supports, dropping what turns negative."""
        while len(rows):
            dropped = []
            for size in np.unique(self.size[rows]):
                own = rows[self.size[rows] == size]
                positive = self.solve(own, size)
                good = own[positive]
                self.amount[good, :size] = self.solved[good, :size] + np.float32(0)
                dropped.append(own[~positive])
                self.drop(own[~positive], size)
            rows = np.concatenate(dropped)
            rows = rows[self.size[rows] > 0]

    def drop(self, rows: np.ndarray, size: int) -> None:
        """Go towards the solution until a weight is 0, and take it out."""
        if not len(rows):
            return
        x, z, each = self.amount[rows, :size], self.solved[rows, :size], range(size)
        below = ~(z > 0)
        root = inverse_root(x - z)
        shares = np.where(x > z, x * root * root, np.float32(0))
        shares = np.where(below, shares, np.float32(2))
        first = shares.argmin(axis=1)
        share = shares.min(axis=1)
        x = x + share[:, None] * (z - x)
        largest = np.zeros(len(rows), dtype=np.float32)
        for r in each:
            largest = np.where(x[:, r] > largest, x[:, r], largest)
        kept = ~(below & (x <= (GONE * largest)[:, None]))
        kept[np.arange(len(rows)), first] = False
        for r in each:
            out = rows[~kept[:, r]]
            self.free[out, self.support[out, r]] = True
        order = np.argsort(~kept, axis=1, kind="stable")
        support = np.take_along_axis(self.support[rows, :size], order, axis=1)
        self.support[rows, :size] = support
        self.amount[rows, :size] = np.take_along_axis(x, order, axis=1)
        self.size[rows] = kept.sum(axis=1)
        for r in each:
            own = rows[self.size[rows] > r]
            self.append(own, r, self.support[own, r])

    def improved(self, rows: np.ndarray) -> np.ndarray:
        """Take down the objective; return the rows where it is worth going on."""
        lower = np.zeros(len(rows), dtype=np.float32)
        for r in range(self.limit):
            own = self.size[rows] > r
            some = rows[own]
            c = np.float32(-0.5) * self.alike[some, self.support[some, r]]
            lower[own] = lower[own] + c * self.amount[some, r]
        fell = self.value[rows] - lower > LITTLE * np.abs(lower)
        self.value[rows] = lower
        return rows[fell & (self.size[rows] < self.limit)]
