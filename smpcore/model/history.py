"""How a solver went."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.model.trace import Step, Trace

if TYPE_CHECKING:
    from smpcore.model.prototype_model import PrototypeModel

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
    steps : Trace
        Recorded states (empty unless asked for with ``record``): the last is the fitted
        model. They hold the training rows, and are not saved with a model.
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
    steps: Trace = field(default_factory=Trace)
    status: int = 0
    n_iter: int = 0
    seconds: float = 0.0
    phases: tuple[tuple[float, str], ...] = ()

    @property
    def status_text(self) -> str:
        """The status in words."""
        return STATUS[self.status]

    def step(self, number: int) -> PrototypeModel:
        """Return the model of a recorded state; the last is the fitted model."""
        return self.state(number).model

    def state(self, number: int) -> Step:
        """Return a recorded state: its model, and how the solver stood there.

        Numbers count from 0, negative ones from the end.
        """
        count = len(self.steps)
        if not -count <= number < count:
            raise SmpcoreError(
                f"step={number} should be below {count}, the number of recorded "
                "states; fit with record=1 to keep them."
            )
        number %= count
        place = int(self.steps.places[number])
        until, stopped = slice(0, place + 1), STATUS.index("stopped")
        here = replace(
            self,
            iteration=self.iteration[until],
            objective=self.objective[until],
            gap=self.gap[until],
            status=self.status if number == count - 1 else stopped,
            n_iter=int(self.iteration[place]),
            steps=Trace(),
        )
        return Step(
            number=number,
            iteration=float(self.iteration[place]),
            phase=self.phase_at(float(self.iteration[place])),
            objective=float(self.objective[place]),
            gap=float(self.gap[place]),
            fitted=self.steps.build(self.steps.states[number], here),
        )

    def phase_at(self, iteration: float) -> str:
        """Name of the phase that an iteration belongs to."""
        begun = [name for start, name in self.phases if start <= iteration]
        return begun[-1] if begun else self.steps.phase
