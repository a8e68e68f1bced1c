"""Which prototypes are so close that they count as one."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

#: Prototypes closer than this, relative to their scale, are one.
MERGED = 1e-3


def equal_groups(
    points: np.ndarray, scale: float, metric: str, labels: np.ndarray
) -> np.ndarray:
    """Group points that are equal, directly or through others.

    Parameters
    ----------
    points : ndarray of shape (n_prototypes, n_columns)
    scale : float
        Points no farther apart than `MERGED` times this are equal.
    metric : str
        Of `scipy.spatial.distance.cdist`.
    labels : ndarray of int, shape (n_prototypes,)
        Only points of equal labels can be equal.

    Returns
    -------
    ndarray of int, shape (n_prototypes,)
        Number of the group of each, in the order of their first members.
    """
    group = np.arange(len(points))
    for i in range(len(points)):
        others = np.flatnonzero(labels == labels[i])
        apart = cdist(points[others], points[[i]], metric)[:, 0]
        joined = np.unique(group[others[apart <= MERGED * scale]])
        group[np.isin(group, joined)] = joined[0]
    return np.unique(group, return_inverse=True)[1]
