"""What the methods with linear prototypes share: curvature, units and won rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from smpcore.methods.shared.dask_rows import is_dask, over_rows
from smpcore.methods.shared.row_blocks import ScaledRows, map_blocks, weighted_product


def largest_eigenvalue(X: Any, weights: np.ndarray) -> float:
    """Largest eigenvalue of X' diag(weights) X, or a little more."""
    n_columns = X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        if n_columns <= 500:
            gram = over_rows(_gram, X, weights)
            finite = np.isfinite(gram).all()
            return float(np.linalg.eigvalsh(gram)[-1]) if finite else np.inf
        vector = np.ones(n_columns)
        for _ in range(20):
            vector = over_rows(_gram_times, X, weights, vector=vector)
            value = float(np.linalg.norm(vector))
            if value == 0.0 or not np.isfinite(value):
                return np.inf if value else 0.0
            vector /= value
    return 1.05 * value


def _gram(X: Any, weights: np.ndarray) -> np.ndarray:
    """X' diag(weights) X."""
    return sum(
        map_blocks(lambda part, block: weighted_product(block, weights[part], block), X)
    )


def _gram_times(X: Any, weights: np.ndarray, *, vector: np.ndarray) -> np.ndarray:
    """X' diag(weights) X times a vector."""
    return sum(
        map_blocks(lambda part, block: (weights[part] * (block @ vector)) @ block, X)
    )


def column_units(X: Any, weights: np.ndarray) -> np.ndarray:
    """Root mean square of each column: divided by it, all columns are alike."""
    with np.errstate(over="ignore"):
        units = np.sqrt(over_rows(_mean_squares, X, weights))
    units[units == 0.0] = 1.0
    return units


def _mean_squares(X: Any, weights: np.ndarray) -> np.ndarray:
    return sum(map_blocks(lambda part, block: weights[part] @ block**2, X))


def in_units(X: Any, units: np.ndarray) -> Any:
    """Rows with each column divided by its unit; the same ones if all units are 1."""
    if (units == 1.0).all():
        return X
    if isinstance(X, ScaledRows):
        return replace(X, scale=X.scale * units[: len(X.scale)])
    if issparse(X):
        X = X.copy()
        X.data /= units[X.indices]
        return X
    return X / units


def class_totals(entries: Mapping[str, Any]) -> np.ndarray:
    """Weight of the rows of each class."""
    tied = entries["y_encoded"], entries["weights"]
    return over_rows(np.bincount, *tied, minlength=len(entries["classes"]))


def tied_shares(
    scores: np.ndarray,
    y_encoded: np.ndarray,
    assignment: np.ndarray,
    prototype_labels: np.ndarray,
    offsets: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Softmax of each row's scores: of the prototype it is tied to, and of its rivals.

    The offsets are added to the scores of rivals, the prototypes of other classes.
    """
    rows = np.arange(len(scores))
    of_class = prototype_labels == y_encoded[:, None]
    among = np.where(of_class, -np.inf, scores + offsets)
    among[rows, assignment] = scores[rows, assignment]
    share = np.exp(among - among.max(axis=1, keepdims=True))
    return share / share.sum(axis=1, keepdims=True)


def count_wins(X: Any, W: np.ndarray) -> np.ndarray:
    """Count the rows that each prototype decides."""
    if not isinstance(X, np.ndarray) and is_dask(X):
        return over_rows(count_wins, X, W=W)

    def wins(_: slice, block: Any) -> np.ndarray:
        return np.bincount((block @ W.T).argmax(axis=1), minlength=len(W))

    return sum(map_blocks(wins, X))
