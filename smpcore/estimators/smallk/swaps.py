"""What exchanging one feature of a SMaLL prototype for another would change."""

from __future__ import annotations

import numpy as np

from smpcore.estimators.smallk.problem import SMaLLProblem, Task


def swap_changes(
    problem: SMaLLProblem, task: Task, W: np.ndarray, lam: float
) -> np.ndarray:
    """How a swap of two features of a prototype changes the objective, nearly.

    The loss is replaced by its second-order expansion at W, in the weights of one
    prototype; that minimum is known in closed form.

    Parameters
    ----------
    problem : SMaLLProblem
    task : Task
    W : ndarray of shape (n_prototypes, n_columns)
        Best prototypes on their support.
    lam : float

    Returns
    -------
    ndarray of shape (n_prototypes, n_features, n_features)
        Entry (j, r, s): prototype j loses feature r and gets s; inf if it cannot.
    """
    X, n, ridge = problem.X, problem.n_features, problem.ridge(lam)
    rows = np.arange(len(X))
    scores = X @ W.T
    own = scores[rows, task.assignment]
    scores[task.prototype_labels == task.y_encoded[:, None]] = -np.inf
    scores[rows, task.assignment] = own
    share = np.exp(scores - scores.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    changes = np.full((len(W), n, n), np.inf)
    for j in range(task.first, len(W)):
        used = np.flatnonzero(W[j, :n])
        columns = np.r_[used, np.arange(n, X.shape[1])]
        first = problem.weights * (share[:, j] - (task.assignment == j))
        second = problem.weights * share[:, j] * (1.0 - share[:, j])
        cross = (X[:, columns] * second[:, None]).T @ X
        cross[np.arange(len(columns)), columns] += ridge[columns]
        inverse = np.linalg.inv(cross[:, columns])
        solved = inverse @ cross
        curvature = np.einsum("i,ij,ij->j", second, X, X) + ridge
        curvature = np.maximum(curvature - (cross * solved).sum(axis=0), ridge)
        gained = first @ X
        moved = W[j, columns][:, None] + solved * (gained / curvature)
        spread = np.diag(inverse)[:, None] + solved**2 / curvature
        change = moved**2 / (2.0 * spread) - gained**2 / (2.0 * curvature)
        change = change[: len(used), :n]
        change[:, used] = np.inf
        changes[j, used] = change
    return changes
