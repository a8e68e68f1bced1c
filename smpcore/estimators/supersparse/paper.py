"""The paper's Algorithm 1: a gradient step for one prototype after the other."""

from __future__ import annotations

import numpy as np

from smpcore.estimators.problem import SolverOptions
from smpcore.estimators.supersparse.problem import (
    Box,
    Objective,
    Solution,
    evaluate,
    pulled_back,
)
from smpcore.solvers.supersparse import (
    CONVERGED,
    DIVERGED,
    ITERATION_LIMIT,
    STOPPED,
    clip,
)


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

    Parameters
    ----------
    objective : Objective
    Z : ndarray of shape (n_prototypes, n_features)
    box : Box
    options : SolverOptions
    eta : float
        Step, on the mean loss.

    Returns
    -------
    Solution
    """
    Z = np.array(Z, dtype=np.float64, order="C")
    m = len(Z)
    F, G, B, intercept = evaluate(objective, Z)
    values, steps = [F], [Z.copy()]
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
        F, G, B, intercept = evaluate(objective, Z)
        values.append(F)
        if options.record > 0 and t % options.record == 0 and len(steps) < 200:
            steps.append(Z.copy())
        options.progress[0] = t / options.max_iter
        if not np.isfinite(F):
            status = DIVERGED
            break
        if t % m == 0 and abs(F - values[-1 - m]) <= options.tol * F:
            status = CONVERGED
            break
    options.progress[0] = 1.0
    kept = np.array(steps) if options.record > 0 else np.empty((0, *Z.shape))
    return Solution(Z, B, intercept, status, t, np.array(values), kept)
