"""Sparse rows: scaled, compared and described without a dense copy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.scaling import MOST_COPY_BYTES, constant_columns


def canonical_rows(X: Any) -> sparse.csr_array:
    """Rows in compressed form, each value stored once."""
    if X.format == "csr" and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return sparse.csr_array(X)


def dense_rows(X: Any) -> np.ndarray:
    """Rows with their zeros, where memory holds them."""
    needed = 8 * X.shape[0] * X.shape[1]
    if needed > MOST_COPY_BYTES:
        raise SmpcoreError(
            f"X is sparse, and its {X.shape[0]} x {X.shape[1]} values would take "
            f"{needed / 2**30:.3g} GiB as dense rows and should take at most "
            f"{MOST_COPY_BYTES / 2**30:g}; use fewer rows or columns, or a method that "
            "keeps them sparse, such as SMPClassifier()."
        )
    return X.toarray()


def scaled_sparse_copy(
    X: sparse.csr_array, weights: np.ndarray, standardize: bool, bias: bool
) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """Rows divided by standard deviations and not centred, as zeros stay zeros."""
    n_samples, n_features = X.shape
    center, scale = np.zeros(n_features), np.ones(n_features)
    data = X.data.copy()
    if standardize:
        means, scale = _weighted_moments(X, weights)
        constant = constant_columns(X, means, scale)
        scale[constant] = 1.0
        data *= np.where(constant, 0.0, 1.0 / scale)[X.indices]
    scaled = sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
    if bias:
        ones = sparse.csr_array(np.ones((n_samples, 1)))
        scaled = sparse.csr_array(sparse.hstack([scaled, ones], format="csr"))
    return scaled, center, scale


def _weighted_moments(
    X: sparse.csr_array, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column; what is not stored is 0."""
    n_features = X.shape[1]
    of_value = np.repeat(weights, np.diff(X.indptr))
    with np.errstate(over="ignore", invalid="ignore"):
        counts = np.bincount(X.indices, of_value > 0, n_features)
        stored = np.bincount(X.indices, of_value, n_features)
        full = counts == np.count_nonzero(weights)  # weights sum to 1 but for rounding
        absent = np.where(full, 0.0, np.maximum(1.0 - stored, 0.0))
        means = np.bincount(X.indices, of_value * X.data, n_features)
        # Sums of large values lose digits that sums of what is left have.
        left = of_value * (X.data - means[X.indices])
        means += np.bincount(X.indices, left, n_features) - absent * means
        squares = of_value * (X.data - means[X.indices]) ** 2
        variance = np.bincount(X.indices, squares, n_features)
        variance += absent * means**2
    return means, np.sqrt(variance)


def column_ranges(X: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value of each column, zeros that are not stored included."""
    low, high = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    low[full], high[full] = np.inf, -np.inf
    np.minimum.at(low, X.indices, X.data)
    np.maximum.at(high, X.indices, X.data)
    return low, high


def count_distinct_sparse(X: sparse.csr_array, enough: int) -> int:
    """Count different rows, up to a number that is enough."""
    seen: set[tuple[bytes, bytes]] = set()
    for first, last in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        values, columns = X.data[first:last], X.indices[first:last]
        stored = values != 0
        seen.add((values[stored].tobytes(), columns[stored].tobytes()))
        if len(seen) == enough:
            break
    return len(seen)
