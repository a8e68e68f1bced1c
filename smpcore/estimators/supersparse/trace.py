"""What the solvers that are written in Python record on their way."""

from __future__ import annotations

import numpy as np

from smpcore.estimators.problem import SolverOptions
from smpcore.estimators.supersparse.problem import Solution

#: Steps that a fit records at most.
MOST_STEPS = 200


class Trace:
    """Objective after each step, and every so-many-th position of the prototypes.

    Parameters
    ----------
    F : float
        Objective at the start.
    Z : ndarray of shape (n_prototypes, n_features)
        The start.
    options : SolverOptions
    """

    def __init__(self, F: float, Z: np.ndarray, options: SolverOptions) -> None:
        self.values, self.steps, self.options = [F], [Z.copy()], options

    def add(self, F: float, Z: np.ndarray, n_steps: int) -> None:
        """Add a step; the fit is done after `n_steps` at the latest."""
        done, record = len(self.values), self.options.record
        self.values.append(F)
        self.options.progress[0] = done / n_steps
        if record > 0 and done % record == 0 and len(self.steps) < MOST_STEPS:
            self.steps.append(Z.copy())

    def solution(
        self, Z: np.ndarray, B: np.ndarray, intercept: np.ndarray, status: int
    ) -> Solution:
        """The whole as what a compiled solver returns."""
        self.options.progress[0] = 1.0
        steps = np.array(self.steps, dtype=np.float64)
        if self.options.record == 0:
            steps = steps[:0]
        values = np.array(self.values)
        return Solution(Z, B, intercept, status, len(values) - 1, values, steps)
