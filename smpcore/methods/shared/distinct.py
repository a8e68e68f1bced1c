"""Which rows are equal, and which prototypes count as one."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from smpcore.methods.shared.row_blocks import row_blocks


def joined_along(
    X: np.ndarray, along: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find rows that are equal, labels too: the first of each set, its weight, places.

    Equal rows meet along a random direction, and the order of the sets depends on
    values only. The place of a row of weight 0 is -1.
    """
    order = np.lexsort([labels, along])
    order = order[weights[order] > 0]
    before, after = order[:-1], order[1:]
    new = (along[before] != along[after]) | (labels[before] != labels[after])
    near = np.flatnonzero(~new)
    differs = X[before[near]] != X[after[near]]
    new[near] = differs.sum(axis=1) > 0 if issparse(X) else differs.any(axis=1)
    new, place = np.r_[True, new], np.full(X.shape[0], -1)
    starts = np.flatnonzero(new)
    place[order] = np.cumsum(new) - 1
    masses = np.add.reduceat(weights[order].astype(np.float64), starts)
    return order[starts], masses, place


def projected(X: Any, direction: np.ndarray) -> np.ndarray:
    """Product of each row with a direction, the same wherever the row stands."""
    along = np.empty(X.shape[0])
    for part, block in row_blocks(X):
        along[part] = (block * direction).sum(axis=1)
    return along


def joined_rows(
    X: np.ndarray, targets: np.ndarray, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find rows that are equal, targets too, and weigh them together.

    What remains is in an order of its own, so that a whole weight is that many equal
    rows to the last bit: the problem is not convex, and rounding errors would grow.
    """
    weights = (
        np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight)
    )
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        along = projected(X, direction)
    # Rows that are read in blocks are taken for equal where their projections are.
    rows = X if isinstance(X, np.ndarray) else along[:, None]
    return joined_along(rows, along, targets, weights)


#: Prototypes closer than this, relative to their scale, are one.
MERGED = 1e-3
#: Prototypes that are compared with all others in one call.
AT_ONCE = 256


def equal_groups(
    points: np.ndarray, scale: float, metric: str, labels: np.ndarray
) -> np.ndarray:
    """Group points that are equal, directly or through others."""
    group = np.arange(len(points))
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        members = points[rows]
        for start in range(0, len(rows), AT_ONCE):
            distances = cdist(members[start : start + AT_ONCE], members, metric)
            near = distances <= MERGED * scale
            for row in near[np.count_nonzero(near, axis=1) > 1]:
                joined = np.unique(group[rows[row]])
                group[np.isin(group, joined)] = joined[0]
    return np.unique(group, return_inverse=True)[1]
