"""How a solver went; its recorded states are models on the way to the fitted one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from smpcore.datasets.display_names import plain_number, plural
from smpcore.errors import SmpcoreError


def _nothing(state: Any, history: Any) -> Any:
    raise IndexError("no state was recorded")


@dataclass(frozen=True, eq=False)
class Trace:
    """States that a solver recorded, and what makes a model of one.

    Parameters
    ----------
    states : sequence
        What the family's solver recorded: arrays from which a model can be built.
    places : ndarray of int, shape (n_recorded,)
        Entry of the history's `objective` that belongs to each state.
    phase : str
        What the solver does, where the history names no phases.
    build : callable
        ``build(state, history)`` gives a record with the attributes `model`,
        `assignment` and `merged`, as the fitted estimator has them.
    """

    states: Sequence[Any] = ()
    places: np.ndarray | Sequence[int] = ()
    phase: str = ""
    build: Callable[[Any, Any], Any] = _nothing

    def __len__(self) -> int:
        return len(self.states)


@dataclass(frozen=True, eq=False)
class Step:
    """One recorded state.

    Parameters
    ----------
    number : int
        Place among the recorded states, from 0.
    iteration : float
        As the history counts: steps, sweeps or alternations.
    phase : str
        What the solver did there.
    objective, gap : float
        As in the history; the gap is NaN where no bound is known.
    fitted : object
        The family's record of this state, with its `model`, `assignment` and `merged`.
    """

    number: int
    iteration: float
    phase: str
    objective: float
    gap: float
    fitted: Any

    @property
    def model(self) -> Any:
        """The `PrototypeModel` of this state."""
        return self.fitted.model

    @property
    def assignment(self) -> np.ndarray:
        """Prototype of the model that each training row is tied to or most like.

        It is -1 for a row tied to a prototype that the model leaves out.
        """
        merged, tied = self.fitted.merged, self.fitted.assignment
        return tied if merged is None else merged[tied]

    def sentence(self, before: Step | None = None) -> str:
        """What has changed since the state before this one, in words."""
        parts = [_prototypes(self, before)]
        if before is not None:
            parts.insert(0, _moved_rows(self, before))
        start = None if before is None else before.objective
        numbers = f"objective {_change(start, self.objective)}"
        if np.isfinite(self.gap) and self.objective > 0:
            share = 100 * max(self.gap, 0.0) / self.objective
            numbers += f", gap {plain_number(share, 2)} %"
        words = ", ".join(part for part in parts if part)
        return f"Step {self.number}: {words}; {numbers}"


def _change(before: float | None, after: float) -> str:
    """Two numbers, with digits enough to tell them apart; one if there is no other."""
    if before is None:
        return plain_number(after)
    for digits in (4, 6, 8):
        texts = plain_number(before, digits), plain_number(after, digits)
        if texts[0] != texts[1]:
            return " \N{RIGHTWARDS ARROW} ".join(texts)
    return f"{plain_number(after)} as before"


def _prototypes(step: Step, before: Step | None) -> str:
    """How many prototypes the model has, if that is new."""
    now = step.model.n_prototypes
    if before is None:
        return plural(now, "prototype")
    earlier = before.model.n_prototypes
    return "" if earlier == now else f"prototypes {_change(earlier, now)}"


def _moved_rows(step: Step, before: Step) -> str:
    """How many rows changed to which prototype; the number is that of the model."""
    moved = step.fitted.assignment != before.fitted.assignment
    count = int(np.count_nonzero(moved))
    if not count:
        return "no row changed its prototype"
    into, sizes = np.unique(step.assignment[moved], return_counts=True)
    noun = "row" if count == 1 else "rows"
    most = f"prototype {into[sizes.argmax()] + 1}"
    if len(into) == 1:
        return f"{count} {noun} changed to {most}"
    return f"{count} {noun} changed prototype, {sizes.max()} of them to {most}"


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

    def step(self, number: int) -> Any:
        """Return the `PrototypeModel` of a recorded state; the last is the fitted one.

        A model holds its history, so that its class cannot be imported here.
        """
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
