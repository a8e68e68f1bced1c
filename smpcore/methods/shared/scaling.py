"""Rows as estimators want them: checked, finite, scaled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import issparse
from sklearn.utils.validation import check_consistent_length, validate_data

from smpcore.datasets.parquet_rows import ParquetRows
from smpcore.errors import SmpcoreError, checked, require_finite
from smpcore.methods.shared.row_blocks import ScaledRows, map_blocks, row_blocks

#: Rows of more bytes are scaled as they are read, by methods that read them in blocks.
MOST_COPY_BYTES = 2**30

#: Of a column farther from 0, in spreads, squares lose more than four digits.
FAR = 100.0


def is_large(X: Any) -> bool:
    """Whether rows are so many that methods that can read them in blocks do."""
    if not isinstance(X, np.ndarray | ParquetRows) or X.ndim != 2:
        return False
    # Reading a file at once makes a frame, an array and their copies.
    copies = 4 if isinstance(X, ParquetRows) else 1
    n_bytes = 8 * X.shape[0] * X.shape[1]
    return X.dtype.kind in "fiu" and copies * n_bytes > MOST_COPY_BYTES


def _checked_by_blocks(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """As `validated`, of rows that stay where they are: their first, and y."""
    if not estimator.reads_blocks:
        raise SmpcoreError(
            f"X has {X.shape[0]:,} rows in a file, and {estimator!r} takes rows in "
            "memory only, at most a quarter of a GiB of a file; use SMPClassifier(), "
            "SMaLLClassifier(), MultiPrototypeSVC(), SuperSparseClassifier() or "
            "SuperSparseRegressor(), or give some of the rows."
        )
    options.pop("order", None)
    targets = [checked(validate_data, estimator, y=y[0], **options)] if y else []
    options.pop("y_numeric", None)
    head = X.frame(slice(1)) if isinstance(X, ParquetRows) else X[:1]
    checked(validate_data, estimator, head, ensure_all_finite=False, **options)
    checked(check_consistent_length, X, *targets)
    return (X, *targets) if y else X


def validated(estimator: Any, *data: Any, **options: Any) -> Any:
    """Check rows as scikit-learn does, and that all their values are finite."""
    in_file = isinstance(data[0], ParquetRows)
    if is_large(data[0]) and (in_file or estimator.reads_blocks):
        return _checked_by_blocks(estimator, *data, **options)
    if in_file:
        data = data[0].frame(slice(None)), *data[1:]
    options |= {"dtype": np.float64, "ensure_all_finite": False}
    if issparse(data[0]):
        if not estimator.takes_sparse:
            raise SmpcoreError(
                f"X is sparse, and {estimator!r} takes dense rows only; use "
                "SMPClassifier(), SMaLLClassifier() or MultiPrototypeSVC(), or give "
                "X.toarray() where that fits into memory."
            )
        options["accept_sparse"] = "csr"
    arrays = checked(validate_data, estimator, *data, **options)
    names = getattr(estimator, "feature_names_in_", None)
    require_finite(arrays[0] if len(data) > 1 else arrays, names)
    return arrays


def far_means(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean of each column that lies far from 0 for its spread; 0 for the others."""
    with np.errstate(over="ignore", invalid="ignore"):
        means = weights @ X
        spread = np.ptp(X, axis=0)
    return np.where(np.isfinite(means) & (np.abs(means) > FAR * spread), means, 0.0)


def constant_columns(X: Any, means: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """Which columns have one value but for rounding."""
    if not (np.isfinite(means).all() and np.isfinite(spreads).all()):
        largest = max(abs(block).max() for _, block in row_blocks(X))
        raise SmpcoreError(
            f"X holds values as large as {largest:.3g}, too large to be scaled; divide "
            "such columns by a power of ten."
        )
    rounding = 8 * np.finfo(np.float64).eps * np.abs(means)
    return spreads <= np.maximum(rounding, np.finfo(np.float64).tiny)


def scaled_copy(
    X: np.ndarray,
    weights: np.ndarray,
    standardize: bool,
    bias: bool,
    distances: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The one copy of X: standardised, with a last column of ones for a bias.

    Mean and standard deviation count a row by its weight, so that a whole weight is
    that many rows. A constant column has scale 1 and becomes 0.
    """
    n_samples, n_features = X.shape
    scaled = np.empty((n_samples, n_features + bias))
    features = scaled[:, :n_features]
    center, scale = np.zeros(n_features), np.ones(n_features)
    scaled[:, n_features:] = 1.0
    if not standardize:
        if distances:
            center = far_means(X, weights)
        np.subtract(X, center, out=features)
        return scaled, center, scale
    with np.errstate(over="ignore", invalid="ignore"):
        center = weights @ X
        np.subtract(X, center, out=features)
        # Sums of large values lose digits that sums of what is left have.
        center += weights @ features
        np.subtract(X, center, out=features)
        scale = np.sqrt(np.einsum("i,ij,ij->j", weights, features, features))
    constant = constant_columns(X, center, scale)
    scale[constant] = 1.0
    features /= scale
    features[:, constant] = 0.0
    return scaled, center, scale


def scaled_as_read(
    X: np.ndarray, weights: np.ndarray, standardize: bool, bias: bool
) -> tuple[ScaledRows, np.ndarray, np.ndarray]:
    """As `scaled_copy`, without a copy: rows are scaled a block at a time."""
    center, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    constant = np.zeros(X.shape[1], dtype=bool)
    if standardize:
        rows = ScaledRows(X, center, scale, constant, bias=False)
        with np.errstate(over="ignore", invalid="ignore"):
            center = sum(map_blocks(lambda part, block: weights[part] @ block, rows))

            def sums(part: slice, block: np.ndarray) -> np.ndarray:
                return np.stack([weights[part] @ block, weights[part] @ block**2])

            left, squares = sum(map_blocks(sums, replace(rows, center=center)))
            center = center + left
            scale = np.sqrt(np.maximum(squares - left**2, 0.0))
        constant = constant_columns(X, center, scale)
        scale[constant] = 1.0
    return ScaledRows(X, center, scale, constant, bias), center, scale


def some_columns(X: Any, columns: np.ndarray) -> Any:
    """Rows with some of their columns, in memory where these are few enough."""
    if issparse(X):
        return X[:, columns]
    X = X.narrowed(columns)
    if 8 * X.shape[0] * X.shape[1] > MOST_COPY_BYTES:
        return X
    rows = np.empty(X.shape)
    for part, block in row_blocks(X):
        rows[part] = block
    return rows


def gamma_range(default: float) -> tuple[float, float]:
    """Useful range of a kernel's gamma around the one that suits the data."""
    return default / 16, default * 16


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
