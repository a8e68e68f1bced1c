"""Which prototype each training row is tied to, and which prototypes are one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from smpcore.errors import SmpcoreError
from smpcore.estimators.base import Problem

#: The duals of a prototype per row may take this much memory.
MAX_BYTES = 2_000_000_000
#: k-means looks at this many rows of a class at most.
KMEANS_ROWS = 20_000
#: Prototypes closer than this share of the largest weight are one.
MERGED = 1e-3


@dataclass(frozen=True, eq=False)
class TiedProblem(Problem):
    """Training rows, each tied to a prototype of its class.

    Parameters
    ----------
    assign : ndarray of int64, shape (n_samples,)
        Prototype of each row.
    owners : ndarray of int64, shape (n_prototypes,)
        Class of each prototype, ascending.
    lipschitz : float
        Curvature bound of the loss: half the largest eigenvalue of X' diag(u) X.
    has_bias : bool
        Whether the last column of X is the bias.
    """

    assign: np.ndarray
    owners: np.ndarray
    lipschitz: float
    has_bias: bool

    @property
    def sizes(self) -> np.ndarray:
        """Prototypes per class."""
        return np.bincount(self.owners)


def by_clusters(
    rows: Problem, n_prototypes: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Tie each row to its k-means cluster within its class.

    Distinct rows with their weights are clustered, so that a weight of 2 and a row
    that stands there twice give the same clusters.

    Parameters
    ----------
    rows : Problem
    n_prototypes : int
        Per class; fewer where a class has fewer distinct rows (with a warning).
    seed : int

    Returns
    -------
    assign : ndarray of int64, shape (n_samples,)
    owners : ndarray of int64, shape (n_prototypes_in_all,)
        Class of each prototype, ascending.
    """
    assign = np.empty(len(rows.X), dtype=np.int64)
    owners: list[int] = []
    short = []
    for number in range(len(rows.classes)):
        own = np.flatnonzero(rows.codes == number)
        distinct, place = np.unique(rows.X[own], axis=0, return_inverse=True)
        mass = np.bincount(place.ravel(), rows.weights[own])
        size = min(int(n_prototypes), len(distinct))
        if size < n_prototypes:
            short.append((rows.classes[number], size))
        label = _kmeans(distinct, mass / mass.mean(), size, seed)
        assign[own] = label[place.ravel()] + len(owners)
        owners += [number] * size
    if short:
        named = ", ".join(f"{label!s:.30} has {size}" for label, size in short[:5])
        warnings.warn(
            f"n_prototypes={n_prototypes} should be at most the distinct rows of a "
            f"class: {named}; that many prototypes are used there.",
            UserWarning,
            stacklevel=4,
        )
    return assign, np.array(owners, dtype=np.int64)


def _kmeans(X: np.ndarray, weights: np.ndarray, k: int, seed: int) -> np.ndarray:
    if k == 1:
        return np.zeros(len(X), dtype=np.int64)
    if k == len(X):
        return np.arange(k)
    means = KMeans(k, n_init=5, random_state=seed)
    if len(X) > KMEANS_ROWS:
        some = np.random.default_rng(seed).permutation(len(X))[:KMEANS_ROWS]
        return means.fit(X[some], sample_weight=weights[some]).predict(X)
    return means.fit(X, sample_weight=weights).labels_


def one_each(rows: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Tie every row to a prototype of its own, those of a class side by side.

    Parameters
    ----------
    rows : Problem

    Returns
    -------
    assign, owners : ndarray of int64, shape (n_samples,)

    Raises
    ------
    SmpcoreError
        If the pairs of prototypes need too much memory.
    """
    sizes = np.bincount(rows.codes)
    n_numbers = float((sizes * (sizes - 1) / 2).sum()) * (rows.X.shape[1] + 1)
    if 16 * n_numbers > MAX_BYTES:
        raise SmpcoreError(
            f"start='each' should have fewer rows: {len(rows.X)} rows need "
            f"{16 * n_numbers / 1e9:.1f} GB for the pairs of prototypes, at most "
            f"{MAX_BYTES / 1e9:.0f} GB are used; take a sample, or start='kmeans'."
        )
    order = np.argsort(rows.codes, kind="stable")
    assign = np.empty(len(order), dtype=np.int64)
    assign[order] = np.arange(len(order))
    return assign, rows.codes[order]


def merge(
    W: np.ndarray, owners: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Replace prototypes of a class that are one by their mean.

    Parameters
    ----------
    W : ndarray of shape (n_prototypes, n_columns)
    owners : ndarray of int64, shape (n_prototypes,)

    Returns
    -------
    means : ndarray of shape (n_merged, n_columns)
    label : ndarray of int64, shape (n_prototypes,)
        Mean that each became.
    counts : ndarray of int64, shape (n_merged,)
    """
    limit = MERGED * np.abs(W).max(initial=0.0)
    label = np.empty(len(W), dtype=np.int64)
    found = 0
    for number in np.unique(owners):
        own = np.flatnonzero(owners == number)
        near = cdist(W[own], W[own], "chebyshev") <= limit
        n_groups, group = connected_components(near, directed=False)
        # Numbered in order of first appearance: prototypes stay where they were.
        _, first = np.unique(group, return_index=True)
        rank = np.empty(n_groups, dtype=np.int64)
        rank[np.argsort(first)] = np.arange(n_groups)
        label[own] = rank[group] + found
        found += n_groups
    counts = np.bincount(label)
    means = np.zeros((found, W.shape[1]))
    np.add.at(means, label, W)
    means /= counts[:, None]
    alone = counts[label] == 1
    means[label[alone]] = W[alone]
    return means, label, counts


def largest_eigenvalue(X: np.ndarray, weights: np.ndarray) -> float:
    """Largest eigenvalue of X' diag(u) X, or a little more."""
    n = X.shape[1]
    if n <= 500:
        return float(np.linalg.eigvalsh(X.T @ (weights[:, None] * X))[-1])
    vector = np.random.default_rng(0).normal(size=n)
    value = 0.0
    for _ in range(20):
        vector = X.T @ (weights * (X @ vector))
        value = float(np.linalg.norm(vector))
        vector /= max(value, 1e-300)
    return 1.05 * value


def best_own(problem: TiedProblem, W: np.ndarray) -> np.ndarray:
    """Prototype of its own class that each row scores highest with."""
    S = problem.X @ W.T
    S[problem.owners[None, :] != problem.codes[:, None]] = -np.inf
    return S.argmax(axis=1)
