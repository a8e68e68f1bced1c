"""What the methods with linear prototypes share: curvature and won rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.estimators.problem import Problem
from smpcore.estimators.row_blocks import row_blocks, weighted_product


def largest_eigenvalue(X: Any, weights: np.ndarray) -> float:
    """Largest eigenvalue of X' diag(weights) X, or a little more.

    Parameters
    ----------
    X : ndarray, csr_array or ScaledRows of shape (n_samples, n_columns)
    weights : ndarray of shape (n_samples,)

    Returns
    -------
    float
        Exact up to 500 columns; beyond, twenty power steps times 1.05. Infinity if it
        overflows.
    """
    n_columns = X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        if n_columns <= 500:
            gram = sum(
                weighted_product(block, weights[part], block)
                for part, block in row_blocks(X)
            )
            finite = np.isfinite(gram).all()
            return float(np.linalg.eigvalsh(gram)[-1]) if finite else np.inf
        vector = np.ones(n_columns)
        for _ in range(20):
            vector = sum(
                (weights[part] * (block @ vector)) @ block
                for part, block in row_blocks(X)
            )
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
    for _, block in row_blocks(problem.X):
        wins += np.bincount((block @ W.T).argmax(axis=1), minlength=len(W))
    return wins
