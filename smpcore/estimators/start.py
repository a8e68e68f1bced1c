"""Which training rows share a prototype at first."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.cluster import KMeans

#: Rows of a class that k-means looks at; the others join the nearest centre.
MOST_ROWS = 10_000


def each_row(codes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give every row a prototype of its own.

    Parameters
    ----------
    codes : ndarray of int, shape (n_samples,)
        Class of each row.
    weights : ndarray of shape (n_samples,)
        A row of weight 0 gets none; it is tied to the first of its class.

    Returns
    -------
    assignment : ndarray of int, shape (n_samples,)
    owners : ndarray of int, shape (n_prototypes,)
        Class of each prototype, ascending.
    """
    counted = np.flatnonzero(weights > 0)
    counted = counted[np.argsort(codes[counted], kind="stable")]
    owners = codes[counted]
    assignment = np.searchsorted(owners, codes)
    assignment[counted] = np.arange(len(counted))
    return assignment, owners


def cluster_rows(
    X: np.ndarray, codes: np.ndarray, weights: np.ndarray, n_clusters: int, seed: object
) -> tuple[np.ndarray, np.ndarray]:
    """k-means in every class: the best of five starts.

    A class with fewer distinct rows than `n_clusters` gets one cluster for each.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
    codes : ndarray of int, shape (n_samples,)
        Class of each row.
    weights : ndarray of shape (n_samples,)
    n_clusters : int
    seed : int, RandomState or None

    Returns
    -------
    assignment : ndarray of int, shape (n_samples,)
    owners : ndarray of int, shape (n_prototypes,)
        Class of each prototype, ascending.
    """
    random = np.random.RandomState(seed) if not _is_random(seed) else seed
    n_classes = codes.max() + 1
    centers, owners, short = [], [], []
    for code in range(n_classes):
        rows = np.flatnonzero((codes == code) & (weights > 0))
        if len(rows) > MOST_ROWS:
            rows = np.sort(random.choice(rows, MOST_ROWS, replace=False))
        found = class_centers(X[rows], weights[rows], n_clusters, random)
        centers.append(found)
        owners.append(np.full(len(found), code))
        if len(found) < n_clusters:
            short.append((len(found), code))
