"""The emulator: what a program computes, operation by operation, in NumPy.

It is the specification. Every target gives each score bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch

import numpy as np

from smpcore.codegen.float32 import exp2_minus, inverse_root
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.program import (
    LOWEST,
    Features,
    FixedPointFeatures,
    FixedPointSimilarities,
    Operation,
    Similarities,
    SparseCode,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.sparse_code import sparse_codes


def run(operations: Iterable[Operation], values: np.ndarray) -> np.ndarray:
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
def apply(operation: Operation, values: np.ndarray) -> np.ndarray:
    """Result of one operation, see its docstring."""
    raise NotImplementedError(type(operation).__name__)


@apply.register
def _(operation: WeightedInputs, values: np.ndarray) -> np.ndarray:
    scores = np.empty((len(values), operation.n_rows), dtype=values.dtype)
    for row, bias in enumerate(operation.bias):
        total = np.full(len(values), bias)
        for place, level, weight in operation.terms(row):
            total = total + weight * term(values, place, level)
        scores[:, row] = total
    return scores


@apply.register
def _(operation: Features, values: np.ndarray) -> np.ndarray:
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
def _(operation: Similarities, values: np.ndarray) -> np.ndarray:
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
def _(operation: WeightedSums, values: np.ndarray) -> np.ndarray:
    scores = np.tile(operation.bias, (len(values), 1)) + operation.bias.dtype.type(0)
    for anchor, (rows, weights) in enumerate(operation.terms()):
        scores[:, rows] += weights * values[:, anchor, None]
    return scores


@apply.register
def _(operation: SparseCode, values: np.ndarray) -> np.ndarray:
    codes = sparse_codes(operation.gram, values, operation.limit)
    scores = np.zeros((len(values), operation.votes.shape[1]), dtype=np.float32)
    for r in range(operation.limit):
        own = codes.size > r
        votes = operation.votes[codes.support[own, r]]
        scores[own] += votes * codes.amount[own, r, None]
    scores[codes.size == 0, operation.fallback] = np.float32(operation.unrepresented)
    return scores


@apply.register
def _(operation: FixedPointFeatures, values: np.ndarray) -> np.ndarray:
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
def _(operation: FixedPointSimilarities, values: np.ndarray) -> np.ndarray:
    return operation.exp2.similarity(distances(operation, values))


def distances(operation: FixedPointSimilarities, features: np.ndarray) -> np.ndarray:
    """Whole distances to each anchor, shape (n, n_anchors), int64."""
    total = np.zeros((len(features), len(operation.anchor)), dtype=np.int64)
    for t, anchor in zip(features.T, operation.anchor.T, strict=True):
        total += np.abs(t[:, None] - anchor) ** operation.power
    return total


def class_scores(
    row_scores: np.ndarray, prototype_labels: np.ndarray, n_outputs: int
) -> np.ndarray:
    """Largest score among the rows of each class, see `program`."""
    lowest = LOWEST if row_scores.dtype == np.float32 else np.iinfo(np.int64).min
    shape = len(row_scores), n_outputs
    scores = np.full(shape, lowest, dtype=row_scores.dtype)
    for label, score in zip(prototype_labels, row_scores.T, strict=True):
        better = score > scores[:, label]  # never of what is no number
        scores[better, label] = score[better]
    return scores
