"""Tuners: settings chosen on folds of the training rows, the smallest near the best.

Each method has a parameter that makes its models smaller (`Method.sparsity`), along
which fits go on from one another, and others that are tried beside it
(`Method.tuned`). Of all settings whose mean score is within one standard error of the
best, the smallest model is taken (Breiman, Friedman, Olshen and Stone, Classification
and Regression Trees, 1984, section 3.4.3); the standard error counts that the training
rows of folds overlap (Nadeau and Bengio, Machine Learning 52, 2003).

The mean of the chosen setting is the best of many, and so too good: for an honest score
use rows that took no part, or put the tuner itself into ``cross_val_score``, which is
nested cross-validation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from numbers import Integral
from typing import Any, ClassVar, Self

import joblib
import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted

from smpcore.datasets import Dataset
from smpcore.errors import SmpcoreError
from smpcore.evaluation.comparison import pareto_front, summary
from smpcore.evaluation.folds import Fold, folds
from smpcore.evaluation.sweep import (
    SCORES,
    ParameterPath,
    method_path,
    sweep,
    sweep_table,
)
from smpcore.methods import METHODS
from smpcore.methods.shared.base import PrototypeEstimator

#: Values of the sparsity parameter that are tried at most.
N_POINTS = 10
#: Which setting is taken.
RULES = "smallest", "best"
#: What is counted of a model, the numbers that it stores first -> the sweep's name.
_COUNTED = {
    "numbers": "n_nonzeros",
    "features": "n_features",
    "prototypes": "n_prototypes",
}


@dataclass(frozen=True, eq=False)
class Tuned:
    """Settings that were tried on folds, and the one that was taken.

    Parameters
    ----------
    values : dict
        Parameters that were varied -> their values in the setting that was taken.
    best : dict
        The same of the setting with the best mean.
    table : DataFrame
        A line for each setting that could be fitted on all folds, the best mean first:
        its parameters, ``mean`` of the score, ``error`` (its standard error), ``folds``
        and the mean ``numbers``, ``features`` and ``prototypes`` of the models;
        ``within``: whether the mean is within one standard error of the best;
        ``chosen``.
    score : str
        The first of the task's `SCORES`.
    failed : int
        Settings without a score on some fold.
    """

    values: dict[str, Any]
    best: dict[str, Any]
    table: pd.DataFrame
    score: str
    failed: int = 0


def tuning_paths(
    key: str,
    dataset: Dataset,
    rows: np.ndarray,
    values: Mapping[str, Any] | None = None,
    grid: Mapping[str, Collection[Any]] | None = None,
    n_points: int = N_POINTS,
) -> list[ParameterPath]:
    """Settings to try: paths of the sparsity parameter, one for each other setting.

    Parameters
    ----------
    key : str
        Key of the method in `METHODS`.
    dataset : Dataset
        Table to learn from.
    rows : ndarray of int
        The training rows, ``with_censored`` of a split.
    values : mapping, optional
        Parameters that are not varied, where they are not the method's defaults.
    grid : mapping of str to collection, optional
        Parameter -> the values to try; by default `Method.tuned`. Of the sparsity
        parameter the values are spread over its range if it is not in it.
    n_points : int
        At most so many values of the sparsity parameter.

    Returns
    -------
    list of ParameterPath
    """
    method = METHODS[key]
    start = {**method.defaults(dataset.task), **(values or {})}
    grid = dict(method.tuned if grid is None else grid)
    along = grid.pop(method.sparsity, None)
    controls = {param.name: param for param in method.controls(dataset.task)}
    for name in [n for n in grid if n in controls]:
        shown = controls[name].shown_if
        if shown is not None and not shown(start):
            del grid[name]  # it changes nothing at the other values
    paths = []
    for setting in product(*grid.values()):
        here = start | dict(zip(grid, setting, strict=True))
        if along is None:
            paths.append(method_path(key, dataset, rows, here, n_points))
        else:
            paths.append(ParameterPath(key, here, method.sparsity, tuple(along)))
    return paths


def tune(
    dataset: Dataset,
    drawn: Sequence[Fold],
    paths: Sequence[ParameterPath],
    *,
    rule: str = RULES[0],
    executor: Executor | None = None,
    stop: np.ndarray | None = None,
    progress: np.ndarray | None = None,
) -> Tuned:
    """Choose among the settings of some paths on folds of the training rows.

    The preparation is learned inside each fold, fits along a path start from one
    another, and groups, times and weights count as in a sweep.

    Parameters
    ----------
    dataset : Dataset
        Table to learn from.
    drawn : sequence of Fold
        Which training rows learn and which are held out, from `folds`.
    paths : sequence of ParameterPath
        From `tuning_paths`, all of one method.
    rule : {"smallest", "best"}
        The smallest model (fewest numbers stored) whose mean score is within one
        standard error of the best; or the best, of equal ones the smallest.
    executor : Executor, optional
        Where the fits run, as in `sweep`.
    stop : ndarray of int64, shape (1,), optional
        Ends soon after this becomes non-zero.
    progress : ndarray of float64, shape (1,), optional
        Receives the share of the fits that are done.

    Returns
    -------
    Tuned

    Raises
    ------
    SmpcoreError
        If no setting could be fitted on all folds, or it was stopped.
    """
    if rule not in RULES:
        raise SmpcoreError(f"rule={rule!r} should be one of {', '.join(RULES)}.")
    stop = np.zeros(1, dtype=np.int64) if stop is None else stop
    settings, fits = [], []
    n_fits = len(drawn) * sum(len(path.grid) for path in paths)
    for path in paths:
        # Of settings with equal models the first is taken: the one that asks for less.
        counts = METHODS[path.key].param(path.parameter).scale == "int"
        grid = sorted(path.grid) if counts else path.grid
        numbers = {value: len(settings) + i for i, value in enumerate(grid)}
        settings += [{**path.values, path.parameter: value} for value in grid]
        for fit in sweep(dataset, drawn, [path], executor=executor, stop=stop):
            # Points are told apart by their value: here by the number of the setting.
            fits.append(fit | {"value": numbers[fit["value"]]})
            if progress is not None:
                progress[0] = len(fits) / n_fits
    if stop[0]:
        raise SmpcoreError("The search for settings was stopped; start it again.")
    score, larger = next(iter(SCORES[dataset.task].items()))
    table = sweep_table(fits, dataset.task)
    points = summary(table, score, len(drawn))
    points = points[points["n"] == len(drawn)].reset_index(drop=True)
    if points.empty:
        raise SmpcoreError(f"No setting could be fitted: {table['status'].iloc[0]}")
    size = _COUNTED["numbers"]
    marked = pareto_front(points, table, size, score, larger)
    varied = [
        name for name in settings[0] if len({repr(one[name]) for one in settings}) > 1
    ]
    chosen = marked["sparsest" if rule == RULES[0] else "best"].to_numpy()
    lines = _lines(marked, settings, varied, chosen, larger)
    values, best = (
        {name: settings[int(marked["value"][mark].iloc[0])][name] for name in varied}
        for mark in (chosen, marked["best"])
    )
    return Tuned(values, best, lines, score, len(settings) - len(points))


def _lines(
    points: pd.DataFrame,
    settings: list[dict[str, Any]],
    varied: list[str],
    chosen: np.ndarray,
    larger: bool,
) -> pd.DataFrame:
    """What `Tuned.table` holds."""
    tried = [settings[int(number)] for number in points["value"]]
    lines = pd.DataFrame({name: [one[name] for one in tried] for name in varied})
    lines = lines.assign(mean=points["mean"], error=points["error"], folds=points["n"])
    for name, size in _COUNTED.items():
        lines[name] = points[size]
    quality = points["mean"] if larger else -points["mean"]
    top = points["best"].to_numpy().argmax()
    error = np.nan_to_num(points["error"][top])
    lines["within"], lines["chosen"] = quality >= quality[top] - error, chosen
    order = np.lexsort([lines["numbers"], -quality])
    return lines.iloc[order].reset_index(drop=True)


class PrototypeCV(MetaEstimatorMixin, BaseEstimator):
    """An estimator of this library, with its settings chosen by cross-validation.

    Parameters
    ----------
    estimator : PrototypeEstimator, optional
        Has the parameters that are not varied; by default all are as usual.
    param_grid : mapping of str to sequence, optional
        Parameter -> values to try; by default those that the method's registry row
        names, beside the sparsity parameter over its range.
    cv : int, splitter of scikit-learn, or iterable of (train, test)
        Number of folds, which are drawn three times below 200 rows; or the folds.
    rule : {"smallest", "best"}
        Which setting is taken, see `tune`.
    n_points : int
        At most so many values of the sparsity parameter.
    n_jobs : int, optional
        Threads; None: one, -1: one per core.

    Attributes
    ----------
    best_estimator_ : PrototypeEstimator
        Fitted to all rows with the setting that was taken.
    best_params_ : dict
        The parameters that were varied.
    tuned_ : Tuned
        All settings that were tried.
    model_ : PrototypeModel
        Of `best_estimator_`, as `classes_`, `n_features_in_` and
        `feature_names_in_` are.

    Notes
    -----
    The scores of `tuned_` were used to choose. ``cross_val_score`` of this estimator
    is nested cross-validation, and honest.
    """

    #: Of the method in `METHODS`.
    key: ClassVar[str]
    #: What is learned.
    task: ClassVar[str] = "classification"

    def __init__(
        self,
        estimator: PrototypeEstimator | None = None,
        *,
        param_grid: Mapping[str, Sequence[Any]] | None = None,
        cv: Any = 5,
        rule: str = RULES[0],
        n_points: int = N_POINTS,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.rule = rule
        self.n_points = n_points
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        times: Any = None,
        progress: np.ndarray | None = None,
    ) -> Self:
        """Choose the settings on folds, and fit them to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows; every value is finite.
        y : array-like of shape (n_samples,)
            Class of each row, or the number to predict.
        sample_weight : array-like of shape (n_samples,), optional
            A whole weight counts as that many equal rows, in fits and in scores.
        groups : array-like of shape (n_samples,), optional
            Rows of a group are in one fold.
        times : array-like of shape (n_samples,), optional
            A fold is later than the rows that it is predicted from.
        progress : ndarray of float64, shape (1,), optional
            Receives the share of the fits that are done.

        Returns
        -------
        self
        """
        family = METHODS[self.key].estimators[self.task]
        unfitted = family() if self.estimator is None else clone(self.estimator)
        metadata = sample_weight, groups, times
        unfitted.problem(X, y, *metadata)  # refuses what cannot be learned
        dataset = _as_dataset(self.task, X, y, *metadata)
        rows = np.arange(dataset.n_samples)
        values = unfitted.get_params(deep=False)
        settings = values, self.param_grid, self.n_points
        paths = tuning_paths(self.key, dataset, rows, *settings)
        n_jobs = 1 if self.n_jobs is None else joblib.effective_n_jobs(self.n_jobs)
        threads = nullcontext() if n_jobs == 1 else ThreadPoolExecutor(n_jobs)
        with threads as executor:
            options = {"rule": self.rule, "executor": executor, "progress": progress}
            tuned = tune(dataset, _divided(dataset, self.cv), paths, **options)
        chosen = unfitted.set_params(**tuned.values).fit(X, y, *metadata)
        self.tuned_, self.best_params_ = tuned, tuned.values
        self.best_estimator_ = chosen
        for name in ("model_", "classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(chosen, name):
                setattr(self, name, getattr(chosen, name))
            elif hasattr(self, name):
                delattr(self, name)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """What the chosen estimator predicts, shape (n_samples,)."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)


