"""What SMaLL's estimator solves, and how its parts are put together again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smpcore.methods.shared.problem import (
    ClassificationProblem,
    SolverOptions,
    recorded_places,
)

#: Ridge of the bias, which k does not count.
BIAS_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class Task:
    """One convex problem: all classes jointly, or one class against the others."""

    #: Of each row: 0 for the others and 1 for the class, or the class, if jointly; and
    #: the prototype that it is tied to.
    y_encoded: np.ndarray
    assignment: np.ndarray
    #: Code of each prototype.
    prototype_labels: np.ndarray
    #: 1 if prototype 0 is frozen at 0 and stands for the others; 0 otherwise.
    first: int
    #: Class that each prototype votes for; -1 for one that the model leaves out.
    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class SMaLLProblem(ClassificationProblem):
    """Training rows for SMaLL, each tied to a prototype."""

    #: One, or one for each class.
    tasks: tuple[Task, ...]
    #: Prototype of the model that each row is tied to.
    assignment: np.ndarray
    #: Bound on the curvature of the loss.
    lipschitz: float

    @cached_property
    def n_bias(self) -> int:
        """Columns of ones: 1 or 0."""
        return self.X.shape[1] - self.n_features

    @cached_property
    def voters(self) -> tuple[np.ndarray, np.ndarray]:
        """Class of each prototype of all tasks, and which of them the model has.

        The class is -1 for one that the model leaves out; the others are by class.
        """
        labels = np.concatenate([task.labels for task in self.tasks])
        order = np.argsort(labels, kind="stable")
        return labels, order[labels[order] >= 0]

    @property
    def outcome(self) -> int:
        """Number of the class with prototypes, of two; as a model has it."""
        return 1 - int(self.tasks[0].labels[0]) if len(self.classes) == 2 else 1

    def ridge(self, lam: float) -> np.ndarray:
        """Ridge of each column, shape (n_columns,)."""
        return np.r_[np.full(self.n_features, lam), np.full(self.n_bias, BIAS_RIDGE)]


@dataclass(frozen=True, eq=False)
class SMaLLState:
    """Where the solver ended: the warm start of the next, an entry for each task."""

    relaxed: tuple[np.ndarray, ...]
    rounded: tuple[np.ndarray, ...]
    curvature: tuple[float, ...]

    def fits(self, problem: SMaLLProblem) -> bool:
        """Whether the shapes are those of this problem."""
        n_columns = problem.X.shape[1]
        shapes = [(len(task.prototype_labels), n_columns) for task in problem.tasks]
        return [W.shape for W in self.relaxed] == shapes


@dataclass(frozen=True, eq=False)
class Solution:
    """What a kernel returned."""

    W: np.ndarray
    status: int
    n_iter: int
    objective: np.ndarray  # (n_iter + 1,)
    gap: np.ndarray  # (n_iter + 1,)
    steps: np.ndarray  # (n_recorded, n_prototypes, n_used)
    #: Last curvature of the steps.
    curvature: float
    #: Columns that the steps have, and are 0 in the others; None: all.
    columns: np.ndarray | None = None


def one_sided(
    assignment: np.ndarray,
    prototype_labels: np.ndarray,
    y_encoded: np.ndarray,
    positive: int,
    negative: int,
) -> Task:
    """The task of one class: its prototypes against one that is frozen at 0."""
    of_class = np.flatnonzero(prototype_labels == positive)
    inside = y_encoded == positive
    return Task(
        y_encoded=inside.astype(np.int64),
        assignment=np.where(inside, assignment - of_class[0] + 1, 0),
        prototype_labels=np.r_[0, np.ones(len(of_class), dtype=np.int64)],
        first=1,
        labels=np.r_[negative, np.full(len(of_class), positive)],
    )


def side_by_side(parts: list[np.ndarray], problem: SMaLLProblem) -> np.ndarray:
    """Steps of all tasks as steps of the model's prototypes, with a bias."""
    missing = problem.n_features + 1 - problem.X.shape[1]
    steps = np.concatenate(parts, axis=1)[:, problem.voters[1]]
    return np.pad(steps, ((0, 0), (0, 0), (0, missing)))


def recorded_states(
    problem: SMaLLProblem, solutions: list[Solution], options: SolverOptions
) -> tuple[np.ndarray, np.ndarray]:
    """Recorded steps of all tasks side by side, and the iterations they belong to."""
    of_tasks = [recorded_places(options, s.n_iter, len(s.steps)) for s in solutions]
    places = max(of_tasks, key=lambda places: places[-1])
    parts = []
    for solution, of_task in zip(solutions, of_tasks, strict=True):
        steps = solution.steps[np.searchsorted(of_task, places, side="right") - 1]
        if solution.columns is not None:
            wide = np.zeros((*steps.shape[:2], problem.X.shape[1]))
            wide[:, :, solution.columns] = steps
            steps = wide
        parts.append(steps)
    return side_by_side(parts, problem), places


def summed(curves: list[np.ndarray]) -> np.ndarray:
    """Sum of curves; a shorter one stays at its last value."""
    longest = max(map(len, curves))
    return sum([np.pad(c, (0, longest - len(c)), mode="edge") for c in curves])
