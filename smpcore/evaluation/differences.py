"""How sure it is that a model is better than another, or on some rows than on all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from smpcore.errors import SmpcoreError
from smpcore.evaluation.scores import independent_rows, mean_error

#: A difference whose p-value is not below this is none that can be told.
LEVEL = 0.05


@dataclass(frozen=True)
class Difference:
    """How much better one model is than another on the same rows."""

    mean: float
    low: float
    high: float
    p_value: float
    test: str


def paired_difference(
    first: np.ndarray,
    second: np.ndarray,
    groups: np.ndarray | None = None,
    level: float = LEVEL,
    weights: np.ndarray | None = None,
) -> Difference:
    """Compare two models' losses row by row.

    Hits and misses of independent rows: McNemar's exact test, and its inversion: of the
    rows on which one model alone is right, the share of either has the interval of
    Clopper and Pearson (Biometrika 26, 1934). That takes the number of these rows as
    fixed, so the interval is widened to that of Agresti and Min (Statistics in Medicine
    24, 2005), except across 0 where the test rejects. Other losses, rows in groups and
    rows with weights: Student's t of the mean difference, by group where there are
    groups.

    Parameters
    ----------
    first, second : ndarray of shape (n_rows,)
        Loss of each model on each row: 0 and 1, or absolute errors.
    groups : ndarray of shape (n_rows,), optional
        Rows of equal value depend on each other; None: all are independent.
    level : float
        Of the test: the interval covers 1 - level; see `holm_levels`.
    weights : ndarray of shape (n_rows,), optional
        Of the rows, taken as known.

    Returns
    -------
    Difference

    Raises
    ------
    SmpcoreError
        If there are no rows.
    """
    gain = np.asarray(second, np.float64) - np.asarray(first, np.float64)
    n = len(gain)
    if n == 0:
        raise SmpcoreError("There are no rows to compare on; give validation some.")
    if groups is None and weights is None and np.isin(gain, (-1.0, 0.0, 1.0)).all():
        better, worse = int((gain > 0).sum()), int((gain < 0).sum())
        return _mcnemar(better, worse, n, level)
    error, count = mean_error(gain, groups, weights)
    test = "paired t" if weights is None else "weighted paired t"
    test = test if groups is None else f"{test} over clusters"
    mean = float(np.average(gain, weights=weights))
    return _by_t(mean, error, count - 1, level, test)


def _by_t(
    mean: float, error: float, degrees: float, level: float, test: str
) -> Difference:
    """A difference by Student's t; an infinite standard error tells nothing."""
    if math.isinf(error):
        return Difference(mean, -math.inf, math.inf, 1.0, test)
    if error == 0:
        return Difference(mean, mean, mean, 1.0 if mean == 0 else 0.0, test)
    half = float(stats.t.isf(level / 2, degrees)) * error
    p_value = 2 * float(stats.t.sf(abs(mean) / error, degrees))
    return Difference(mean, mean - half, mean + half, p_value, test)


def _mcnemar(better: int, worse: int, n: int, level: float) -> Difference:
    """McNemar's exact test of the rows on which one model alone is right."""
    both = better + worse
    # Agresti and Min: half a row is added to each of the four cells.
    middle = (better - worse) / (n + 2)
    variance = (both + 1) / (n + 2) - middle**2
    half = stats.norm.isf(level / 2) * np.sqrt(variance / (n + 2))
    wide = middle - half, middle + half
    if not both:
        return Difference(0.0, *wide, 1.0, "McNemar")
    test = stats.binomtest(better, both)
    exact = [(2 * end - 1) * both / n for end in test.proportion_ci(1 - level)]
    low, high = min(exact[0], wide[0]), max(exact[1], wide[1])
    if low <= 0 < exact[0]:
        low = exact[0]
    if exact[1] < 0 <= high:
        high = exact[1]
    return Difference((better - worse) / n, low, high, test.pvalue, "McNemar")


