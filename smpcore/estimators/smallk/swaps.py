"""What exchanging one feature of a SMaLL prototype for another would change."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from smpcore.estimators.row_blocks import row_blocks, weighted_product
from smpcore.estimators.smallk.problem import SMaLLProblem, Task


def swap_changes(
    problem: SMaLLProblem, task: Task, W: np.ndarray, lam: float
) -> tuple[np.ndarray, np.ndarray]:
    """How a swap of two features of a prototype changes the objective, nearly.

    The smooth loss is replaced by its second-order expansion at W, in the weights of
    one prototype; that minimum is known in closed form. For the other losses, which
    have no second derivatives, this is a guess of which swaps are worth a refit.

    Parameters
    ----------
    problem : SMaLLProblem
    task : Task
    W : ndarray of shape (n_prototypes, n_columns)
        Best prototypes on their support.
    lam : float

    Returns
    -------
    places : ndarray of int, shape (n_used, 2)
        Prototype and feature that it loses.
    changes : ndarray of shape (n_used, n_features)
        What each feature in its stead would change; inf if it cannot.
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
    sums: dict[int, list[Any]] = {j: [0.0, 0.0, 0.0] for j in own}
    for part, X in row_blocks(problem.X):
        assignment, weights = task.assignment[part], problem.weights[part]
        rows, scores = np.arange(X.shape[0]), X @ W.T
        kept = scores[rows, assignment]
        scores[task.prototype_labels == task.y_encoded[part][:, None]] = -np.inf
        scores[rows, assignment] = kept
        share = np.exp(scores - scores.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        for j, columns in own.items():
            first = weights * (share[:, j] - (assignment == j))
            second = weights * share[:, j] * (1.0 - share[:, j])
            squares = (
                second @ X.power(2)
                if issparse(X)
                else np.einsum("i,ij,ij->j", second, X, X)
            )
            pairs = weighted_product(X[:, columns], second, X)
            for place, value in enumerate((first @ X, pairs, squares)):
                sums[j][place] = sums[j][place] + value
    return sums
