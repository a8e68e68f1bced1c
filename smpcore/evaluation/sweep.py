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
from smpcore.codegen import compile_model, estimated, quantise
from smpcore.datasets import (
    Dataset,
    Preparation,
    Split,
    prepare,
    row_weights,
    training_rows,
)
from smpcore.errors import ExportError, SmpcoreError
from smpcore.evaluation.executors import running
from smpcore.evaluation.folds import Fold
from smpcore.evaluation.scores import score_answers
from smpcore.methods import METHODS, Method
from smpcore.model import PrototypeModel
from smpcore.readouts import CHIP
from smpcore.solvers.iterations import STOPPED

#: Bits of integers (None: floats), and the names of the costs on that chip.
_COSTS = (
    (None, "flash_bytes", "cycles_float32"),
    (16, "flash_int16", "cycles_int16"),
    (8, "flash_int8", "cycles_int8"),
)
#: What an answer takes on that chip.
CHIP_SIZES = (
    *("flash_bytes", "flash_int16", "flash_int8"),
    *("cycles_float32", "cycles_int16", "cycles_int8"),
)
#: All that a model costs.
SIZES = ("n_nonzeros", "n_features", "n_prototypes", *CHIP_SIZES)


def measure(
    model: PrototypeModel, preparation: Preparation, on_chip: bool = True
) -> dict[str, float]:
    """What a model costs.

    Parameters
    ----------
    model : PrototypeModel
        Model whose sizes are counted.
    preparation : Preparation
        Preparation that maps its features to table columns.
    on_chip : bool, default True
        Whether to compile it, which takes longer than many a fit: `CHIP_SIZES` are
        NaN otherwise.

    Returns
    -------
    dict
        `SIZES`; NaN for a number format that the model does not have. Features are
        counted by table column: a category is one, whatever its levels.
    """
    sizes = dict.fromkeys(SIZES, np.nan) | {
        "n_nonzeros": model.n_nonzeros,
        "n_features": int(preparation.used_columns(model.support).sum()),
        "n_prototypes": model.n_prototypes,
    }
    if not on_chip:
        return sizes
    try:
        compiled = compile_model(model, preparation)
    except ExportError:
        return sizes
    for width, flash, cycles in _COSTS:
        try:
            made = quantise(compiled, width) if width else compiled
        except ExportError:
            continue
        if cost := estimated(made, CHIP):
            sizes[flash], sizes[cycles] = float(cost.flash), float(cost.count)
    return sizes


def linear_weights(model: Any) -> np.ndarray | None:
    """Weights of a linear model, or of several in one, a row each; None of others."""
    parts = getattr(model, "estimators_", [model])
    if not all(hasattr(part, "coef_") for part in parts):
        return None
    return np.vstack([np.atleast_2d(part.coef_) for part in parts])


def measure_baseline(estimator: Any, preparation: Preparation) -> dict[str, float]:
    """Count the columns that a baseline uses, and its weights if it has weights."""
    last, sizes = getattr(estimator, "regressor_", estimator)[-1], {}
    weights = linear_weights(last)
    if hasattr(last, "Z_"):  # few vectors: their places, and coefficients or distance
        used, other = last.Z_, last.B_ if hasattr(last, "B_") else last.omega_
        numbers = np.count_nonzero(last.Z_) + np.count_nonzero(other)
        sizes = {"n_nonzeros": int(numbers), "n_prototypes": len(last.Z_)}
    elif weights is not None:
        used, sizes = weights, {"n_nonzeros": int(np.count_nonzero(weights))}
    else:
        every = np.ones(preparation.n_features)
        used = np.atleast_2d(getattr(last, "feature_importances_", every))
    used = preparation.used_columns(used.any(axis=0))
    return sizes | {"n_features": int(np.count_nonzero(used))}


@dataclass(frozen=True)
class ParameterPath:
    """One model family along one parameter.

    Parameters
    ----------
    key : str
        Of `METHODS`, or of `BASELINES`.
    values : mapping
        The other parameters' values.
    parameter : str
        The one that varies; empty for a baseline at one setting.
    grid : tuple
        Its values, in the order of the chain.
    """

    key: str
    values: Mapping[str, Any]
    parameter: str = ""
    grid: tuple[Any, ...] = (None,)


def method_path(
    key: str,
    dataset: Dataset,
    rows: np.ndarray,
    values: Mapping[str, Any] | None = None,
    n_points: int = 10,
) -> ParameterPath:
    """Values of a method's sparsity parameter, spread over its range.

    Only one where it means nothing at the other parameters' values.

    Parameters
    ----------
    key : str
        Key of the method in `METHODS`.
    dataset : Dataset
        Table to learn from; its preparation is learned on `rows`.
    rows : ndarray of int
        The training rows, ``with_censored`` of a split: they say between which ends
        the parameter matters.
    values : mapping, optional
        The other parameters' values, where they are not the method's defaults.
    n_points : int
        At most so many values.

    Returns
    -------
    ParameterPath
    """
    method = METHODS[key]
    values = {**method.defaults(dataset.task), **(values or {})}
    rows, weights = training_rows(dataset, rows)
    preparation = prepare(dataset, rows)
    X = preparation.transform(dataset.frame.iloc[rows])
    estimator = method.estimator_for(dataset, values)
    problem = estimator.problem(X, dataset.y[rows], weights, **dataset.metadata(rows))
    slider_ranges = method.bounds(problem, values)
    grid = _spread(method, slider_ranges[method.sparsity], n_points)
    meaningful = method.param(method.sparsity).shown_if
    if meaningful is not None and not meaningful(values):
        grid = grid[:1]  # all of them would be the same model
    return ParameterPath(key, values, method.sparsity, grid)


