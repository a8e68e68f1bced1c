"""Similarities of which nothing is known but their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.supersparse.problem import Box, Objective, Solution
from smpcore.methods.supersparse.rows import Rows
from smpcore.methods.supersparse.step_log import StepLog
from smpcore.solvers.iterations import CONVERGED, ITERATION_LIMIT, STOPPED

#: Rounds over all prototypes, at most.
MOST_SWEEPS = 60

#: First and shortest step in spreads of the data; growth and shrinkage of a step.
FIRST, SHORTEST, LONGER, SHORTER = 0.5, 1e-4, 1.3, 0.5

#: Rows on which a function is tried for symmetry.
N_TRIED = 20


@dataclass(frozen=True)
class CheckedFunction:
    """A user's function of rows and prototypes; its mistakes raise SmpcoreError."""

    #: ``(X, Z) -> (n_samples, n_prototypes)``
    function: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def __call__(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Call the function and check what it returns."""
        try:
            values = np.asarray(self.function(X, Z), dtype=np.float64)
        except Exception as error:  # whatever a stranger's function raises
            raise SmpcoreError(
                f"similarity should be a function of (X, Z); calling it with {len(X)} "
                f"rows and {len(Z)} prototypes raised "
                f"{type(error).__name__}: {error}; mend the function."
            ) from error
        if values.shape != (len(X), len(Z)):
            raise SmpcoreError(
                f"similarity returned values of shape {values.shape} and should return "
                f"({len(X)}, {len(Z)}), a row for each row of X; mend the function."
            )
        if not np.isfinite(values).all():
            raise SmpcoreError(
                "similarity returned values that are not finite; mend the function."
            )
        return values

    def refuse_asymmetric(self, X: np.ndarray) -> None:
        """Refuse a function for which x is not as like z as z is like x."""
        few = X[:N_TRIED]
        values = self(few, few)
        if not np.allclose(values, values.T, rtol=1e-6, atol=1e-9):
            asymmetry = np.abs(values - values.T).max()
            raise SmpcoreError(
                f"similarity(X, Z) should be symmetric, but s(x, z) and s(z, x) differ "
                f"by up to {asymmetry:.3g}; average the two."
            )


def solve_blackbox(
    objective: Objective, Z: np.ndarray, box: Box, options: SolverOptions
) -> Solution:
    """Move one prototype at a time towards the rows that want it, if the loss falls.

    The direction weighs each row by its similarity and by what it still lacks: for the
    RBF that is the gradient. A step that does not lower the true objective is undone.
    """
    Z = np.array(Z, dtype=np.float64)
    rows, S = objective.rows, objective.similarities(Z)
    F, B, _, residuals = objective.refit(S)
    trace = StepLog(F, Z, options)
    length = np.full(len(Z), FIRST)
    status, sweeps = ITERATION_LIMIT, min(options.max_iter, MOST_SWEEPS)
    for _ in range(sweeps):
        for j in np.flatnonzero(length >= SHORTEST):
            if options.stopped:
                break
            z = Z[j] - length[j] * rows.spread * _direction(rows, S, B, residuals, Z, j)
            z = np.clip(z, box.low, box.high)
            trial = S.copy()
            trial[:, j] = objective.similarities(z[None])[:, 0]
            tried = objective.refit(trial)
            if tried[0] < F:
                Z[j], S = z, trial
                F, B, _, residuals = tried
                length[j] *= LONGER
            else:
                length[j] *= SHORTER
        trace.add(F, Z, sweeps)
        values = trace.values
        if options.stopped:
            status = STOPPED
            break
        slow = len(values) > 3 and values[-4] - F <= 3 * options.tol * F
        if slow or (length < SHORTEST).all():
            status = CONVERGED
            break
    return trace.solution(objective, Z, status)


def _direction(
    rows: Rows,
    S: np.ndarray,
    B: np.ndarray,
    residuals: np.ndarray,
    Z: np.ndarray,
    j: int,
) -> np.ndarray:
    """Unit vector along which the objective should rise (equation 7)."""
    pull = rows.weights * (residuals @ B[j])
    if (S >= 0).all():
        pull = pull * S[:, j]
    ascent = pull @ rows.cases - pull.sum() * Z[j]
    size = np.linalg.norm(ascent)
    return ascent / size if size > 1e-15 else np.zeros_like(ascent)
