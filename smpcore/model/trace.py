"""Recorded states of a fit: real models on the way to the fitted one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from smpcore.datasets.display_names import plain_number

if TYPE_CHECKING:
    from smpcore.model.prototype_model import PrototypeModel


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
    def model(self) -> PrototypeModel:
        """The model of this state."""
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
        return f"{now} prototype" + "s" * (now != 1)
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
