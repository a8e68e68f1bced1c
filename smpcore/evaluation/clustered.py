"""How sure a mean is where rows depend on each other: by clusters, not by rows."""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy.special import ndtri, stdtrit


@functools.cache  # one is asked for at every picture of a drag
def normal_quantile(level: float = 0.05) -> float:
    """Point that a standard normal variable is beyond, on either side, so often."""
    return -float(ndtri(level / 2))


def mean_error(
    values: np.ndarray, clusters: np.ndarray, weights: np.ndarray | None = None
) -> tuple[float, int]:
    """Standard error of a mean whose rows depend on each other within clusters.

    That of the ratio of the clusters' sums to their sizes (Cochran, Sampling
    Techniques, 1977, section 9A.1), with weights that are taken as known.
    """
    _, cluster = np.unique(clusters, return_inverse=True)
    off, total = values - np.average(values, weights=weights), len(values)
    if weights is not None:
        off, total = off * weights, weights.sum()
    sums = np.bincount(cluster, off)
    count = len(sums)
    if count < 2:
        return math.inf, count
    return float(np.sqrt(count / (count - 1) * np.sum(sums**2)) / total), count


def mean_interval(
    values: np.ndarray,
    clusters: np.ndarray | None = None,
    level: float = 0.05,
    weights: np.ndarray | None = None,
) -> tuple[float, float]:
    """Student's interval of a mean, over clusters where rows depend on each other."""
    count = len(values)
    if weights is not None and clusters is None:
        clusters = np.arange(count)
    if clusters is not None:
        spread, count = mean_error(values, clusters, weights)
    if count < 2:
        return math.nan, math.nan
    if clusters is None:  # the same, without counting clusters of one row each
        spread = float(np.std(values, ddof=1)) / math.sqrt(count)
    mean = float(np.average(values, weights=weights))
    half = float(stdtrit(count - 1, 1 - level / 2) * spread)
    lowest = 0.0 if values.min() >= 0 else -math.inf
    return max(lowest, mean - half), mean + half


def independent_rows(
    hits: np.ndarray, clusters: np.ndarray | None, weights: np.ndarray | None = None
) -> tuple[float, int]:
    """Clustered rows divided by the design effect of their share.

    That is the variance of the share over clusters beside that of as many independent
    rows, not below 1 (Rao and Scott, Biometrics 48, 1992). Where all rows are hits, or
    none is, nothing tells how alike the rows of a cluster are: they count as wholly
    alike then, a cluster as one row. So a single miss may make an interval narrower.
    Unequal weights have a design effect of their own then, the one of Kish (Survey
    Sampling, 1965, section 11.2).
    """
    n, share = len(hits), float(np.average(hits, weights=weights))
    clusters = np.arange(n) if clusters is None else clusters
    error, count = mean_error(np.asarray(hits, np.float64), clusters, weights)
    if count < 2:
        return 0.0, count
    if 0 < share < 1:
        return n / max(1.0, error**2 * n / (share * (1 - share))), count
    place = np.unique(clusters, return_inverse=True)[1]
    sizes = np.bincount(place, weights)
    return float(sizes.sum()) ** 2 / float(np.sum(sizes**2)), count


def effective_rows(
    hits: np.ndarray,
    clusters: np.ndarray | None,
    level: float = 0.05,
    weights: np.ndarray | None = None,
) -> float:
    """How many independent rows would tell as much of a share as clustered ones do.

    The rows of `independent_rows`, divided by the square of Student's quantile beside
    the normal one: few clusters tell their spread badly (Korn and Graubard, Survey
    Methodology 24, 1998). In Wilson's interval that keeps to its level best (Dean and
    Pagano, Journal of Survey Statistics and Methodology 3, 2015).
    """
    n, count = independent_rows(hits, clusters, weights)
    if count < 2:
        return 0.0
    few = normal_quantile(level) / float(stdtrit(count - 1, 1 - level / 2))
    return n * few**2
