"""Which training rows share a prototype at first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from smpcore.errors import SmpcoreError, caution
from smpcore.methods.shared.dask_rows import dask_sample, is_dask, row_values
from smpcore.methods.shared.row_blocks import map_blocks
from smpcore.methods.shared.scaling import count_distinct_sparse
from smpcore.threads import one_core

#: Rows of a class that k-means looks at; the others join the nearest centre.
MOST_ROWS = 10_000

#: Rows of a class of which all numbers are permuted to draw some; of more they are
#: drawn one at a time.
MOST_PERMUTED = 10**8


def each_row(
    y_encoded: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Give every row a prototype of its own."""
    if is_dask(y_encoded):
        raise SmpcoreError(
            "start='each' gives every row a prototype, and the rows of a Dask array "
            "are too many for that; use start='kmeans'."
        )
    counted = np.flatnonzero(weights > 0)
    counted = counted[np.argsort(y_encoded[counted], kind="stable")]
    prototype_labels = y_encoded[counted]
    assignment = np.searchsorted(prototype_labels, y_encoded)
    assignment[counted] = np.arange(len(counted))
    return assignment, prototype_labels


def cluster_rows(
    X: np.ndarray,
    y_encoded: np.ndarray,
    weights: np.ndarray,
    n_clusters: int | np.ndarray,
    seed: Any,
    only: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """k-means in every class, the best of five starts; of few rows one for each."""
    random = check_random_state(seed)
    wanted = np.broadcast_to(n_clusters, int(y_encoded.max()) + 1).tolist()
    codes = range(len(wanted)) if only is None else [only]
    centers = []
    for code in codes:
        rows, masses = _sample(X, y_encoded, weights, code, random)
        centers.append(_centers(rows, masses, wanted[code], random))
    of_code = dict(zip(codes, centers, strict=True))
    assignment = row_values(_nearest_centers, X, y_encoded, centers=of_code)
    return assignment, np.repeat(codes, [len(of_class) for of_class in centers])


def _sample(
    X: Any, y_encoded: Any, weights: Any, code: int, random: np.random.RandomState
) -> tuple[Any, np.ndarray]:
    """Rows of a class that count, and their weights: at most `MOST_ROWS`."""

    def draw(n_rows: int) -> np.ndarray:
        if n_rows <= MOST_ROWS:
            return np.arange(n_rows)
        if n_rows > MOST_PERMUTED:
            return np.sort(
                sample_without_replacement(n_rows, MOST_ROWS, random_state=random)
            )
        return np.sort(random.choice(n_rows, MOST_ROWS, replace=False))

    if is_dask(X):
        return dask_sample(X, y_encoded, weights, code, draw)
    counted = np.flatnonzero((y_encoded == code) & (weights > 0))
    counted = counted[draw(len(counted))]
    return X[counted], weights[counted]


def _nearest_centers(
    X: Any, y_encoded: np.ndarray, *, centers: dict[int, np.ndarray]
) -> np.ndarray:
    """The nearest centre of each row's class, all centres numbered in their order."""

    def nearest(part: slice, block: Any) -> np.ndarray:
        assignment, before = np.zeros(block.shape[0], dtype=np.int64), 0
        for code, of_class in centers.items():
            rows = np.flatnonzero(y_encoded[part] == code)
            assignment[rows] = before + _nearest(block[rows], of_class)
            before += len(of_class)
        return assignment

    return np.concatenate(list(map_blocks(nearest, X)))


def _nearest(X: Any, centers: np.ndarray) -> np.ndarray:
    """Number of the centre that is nearest to each row."""
    # From the middle of the centres: squares of large offsets would cancel.
    middle = 0.0 if issparse(X) else centers.mean(axis=0)
    near, rows = centers - middle, X if issparse(X) else X - middle
    return ((near**2).sum(axis=1) - 2.0 * rows @ near.T).argmin(axis=1)


def _centers(
    X: np.ndarray, weights: np.ndarray, n_clusters: int, random: np.random.RandomState
) -> np.ndarray:
    """Centres of the clusters of one class."""
    count = count_distinct_sparse if issparse(X) else count_distinct
    n_clusters = min(n_clusters, count(X, n_clusters))
    if n_clusters == 1:
        return X[:1].toarray() if issparse(X) else X[:1]
    # Of a tolerance of 0 scikit-learn warns: rounding may never reach it.
    return kmeans_centers(X, weights, n_clusters, random, n_init=5, tol=1e-12)


def kmeans_centers(
    X: np.ndarray,
    weights: np.ndarray,
    n_clusters: int,
    random: np.random.RandomState,
    n_trials: int = 1,
    **options: Any,
) -> np.ndarray:
    """Centres of k-means that depend on the rows, not on their order."""
    from sklearn.cluster import KMeans

    options = {"n_init": 1, "copy_x": False, "random_state": random} | options
    kmeans = KMeans(n_clusters, init=seeding(weights, n_trials), **options)
    with one_core:
        return kmeans.fit(X, sample_weight=weights).cluster_centers_


def count_distinct(X: np.ndarray, enough: int) -> int:
    """Count different rows, up to a number that is enough."""
    for rows in (X[: 4 * enough], X):  # The first rows often are enough.
        n_distinct = 0
        while n_distinct < enough and len(rows):
            rows = rows[(rows != rows[0]).any(axis=1)]
            n_distinct += 1
        if n_distinct == enough:
            break
    return n_distinct


def seeding(weights: np.ndarray, n_trials: int = 1) -> Callable[..., np.ndarray]:
    """k-means++ that draws the same centres however rows are ordered or repeated.

    Rows are lined up along a random direction, where a row of weight 3 covers the same
    stretch as three equal ones; of `n_trials` draws the best is taken.
    """

    def seeds(
        X: Any, n_clusters: int, random_state: np.random.RandomState
    ) -> np.ndarray:
        direction, is_sparse = random_state.normal(size=X.shape[1]), issparse(X)
        along = X @ direction if is_sparse else (X * direction).sum(axis=1)
        order = np.argsort(along, kind="stable")
        if is_sparse:
            lined = csr_array(X)[order]
            squares = lined.power(2).sum(axis=1)
        else:  # from one of them: squares of large offsets would cancel
            lined = X[order] - X[order[0]]
            squares = np.einsum("ij,ij->i", lined, lined)
        masses = weights[order]
        chance, closest, chosen = masses, np.full(len(order), np.inf), []
        for draws in random_state.uniform(size=(n_clusters, n_trials)):
            reach = np.cumsum(chance)
            places = np.searchsorted(reach, draws * reach[-1], side="right")
            places = np.minimum(places, len(order) - 1)
            rows = lined[places]
            if is_sparse:
                products = (lined @ rows.toarray().T).T
            else:
                products = rows @ lined.T
            distance = squares[places, None] + squares - 2.0 * products
            left = np.minimum(closest, np.maximum(distance, 0.0))
            best = int((left @ masses).argmin())
            chosen.append(order[places[best]])
            closest = left[best]
            chance = masses * closest
        return X[chosen].toarray() if is_sparse else X[chosen]

    return seeds


def warn_if_fewer(
    requested: int | np.ndarray, prototype_labels: np.ndarray, classes: np.ndarray
) -> None:
    """Warn if a class has fewer distinct rows than prototypes asked for."""
    present, sizes = np.unique(prototype_labels, return_counts=True)
    wanted = np.broadcast_to(requested, len(classes))[present]
    short = np.flatnonzero(sizes < wanted)
    if len(short):
        least = short[sizes[short].argmin()]
        caution(
            f"n_prototypes={wanted[least]} is more than the distinct rows of "
            f"{len(short)} of the classes; class {classes[present[least]]!s} gets "
            f"{sizes[least]}."
        )
