"""The paper's Algorithm 1: a gradient step for one prototype after the other."""

from __future__ import annotations

import numpy as np

from smpcore.estimators.supersparse.problem import (
    Limits,
    Solution,
    evaluate,
    pulled_back,
)
from smpcore.estimators.supersparse.rows import Rows
from smpcore.similarity import Similarity
from smpcore.solvers.supersparse import (
    CONVERGED,
    DIVERGED,
    ITERATION_LIMIT,
    STOPPED,
    clip,
)


def solve_paper(
    rows: Rows,
    how: Similarity,
    lam: float,
    Z: np.ndarray,
    limits: Limits,
    *,
    eta: float = 0.5,
) -> Solution:
    """Descend with fixed steps; prototypes repel each other less and less.

    A step is the refit of the coefficients and a move of one prototype. It stops after
    a round over all prototypes that changes the objective by `tol` at most, relatively.
    For teaching: the default solver gets further in far fewer steps.

    Parameters
    ----------
    rows : Rows
    how : Similarity
    lam : float
    Z : ndarray of shape (n_prototypes, n_features)
    limits : Limits
    eta : float
        Step, on the mean loss.

    Returns
    -------
    Solution
    """
    Z = np.array(Z, dtype=np.float64, order="C")
    m = len(Z)
    F, G, B, intercept = evaluate(rows, how, lam, Z)
    objective, steps = [F], [Z.copy()]
    status, t = ITERATION_LIMIT, 0
    while t < limits.max_iter:
        if limits.stop[0] != 0:
            status = STOPPED
            break
        j = t % m
        t += 1
        others = np.arange(m) != j
        repulsion = pulled_back(how, Z[others], Z[[j]])[0] if m > 1 else 0.0
        Z[j] -= eta * G[j] + repulsion / t**2
        clip(Z, limits.low, limits.high, limits.radius)
        F, G, B, intercept = evaluate(rows, how, lam, Z)
        objective.append(F)
        if limits.record > 0 and t % limits.record == 0 and len(steps) < 200:
            steps.append(Z.copy())
        limits.progress[0] = t / limits.max_iter
        if not np.isfinite(F):
            status = DIVERGED
            break
        if t % m == 0 and abs(F - objective[-1 - m]) <= limits.tol * F:
            status = CONVERGED
            break
    limits.progress[0] = 1.0
    kept = np.array(steps) if limits.record > 0 else np.empty((0, *Z.shape))
    return Solution(Z, B, intercept, status, t, np.array(objective), kept)
