"""How sure it is that a share, or a mean, differs between two sets of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from smpcore.evaluation.clustered import independent_rows, mean_error
from smpcore.evaluation.differences import Difference
from smpcore.evaluation.pareto import LEVEL


class Sample(NamedTuple):
    """Rows whose mean is compared."""

    values: np.ndarray
    clusters: np.ndarray | None = None
    weights: np.ndarray | None = None


def difference_of_shares(
    first: Sample, second: Sample, level: float = LEVEL
) -> Difference:
    """Compare the shares of hits in two sets of rows.

    The score test, which is the chi-squared test with N - 1, and its inversion, the
    interval of Miettinen and Nurminen (Statistics in Medicine 4, 1985). Dependent rows
    count as `independent_rows`, and the quantile is Student's with the clusters of the
    set that has fewer. Where hits or misses are rare the score test finds too much: the
    p-value is not below that of Fisher's exact test, and the interval is widened to 0
    where that one does not reject.
    """
    shares, counts, units = [], [], []
    for hits, clusters, weights in (Sample(*first), Sample(*second)):
        n, count = float(len(hits)), math.inf
        if len(hits) and (clusters is not None or weights is not None):
            n, count = independent_rows(hits, clusters, weights)
        shares.append(_mean(hits, weights))
        counts.append(n)
        units.append(count)
    difference = shares[0] - shares[1]
    if min(counts) < 1:
        return Difference(difference, -1.0, 1.0, 1.0, "score, Fisher")
    test = stats.t(min(units) - 1) if np.isfinite(min(units)) else stats.norm()

    def distance(delta: float) -> float:
        return _score(shares, counts, delta)

    quantile = float(test.isf(level / 2))
    low = _crossing(lambda delta: distance(delta) - quantile, -1.0, difference)
    high = _crossing(lambda delta: distance(delta) + quantile, difference, 1.0)
    hits = [round(p * int(n)) for p, n in zip(shares, counts, strict=True)]
    table = [(hit, int(n) - hit) for hit, n in zip(hits, counts, strict=True)]
    p_value = max(2 * test.sf(abs(distance(0.0))), stats.fisher_exact(table).pvalue)
    if p_value >= level:
        low, high = min(low, 0.0), max(high, 0.0)
    return Difference(difference, low, high, min(1.0, float(p_value)), "score, Fisher")


def _mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    return float(np.average(values, weights=weights)) if len(values) else math.nan


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function is 0; the end nearest to that if it is nowhere."""
    if function(low) <= 0:
        return low
    if function(high) >= 0:
        return high
    return float(brentq(function, low, high, xtol=1e-12))


def _score(shares: list[float], counts: list[float], delta: float) -> float:
    """Standardised distance of two shares' difference from `delta`.

    With the variance at the most likely shares that differ by `delta`, which solve a
    cubic equation (Miettinen and Nurminen 1985, appendix).
    """
    (p1, p2), (n1, n2) = shares, counts
    ratio = n2 / n1
    a = 1 + ratio
    b = -(1 + ratio + p1 + ratio * p2 + delta * (ratio + 2))
    c = delta**2 + delta * (2 * p1 + ratio + 1) + p1 + ratio * p2
    d = -p1 * delta * (1 + delta)
    v = (b / (3 * a)) ** 3 - b * c / (6 * a**2) + d / (2 * a)
    u = math.copysign(math.sqrt(max(0.0, (b / (3 * a)) ** 2 - c / (3 * a))), v)
    cosine = v / u**3 if u else 1.0
    angle = (math.pi + math.acos(min(1.0, max(-1.0, cosine)))) / 3
    first = min(1.0, max(0.0, 2 * u * math.cos(angle) - b / (3 * a)))
    second = min(1.0, max(0.0, first - delta))
    variance = first * (1 - first) / n1 + second * (1 - second) / n2
    variance *= (n1 + n2) / (n1 + n2 - 1)
    gap = p1 - p2 - delta
    if variance <= 0:
        return 0.0 if abs(gap) < 1e-12 else math.copysign(math.inf, gap)
    return gap / math.sqrt(variance)


def difference_of_means(
    first: Sample, second: Sample, level: float = LEVEL
) -> Difference:
    """Compare the means of two sets of rows: Welch's t test and its interval.

    The error of each mean is over clusters where rows depend on each other.
    """
    errors, counts = [], []
    first, second = Sample(*first), Sample(*second)
    for values, clusters, weights in (first, second):
        clusters = np.arange(len(values)) if clusters is None else clusters
        error, count = math.inf, 0
        if len(values):
            error, count = mean_error(values, clusters, weights)
        errors.append(error)
        counts.append(count)
    means = [_mean(values, weights) for values, _, weights in (first, second)]
    difference = means[0] - means[1]
    if min(counts) < 2:
        return Difference(difference, -math.inf, math.inf, 1.0, "Welch")
    variance = errors[0] ** 2 + errors[1] ** 2
    if variance == 0:
        same = 1.0 if difference == 0 else 0.0
        return Difference(difference, difference, difference, same, "Welch")
    degrees = variance**2 / sum(
        error**4 / (count - 1) for error, count in zip(errors, counts, strict=True)
    )
    half = float(stats.t.isf(level / 2, degrees)) * math.sqrt(variance)
    p_value = 2 * float(stats.t.sf(abs(difference) / math.sqrt(variance), degrees))
    return Difference(
        difference, difference - half, difference + half, p_value, "Welch"
    )
