"""Where the alternation of IMKPL starts: the better of a cold start and a path."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from smpcore.methods.imkpl.alternation import Alternation
from smpcore.methods.imkpl.problem import IMKPLParameters, IMKPLProblem, IMKPLState
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.shared.recorded import Recorder
from smpcore.solvers.iterations import DIVERGED, STOPPED

#: What a run gives: status, objective of each iteration, recorded states.
Run = tuple[int, np.ndarray, Recorder]


def best_run(
    problem: IMKPLProblem,
    parameters: IMKPLParameters,
    options: SolverOptions,
    state: IMKPLState | None,
) -> tuple[Alternation, Run, tuple[str, str] | None]:
    """Alternate from another fit's end or, without one, from the better of two starts.

    The problem is not convex. One start is cold; the other lies on the path from even
    weights: the solution for them. The lower objective is kept.
    """
    cold = Alternation(problem, parameters, options.stop, state)
    run = cold.run(options)
    if cold.is_warm or cold.is_fixed or run[0] in (STOPPED, DIVERGED):
        return cold, run, None
    even = Alternation(problem, replace(parameters, kappa=math.inf), options.stop)
    even.run(replace(options, record=0))
    end = replace(even.state, spread=cold.spread)
    along = Alternation(problem, parameters, options.stop, end)
    other = along.run(options)
    if other[0] == STOPPED:
        return along, other, None
    final = run[1][-1], other[1][-1]
    words = f"objective {min(final):.6g}; from the other start {max(final):.6g}"
    if final[1] < final[0]:
        return along, other, ("path from even weights", words)
    return cold, run, ("central cases of each class", words)


def landmark_start(
    problem: IMKPLProblem, parameters: IMKPLParameters, options: SolverOptions
) -> IMKPLState:
    """Where a fit of the landmarks alone ends, as a start for all rows."""
    rows, part = problem.landmarks, problem.of_landmarks()
    found = best_run(part, parameters, replace(options, record=0), None)[0]
    U = np.zeros(problem.U.shape)
    U[:, rows] = found.U
    # Errors of the kernels, whose spread is the unit of kappa, are sums over rows.
    spread = found.spread / problem.landmark_share
    return replace(found.state, U=U, codes=U, spread=spread)
