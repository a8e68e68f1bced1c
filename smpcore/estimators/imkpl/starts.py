"""Where the alternation of IMKPL starts: the better of a cold start and a path."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from smpcore.estimators.imkpl.alternation import Alternation, IMKPLState, Weights
from smpcore.estimators.imkpl.problem import IMKPLProblem
from smpcore.solvers.smp import DIVERGED, STOPPED

#: What a run gives: status, objective of each iteration, recorded steps.
Run = tuple[int, np.ndarray, np.ndarray]


def best_run(
    problem: IMKPLProblem,
    how: Weights,
    state: Any,
    stop: np.ndarray,
    tol: float,
    max_iter: int,
    progress: np.ndarray,
    record: int,
) -> tuple[Alternation, Run, tuple[str, str] | None]:
    """Alternate from another fit's end or, without one, from the better of two starts.

    The problem is not convex. One start is cold; the other lies on the path from even
    weights: the solution for them. The lower objective is kept.

    Parameters
    ----------
    problem : IMKPLProblem
    how : Weights
    state : IMKPLState or None
        Another object, or one of other shapes, is ignored.
    stop : ndarray of int64, shape (1,)
    tol, max_iter, progress, record
        As in `Alternation.run`.

    Returns
    -------
    Alternation
    Run
    start : (str, str) or None
        Name of the better start and a sentence; None if there was one start only.
    """
    cold = Alternation(problem, how, stop)
    warm = isinstance(state, IMKPLState) and cold.resume(state)
    run = cold.run(tol, max_iter, warm, progress, record)
    if warm or cold.is_fixed or run[0] in (STOPPED, DIVERGED):
        return cold, run, None
    even = Alternation(problem, replace(how, kappa=math.inf), stop)
    even.run(tol, max_iter, False, progress, 0)
    along = Alternation(problem, how, stop)
    along.resume(replace(even.state, spread=cold.spread))
    other = along.run(tol, max_iter, True, progress, record)
    if other[0] == STOPPED:
        return along, other, None
    ends = run[1][-1], other[1][-1]
    words = f"objective {min(ends):.6g}; from the other start {max(ends):.6g}"
    if ends[1] < ends[0]:
        return along, other, ("path from even weights", words)
    return cold, run, ("central cases of each class", words)
