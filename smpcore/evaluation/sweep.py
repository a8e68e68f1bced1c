"""Sweeps: how good and how large a model is at each value of its sparsity parameter.

A sweep is one *chain* per method and fold: the values of the sparsity parameter in one
order, each fit warm from the one before. That makes it repeatable: how many chains run
beside each other, and where, changes nothing. The chains walk in step, so that the
first value is known for all folds before the second one begins.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from smpcore.baselines import BASELINES, fit_weighted
from smpcore.datasets import Dataset, Preparation, censoring_weights, prepare
from smpcore.errors import SmpcoreError
from smpcore.evaluation.executors import running
from smpcore.evaluation.folds import Fold
from smpcore.evaluation.paths import ParameterPath
from smpcore.evaluation.regression_scores import RegressionScores
from smpcore.evaluation.scores import class_numbers, count_answers
from smpcore.evaluation.sizes import SIZES, measure, measure_baseline
from smpcore.methods import METHODS

log = logging.getLogger(__name__)

#: Solver status of a fit that was asked to stop.
STOPPED = 2
#: Scores of each task, the first one first; True where larger is better.
SCORES: dict[str, dict[str, bool]] = {
    "classification": {"balanced_accuracy": True, "accuracy": True},
    "regression": {"mae": False, "r2": True},
}
#: What names a fit.
KEY = ("method", "parameter", "value", "repeat", "fold")
COLUMNS = (*KEY, "n_train", "n_held_out")


#: Prepared rows that a process keeps for its next task are at most so many bytes.
_MOST_BYTES = 5e8


@dataclass(frozen=True, eq=False)
class FoldCache:
    """What a chain's fits have in common: made again wherever it is not at hand."""

    preparation: Preparation
    rows: tuple[np.ndarray, np.ndarray]
    problem: Any = None

    @cached_property
    def n_bytes(self) -> int:
        """Of its arrays; to look through a preparation for some would take long."""
        return _size((self.rows, self.problem))


class SweepContext:
    """What all tasks of a sweep share; what is made on the way stays where it is."""

    def __init__(
        self,
        dataset: Dataset,
        chains: list[tuple[ParameterPath, Fold]],
        mode: str,
        stop: np.ndarray,
    ) -> None:
        self.dataset, self.chains, self.stop = dataset, chains, stop
        self.quick, self.warm = mode == "preview", mode != "cold"
        self._caches: dict[int, FoldCache] = {}
        self._bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_caches": {}, "_bytes": 0}

    def prepared(self, chain: int) -> FoldCache:
        """The rows of a chain, prepared by what its fold learns from."""
        if chain in self._caches:
            return self._caches[chain]
        frame, fold = self.dataset.frame, self.chains[chain][1]
        preparation = prepare(self.dataset, fold.train)
        parts = [frame.iloc[r] for r in (fold.train, fold.held_out)]
        made = FoldCache(preparation, tuple(preparation.transform(p) for p in parts))
        self.store(chain, made)
        return made

    def store(self, chain: int, fold_cache: FoldCache) -> None:
        """Keep it for the next task of the chain, if there is room."""
        before = self._caches.get(chain)
        more = fold_cache.n_bytes - (before.n_bytes if before else 0)
        if self._bytes + more <= _MOST_BYTES:
            self._bytes += more
            self._caches[chain] = fold_cache


def _size(value: Any) -> int:
    """Bytes of the arrays in it."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    # Its fields: what it has computed and kept since is found again.
    parts = fields(value) if is_dataclass(value) else ()
    return _size([getattr(value, field.name) for field in parts])


@cache
def _compile(key: str) -> None:
    """Have machine code for a method before its first fit is timed."""
    METHODS[key].warm_up()


def sweep(
    dataset: Dataset,
    drawn: Sequence[Fold],
    paths: Sequence[ParameterPath],
    *,
    mode: Literal["preview", "warm", "cold"] = "warm",
    executor: Executor | None = None,
    stop: np.ndarray | None = None,
    done: Collection[tuple] = (),
) -> Iterator[dict[str, Any]]:
    """Fit and score every value of every walk on every fold.

    Medians, category levels and scaling are learned inside the fold.

    Parameters
    ----------
    dataset : Dataset
        Table whose feature columns are prepared inside each fold.
    drawn : sequence of Fold
        From `folds`: which rows learn, which are held out.
    paths : sequence of ParameterPath
        What to fit: the values of one parameter of one method or baseline each.
    mode : {"preview", "warm", "cold"}
        "warm" starts each fit of a chain from the one before; "preview" does so, too,
        and fits sooner and a little worse. With "cold" every fit is the one that is
        exported for these values, and none needs another.
    executor : Executor, optional
        Where the fits run: threads, processes, or a Dask client's
        (``client.get_executor()``); None: in this thread, one after the other.
    stop : ndarray of int64, shape (1,), optional
        The sweep ends soon after this becomes non-zero (a cluster's worker: its fit).
    done : collection of tuple
        Fits, by `KEY`, that are left out; only with "cold".

    Yields
    ------
    dict
        One fit, as they finish: `COLUMNS`, the task's `SCORES` and `SIZES` (NaN where
        there is none), ``seconds`` and ``status`` (how it ended, or why it failed).
    """
    stop = np.zeros(1, dtype=np.int64) if stop is None else stop
    chains = [(path, fold) for path in paths for fold in drawn]
    context = SweepContext(dataset, chains, mode, stop)
    states: dict[int, Any] = {}
    longest = max((len(path.grid) for path in paths), default=0)
    steps = [
        [
            (chain, step)
            for chain, (path, fold) in enumerate(chains)
            if step < len(path.grid) and _key(path, fold, step) not in done
        ]
        for step in range(longest)
    ]
    rounds = steps if context.warm else [[at for step in steps for at in step]]
    with running(_advance, context, stop, executor) as run:
        for tasks in rounds:
            for chain, state, row in run((*at, states.get(at[0])) for at in tasks):
                if context.warm:
                    states[chain] = state
                if row is not None:
                    yield row
            if stop[0]:
                return


def _key(path: ParameterPath, fold: Fold, step: int) -> tuple:
    """A fit's `KEY`."""
    return path.key, path.parameter, path.grid[step], fold.repeat, fold.number


