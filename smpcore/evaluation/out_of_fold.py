"""Scores of training rows by models that were fitted without them (out of fold).

A threshold, or a calibration, that is chosen on them leaves the validation rows to
judge it.
"""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np
from sklearn.base import clone

from smpcore.datasets import Dataset, Split, censoring_weights, prepare
from smpcore.errors import SmpcoreError
from smpcore.evaluation.executors import running
from smpcore.evaluation.folds import Fold, folds
from smpcore.evaluation.scores import class_numbers
from smpcore.methods.shared.base import PrototypeEstimator

#: Solver status of a fit that was asked to stop.
_STOPPED = 2


def out_of_fold(
    estimator: PrototypeEstimator,
    dataset: Dataset,
    split: Split,
    *,
    n_folds: int = 5,
    executor: Executor | None = None,
    stop: np.ndarray | None = None,
    progress: np.ndarray | None = None,
) -> np.ndarray:
    """Score each training row by a model of the other folds.

    The preparation (medians, category levels, scaling) is learned inside each fold;
    rows of a group stay together, and with a time column models learn from the past.

    Parameters
    ----------
    estimator : PrototypeEstimator
        Model to fit without each fold; itself it stays unfitted.
    dataset : Dataset
        Table to learn from; prepared inside each fold.
    split : Split
        Only its training rows are used.
    n_folds : int
        Fewer where there are fewer groups or rows, but at least 2.
    executor : Executor, optional
        Where the fits run: threads, processes, or a Dask client's
        (``client.get_executor()``); None: in this thread, one after the other.
    stop : ndarray of int64, shape (1,), optional
        Ends soon after this becomes non-zero.
    progress : ndarray of float64, shape (1,), optional
        Receives the share of the fits that are done.

    Returns
    -------
    ndarray of shape (n_train, n_classes), or (n_train, 1) of a regression
        In the order of ``split.train`` and ``dataset.classes``. NaN for rows that are
        never held out (the earliest of a time column) and for classes that the rows
        of a fold do not have.

    Raises
    ------
    SmpcoreError
        If the training rows cannot be divided, or it was stopped.
    """
    rows = split.train
    stop = np.zeros(1, dtype=np.int64) if stop is None else stop
    if dataset.times is None:
        units = rows if dataset.groups is None else dataset.groups[rows]
        n_folds = max(2, min(n_folds, np.unique(units).size))
    drawn = folds(dataset, split.with_censored, n_folds)
    drawn = [fold for fold in drawn if fold.repeat == 0]
    shared = dataset, drawn, estimator, stop
    n_outputs = 1 if dataset.classes is None else len(dataset.classes)
    all_scores = np.full((rows.size, n_outputs), np.nan)
    with running(_score_fold, shared, stop, executor) as run:
        tasks = ((number,) for number in range(len(drawn)))
        for done, (number, scores) in enumerate(run(tasks), start=1):
            if scores is None or stop[0]:
                break
            all_scores[np.searchsorted(rows, drawn[number].held_out)] = scores
            if progress is not None:
                progress[0] = done / len(drawn)
    if stop[0]:
        raise SmpcoreError("The fits on folds were stopped; start them again.")
    return all_scores


def _score_fold(
    shared: tuple[Dataset, list[Fold], PrototypeEstimator, np.ndarray], task: tuple[int]
) -> tuple[int, np.ndarray | None]:
    """Fit without one fold and score its rows; None if it was asked to stop."""
    (number,), (dataset, drawn, unfitted, stop) = task, shared
    if stop[0]:
        return number, None
    fold = drawn[number]
    preparation = prepare(dataset, fold.train)
    X, X_held_out = (
        preparation.transform(dataset.frame.iloc[rows])
        for rows in (fold.train, fold.held_out)
    )
    estimator = clone(unfitted)
    weights = censoring_weights(dataset, fold.with_censored, fold.train)
    problem = estimator.problem(X, dataset.y[fold.train], weights)
    estimator.solve(problem, stop=stop)
    if estimator.history_.status == _STOPPED:
        return number, None
    scores = estimator.model_.scores(X_held_out)
    if dataset.classes is None:
        return number, scores.reshape(len(X_held_out), -1)
    whole = np.full((len(X_held_out), len(dataset.classes)), np.nan)
    whole[:, class_numbers(estimator.model_.classes, dataset.classes)] = scores
    return number, whole
