"""How a solver went."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

STATUS = ("converged", "iteration limit reached", "stopped", "diverged")


def _empty() -> np.ndarray:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class History:
    """How the solver went.

    Parameters
    ----------
    iteration : ndarray of shape (n_checks,)
        Iterations at which the objective was looked at.
    objective, gap : ndarray of shape (n_checks,)
        Primal objective, and its certified distance to the optimum (NaN where no
        bound is known).
    steps : ndarray of shape (n_recorded, n_anchors, n_features + 1)
        Recorded anchors with their bias in the last column (empty unless asked for
        with ``record``).
    status : int
        Index into `STATUS`.
    n_iter : int
        Number of iterations that the solver took.
    seconds : float
        Time of the solver, without validation and start.
    phases : tuple of (float, str)
        Iteration at which each phase of the fit began, and what it is called; empty
        for a fit of one phase. The gap of each phase is that of its own problem.
    """

    iteration: np.ndarray = field(default_factory=_empty)
    objective: np.ndarray = field(default_factory=_empty)
    gap: np.ndarray = field(default_factory=_empty)
    steps: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 0)))
    status: int = 0
    n_iter: int = 0
    seconds: float = 0.0
    phases: tuple[tuple[float, str], ...] = ()

    @property
    def status_text(self) -> str:
        """The status in words."""
        return STATUS[self.status]
