"""What the methods with linear prototypes share: curvature and won rows."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from smpcore.estimators.problem import Problem

#: Rows whose scores are held in memory at once.
ROWS_AT_ONCE = 8192


def largest_eigenvalue(X: np.ndarray, weights: np.ndarray) -> float:
    """Largest eigenvalue of X' diag(weights) X, or a little more.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
    weights : ndarray of shape (n_samples,)

    Returns
    -------
    float
        Exact up to 500 columns; beyond, twenty power steps times 1.05. Infinity if it
        overflows.
    """
    n_samples, n_columns = X.shape
    parts = [slice(i, i + ROWS_AT_ONCE) for i in range(0, n_samples, ROWS_AT_ONCE)]
    with np.errstate(over="ignore", invalid="ignore"):
        if n_columns <= 500 and issparse(X):
            gram = (X.T @ X.multiply(weights[:, None])).toarray()
            finite = np.isfinite(gram).all()
            return float(np.linalg.eigvalsh(gram)[-1]) if finite else np.inf
        if n_columns <= 500:
            gram = sum((X[part].T * weights[part]) @ X[part] for part in parts)
            finite = np.isfinite(gram).all()
            return float(np.linalg.eigvalsh(gram)[-1]) if finite else np.inf
        vector = np.ones(n_columns)
        for _ in range(20):
            vector = (weights * (X @ vector)) @ X
            value = float(np.linalg.norm(vector))
            if value == 0.0 or not np.isfinite(value):
                return np.inf if value else 0.0
            vector /= value
    return 1.05 * value


def count_wins(problem: Problem, W: np.ndarray) -> np.ndarray:
    """Count the rows that each prototype decides.

    Parameters
    ----------
    problem : Problem
    W : ndarray of shape (n_prototypes, n_columns)

    Returns
    -------
    ndarray of int, shape (n_prototypes,)
    """
    wins = np.zeros(len(W), dtype=np.int64)
    for first in range(0, problem.X.shape[0], ROWS_AT_ONCE):
        best = (problem.X[first : first + ROWS_AT_ONCE] @ W.T).argmax(axis=1)
        wins += np.bincount(best, minlength=len(W))
    return wins
