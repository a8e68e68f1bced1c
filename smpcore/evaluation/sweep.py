"""Sweeps: how good and how large a model is at each value of its sparsity parameter.

A sweep is one *chain* per method and fold: the values of the sparsity parameter in one
order, each fit warm from the one before. That makes it repeatable: how many chains run
beside each other changes nothing. The chains walk in step, so that the first value is
known for all folds before the second one begins.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from smpcore.baselines import BASELINES
from smpcore.datasets import Dataset, Preparation, prepare
from smpcore.errors import SmpcoreError
from smpcore.evaluation.errors import RegressionScores
from smpcore.evaluation.folds import Fold
from smpcore.evaluation.scores import class_numbers, count_answers
from smpcore.evaluation.sizes import SIZES, measure
from smpcore.methods import METHODS, Method

#: Solver status of a fit that was asked to stop.
STOPPED = 2
#: Scores of each task, the first one first; True where larger is better.
SCORES: dict[str, dict[str, bool]] = {
    "classification": {"balanced_accuracy": True, "accuracy": True},
    "regression": {"mae": False, "r2": True},
}
COLUMNS = ("method", "parameter", "value", "repeat", "fold", "n_train", "n_held_out")


@dataclass(frozen=True)
class Walk:
    """One model family along one parameter.

    Parameters
    ----------
    key : str
        Of `METHODS`, or of `BASELINES`.
    values : mapping
        The other parameters' values.
    parameter : str
        The one that is walked; empty for a baseline at one setting.
    knots : tuple
        Its values, in the order of the chain.
    """

    key: str
    values: Mapping[str, Any]
    parameter: str = ""
    knots: tuple[Any, ...] = (None,)


def walk_method(
    key: str,
    dataset: Dataset,
    rows: np.ndarray,
    values: Mapping[str, Any] | None = None,
    n_points: int = 10,
) -> Walk:
    """Lay out a walk along a method's sparsity parameter.

    Parameters
    ----------
    key : str
        Of `METHODS`.
    dataset : Dataset
    rows : ndarray of int
        The training rows: they say between which ends the parameter matters.
    values : mapping, optional
        The other parameters' values, where they are not the method's defaults.
    n_points : int
        At most so many values.

    Returns
    -------
    Walk
    """
    method = METHODS[key]
    values = {**method.defaults(dataset.task), **(values or {})}
    preparation = prepare(dataset, rows)
    X = preparation.transform(dataset.frame.iloc[rows])
    estimator = method.estimator(values, dataset.task)
    ends = method.bounds(estimator.problem(X, dataset.y[rows]), values)
    knots = _spread(method, ends[method.sparsity], n_points)
    return Walk(key, values, method.sparsity, knots)


def _spread(method: Method, ends: tuple[float, float], n_points: int) -> tuple:
    """Values of the sparsity parameter, in the order of the chain."""
    param, (low, high) = method.param(method.sparsity), ends
    if param.scale == "int":
        low, high = round(low), round(high)
        n_points = min(n_points, high - low + 1)
        # Evenly by ratio, and one apart at least.
        knots = np.geomspace(low, high, n_points).round()
        knots = np.maximum(knots, low + np.arange(n_points))
        found = [int(knot) for knot in knots]
    else:
        # At its end a parameter with an exact 0 has switched everything off.
        inner = np.geomspace(low, high, n_points)[: -1 if param.zero else None]
        found = [0.0] * param.zero + [float(f"{knot:.3g}") for knot in inner]
    return tuple(found[::-1] if method.from_right else found)


def walk_baselines(task: str, folded: bool = False) -> list[Walk]:
    """Lay out the walks of the baselines: a path where it makes sparse models.

    Parameters
    ----------
    task : str
    folded : bool
        Whether to take those too that are shown only when asked for.

    Returns
    -------
    list of Walk
    """
    found = []
    for key, row in BASELINES.items():
        if task in row.tasks and (folded or not row.folded):
            knots = row.grid[row.path] if row.path else (None,)
            found.append(Walk(key, {}, row.path, knots))
    return found


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a chain stands: between two tasks it is all that is kept."""

    walk: Walk
    fold: Fold
    preparation: Preparation | None = None
    rows: tuple[np.ndarray, np.ndarray] = ()
    problem: Any = None
    state: Any = None
    row: Mapping[str, Any] | None = None


def sweep(
    dataset: Dataset,
    drawn: Sequence[Fold],
    walks: Sequence[Walk],
    *,
    quick: bool = False,
    n_jobs: int = -1,
    stop: np.ndarray | None = None,
) -> Iterator[dict[str, Any]]:
    """Fit and score every value of every walk on every fold.

    Medians, category levels and scaling are learned inside the fold.

    Parameters
    ----------
    dataset : Dataset
    drawn : sequence of Fold
        From `folds`: which rows learn, which are held out.
    walks : sequence of Walk
    quick : bool
        Fit as a preview does: sooner, and a little worse.
    n_jobs : int
        Chains beside each other, in threads (joblib); -1: one for each core.
    stop : ndarray of int64, shape (1,), optional
        The sweep ends soon after this becomes non-zero.

    Yields
    ------
    dict
        One fit, in the order in which they finish: `COLUMNS`, the task's `SCORES` (NaN
        where it failed), `SIZES` (NaN where there is none), ``seconds`` and ``status``
        (how the solver ended, or why there is no model).
    """
    stop = np.zeros(1, dtype=np.int64) if stop is None else stop
    places = {
        (w, f): _Place(walk, fold)
        for w, walk in enumerate(walks)
        for f, fold in enumerate(drawn)
    }
    longest = max((len(walk.knots) for walk in walks), default=0)
    with Parallel(
        n_jobs, prefer="threads", return_as="generator_unordered"
    ) as parallel:
        for step in range(longest):
            tasks = [
                delayed(_advance)(at, dataset, place, step, quick, stop)
                for at, place in places.items()
                if step < len(place.walk.knots)
            ]
            for at, place in parallel(tasks):
                places[at] = place
                if place.row is not None:
                    yield dict(place.row)
            if stop[0]:
                return


