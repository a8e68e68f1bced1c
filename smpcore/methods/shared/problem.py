"""Training rows as arrays, the options of a solver, and what a fit records."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from smpcore.methods.shared.dask_rows import futures, is_dask, map_chunks
from smpcore.methods.shared.inner_folds import of_distinct_rows
from smpcore.methods.shared.row_blocks import map_blocks
from smpcore.model import History, PrototypeModel, Trace, training_tie
from smpcore.similarity import Similarity
from smpcore.solvers.iterations import Limits, recorded_every

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
    #: Which samples of `fit` belong together, and their order in time: numbers.
    groups: np.ndarray | None = field(default=None, kw_only=True)
    times: np.ndarray | None = field(default=None, kw_only=True)
    #: Of problems whose rows are distinct: the row that each sample of `fit` is; -1
    #: for one of weight 0.
    place: np.ndarray | None = field(default=None, kw_only=True)

    @cached_property
    def n_features(self) -> int:
        """Features of an input; the bias is none."""
        return len(self.center)

    @cached_property
    def parted(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Groups and times of the distinct rows."""
        return of_distinct_rows(self.place, self.groups, self.times)

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


class Start(NamedTuple):
    """What became of one start of a fit whose objective is not convex."""

    n_prototypes: int  # Of each class
    objective: float  # When it was left, or at its end
    bound: float  # For its assignments
    finished: bool  # Whether it went to its end


#: An objective that is at most this much above the lowest, relatively, equals it.
_EQUAL = 1e-3


def starts_in_words(starts: Sequence[Start]) -> dict[str, tuple[str, str]]:
    """How many starts are behind a fit, how often the best came, and how far apart.

    An entry of `Fitted.measures` on those of most prototypes; none of a single one.
    """
    most = max((one.n_prototypes for one in starts), default=0)
    last = [one for one in starts if one.n_prototypes == most]
    if len(last) < 2:
        return {}
    objectives = np.array([one.objective for one in last])
    excess = objectives / max(objectives.min(), 1e-300) - 1
    left = sum(not one.finished for one in last)
    near, highest = np.sum(excess <= _EQUAL), 100 * excess.max()
    words = f"{near} of {len(last)} came within {100 * _EQUAL:g} % of the lowest "
    words += f"objective; the highest was {highest:.2g} % above"
    if left == len(last):
        words += "; after a few steps of each the lowest went on"
    elif left:
        words += f"; {left} left on the way"
    return {"start": (f"best of {len(last)}", words)}


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a family's solver found; each field becomes the attribute of that name."""

    model: PrototypeModel
    #: Start for the next `solve`.
    state: Any
    #: Prototype, as solved, that each training row is tied to or most like.
    assignment: np.ndarray
    #: Prototypes asked for; the model may have fewer.
    n_asked: int
    #: Prototype of the model that each solved one became, -1 if it was left out; None
    #: if the model has them all.
    merged: np.ndarray | None = None
    #: Training rows that each prototype decides; None where they decide together.
    wins: np.ndarray | None = None
    #: Training row of each anchor; None where anchors are no training rows.
    anchor_rows: np.ndarray | None = None
    #: Where the prototypes started, scaled units; None where that has no meaning.
    start: np.ndarray | None = None
    #: Whether a prototype lies far from all training rows; None without distances.
    off_data: np.ndarray | None = None
    #: Values that parameters left at None were given.
    automatic: Mapping[str, float] = field(default_factory=dict)
    #: Key of a read-out -> (value, explanation) of what this family measures.
    measures: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    #: The starts behind a fit that is not convex; none where they are not counted.
    starts: tuple[Start, ...] = ()
    #: Scores of the training rows; None: not computed yet.
    scores: np.ndarray | None = None


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


class Recorder:
    """Keeps every so-many-th state; each second one goes when there is no more room."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.places: list[int] = []
        self.states: list[Any] = []

    def add(self, place: int, state: Callable[[], Any], last: bool = False) -> None:
        """Keep a state if it is its turn."""
        if not self.every or (place % self.every and not last):
            return
        if last and self.places and self.places[-1] == place:
            self.states[-1] = state()
            return
        if len(self.states) == MOST_STEPS:
            del self.states[1::2], self.places[1::2]
            self.every *= 2
        self.states.append(state())
        self.places.append(place)


def recorded_places(options: SolverOptions, n_iter: int, n_kept: int) -> np.ndarray:
    """Steps after which a compiled solver kept its states."""
    every = recorded_every(n_iter, int(options.record), options.most_steps)
    return np.append(every * np.arange(n_kept - 1), n_iter).astype(np.int64)


def spread_trace(
    problem: Problem,
    states: Sequence[Any],
    places: np.ndarray | Sequence[int],
    build: Callable[[Any, History], Fitted],
    phase: str = "",
) -> Trace:
    """At most `MOST_STEPS` of the recorded states, with the first and the last."""
    if not len(states):
        return Trace()
    n_kept = min(len(states), MOST_STEPS)
    chosen = np.linspace(0, len(states) - 1, n_kept).astype(np.int64)
    return Trace(
        states=[states[i] for i in chosen],
        places=np.asarray(places)[chosen],
        phase=phase,
        build=partial(_built, problem, build),
    )


def _built(
    problem: Problem,
    build: Callable[[Any, History], Fitted],
    state: Any,
    history: History,
) -> Fitted:
    """What a family makes of a state, and the tie that the fitted model would have."""
    fitted = build(state, history)
    return fitted if problem.classes is None else with_tie(problem, fitted)


def with_tie(problem: Problem, fitted: Fitted) -> Fitted:
    """Give a classifier's model the `tie` that its training scores ask for."""
    scores, model = fitted.scores, fitted.model
    if scores is None and isinstance(problem.X, np.ndarray):
        rows = problem.X[:, : problem.n_features]
        scores = model.scores(rows * problem.scale + problem.center)
    elif scores is None:
        weights = np.zeros((model.n_prototypes, problem.X.shape[1]))
        weights[:, : problem.n_features] = model.weights
        one = {"weights": weights, "model": model}
        if is_dask(problem.X):
            scores = map_chunks(_largest_score, futures(problem.X), **one)
        else:
            scores = _largest_score(problem.X, **one)
    return replace(fitted, model=replace(model, tie=training_tie(np.asarray(scores))))


def _largest_score(X: Any, *, weights: np.ndarray, model: PrototypeModel) -> float:
    """The largest absolute score of rows that are read in blocks."""

    def largest(_: slice, block: Any) -> float:
        return np.abs(model.pool(block @ weights.T + model.bias)).max()

    return max(map_blocks(largest, X))
