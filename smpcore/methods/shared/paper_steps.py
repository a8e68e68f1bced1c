"""A state of a paper's algorithm, and what all of them check first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.allowed_values import Number
from smpcore.methods.shared.problem import Fitted, Problem
from smpcore.model import History, PrototypeModel, Step
from smpcore.model.history import STATUS

#: Iterations that may be asked for: every state is held in memory.
MOST_STEPS = 10_000


@dataclass(frozen=True, eq=False)
class PrintedStep:
    """A state of an algorithm as printed. Arrays are read-only copies.

    Parameters
    ----------
    iteration : int
        Iterations until here; several phases may share one.
    phase : str
        What the iteration has just done, in words.
    objective : float
        Value of the objective that our solver of the family minimises; IMKPL's may
        have a term less, since the paper has none for even weights.
    arrays : mapping of str to ndarray
        Variables of the algorithm, under the names of the file's table of symbols.
    assignment : ndarray of int, shape (n_samples,)
        Prototype that each training row is tied to, or most like.
    model : PrototypeModel
        What would be predicted if the algorithm ended here.
    """

    iteration: int
    phase: str
    objective: float
    arrays: Mapping[str, np.ndarray]
    assignment: np.ndarray
    model: PrototypeModel

    def __post_init__(self) -> None:
        arrays = {name: read_only(array) for name, array in self.arrays.items()}
        object.__setattr__(self, "arrays", MappingProxyType(arrays))
        object.__setattr__(self, "assignment", read_only(self.assignment))


def read_only(array: np.ndarray) -> np.ndarray:
    """A copy that cannot be written to."""
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


def check_request(problem: Problem, family: Any, n_steps: int) -> None:
    """Refuse what a printed algorithm cannot work with."""
    Number(0, MOST_STEPS, integer=True).check("n_steps", n_steps)
    if not isinstance(problem, family):
        raise SmpcoreError(
            f"problem is a {type(problem).__name__} and should be of the algorithm's "
            "own method; take the one that estimator.problem(X, y) returns."
        )
    if not isinstance(problem.X, np.ndarray):
        raise SmpcoreError(
            "X is sparse and should be dense: the printed algorithms take arrays only; "
            "use X.toarray()."
        )


def until(states: Iterable[Any], stop: np.ndarray | None) -> Iterator[Any]:
    """Pass states on until somebody raises a flag; the first one always comes."""
    for state in states:
        yield state
        if stop is not None and stop[0]:
            return


def checked_start(start: Any, default: np.ndarray) -> np.ndarray:
    """The start that was given, or the default one."""
    if start is None:
        return np.array(default, dtype=np.float64)
    start = np.array(start, dtype=np.float64)
    if start.shape != default.shape or not np.isfinite(start).all():
        raise SmpcoreError(
            f"start has the shape {start.shape} and should be finite, of the shape "
            f"{default.shape}; give such an array, or None for the default start."
        )
    return start


def history_at(iteration: int, objective: float) -> History:
    """History of a model that is no solver's end: one objective, no bound."""
    return History(
        iteration=np.array([float(iteration)]),
        objective=np.array([objective]),
        gap=np.array([np.nan]),
        n_iter=iteration,
    )


def as_step(printed: PrintedStep, number: int, estimator: Any) -> Step:
    """The state in the form that a recorded one has, for `sentence` and `at_step`.

    Parameters
    ----------
    printed : PrintedStep
        A state that a function of `PRINTED` returned.
    number : int
        Place among the states, from 0.
    estimator : fitted estimator
        Of the same method, on the same rows and from the same start.

    Returns
    -------
    Step
        Without a bound; its history says that it was stopped there.
    """
    history = replace(printed.model.history, status=STATUS.index("stopped"))
    return Step(
        number=number,
        iteration=float(printed.iteration),
        phase=printed.phase,
        objective=float(printed.objective),
        gap=float("nan"),
        fitted=Fitted(
            model=replace(printed.model, history=history),
            state=None,
            assignment=printed.assignment,
            n_asked=estimator.n_asked_,
            start=estimator.start_,
            automatic=estimator.automatic_,
        ),
    )


def nearest_mass(mass: np.ndarray) -> np.ndarray:
    """Nearest vector that is not negative and sums to 1 at most (Duchi et al.,
    2008).
    """
    if mass.sum() <= 1.0:
        return mass
    falling = np.sort(mass)[::-1]
    levels = (np.cumsum(falling) - 1.0) / np.arange(1, len(mass) + 1)
    level = levels[np.flatnonzero(falling > levels)[-1]]
    return np.maximum(mass - level, 0.0)
