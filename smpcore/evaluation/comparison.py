"""Methods and baselines side by side: same rows, same folds, same budget."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from smpcore.baselines import BASELINES
from smpcore.datasets import Dataset, Preparation, prepare
from smpcore.errors import SmpcoreError
from smpcore.evaluation.clustered import mean_error
from smpcore.evaluation.folds import Fold
from smpcore.evaluation.pareto import LEVEL, summary
from smpcore.evaluation.sizes import measure, measure_baseline
from smpcore.evaluation.sweep import (
    SCORES,
    ParameterPath,
    method_path,
    sweep,
    sweep_table,
)
from smpcore.methods import METHODS

#: Settings that a search tries of each.
BUDGET = 6
#: A fit that takes less is done twice, and the quicker one is told.
SOON = 2.0


@dataclass(frozen=True, eq=False)
class ComparedModel:
    """A fitted model of either kind, with what it cost.

    Parameters
    ----------
    key : str
        Of `METHODS`, or of `BASELINES`.
    settings : mapping
        Parameters, where they are not the usual ones.
    searched : bool
        Whether a search over folds chose one of them.
    estimator : fitted estimator
        Fitted estimator; predicts for prepared rows.
    sizes : mapping
        What is known of ``n_nonzeros``, ``n_features``, ``n_prototypes`` and
        ``flash_bytes``.
    seconds : float
        Of the fit on the training rows, the machine code loaded.
    """

    key: str
    settings: Mapping[str, Any]
    searched: bool
    estimator: Any
    sizes: Mapping[str, float]
    seconds: float

    def answers(self, X: np.ndarray) -> np.ndarray:
        """Labels, or numbers, for rows of shape (n_samples, n_features)."""
        return self.estimator.predict(X)


def title_of(key: str) -> str:
    """What a method or baseline is called.

    Parameters
    ----------
    key : str
        Key of `METHODS` or of `BASELINES`.

    Returns
    -------
    str
    """
    return (METHODS.get(key) or BASELINES[key]).title


def fit_compared(
    key: str,
    dataset: Dataset,
    rows: np.ndarray,
    values: Mapping[str, Any] | None = None,
    drawn: Sequence[Fold] = (),
    stop: np.ndarray | None = None,
    executor: Executor | None = None,
) -> ComparedModel:
    """Fit a method or baseline on the training rows.

    Parameters
    ----------
    key : str
        Of `METHODS`, or of `BASELINES`.
    dataset : Dataset
        Table to learn from; its preparation is learned on `rows`.
    rows : ndarray of int
        The training rows.
    values : mapping, optional
        Parameters; the rest is as usual.
    drawn : sequence of Fold, optional
        If given, the best of `BUDGET` settings on these folds is taken.
    stop : ndarray of int64, shape (1,), optional
        Ends a search early.
    executor : Executor, optional
        Where the fits of a search run, see `sweep`.

    Returns
    -------
    ComparedModel

    Raises
    ------
    SmpcoreError
        If it cannot learn from these rows, or the search was stopped.
    """
    values = dict(values or {})
    searched = bool(drawn)
    if searched:
        values |= _best(key, dataset, rows, values, drawn, stop, executor)
    preparation = prepare(dataset, rows)
    X = preparation.transform(dataset.frame.iloc[rows])
    estimator = (METHODS.get(key) or BASELINES[key]).estimator(
        _all_values(key, values, dataset.task), dataset.task
    )
    try:
        seconds = _timed(estimator, X, dataset.y[rows])
        if seconds < SOON:  # the first fit of a process also loads machine code
            seconds = min(seconds, _timed(estimator, X, dataset.y[rows]))
    except ValueError as error:  # scikit-learn's way to refuse
        raise SmpcoreError(f"{title_of(key)} cannot learn this: {error}") from error
    try:
        estimator.predict(X[:1])
    except ValueError as error:  # five neighbours of four rows: seen only now
        raise SmpcoreError(
            f"{title_of(key)} cannot answer from {rows.size} training rows; give "
            "training more of them."
        ) from error
    sizes = _sizes(key, estimator, preparation)
    return ComparedModel(key, values, searched, estimator, sizes, seconds)


def _timed(estimator: Any, X: np.ndarray, y: np.ndarray) -> float:
    started = time.perf_counter()
    estimator.fit(X, y)
    return time.perf_counter() - started


def _all_values(key: str, values: dict[str, Any], task: str) -> dict[str, Any]:
    return {**METHODS[key].defaults(task), **values} if key in METHODS else values


def _sizes(key: str, estimator: Any, preparation: Preparation) -> dict[str, float]:
    if key in METHODS:
        return measure(estimator.model_, preparation)
    sizes = measure_baseline(estimator, preparation)
    last = getattr(estimator, "regressor_", estimator)[-1]
    if hasattr(last, "support_"):  # of an SVM with a kernel
        sizes["n_support_vectors"] = len(last.support_)
    return sizes


def _best(
    key: str,
    dataset: Dataset,
    rows: np.ndarray,
    values: dict[str, Any],
    drawn: Sequence[Fold],
    stop: np.ndarray | None,
    executor: Executor | None,
) -> dict[str, Any]:
    """The setting with the best mean over folds; of equal ones, the first."""
    path = _walk(key, dataset, rows, values)
    if not path.parameter:
        return {}
    table = sweep_table(
        list(sweep(dataset, drawn, [path], executor=executor, stop=stop)),
        dataset.task,
    )
    score, larger = next(iter(SCORES[dataset.task].items()))
    points = summary(table, score, len(drawn))
    if stop is not None and stop[0]:
        raise SmpcoreError("The search was stopped.")
    if points.empty:
        words = table["status"].iloc[0] if len(table) else "no fit was finished"
        raise SmpcoreError(f"{title_of(key)} cannot learn this: {words}")
    means = points["mean"] if larger else -points["mean"]
    value = points["value"][means.idxmax()]
    return {
        path.parameter: next(
            best_value for best_value in path.grid if _same(best_value, value)
        )
    }


def _same(other: Any, value: Any) -> bool:
    return other == value or (other is None and value != value)


def _walk(
    key: str, dataset: Dataset, rows: np.ndarray, values: dict[str, Any]
) -> ParameterPath:
    if key in METHODS:
        return method_path(key, dataset, rows, values, BUDGET)
    grid = BASELINES[key].grid
    if not grid:
        return ParameterPath(key, values)
    parameter, grid_values = next(iter(grid.items()))
    places = np.linspace(0, len(grid_values) - 1, min(BUDGET, len(grid_values))).round()
    return ParameterPath(
        key, values, parameter, tuple(grid_values[int(place)] for place in places)
    )


@dataclass(frozen=True)
class Difference:
    """How much better one model is than another on the same rows.

    Parameters
    ----------
    mean : float
        Of the losses: above 0, the first is better.
    low, high : float
        Interval of the same test: it excludes 0 exactly where ``p_value < level``.
    p_value : float
        Two-sided, from 0 to 1; not corrected for several tests.
    test : str
        Which test it is.
    """

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
) -> Difference:
    """Compare two models' losses row by row.

    Hits and misses of independent rows: McNemar's exact test, and its inversion: of the
    rows on which one model alone is right, the share of either has the interval of
    Clopper and Pearson (Biometrika 26, 1934). That takes the number of these rows as
    fixed, so the interval is widened to that of Agresti and Min (Statistics in Medicine
    24, 2005), except across 0 where the test rejects. Other losses, and rows in groups:
    Student's t of the mean difference, by group where there are groups.

    Parameters
    ----------
    first, second : ndarray of shape (n_rows,)
        Loss of each model on each row: 0 and 1, or absolute errors.
    groups : ndarray of shape (n_rows,), optional
        Rows of equal value depend on each other; None: all are independent.
    level : float
        Of the test: the interval covers 1 - level; see `holm_levels`.

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
    if groups is None and np.isin(gain, (-1.0, 0.0, 1.0)).all():
        better, worse = int((gain > 0).sum()), int((gain < 0).sum())
        return _mcnemar(better, worse, n, level)
    error, count = mean_error(gain, np.arange(n) if groups is None else groups)
    test = "paired t" if groups is None else "paired t over groups"
    if count < 2:
        return Difference(float(gain.mean()), -np.inf, np.inf, 1.0, test)
    mean = float(gain.mean())
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


def holm_levels(p_values: Sequence[float], level: float = LEVEL) -> np.ndarray:
    """Level at which Holm's procedure decides about each p-value.

    A test that is significant after the correction is so at its own step's level; the
    others are judged at the level of the step that stops the procedure. An interval at
    this level excludes no difference exactly where `holm` says p < level.

    Parameters
    ----------
    p_values : sequence of float
        Of tests that are read together, each from 0 to 1.
    level : float
        Of all tests together.

    Returns
    -------
    ndarray of shape (n_values,)
    """
    p_values = np.asarray(p_values, np.float64)
    order = np.argsort(p_values, kind="stable")
    steps = level / np.arange(len(p_values), 0, -1)
    failed = np.flatnonzero(p_values[order] >= steps)
    steps[failed[0] if len(failed) else len(steps) :] = (
        steps[failed[0]] if len(failed) else level
    )
    levels = np.empty_like(p_values)
    levels[order] = steps
    return levels