def _spread(method: Method, limits: tuple[float, float], n_points: int) -> tuple:
    """Values of the sparsity parameter, in the order of the chain."""
    param, (low, high) = method.param(method.sparsity), limits
    if param.scale == "int":
        low, high = round(low), round(high)
        n_points = min(n_points, high - low + 1)
        # Evenly by ratio, and one apart at least.
        grid = np.geomspace(low, high, n_points).round()
        grid = np.maximum(grid, low + np.arange(n_points))
        grid_values = [int(value) for value in grid]
    else:
        # At its end a parameter with an exact 0 has switched everything off.
        inner = np.geomspace(low, high, n_points)[: -1 if param.zero else None]
        grid_values = [0.0] * param.zero + [float(f"{value:.3g}") for value in inner]
    distinct = tuple(dict.fromkeys(grid_values))  # many are the same once rounded
    return distinct[::-1] if method.from_right else distinct


def baseline_paths(
    task: str, groups: Collection[str] = ("usual",)
) -> list[ParameterPath]:
    """Paths of the baselines: several values where these make sparse models.

    Parameters
    ----------
    task : str
        "classification" or "regression".
    groups : collection of str
        Those of `Baseline.group` that are wanted.

    Returns
    -------
    list of ParameterPath
    """
    paths = []
    for key, row in BASELINES.items():
        if task in row.tasks and row.group in groups:
            grid = row.grid[row.path] if row.path else (None,)
            paths.append(ParameterPath(key, {}, row.path, grid))
    return paths


log = logging.getLogger(__name__)

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

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_caches": {}}

    def prepared(self, chain: int) -> FoldCache:
        """The rows of a chain, prepared by what its fold learns from."""
        if chain in self._caches:
            return self._caches[chain]
        preparation, *rows = self.chains[chain][1].prepared(self.dataset)
        made = FoldCache(preparation, tuple(rows))
        self.store(chain, made)
        return made

    def store(self, chain: int, fold_cache: FoldCache) -> None:
        """Keep it for the next task of the chain, if there is room."""
        caches = {**self._caches, chain: fold_cache}
        if sum(one.n_bytes for one in caches.values()) <= _MOST_BYTES:
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


def columns_of(task: str) -> list[str]:
    """Columns of the fits of a sweep, also in a file."""
    return [*COLUMNS, *SCORES[task], *SIZES, "seconds", "status"]


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
    frame = pd.DataFrame(list(rows), columns=columns_of(task))
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
    (path, fold), dataset = context.chains[chain], context.dataset
    fold_cache = context.prepared(chain)
    X, X_held_out = fold_cache.rows
    values = {**path.values, path.parameter: value}
    estimator = METHODS[path.key].estimator_for(dataset, values, context.quick)
    problem = fold_cache.problem
    if problem is None or path.parameter in estimator.problem_params:
        weights = row_weights(dataset, fold.with_censored, fold.train)
        problem = estimator.problem(
            X, dataset.y[fold.train], weights, **dataset.metadata(fold.train)
        )
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
    rows = sample_for(path.key, dataset, fold.train)
    weights = row_weights(dataset, fold.with_censored, rows)
    fit_weighted(estimator, X[np.isin(fold.train, rows)], dataset.y[rows], weights)
    sizes = measure_baseline(estimator, context.prepared(chain).preparation)
    of_all = f"{SAMPLED} {len(rows):,} of {len(fold.train):,} rows"
    sizes["status"] = "fitted" if len(rows) == len(fold.train) else of_all
    return state, estimator.predict(X_held_out), sizes


#: How the status of a fit begins that saw a sample of the rows.
SAMPLED = "fitted on"


def sample_for(key: str, dataset: Dataset, rows: np.ndarray) -> np.ndarray:
    """Of many rows as many as a baseline is fitted on, classes in their shares."""
    most = BASELINES[key].most_rows if key in BASELINES else len(rows)
    whole = Split(rows, rows[:0], rows[:0], 0, 0.0, 0.0)
    return whole.thinned(dataset.y, most, dataset.task == "classification").train


def _scored(dataset: Dataset, fold: Fold, answers: np.ndarray) -> dict[str, float]:
    truth = dataset.y[fold.held_out]
    weights = row_weights(dataset, fold.with_censored, fold.held_out)
    scores = score_answers(truth, answers, dataset.classes, weights=weights)
    return {name: getattr(scores, name) for name in SCORES[dataset.task]}
