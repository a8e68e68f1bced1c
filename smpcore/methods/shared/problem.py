"""Training rows as arrays, and the options of a solver."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from smpcore.model import History, PrototypeModel
from smpcore.similarity import Similarity
from smpcore.solvers.iterations import Limits

#: Recorded steps that a fit keeps at most; an even number.
MOST_STEPS = 200


@dataclass(frozen=True, eq=False)
class Problem:
    """Training rows, ready for a solver."""

    #: Scaled copy of the rows; a last column of ones if the method has a bias.
    X: np.ndarray
    #: Weight of each row, sum 1; of classes, times the weight of the row's class.
    weights: np.ndarray
    #: ``(x - center) / scale`` are the scaled units.
    center: np.ndarray
    scale: np.ndarray
    #: Range of each feature in these rows, user's units.
    low: np.ndarray
    high: np.ndarray
    feature_names: tuple[str, ...]
    #: Whether the names came with the data.
    named: bool
    task: ClassVar[str]

    @cached_property
    def n_features(self) -> int:
        """Features of an input; the bias is none."""
        return len(self.center)

    def model(
        self,
        anchors: np.ndarray,
        votes: np.ndarray,
        history: History,
        mixing: np.ndarray | None = None,
        **parts: Any,
    ) -> PrototypeModel:
        """Wrap what was learned from these rows."""
        n_prototypes, n_outputs = votes.shape
        usual = {
            "similarity": Similarity("linear"),
            "bias": np.zeros(n_prototypes),
            "pooling": "max",
            "intercept": np.zeros(n_outputs),
            "counts": np.ones(n_prototypes, dtype=np.int64),
            "sample_shape": (self.n_features,),
            "kind_of_prototype": "direction",
        }
        return PrototypeModel(
            center=self.center,
            scale=self.scale,
            low=self.low,
            high=self.high,
            anchors=anchors,
            mixing=np.eye(n_prototypes) if mixing is None else mixing,
            votes=votes,
            classes=self.classes,
            feature_names=self.feature_names,
            history=history,
            **(usual | parts),
        )


@dataclass(frozen=True, eq=False)
class ClassificationProblem(Problem):
    """Training rows with classes."""

    #: Index of each row's class.
    y_encoded: np.ndarray
    classes: np.ndarray
    task: ClassVar[str] = "classification"

    def linear_model(
        self,
        W: np.ndarray,
        prototype_labels: np.ndarray,
        history: History,
        **parts: Any,
    ) -> PrototypeModel:
        """Wrap prototypes that are rows of weights, and of a bias if there is one."""
        n, votes = self.n_features, self.class_votes(prototype_labels)
        bias = W[:, n:].sum(axis=1)
        return self.model(
            np.ascontiguousarray(W[:, :n]), votes, history, bias=bias, **parts
        )

    def class_votes(self, prototype_labels: np.ndarray) -> np.ndarray:
        """Votes of prototypes for their classes, shape (n_prototypes, n_classes)."""
        return np.eye(len(self.classes))[prototype_labels]


@dataclass(frozen=True, eq=False)
class RegressionProblem(Problem):
    """Training rows with numbers to predict, in user's units."""

    y: np.ndarray
    classes: ClassVar[None] = None
    task: ClassVar[str] = "regression"


@dataclass(frozen=True, eq=False)
class SolverOptions:
    """When a solver ends, what it records, and where it reports its progress."""

    #: Precision at which it stops; what is measured depends on the solver.
    tol: float = 1e-3
    max_iter: int = 2000
    #: Keep every so-many-th step; 0 keeps none.
    record: int = 0
    #: The solver stops within a step after this becomes non-zero.
    stop: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    #: Rises from 0 to 1.
    progress: np.ndarray = field(default_factory=lambda: np.zeros(1))
    #: When the fit began, by `time.perf_counter`.
    started: float = field(default_factory=time.perf_counter)

    @property
    def stopped(self) -> bool:
        """Whether the solver should stop."""
        return bool(self.stop[0])

    @property
    def seconds(self) -> float:
        """Time since the fit began."""
        return time.perf_counter() - self.started

    @property
    def most_steps(self) -> int:
        """Recorded steps that a compiled solver has room for, if it records any."""
        return min(MOST_STEPS, int(self.max_iter) // int(self.record) + 2)

    def for_kernel(self, W: np.ndarray) -> tuple[Limits, tuple[np.ndarray, ...]]:
        """Arguments of a compiled solver: its limits, and room for its history."""
        room = int(self.max_iter) + 1
        numbers = float(self.tol), int(self.max_iter), int(self.record)
        steps = np.empty((self.most_steps if self.record else 0, *W.shape))
        history = np.empty(room), np.empty(room), steps
        return Limits(*numbers, self.stop, self.progress), history
