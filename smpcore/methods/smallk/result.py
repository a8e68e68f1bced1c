"""What SMaLL found, as a model with a history."""

from __future__ import annotations

from functools import partial

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.base import TOO_LARGE, Fitted
from smpcore.methods.shared.linear import count_wins
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.shared.recorded import spread_trace
from smpcore.methods.smallk.problem import (
    SMaLLProblem,
    Solution,
    recorded_states,
    side_by_side,
    summed,
    tied_rows,
)
from smpcore.model import History, Trace
from smpcore.solvers.iterations import DIVERGED


def fitted_state(problem: SMaLLProblem, W: np.ndarray, history: History) -> Fitted:
    """Wrap the prototypes of a state."""
    labels, order = problem.voters
    model = problem.linear_model(W, labels[order], history)
    return Fitted(
        model,
        state=None,
        assignment=tied_rows(problem),
        n_asked=len(W),
        wins=count_wins(problem.X, W[:, : problem.X.shape[1]]),
    )


def fitted_as(
    problem: SMaLLProblem,
    relaxed: list[Solution],
    rounded: list[Solution],
    options: SolverOptions,
) -> Fitted:
    """What the relaxation and, if there are some, the refits on k features give."""
    history = joined_history(problem, relaxed, rounded, options)
    if history.status == DIVERGED:
        raise SmpcoreError(TOO_LARGE)
    W = side_by_side([solution.W[None] for solution in rounded or relaxed], problem)[0]
    return fitted_state(problem, W, history)


def joined_history(
    problem: SMaLLProblem,
    relaxed: list[Solution],
    rounded: list[Solution],
    options: SolverOptions,
) -> History:
    """The relaxation, then the refit; sums over tasks."""
    objective = summed([solution.objective for solution in relaxed])
    gap = summed([solution.gap for solution in relaxed])
    phases: tuple[tuple[float, str], ...] = ()
    if rounded:
        phases = (0.0, "relaxed"), (float(len(objective)), "rounded to k")
        refit = summed([solution.objective for solution in rounded])
        gap = np.concatenate([gap, refit - (objective[-1] - gap[-1])])
        objective = np.concatenate([objective, refit])
    return History(
        iteration=np.arange(len(objective), dtype=np.float64),
        objective=objective,
        gap=gap,
        steps=_trace(problem, relaxed, rounded, options) if options.record else Trace(),
        status=max([solution.status for solution in relaxed + rounded]),
        n_iter=len(objective) - 1,
        seconds=options.seconds,
        phases=phases,
    )


def _trace(
    problem: SMaLLProblem,
    relaxed: list[Solution],
    rounded: list[Solution],
    options: SolverOptions,
) -> Trace:
    """The recorded states of the relaxation, then those of the refit."""
    states, places = recorded_states(problem, relaxed, options)
    if rounded:
        more, after = recorded_states(problem, rounded, options)
        begin = max(len(solution.objective) for solution in relaxed)
        states = np.concatenate([states, more])
        places = np.append(places, begin + after)
    build = partial(fitted_state, problem)
    return spread_trace(problem, states, places, build, "ridge")
