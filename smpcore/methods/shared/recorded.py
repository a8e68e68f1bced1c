"""States that a fit records, and how they become models again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from smpcore.methods.shared.dask_rows import futures, is_dask, map_chunks
from smpcore.methods.shared.problem import MOST_STEPS, Problem, SolverOptions
from smpcore.methods.shared.row_blocks import map_blocks
from smpcore.model import History, PrototypeModel, Trace, training_tie
from smpcore.solvers.iterations import recorded_every

if TYPE_CHECKING:
    from smpcore.methods.shared.base import Fitted


class Recorder:
    """Keeps every so-many-th state; each second one goes when there is no more room."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.places: list[int] = []
        self.states: list[Any] = []

    def add(self, place: int, state: Callable[[], Any], last: bool = False) -> None:
        """Keep a state if it is its turn."""
        if not self.every or (place % self.every and not last):
            return
        if last and self.places and self.places[-1] == place:
            self.states[-1] = state()
            return
        if len(self.states) == MOST_STEPS:
            del self.states[1::2], self.places[1::2]
            self.every *= 2
        self.states.append(state())
        self.places.append(place)


def recorded_places(options: SolverOptions, n_iter: int, n_kept: int) -> np.ndarray:
    """Steps after which a compiled solver kept its states."""
    every = recorded_every(n_iter, int(options.record), options.most_steps)
    return np.append(every * np.arange(n_kept - 1), n_iter).astype(np.int64)


def spread_trace(
    problem: Problem,
    states: Sequence[Any],
    places: np.ndarray | Sequence[int],
    build: Callable[[Any, History], Fitted],
    phase: str = "",
) -> Trace:
    """At most `MOST_STEPS` of the recorded states, the first and the last among
    them.
    """
    n_kept = min(len(states), MOST_STEPS)
    kept = np.linspace(0, len(states) - 1, n_kept).astype(np.int64)
    return Trace(
        states=[states[i] for i in kept],
        places=np.asarray(places)[kept],
        phase=phase,
        build=partial(_built, problem, build),
    )


def _built(
    problem: Problem,
    build: Callable[[Any, History], Fitted],
    state: Any,
    history: History,
) -> Fitted:
    """What a family makes of a state, and the tie that the fitted model would have."""
    fitted = build(state, history)
    return fitted if problem.classes is None else with_tie(problem, fitted)


def with_tie(problem: Problem, fitted: Fitted) -> Fitted:
    """Give a classifier's model the `tie` that its training scores ask for."""
    scores, model = fitted.scores, fitted.model
    if scores is None and isinstance(problem.X, np.ndarray):
        rows = problem.X[:, : problem.n_features]
        scores = model.scores(rows * problem.scale + problem.center)
    elif scores is None:
        weights = np.zeros((model.n_prototypes, problem.X.shape[1]))
        weights[:, : problem.n_features] = model.weights
        one = {"weights": weights, "model": model}
        if is_dask(problem.X):
            scores = map_chunks(_largest_score, futures(problem.X), **one)
        else:
            scores = _largest_score(problem.X, **one)
    return replace(fitted, model=replace(model, tie=training_tie(np.asarray(scores))))


def _largest_score(X: Any, *, weights: np.ndarray, model: PrototypeModel) -> float:
    """The largest absolute score of rows that are read in blocks."""

    def largest(_: slice, block: Any) -> float:
        return np.abs(model.pool(block @ weights.T + model.bias)).max()

    return max(map_blocks(largest, X))