def simultaneous_differences(
    losses: Sequence[np.ndarray],
    reference: np.ndarray,
    groups: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> list[Difference]:
    """Compare several models with one on the same rows, corrected for their number.

    Parameters
    ----------
    losses : sequence of ndarray of shape (n_rows,)
        Loss of each model on each row.
    reference : ndarray of shape (n_rows,)
        Loss of the model that they are compared with.
    groups, weights : ndarray of shape (n_rows,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    list of Difference
        P-values and intervals are corrected by `holm` and `holm_levels`.
    """
    return corrected(
        [partial(paired_difference, loss, reference, groups) for loss in losses],
        weights=weights,
    )


def corrected(
    tests: Sequence[Callable[..., Difference]], is_one: bool = False, **options: Any
) -> list[Difference]:
    """Run tests that take a level, corrected by Holm unless they are one test."""
    p_values = [test(**options).p_value for test in tests]
    levels, shown = holm_levels(p_values), holm(p_values)
    if is_one:
        levels, shown = [LEVEL] * len(tests), p_values
    return [
        replace(test(level=level, **options), p_value=float(p_value))
        for test, level, p_value in zip(tests, levels, shown, strict=True)
    ]


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Correct p-values for their number (Holm, Scandinavian J. of Statistics 6, 1979).

    Parameters
    ----------
    p_values : sequence of float
        Of tests that are read together, each from 0 to 1.

    Returns
    -------
    ndarray of shape (n_values,)
    """
    p_values = np.asarray(p_values, np.float64)
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def holm_levels(p_values: Sequence[float]) -> np.ndarray:
    """Level at which Holm's procedure decides about each p-value.

    A test that is significant after the correction is so at its own step's level; the
    others are judged at the level of the step that stops the procedure. An interval at
    this level excludes no difference exactly where `holm` says p < level.
    """
    p_values = np.asarray(p_values, np.float64)
    order = np.argsort(p_values, kind="stable")
    steps = LEVEL / np.arange(len(p_values), 0, -1)
    for failed in np.flatnonzero(p_values[order] >= steps)[:1]:
        steps[failed:] = steps[failed]
    levels = np.empty_like(p_values)
    levels[order] = steps
    return levels


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
    set that has fewer. Clusters with rows in both sets make the shares vary together:
    both count as so many times the rows as the variance of their difference is
    smaller, or larger, than without that. Where hits or misses are rare the score test
    finds too much: the p-value is not below that of Fisher's exact test, and the
    interval is widened to 0 where that one does not reject.
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
    if both := _covariance(Sample(*first), Sample(*second)):
        apart = sum(mean_error(*sample)[0] ** 2 for sample in (first, second))
        if 2 * both < apart < math.inf:
            counts = [n * apart / (apart - 2 * both) for n in counts]
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

    The error of each mean is over clusters where rows depend on each other. Where both
    sets have rows of the same clusters, the covariance of their means counts, too, as
    in `smpcore.evaluation.operating.roc_area`; the degrees of freedom are those of the
    set with fewer clusters then.
    """
    samples = Sample(*first), Sample(*second)
    errors, counts = zip(*(mean_error(*sample) for sample in samples), strict=True)
    means = [_mean(sample.values, sample.weights) for sample in samples]
    variance, degrees = errors[0] ** 2 + errors[1] ** 2, 1.0
    if 0 < variance < math.inf:
        parts = (e**4 / (n - 1) for e, n in zip(errors, counts, strict=True))
        degrees = variance**2 / sum(parts)
    if both := _covariance(*samples):
        variance, degrees = max(0.0, variance - 2 * both), min(counts) - 1
    return _by_t(means[0] - means[1], math.sqrt(variance), degrees, level, "Welch")


def _covariance(first: Sample, second: Sample) -> float:
    """Covariance of two means, over the clusters that have rows in both sets."""
    if first.clusters is None or second.clusters is None:
        return 0.0
    shared, parts = np.intersect1d(first.clusters, second.clusters), []
    if len(shared) < 2:
        return 0.0
    for values, clusters, weights in (first, second):
        weights = np.ones(len(values)) if weights is None else weights
        off = weights * (values - np.average(values, weights=weights))
        is_shared = np.isin(clusters, shared)
        place = np.searchsorted(shared, clusters[is_shared])
        parts.append(np.bincount(place, off[is_shared], len(shared)) / weights.sum())
    n = len(np.union1d(first.clusters, second.clusters))
    return float(np.dot(*parts)) * n / (n - 1)