def sweep_table(rows: Sequence[Mapping[str, Any]], task: str) -> pd.DataFrame:
    """Arrange what `sweep` gave as a tidy table, whatever the order it came in.

    Parameters
    ----------
    rows : sequence of dict
        Fits as `sweep` yields them, in any order.
    task : str
        "classification" or "regression"; sets the score columns.

    Returns
    -------
    DataFrame of shape (n_rows, n_columns)
    """
    columns = [*COLUMNS, *SCORES[task], *SIZES, "seconds", "status"]
    frame = pd.DataFrame(list(rows), columns=columns)
    order = ["method", "value", "repeat", "fold"]
    return frame.sort_values(order, kind="stable", ignore_index=True)


def _advance(
    context: SweepContext, task: tuple
) -> tuple[int, Any, dict[str, Any] | None]:
    """One task: the next fit of a chain, from where the last one has ended."""
    chain, step, state = task
    if context.stop[0]:
        return chain, state, None
    path, fold = context.chains[chain]
    dataset = context.dataset
    row = dict.fromkeys([*SCORES[dataset.task], *SIZES], np.nan)
    row |= dict(zip(KEY, _key(path, fold, step), strict=True))
    row |= {"n_train": fold.train.size, "n_held_out": fold.held_out.size}
    if path.key in METHODS:
        _compile(path.key)
    started = time.perf_counter()
    try:
        fit = _fit_method if path.key in METHODS else _fit_baseline
        state, answers, measured = fit(context, chain, path.grid[step], state)
        row |= measured | _scored(dataset, fold, answers)
    except (SmpcoreError, ValueError) as error:  # scikit-learn's are ValueErrors
        if not isinstance(error, SmpcoreError):
            log.warning("A fit of %s failed", path.key, exc_info=error)
        row["status"] = f"failed: {error}"
    row["seconds"] = time.perf_counter() - started
    return chain, state, row if row["status"] != STOPPED else None


def _fit_method(
    context: SweepContext, chain: int, value: Any, state: Any
) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Fit one point of the sweep from the previous one: warm start, answers, sizes."""
    (path, fold), dataset, fold_cache = (
        context.chains[chain],
        context.dataset,
        context.prepared(chain),
    )
    X, X_held_out = fold_cache.rows
    values = {**path.values, path.parameter: value}
    estimator = METHODS[path.key].estimator_for(dataset, values, context.quick)
    problem = fold_cache.problem
    if problem is None or path.parameter in estimator.problem_params:
        weights = censoring_weights(dataset, fold.with_censored, fold.train)
        problem = estimator.problem(X, dataset.y[fold.train], weights)
        context.store(chain, replace(fold_cache, problem=problem))
    estimator.solve(problem, state=state, stop=context.stop)
    history, model = estimator.history_, estimator.model_
    status = STOPPED if history.status == STOPPED else history.status_text
    # One fold's model says what a point takes on a chip; all would take ten times as
    # long as their fits.
    first = fold.repeat == fold.number == 0
    sizes = measure(model, fold_cache.preparation, on_chip=first) | {"status": status}
    return estimator.state_ if context.warm else None, model.predict(X_held_out), sizes


def _fit_baseline(
    context: SweepContext, chain: int, value: Any, state: Any
) -> tuple[Any, np.ndarray, dict[str, Any]]:
    (path, fold), dataset = context.chains[chain], context.dataset
    X, X_held_out = context.prepared(chain).rows
    values = {**path.values, path.parameter: value} if path.parameter else path.values
    estimator = BASELINES[path.key].estimator(values, dataset.task)
    weights = censoring_weights(dataset, fold.with_censored, fold.train)
    fit_weighted(estimator, X, dataset.y[fold.train], weights)
    sizes = measure_baseline(estimator, context.prepared(chain).preparation)
    sizes["status"] = "fitted"
    return state, estimator.predict(X_held_out), sizes


def _scored(dataset: Dataset, fold: Fold, answers: np.ndarray) -> dict[str, float]:
    truth = dataset.y[fold.held_out]
    if dataset.task == "regression":
        errors = RegressionScores(truth, answers)
        return {"mae": errors.mae, "r2": errors.r2}
    classes = dataset.classes
    y_encoded = class_numbers(answers, classes)
    weights = censoring_weights(dataset, fold.with_censored, fold.held_out)
    truth = class_numbers(truth, classes)
    scores = count_answers(truth, y_encoded, classes, weights=weights)
    return {
        "balanced_accuracy": scores.balanced_accuracy,
        "accuracy": scores.accuracy,
    }