def _as_dataset(
    task: str,
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    times: Any,
) -> Dataset:
    """The same rows as a table, whose columns have numbers for names."""
    if issparse(X):
        raise SmpcoreError("Sparse input is not supported here; X should be dense.")
    frame = pd.DataFrame(np.asarray(X, np.float64))
    frame.columns = [str(name) for name in frame.columns]
    roles = dict.fromkeys(frame.columns, "feature")
    y = np.asarray(y).ravel()
    special = {"target": y, "group": groups, "time": times, "weight": sample_weight}
    for name, column in special.items():
        if column is None:
            continue
        roles[name] = name
        column = np.asarray(column)
        if name == "group" or (name == "target" and task == "classification"):
            # Numbers of the values, as text: in their order.
            codes = np.unique(column, return_inverse=True)[1]
            column = np.char.zfill(codes.astype(str), len(str(len(codes))))
        frame[name] = column
    return Dataset(name="rows", frame=frame, roles=roles, task=task)


def _divided(dataset: Dataset, cv: Any) -> list[Fold]:
    """The folds of all rows."""
    from sklearn.model_selection import check_cv

    rows = np.arange(dataset.n_samples)
    if len(rows) < 2:
        raise SmpcoreError("X should have at least 2 rows for folds; it has 1 sample.")
    if isinstance(cv, Integral):
        return folds(dataset, rows, int(cv))
    splits = check_cv(cv).split(rows, dataset.y, dataset.groups)
    return [Fold(*map(np.sort, pair), 0, i) for i, pair in enumerate(splits)]


