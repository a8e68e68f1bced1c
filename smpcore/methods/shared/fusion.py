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
    """Group points that are equal, directly or through others."""
    group = np.arange(len(points))
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        for start in range(0, len(own), AT_ONCE):
            distances = cdist(points[own[start : start + AT_ONCE]], points[own], metric)
            near = distances <= MERGED * scale
            for row in near[np.count_nonzero(near, axis=1) > 1]:
                joined = np.unique(group[own[row]])
                group[np.isin(group, joined)] = joined[0]
    return np.unique(group, return_inverse=True)[1]
