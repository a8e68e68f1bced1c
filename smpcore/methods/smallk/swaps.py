"""What exchanging one feature of a SMaLL prototype for another would change."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
from scipy.sparse import issparse

from smpcore.methods.shared.dask_rows import futures, is_dask, map_chunks
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
    for j, (gained, cross, curvature) in _expansion(problem, task, W, own).items():
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


def _expansion(
    problem: SMaLLProblem, task: Task, W: np.ndarray, own: dict[int, np.ndarray]
) -> dict[int, list[np.ndarray]]:
    """Derivatives of the loss in the weights of each prototype.

    The gradient, the second derivatives in a pair of an own column and any other, and
    those in each column twice.
    """
    columns = problem.X, task.y_encoded, task.assignment, problem.weights
    at = {"labels": task.prototype_labels, "W": W, "own": own}
    if isinstance(problem.X, np.ndarray) or not is_dask(problem.X):
        return _sums(*columns, **at)
    return _added(map_chunks(_sums, *map(futures, columns), **at))


def _sums(
    X: Any,
    y_encoded: np.ndarray,
    assignment: np.ndarray,
    weights: np.ndarray,
    **at: Any,
) -> dict[int, list[np.ndarray]]:
    """What rows add to the derivatives."""
    labels, W, own = at["labels"], at["W"], at["own"]

    def sums(part: slice, block: Any) -> dict[int, list[np.ndarray]]:
        tied, masses = assignment[part], weights[part]
        rows, scores = np.arange(block.shape[0]), block @ W.T
        kept = scores[rows, tied]
        scores[labels == y_encoded[part][:, None]] = -np.inf
        scores[rows, tied] = kept
        share = np.exp(scores - scores.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        of_block = {}
        for j, columns in own.items():
            first = masses * (share[:, j] - (tied == j))
            second = masses * share[:, j] * (1.0 - share[:, j])
            squares = (
                second @ block.power(2)
                if issparse(block)
                else np.einsum("i,ij,ij->j", second, block, block)
            )
            pairs = weighted_product(block[:, columns], second, block)
            of_block[j] = [first @ block, pairs, squares]
        return of_block

    return _added(map_blocks(sums, X))


def _added(parts: Iterable[dict[int, list[np.ndarray]]]) -> dict[int, list[np.ndarray]]:
    """Sum up what blocks of rows say of each prototype."""
    return reduce(
        lambda before, part: {
            j: [a + b for a, b in zip(before[j], part[j], strict=True)] for j in part
        },
        parts,
    )
