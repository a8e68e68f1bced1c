"""Methods and baselines side by side: same rows, same folds, same budget."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from smpcore.baselines import BASELINES, fit_weighted
from smpcore.datasets import Dataset, Preparation, prepare, training_rows
from smpcore.errors import SmpcoreError
from smpcore.evaluation.folds import Fold
from smpcore.evaluation.pareto import summary
from smpcore.evaluation.paths import ParameterPath, method_path
from smpcore.evaluation.scores import class_numbers
from smpcore.evaluation.sizes import measure, measure_baseline
from smpcore.evaluation.sweep import SCORES, sweep, sweep_table
from smpcore.explain import measures_of_prototypes
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
    """Fit a method or baseline on the training rows.

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
    rows, weights = training_rows(dataset, rows)
    preparation = prepare(dataset, rows)
    X = preparation.transform(dataset.frame.iloc[rows])
    estimator = _unfitted(key, dataset, values)
    try:
        seconds = _timed(estimator, X, dataset.y[rows], weights)
        if seconds < SOON:  # the first fit of a process also loads machine code
            again = _timed(estimator, X, dataset.y[rows], weights)
            seconds = min(seconds, again)
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


def _timed(
    estimator: Any, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> float:
    started = time.perf_counter()
    fit_weighted(estimator, X, y, weights)
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
    same = (v for v in path.grid if v == value or (v is None and value != value))
    return {path.parameter: next(same)}


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
