"""What exchanging one feature of a SMaLL prototype for another would change."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from smpcore.methods.shared.dask_rows import over_rows
from smpcore.methods.shared.row_blocks import map_blocks, weighted_product
from smpcore.methods.smallk.problem import SMaLLProblem, Task


def swap_changes(
    problem: SMaLLProblem, task: Task, W: np.ndarray, lam: float
) -> tuple[np.ndarray, np.ndarray]:
    """How a swap of two features of a prototype changes the objective, nearly.

    The smooth loss is replaced by its second-order expansion at W, in the weights of
    one prototype; that minimum is known in closed form. For the other losses, which
    have no second derivatives, this is a guess of which swaps are worth a refit.
    """
    n, ridge = problem.n_features, problem.ridge(lam)
    places, changes = [np.empty((0, 2), dtype=np.int64)], [np.empty((0, n))]
    moving = range(task.first, len(W))
    own = {j: np.r_[np.flatnonzero(W[j, :n]), np.arange(n, W.shape[1])] for j in moving}
    tied = problem.X, task.y_encoded, task.assignment, problem.weights
    sums = over_rows(_sums, *tied, labels=task.prototype_labels, W=W, own=own)
    ends = np.cumsum([2 + len(columns) for columns in own.values()])
    for j, part in zip(own, np.split(sums, ends[:-1]), strict=True):
        gained, curvature, cross = part[0], part[1], part[2:]
        columns = own[j]
        used = columns[columns < n]
        cross[np.arange(len(columns)), columns] += ridge[columns]
        inverse = np.linalg.inv(cross[:, columns])
        solved = inverse @ cross
        curvature = np.maximum(curvature + ridge - (cross * solved).sum(axis=0), ridge)
        moved = W[j, columns][:, None] + solved * (gained / curvature)
        spread = np.diag(inverse)[:, None] + solved**2 / curvature
        change = moved**2 / (2.0 * spread) - gained**2 / (2.0 * curvature)
        change = change[: len(used), :n]
        change[:, used] = np.inf
        places.append(np.column_stack([np.full(len(used), j), used]))
        changes.append(change)
    return np.concatenate(places), np.concatenate(changes)


def _sums(
    X: Any,
    y_encoded: np.ndarray,
    assignment: np.ndarray,
    weights: np.ndarray,
    *,
    labels: np.ndarray,
    W: np.ndarray,
    own: dict[int, np.ndarray],
) -> np.ndarray:
    """What rows add to the derivatives of the loss in the weights of each prototype.

    For each one under the other: the gradient, the second derivatives in each column
    twice, and those in a pair of an own column and any other.
    """

    def sums(part: slice, block: Any) -> np.ndarray:
        tied, masses = assignment[part], weights[part]
        rows, scores = np.arange(block.shape[0]), block @ W.T
        kept = scores[rows, tied]
        scores[labels == y_encoded[part][:, None]] = -np.inf
        scores[rows, tied] = kept
        share = np.exp(scores - scores.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        of_block = []
        for j, columns in own.items():
            first = masses * (share[:, j] - (tied == j))
            second = masses * share[:, j] * (1.0 - share[:, j])
            squares = (
                second @ block.power(2)
                if issparse(block)
                else np.einsum("i,ij,ij->j", second, block, block)
            )
            pairs = weighted_product(block[:, columns], second, block)
            of_block += [first @ block, squares, *pairs]
        return np.array(of_block)

    return sum(map_blocks(sums, X))
