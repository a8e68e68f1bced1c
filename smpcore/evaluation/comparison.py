"""Models beside each other: which are worth a look, and what a search finds of each.

A model is worth a look if none smaller is better, as far as folds can tell. Scores on
folds of the same rows are not independent: their training rows overlap. The variance of
a mean is therefore ``(1 / n + n_held_out / n_train) s^2`` instead of ``s^2 / n``, as
Nadeau and Bengio propose (Inference for the generalization error, Machine Learning 52,
2003, section 3), here for error bars and for paired differences.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from smpcore.baselines import BASELINES, fit_weighted
from smpcore.datasets import (
    Dataset,
    Preparation,
    prepare,
    row_weights,
    training_rows,
)
from smpcore.errors import SmpcoreError
from smpcore.evaluation.differences import LEVEL
from smpcore.evaluation.executors import run_one
from smpcore.evaluation.folds import Fold
from smpcore.evaluation.scores import class_numbers
from smpcore.evaluation.sweep import (
    SCORES,
    SIZES,
    ParameterPath,
    measure,
    measure_baseline,
    method_path,
    sample_for,
    sweep,
    sweep_table,
)
from smpcore.explain import measures_of_prototypes
from smpcore.methods import METHODS

#: What names a point: one model family at one value.
POINT = ["method", "parameter", "value"]


def corrected_error(
    scores: np.ndarray, n_train: np.ndarray | float, n_held_out: np.ndarray | float
) -> np.ndarray | float:
    """Standard error of means over folds that share training rows."""
    good = np.isfinite(scores)
    n = good.sum(axis=-1)
    away = np.where(good, scores - _means(scores)[..., None], 0.0)
    variance = (away**2).sum(axis=-1) / np.maximum(n - 1, 1)
    inflated = 1 / np.maximum(n, 1) + n_held_out / n_train
    return np.where(n > 1, np.sqrt(inflated * variance), np.nan)[()]


def _means(scores: np.ndarray) -> np.ndarray:
    """Over the folds that have a score; NaN of none."""
    good = np.isfinite(scores)
    sums = np.where(good, scores, 0.0).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / good.sum(axis=-1))


def corrected_t_test(
    differences: np.ndarray, n_train: float, n_held_out: float
) -> np.ndarray | float:
    """Two-sided p-values of mean differences over folds (Nadeau and Bengio).

    Parameters
    ----------
    differences : ndarray of shape (..., n_folds)
        Of two models' scores on the same folds; NaN where one has none.
    n_train, n_held_out : float
        Rows of a fold.

    Returns
    -------
    float, or ndarray of shape (...)
        1.0 where nothing can be told: equal scores, or fewer than two of them.
    """
    error = corrected_error(differences, n_train, n_held_out)
    mean = np.nan_to_num(_means(differences))
    freedom = np.maximum(np.isfinite(differences).sum(axis=-1) - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stats.t.sf(np.abs(mean) / error, freedom)
    return np.where(np.isfinite(error) & (mean != 0), p, 1.0)[()]


def summary(table: pd.DataFrame, score: str, n_folds: int = 0) -> pd.DataFrame:
    """Mean and standard error of each point.

    Parameters
    ----------
    table : DataFrame
        From `sweep_table`: one row per fit.
    score : str
        One of the task's `SCORES`.
    n_folds : int
        Points known on fewer folds than this are left out: a mean over the easy folds
        is no mean. What failed counts as known.

    Returns
    -------
    DataFrame
        `POINT`; ``mean``, ``error``, ``n`` (folds with a score); mean `SIZES` of the
        folds that have them (of `CHIP_SIZES` one) and ``seconds``.
    """
    number, points = _numbered(table)
    scores = _by_fold(table, score, number)
    points["mean"] = _means(scores)
    rows = table[["n_train", "n_held_out"]].astype(float).groupby(number).mean()
    points["error"] = corrected_error(scores, *rows.to_numpy().T)
    points["n"] = np.isfinite(scores).sum(axis=1)
    good = np.isfinite(table[score].to_numpy(np.float64))
    sizes = table.loc[good, [*SIZES]].astype(float).groupby(number[good]).mean()
    points = points.join(sizes)
    points["seconds"] = table["seconds"].astype(float).groupby(number).mean()
    complete = (np.bincount(number) >= n_folds) & (points["n"] > 0)
    return points[complete].reset_index(drop=True)


def _numbered(table: pd.DataFrame) -> tuple[np.ndarray, pd.DataFrame]:
    """Which point each fit belongs to, and the points in their order."""
    groups = table.groupby(POINT, dropna=False, sort=True)
    number = groups.ngroup().to_numpy(np.int64)
    return number, groups.size().index.to_frame(index=False)


def _by_fold(table: pd.DataFrame, score: str, number: np.ndarray) -> np.ndarray:
    """Scores as a matrix of points and folds; NaN where there is none."""
    folds = table.groupby(["repeat", "fold"]).ngroup().to_numpy(np.int64)
    shape = (number.max(initial=-1) + 1, folds.max(initial=-1) + 1)
    scores = np.full(shape, np.nan)
    scores[number, folds] = table[score].to_numpy(np.float64)
    return scores


def pareto_front(
    points: pd.DataFrame,
    table: pd.DataFrame,
    size: str,
    score: str,
    larger_is_better: bool = True,
) -> pd.DataFrame:
    """Mark the points of which no other is both smaller and better.

    Parameters
    ----------
    points : DataFrame
        From `summary`.
    table : DataFrame
        Its fits: they are compared on the folds that two points share.
    size : str
        One of `SIZES`.
    score : str
        Name of the score that is compared, a column of `points`.
    larger_is_better : bool
        Whether a larger score is better (an accuracy) or worse (an error).

    Returns
    -------
    DataFrame
        `points` with three more bool columns. ``front``: no point is at most as large
        and at least as good, and better in one of both. ``undecided``: not on the
        front, but no point of the front that is at most as large is better by more
        than chance (p >= `LEVEL`, not corrected for the number of comparisons).
        ``best``: the best mean. ``sparsest``: the smallest whose mean is within one
        standard error (the best one's) of the best.
    """
    points = points.reset_index(drop=True)
    sign = 1.0 if larger_is_better else -1.0
    x, y = points[size].to_numpy(np.float64), sign * points["mean"].to_numpy()
    known = np.isfinite(x)
    front = known & on_front(x, y)
    best, sparsest = np.zeros_like(front), np.zeros_like(front)
    if known.any():
        top = np.flatnonzero(front)[y[front].argmax()]
        best[top] = True
        error = points["error"][top]
        near = known & (y >= y[top] - (error if np.isfinite(error) else 0.0))
        smallest = np.flatnonzero(near & (x == x[near].min()))
        sparsest[smallest[y[smallest].argmax()]] = True
    undecided = _undecided(points, table, score, sign, x, front, known)
    return points.assign(front=front, undecided=undecided, best=best, sparsest=sparsest)


def on_front(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether no point is at most as large and at least as good, and better in one."""
    return ~_preferable(x, y, x, y).any(axis=1)


def _preferable(
    x: np.ndarray, y: np.ndarray, x_other: np.ndarray, y_other: np.ndarray
) -> np.ndarray:
    """For each point, whether another is as small, as good, and better in one."""
    x, y = x[:, None], y[:, None]
    as_good = (x_other <= x) & (y_other >= y)
    return as_good & ((x_other < x) | (y_other > y))


def smaller_and_as_good(
    points: pd.DataFrame,
    others: pd.DataFrame,
    size: str,
    larger_is_better: bool = True,
) -> np.ndarray:
    """Of other points the best one that each point is not preferable to.

    Parameters
    ----------
    points, others : DataFrame
        From `summary`.
    size : str
        One of `SIZES`.
    larger_is_better : bool
        Whether a larger score is better (an accuracy) or worse (an error).

    Returns
    -------
    ndarray of int, shape (n_points,)
        Place in `others` of the best one that is at most as large, at least as good
        and better in one of both; -1: there is none.
    """
    if not len(others):
        return np.full(len(points), -1)
    units = [1.0, 1.0 if larger_is_better else -1.0]
    (x, y), (x_other, y_other) = (
        (frame[[size, "mean"]].to_numpy(np.float64) * units).T
        for frame in (points, others)
    )
    better = _preferable(x, y, x_other, y_other)
    place = np.where(better, y_other, -np.inf).argmax(axis=1)
    return np.where(better.any(axis=1), place, -1)


def _undecided(
    points: pd.DataFrame,
    table: pd.DataFrame,
    score: str,
    sign: float,
    x: np.ndarray,
    front: np.ndarray,
    known: np.ndarray,
) -> np.ndarray:
    """Points off the front that no smaller point of the front is sure to beat."""
    number, known_points = _numbered(table)
    places = known_points.assign(place=np.arange(len(known_points)))
    order = points[POINT].merge(places, "left", POINT)["place"].to_numpy()
    scores = sign * _by_fold(table, score, number)[order]
    rows = table["n_train"].mean(), table["n_held_out"].mean()
    behind, rivals = np.flatnonzero(known & ~front), np.flatnonzero(front)
    ahead = scores[rivals] - scores[behind][:, None]
    beaten = (_means(ahead) > 0) & (corrected_t_test(ahead, *rows) < LEVEL)
    beaten &= x[rivals] <= x[behind][:, None]
    marked = np.zeros(len(points), dtype=bool)
    marked[behind] = ~beaten.any(axis=1)
    return marked


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
    n_rows : int
        Rows that it was fitted on: of a large table a baseline has a sample.
    """

    key: str
    settings: Mapping[str, Any]
    searched: bool
    estimator: Any
    sizes: Mapping[str, float]
    seconds: float
    n_rows: int

    def answers(self, X: np.ndarray) -> np.ndarray:
        """Labels, or numbers, for rows of shape (n_samples, n_features)."""
        return self.estimator.predict(X)

    def prototype_measures(
        self, X: np.ndarray, y: np.ndarray, classes: np.ndarray | None
    ) -> dict[str, float]:
        """Means over prototypes of what `measures_of_prototypes` gives."""
        if self.key not in METHODS or classes is None:
            return {}
        model = self.estimator.model_
        measured = measures_of_prototypes(model, X, class_numbers(y, classes))
        return {
            name: float(np.mean(values[np.isfinite(values)]))
            for name, values in measured.items()
            if np.isfinite(values).any()
        }


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
    """Fit a method or baseline on the training rows, or on a sample of them.

    Parameters
    ----------
    key : str
        Of `METHODS`, or of `BASELINES`.
    dataset : Dataset
        Table to learn from; its preparation is learned on `rows`.
    rows : ndarray of int
        The training rows, ``with_censored`` of a split.
    values : mapping, optional
        Parameters; the rest is as usual.
    drawn : sequence of Fold, optional
        If given, the best of `BUDGET` settings on these folds is taken.
    stop : ndarray of int64, shape (1,), optional
        Ends it, by an error, once it is not 0.
    executor : Executor, optional
        Where the fits run, see `sweep`.

    Returns
    -------
    ComparedModel

    Raises
    ------
    SmpcoreError
        If it cannot learn from these rows, or was stopped.
    """
    values = dict(values or {})
    stop = np.zeros(1, dtype=np.int64) if stop is None else stop
    if drawn:
        values |= _best(key, dataset, rows, values, drawn, stop, executor)
    shared = key, dataset, rows, values, bool(drawn)
    return run_one(_fitted, shared, stop, executor)


def _fitted(shared: tuple, _: tuple) -> ComparedModel:
    """Fit at these values; the preparation knows all rows, as that of every page."""
    key, dataset, rows, values, searched = shared
    trained, _ = training_rows(dataset, rows)
    preparation = prepare(dataset, trained)
    trained = sample_for(key, dataset, trained)
    weights = row_weights(dataset, rows, trained)
    X = preparation.transform(dataset.frame.iloc[trained])
    estimator = _unfitted(key, dataset, values)
    try:
        seconds = _timed(estimator, X, dataset, trained, weights)
        if seconds < SOON:  # the first fit of a process also loads machine code
            again = _timed(estimator, X, dataset, trained, weights)
            seconds = min(seconds, again)
    except ValueError as error:  # scikit-learn's way to refuse
        raise SmpcoreError(f"{title_of(key)} cannot learn this: {error}") from error
    sizes = _sizes(key, estimator, preparation)
    return ComparedModel(key, values, searched, estimator, sizes, seconds, len(trained))


def _timed(
    estimator: Any,
    X: np.ndarray,
    dataset: Dataset,
    rows: np.ndarray,
    weights: np.ndarray | None,
) -> float:
    started = time.perf_counter()
    fit_weighted(estimator, X, dataset.y[rows], weights, dataset.metadata(rows))
    return time.perf_counter() - started


def _unfitted(key: str, dataset: Dataset, values: dict[str, Any]) -> Any:
    if key not in METHODS:
        return BASELINES[key].estimator(values, dataset.task)
    method = METHODS[key]
    return method.estimator_for(dataset, {**method.defaults(dataset.task), **values})


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
    path = _parameter_path(key, dataset, rows, values)
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
    same = (v for v in path.grid if v == value or (v is None and value != value))
    return {path.parameter: next(same)}


def _parameter_path(
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
