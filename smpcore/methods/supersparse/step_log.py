"""What the solvers that are written in Python record on their way."""

from __future__ import annotations

import numpy as np

from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.shared.recorded import Recorder
from smpcore.methods.supersparse.problem import Objective, Solution


class StepLog:
    """Objective after each step, and every so-many-th position of the prototypes."""

    def __init__(self, F: float, Z: np.ndarray, options: SolverOptions) -> None:
        self.values, self.options = [F], options
        self.recorder = Recorder(options.record)
        self._record(Z)

    def _record(self, Z: np.ndarray, last: bool = False) -> None:
        at = len(self.values) - 1
        self.recorder.add(at, lambda: np.array(Z, dtype=np.float64), last)

    def add(self, F: float, Z: np.ndarray, n_steps: int) -> None:
        """Add a step; the fit is done after `n_steps` at the latest."""
        self.options.progress[0] = len(self.values) / n_steps
        self.values.append(F)
        self._record(Z)

    def solution(
        self,
        objective: Objective,
        Z: np.ndarray,
        status: int,
        coefficients: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> Solution:
        """The whole as what a compiled solver returns; None: the best coefficients."""
        self.options.progress[0] = 1.0
        self._record(Z, last=True)
        values = np.array(self.values)
        return Solution(
            Z,
            *(coefficients or objective.coefficients(Z)),
            status,
            len(values) - 1,
            values,
            self.recorder.states,
            np.array(self.recorder.places, dtype=np.int64),
        )
