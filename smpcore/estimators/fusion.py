"""Which prototypes are so close that they count as one."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

#: Prototypes closer than this, relative to their scale, are one.
MERGED = 1e-3
#: Prototypes that are compared with all others in one call.
AT_ONCE = 256


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
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        for start in range(0, len(own), AT_ONCE):
            apart = cdist(points[own[start : start + AT_ONCE]], points[own], metric)
            near = apart <= MERGED * scale
            for row in near[np.count_nonzero(near, axis=1) > 1]:
                joined = np.unique(group[own[row]])
                group[np.isin(group, joined)] = joined[0]
    return np.unique(group, return_inverse=True)[1]
