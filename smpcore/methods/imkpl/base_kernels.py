"""The kernels that IMKPL mixes, by name: of features, rows, series, or given ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from smpcore.errors import SmpcoreError
from smpcore.methods.imkpl.kinds_of_kernels import (
    MIXED_TABLES,
    FeatureKernels,
    Kernels,
    ListedKernels,
    refuse_large,
    squared_differences,
)
from smpcore.methods.shared.gram import ROUNDING, make_semidefinite
from smpcore.similarity import Similarity, alignment_kernel


def base_kernels(
    name: str,
    X: np.ndarray,
    counts: np.ndarray,
    columns: np.ndarray,
    n_channels: int,
    random_state: Any,
) -> Kernels:
    """Kernels of scaled rows, by the name that `IMKPLClassifier` has for them."""
    if name == "gak":
        return alignment_kernels(X, counts, n_channels, random_state)
    if name == "precomputed":
        return precomputed_kernels(X, counts, columns)
    if name == "features":
        return FeatureKernels.of(X, counts)
    refuse_large(len(X), 1 + MIXED_TABLES)
    similarity = row_similarity(name, X, counts)
    K = similarity.values(X, X)
    np.fill_diagonal(K, 1.0)  # a row of zeros, which has no cosine, is like itself
    return ListedKernels(K[None], np.ones(1), counts, similarity=similarity)


def alignment_kernels(
    X: np.ndarray, counts: np.ndarray, n_channels: int, random_state: Any
) -> ListedKernels:
    """Global alignment kernels of series, one per channel.

    The width of a channel is the median difference of its values, of 4000 random
    pairs, times the root of the length.
    """
    if X.shape[1] % n_channels:
        raise SmpcoreError(
            f"n_channels={n_channels} should divide the {X.shape[1]} columns of X, "
            "which holds the channels of a series side by side; change n_channels."
        )
    refuse_large(len(X), n_channels + MIXED_TABLES)
    random = check_random_state(random_state)
    K = np.empty((n_channels, len(X), len(X)))
    widths = np.empty(n_channels)
    for channel, part in enumerate(np.split(X, n_channels, axis=1)):
        first, second = random.randint(part.size, size=(2, 4000))
        distances = np.abs(part.ravel()[first] - part.ravel()[second])
        least = max(1e-3 * part.std(), 1e-9)
        widths[channel] = max(np.median(distances), least) * np.sqrt(part.shape[1])
        K[channel] = alignment_kernel(part, part, float(widths[channel]))
    return ListedKernels(K, np.ones(n_channels), counts, widths)


def row_similarity(name: str, X: np.ndarray, counts: np.ndarray) -> Similarity:
    """The one kernel of whole rows, "rbf" or "linear"."""
    if name == "linear":
        return Similarity("cosine")
    width = squared_differences(X, counts).sum()
    return Similarity("rbf", gamma=1.0 / width if width > 0 else 1.0)


def model_kernel(
    name: str, kernels: Kernels, beta: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> tuple[Similarity, np.ndarray]:
    """Similarity and anchors of the mixed kernel."""
    if name in ("features", "gak"):
        weights, widths = tuple(beta.tolist()), tuple(kernels.widths.tolist())
        return Similarity(name, weights=weights, widths=widths), rows
    if name != "precomputed":
        return kernels.similarity, rows
    # An input is its kernel values: those to an anchor are picked and weighed.
    anchors = np.zeros(rows.shape)
    for number in np.flatnonzero(beta):
        weight = beta[number] * kernels.factors[number]
        anchors[np.arange(len(rows)), columns[number]] = weight
    return Similarity("linear"), anchors


def kernel_columns(order: np.ndarray, n_samples: int, n_columns: int) -> np.ndarray:
    """Columns of kernels that stand side by side."""
    if n_columns % n_samples:
        raise SmpcoreError(
            f"X has {n_columns} columns for {n_samples} rows and should have a column "
            "for each row, kernel beside kernel; with kernels='precomputed' X holds "
            "kernel values."
        )
    return np.arange(0, n_columns, n_samples)[:, None] + order


def precomputed_kernels(
    X: np.ndarray, counts: np.ndarray, columns: np.ndarray
) -> ListedKernels:
    """Check kernels that stand side by side, and scale them to 1 on the diagonal."""
    n, n_kernels = len(X), len(columns)
    refuse_large(n, n_kernels + MIXED_TABLES)
    K, factors = np.empty((n_kernels, n, n)), np.empty(n_kernels)
    for number in range(n_kernels):
        K[number] = X[:, columns[number]]
        factors[number] = _unit_diagonal(K[number], number)
    return ListedKernels(K, factors, counts)


def _unit_diagonal(K: np.ndarray, number: int) -> float:
    """Make a kernel semidefinite and 1 on the diagonal; return its factor."""
    low, high = K.diagonal().min(), K.diagonal().max()
    if low <= 0.0 or high - low > ROUNDING * high:
        raise SmpcoreError(
            f"kernel {number} has {low:.6g} to {high:.6g} on its diagonal and should "
            "have the same positive number there; divide its entries, and those of "
            "new rows, by sqrt(k(x, x) k(z, z))."
        )
    shift = make_semidefinite(K, f"kernel {number}")
    factor = 1.0 / (high + shift)
    K *= factor
    np.fill_diagonal(K, 1.0)
    return factor
