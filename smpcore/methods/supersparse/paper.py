"""The paper's Algorithm 1: a gradient step for one prototype after the other."""

from __future__ import annotations

import numpy as np

from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.supersparse.kernel import clip
from smpcore.methods.supersparse.problem import (
    Box,
    Objective,
    Solution,
    evaluate,
    pulled_back,
)
from smpcore.methods.supersparse.trace import Trace
from smpcore.solvers.iterations import CONVERGED, DIVERGED, ITERATION_LIMIT, STOPPED


def solve_paper(
    objective: Objective,
    Z: np.ndarray,
    box: Box,
    options: SolverOptions,
    *,
    eta: float = 0.5,
) -> Solution:
    """Descend with fixed steps; prototypes repel each other less and less.

    A step is the refit of the coefficients and a move of one prototype. It stops after
    a round over all prototypes that changes the objective by `tol` at most, relatively.
    For teaching: the default solver gets further in far fewer steps.
    """
    Z = np.array(Z, dtype=np.float64, order="C")
    m = len(Z)
    F, G, _, _ = evaluate(objective, Z)
    trace = Trace(F, Z, options)
    status, t = ITERATION_LIMIT, 0
    while t < options.max_iter:
        if options.stopped:
            status = STOPPED
            break
        j = t % m
        t += 1
        others = np.arange(m) != j
        repulsion = (
            pulled_back(objective.similarity, Z[others], Z[[j]])[0] if m > 1 else 0.0
        )
        Z[j] -= eta * G[j] + repulsion / t**2
        clip(Z, box.low, box.high, box.radius)
        F, G, _, _ = evaluate(objective, Z)
        trace.add(F, Z, options.max_iter)
        if not np.isfinite(F):
            status = DIVERGED
            break
        if t % m == 0 and abs(F - trace.values[-1 - m]) <= options.tol * F:
            status = CONVERGED
            break
    return trace.solution(objective, Z, status)
