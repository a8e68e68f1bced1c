"""Which prototype a row is tied to, and which prototypes fusion made equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.methods.shared.dask_rows import row_values
from smpcore.methods.shared.fusion import MERGED, equal_groups
from smpcore.methods.shared.row_blocks import map_blocks
from smpcore.methods.smp.problem import SMPProblem


def better_assignment(problem: SMPProblem, W: np.ndarray) -> np.ndarray:
    """Tie every row to the prototype of its class that scores highest."""
    columns = problem.X, problem.y_encoded, problem.assignment
    return row_values(_better, *columns, labels=problem.prototype_labels, W=W)


def _better(
    X: Any,
    y_encoded: np.ndarray,
    assignment: np.ndarray,
    *,
    labels: np.ndarray,
    W: np.ndarray,
) -> np.ndarray:
    def better(part: slice, block: Any) -> np.ndarray:
        rows, scores = np.arange(block.shape[0]), block @ W.T
        now = scores[rows, assignment[part]]
        scores[labels != y_encoded[part][:, None]] = -np.inf
        best = scores.argmax(axis=1)
        moved = scores[rows, best] > now + 1e-9 * (1.0 + np.abs(now))
        return np.where(moved, best, assignment[part])

    return np.concatenate(list(map_blocks(better, X)))


def merged_rows(W: np.ndarray, group: np.ndarray, n_features: int) -> np.ndarray:
    """What each group of equal prototypes becomes."""
    rows = np.empty((group.max() + 1, W.shape[1]))
    if len(rows) == len(W):  # none are equal
        return W.copy()
    near = MERGED * np.abs(W).max()
    for number in range(len(rows)):
        own = W[group == number]
        biases = own[:, n_features:].sum(axis=1)
        same = biases.max() - biases.min() <= near
        rows[number] = own.mean(axis=0) if same else own[biases.argmax()]
    return rows


def equal_prototypes(
    W: np.ndarray, prototype_labels: np.ndarray, n_features: int
) -> np.ndarray:
    """Find prototypes of a class that are equal, directly or through others.

    Prototypes that differ in the bias only are taken for equal: the one with the
    largest bias always scores highest, the others never decide anything.
    """
    return equal_groups(
        W[:, :n_features], np.abs(W).max(), "chebyshev", prototype_labels
    )