def sweep_table(rows: Sequence[Mapping[str, Any]], task: str) -> pd.DataFrame:
    """Arrange what `sweep` gave as a tidy table, whatever the order it came in.

    Parameters
    ----------
    rows : sequence of dict
    task : str

    Returns
    -------
    DataFrame of shape (n_rows, n_columns)
    """
    columns = [*COLUMNS, *SCORES[task], *SIZES, "seconds", "status"]
    frame = pd.DataFrame(list(rows), columns=columns)
    order = ["method", "value", "repeat", "fold"]
    return frame.sort_values(order, kind="stable", ignore_index=True)


def _advance(
    at: Any, dataset: Dataset, place: _Place, step: int, quick: bool, stop: np.ndarray
) -> tuple[Any, _Place]:
    """One task: the next fit of a chain."""
    if stop[0]:
        return at, replace(place, row=None)
    walk, fold = place.walk, place.fold
    knot = walk.knots[step]
    row = dict.fromkeys([*SCORES[dataset.task], *SIZES], np.nan)
    row |= {"method": walk.key, "parameter": walk.parameter, "value": knot}
    row |= {"repeat": fold.repeat, "fold": fold.number}
    row |= {"n_train": fold.train.size, "n_held_out": fold.held_out.size}
    started = time.perf_counter()
    try:
        if place.preparation is None:
            place = _prepared(dataset, place)
        fit = _fit_method if walk.key in METHODS else _fit_baseline
        place, answers, found = fit(dataset, place, knot, quick, stop)
        row |= found | _scored(dataset, fold, answers)
    except (SmpcoreError, ValueError) as error:  # scikit-learn's are ValueErrors
        row["status"] = str(error)
    row["seconds"] = time.perf_counter() - started
    done = row["status"] != STOPPED
    return at, replace(place, row=row if done else None)


def _prepared(dataset: Dataset, place: _Place) -> _Place:
    frame, fold = dataset.frame, place.fold
    preparation = prepare(dataset, fold.train)
    parts = (preparation.transform(frame.iloc[r]) for r in (fold.train, fold.held_out))
    return replace(place, preparation=preparation, rows=tuple(parts))


def _fit_method(
    dataset: Dataset, place: _Place, knot: Any, quick: bool, stop: np.ndarray
) -> tuple[_Place, np.ndarray, dict[str, Any]]:
    """Fit a method from where the chain stands; the place after it and what came."""
    walk, (X, X_held_out) = place.walk, place.rows
    values = {**walk.values, walk.parameter: knot}
    estimator = METHODS[walk.key].estimator(values, dataset.task, preview=quick)
    problem = place.problem
    if problem is None or walk.parameter in estimator.problem_params:
        problem = estimator.problem(X, dataset.y[place.fold.train])
    estimator.solve(problem, state=place.state, stop=stop)
    history, model = estimator.history_, estimator.model_
    place = replace(place, problem=problem, state=estimator.state_)
    status = STOPPED if history.status == STOPPED else history.status_text
    # One fold's model says what a point takes on a chip; all would take ten times as
    # long as their fits.
    first = place.fold.repeat == place.fold.number == 0
    found = measure(model, place.preparation, on_chip=first) | {"status": status}
    return place, model.predict(X_held_out), found


def _fit_baseline(
    dataset: Dataset, place: _Place, knot: Any, quick: bool, stop: np.ndarray
) -> tuple[_Place, np.ndarray, dict[str, Any]]:
    walk, (X, X_held_out) = place.walk, place.rows
    values = {**walk.values, walk.parameter: knot} if walk.parameter else walk.values
    estimator = BASELINES[walk.key].estimator(values, dataset.task)
    estimator.fit(X, dataset.y[place.fold.train])
    found = measure_baseline(estimator, X.shape[1]) | {"status": "fitted"}
    return place, estimator.predict(X_held_out), found


def measure_baseline(estimator: Any, n_features: int) -> dict[str, float]:
    """Count the features that a baseline uses, and its weights if it has weights.

    Parameters
    ----------
    estimator : fitted pipeline of a `Baseline`
    n_features : int

    Returns
    -------
    dict
        ``n_features``, and ``n_nonzeros`` of a linear one.
    """
    last = getattr(estimator, "regressor_", estimator)[-1]
    parts = getattr(last, "estimators_", [last])
    weights = [np.atleast_2d(p.coef_) for p in parts if hasattr(p, "coef_")]
    if len(weights) == len(parts):
        weights = np.vstack(weights)
        used = int((weights != 0).any(axis=0).sum())
        return {"n_nonzeros": int(np.count_nonzero(weights)), "n_features": used}
    importances = getattr(last, "feature_importances_", np.ones(n_features))
    return {"n_features": int(np.count_nonzero(importances))}


def _scored(dataset: Dataset, fold: Fold, answers: np.ndarray) -> dict[str, float]:
    truth = dataset.y[fold.held_out]
    if dataset.task == "regression":
        errors = RegressionScores(truth, answers)
        return {"mae": errors.mae, "r2": errors.r2}
    classes = dataset.classes
    codes = class_numbers(answers, classes)
    scores = count_answers(class_numbers(truth, classes), codes, classes)
    return {
        "balanced_accuracy": scores.balanced_accuracy,
        "accuracy": scores.accuracy,
    }
