"""How sure it is that one model is better than another on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from smpcore.errors import SmpcoreError
from smpcore.evaluation.clustered import mean_error
from smpcore.evaluation.pareto import LEVEL


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
    units = np.arange(n) if groups is None else groups
    error, count = mean_error(gain, units, weights)
    test = "weighted " * (weights is not None) + "paired t"
    test += " over groups" * (groups is not None)
    mean = float(np.average(gain, weights=weights))
    if count < 2:
        return Difference(mean, -np.inf, np.inf, 1.0, test)
    half = float(stats.t.ppf(1 - level / 2, count - 1) * error)
    if error == 0:
        return Difference(mean, mean, mean, 1.0 if mean == 0 else 0.0, test)
    p_value = float(2 * stats.t.sf(abs(mean) / error, count - 1))
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
    failed = np.flatnonzero(p_values[order] >= steps)
    steps[failed[0] if len(failed) else len(steps) :] = (
        steps[failed[0]] if len(failed) else LEVEL
    )
    levels = np.empty_like(p_values)
    levels[order] = steps
    return levels