class _ClassifierCV(ClassifierMixin, PrototypeCV):
    """A tuned classifier."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the chosen estimator; of two classes one number for each row."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Softmax of the chosen estimator's scores, which are not calibrated."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)


class SMPClassifierCV(_ClassifierCV):
    """`SMPClassifier`; λ, μ and the number of prototypes are chosen on folds.

    Parameters and attributes are those of `PrototypeCV`.
    """

    key = "smp"


class SMaLLClassifierCV(_ClassifierCV):
    """`SMaLLClassifier`; k and the number of prototypes are chosen on folds.

    Parameters and attributes are those of `PrototypeCV`.
    """

    key = "smallk"


class MultiPrototypeSVCCV(_ClassifierCV):
    """`MultiPrototypeSVC`; C and the number of prototypes are chosen on folds.

    Parameters and attributes are those of `PrototypeCV`.
    """

    key = "mprotsvm"


class IMKPLClassifierCV(_ClassifierCV):
    """`IMKPLClassifier`; κ and the number of prototypes are chosen on folds.

    Parameters and attributes are those of `PrototypeCV`.
    """

    key = "imkpl"


class SuperSparseClassifierCV(_ClassifierCV):
    """`SuperSparseClassifier`; λ and the number of prototypes are chosen on folds.

    Parameters and attributes are those of `PrototypeCV`.
    """

    key = "supersparse"


class SuperSparseRegressorCV(RegressorMixin, PrototypeCV):
    """`SuperSparseRegressor`; λ and the number of prototypes are chosen on folds.

    Parameters and attributes are those of `PrototypeCV`.
    """

    key, task = "supersparse", "regression"
