"""A row of the registry: name, estimators and controls of a method.

A refusal is a clause that says why a method cannot learn from a kind of data, empty if
it can; the parameters of the data are those that the data decide.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from smpcore.datasets import Dataset, text_features
from smpcore.parameters import TASKS, Param, Values

log = logging.getLogger(__name__)


def needs_features(dataset: Dataset) -> str:
    """Refuse data without features, for methods that weigh these."""
    if dataset.matrices:
        return "it weighs features, and a matrix has none"
    return needs_no_text(dataset)


def needs_no_text(dataset: Dataset) -> str:
    """Refuse texts, for methods that compute with numbers."""
    texts = text_features(dataset)
    return f"it computes with numbers, and {texts[0]} is text" if texts else ""


def as_chosen(dataset: Dataset, values: Values) -> Values:
    """No parameter follows from the data."""
    return {}


def no_slower(values: Values, n_features: int) -> float:
    """No values make a comparison slower."""
    return 1.0


class Term(NamedTuple):
    """A term of what a method minimises, and what it moves in the figure."""

    #: With ``_`` and ``^`` before what is below and above: ``"∑_{i<j} ‖w_i − w_j‖_∞"``.
    formula: str
    words: str
    #: What it moves.
    marks: Literal["rows", "prototypes", "weights"]
    #: Controls that weigh it.
    params: tuple[str, ...] = ()


@dataclass(frozen=True)
class Method:
    """One method: its name, its estimators, its controls.

    Parameters
    ----------
    key : str
        Name in `METHODS`, in links and in files.
    title : str
        Name for people, as on a page or in a table.
    summary : str
        One sentence for someone who has not heard of it; ``{arrows}`` is what
        prototypes are drawn as, ``{cases}`` what they are made of.
    estimators : dict
        Task -> estimator class.
    params : tuple of Param
        Of all tasks; one name may stand for a control of each task.
    path : str or None
        The parameter that is scrubbed along a solved path; the same for all tasks.
    sparsity : str
        The parameter that a sweep walks.
    tuned : mapping
        Other parameters that a tuner varies beside it -> the values that it tries.
    reference : str
        Paper that the method is from.
    terms : tuple of Term
        What it minimises, a sum.
    from_right : bool
        Whether a path is solved from its large values to its small ones.
    preview : mapping
        Values that make a fit quick: they take the place of the chosen ones while a
        control moves, and along a path.
    compares_rows : bool
        Whether a fit begins with a comparison of every two rows: the work grows with
        their square.
    refusal : callable
        Data set -> why it cannot learn from data of this kind, a clause; empty if it
        can.
    data_params : callable
        Data set and values -> parameters that follow from the kind of the data.
    removed : mapping
        Name of a control that there was -> what holds now, a sentence: old links and
        files that set it are opened without it.
    has_threshold : bool
        Whether a model of two classes has an intercept, which a threshold moves.
    comparison_cost : callable
        Values and number of features -> how much longer comparing two rows takes than
        going through their features.
    """

    key: str
    title: str
    summary: str
    estimators: Mapping[str, type]
    params: tuple[Param, ...]
    path: str | None
    sparsity: str
    tuned: Mapping[str, tuple[Any, ...]]
    reference: str
    terms: tuple[Term, ...]
    from_right: bool = True
    preview: Values = field(default_factory=dict)
    compares_rows: bool = False
    refusal: Callable[[Dataset], str] = needs_features
    data_params: Callable[[Dataset, Values], Values] = as_chosen
    comparison_cost: Callable[[Values, int], float] = no_slower
    removed: Mapping[str, str] = field(default_factory=dict)
    has_threshold: bool = True

    @property
    def story(self) -> str:
        """What it minimises, what its controls do, and where it differs: Markdown."""
        folder = Path(__file__).parents[1] / self.key
        return (folder / "story.md").read_text("utf-8")

    def effort(
        self, n_rows: int, n_features: int, values: Values | None = None
    ) -> float:
        """Numbers that the start of a fit, which cannot be stopped, works through.

        Comparing a number with a hundred others counts as much as a number of a table
        that is gone through several times.
        """
        cost = self.comparison_cost(values or {}, n_features)
        return n_features * n_rows * (cost * n_rows / 100 if self.compares_rows else 1)

    def defaults(self, task: str = "classification") -> dict[str, Any]:
        """Values of the controls as the estimator's signature gives them."""
        return self._defaults[task].copy()

    def controls(self, task: str = "classification") -> tuple[Param, ...]:
        """The controls that there are for a task."""
        return self._controls[task]

    @functools.cached_property
    def _controls(self) -> dict[str, tuple[Param, ...]]:
        return {t: tuple(p for p in self.params if t in p.tasks) for t in TASKS}

    @functools.cached_property
    def _defaults(self) -> dict[str, dict[str, Any]]:
        defaults = {}
        for task, estimator in self.estimators.items():
            signature = inspect.signature(estimator).parameters
            names = [param.name for param in self.controls(task)]
            defaults[task] = {name: signature[name].default for name in names}
        return defaults

    def scrubs(self, values: Values) -> bool:
        """Whether there is a path at these values."""
        if self.path is None:
            return False
        meaningful = self.param(self.path).shown_if
        return meaningful is None or meaningful(values)

    def off_path(self, values: Values, task: str = "classification") -> dict[str, Any]:
        """The same values, with the scrubbed parameter at its default.

        Two settings with the same values off the path share the path.
        """
        start = self.defaults(task)
        return {
            name: start[name] if name == self.path else value
            for name, value in values.items()
        }

    def valid_values(self, values: Values, task: str) -> dict[str, Any]:
        """The values that the controls of a task have and allow."""
        controls = {param.name: param for param in self.controls(task)}
        return {
            name: value
            for name, value in values.items()
            if name in controls and controls[name].allows(value)
        }

    def param(self, name: str) -> Param:
        """The first control of that name."""
        return self._named[name]

    @functools.cached_property
    def _named(self) -> dict[str, Param]:
        return {param.name: param for param in reversed(self.params)}

    def estimator(
        self, values: Values, task: str = "classification", preview: bool = False
    ) -> Any:
        """A new estimator at these values, or at those of its quick preview."""
        return self.estimators[task](**{**values, **(self.preview if preview else {})})

    def learns(self, dataset: Dataset, task: str) -> bool:
        """Whether it can learn a task from data of this kind."""
        return task in self.estimators and not self.refusal(dataset)

    def estimator_for(
        self, dataset: Dataset, values: Values, preview: bool = False
    ) -> Any:
        """A new estimator at these values, and at those that the data decide."""
        values = {**values, **self.data_params(dataset, values)}
        return self.estimator(values, dataset.task, preview)

    def warm_up(self, every_option: bool = False) -> None:
        """Compile or load machine code, of some or all options, by tiny fits.

        An option whose fit fails is logged; it is compiled when it is chosen.
        """
        X = np.random.default_rng(0).normal(size=(24, 5))
        labels = [X[:, 0] > 0]
        if every_option:
            labels.append((X[:, 0] > 0) + 1 * (X[:, 1] > 0))
        X = (X - X.min()) / np.ptp(X)  # some similarities take no negative value
        for task, estimator in self.estimators.items():
            targets = labels if task == "classification" else X.T[:1]
            settings: list[dict[str, Any]] = [{}]
            if every_option:
                choices = [p for p in self.controls(task) if p.scale == "choice"]
                settings = [
                    {p.name: value}
                    for p in choices
                    for value, _ in p.options
                    if value not in p.series_options
                ]
            for setting in settings:
                for y in targets:
                    try:
                        estimator(**setting).fit(X, y)
                    except Exception as error:
                        what = self.title, setting
                        log.warning("%s, %s: not compiled yet: %.200r", *what, error)

    def bounds(self, problem: Any, values: Values) -> dict[str, tuple[float, float]]:
        """Name -> range of every number control, for these rows at these values."""
        ranges = {
            param.name: (param.low, param.high)
            for param in self.controls(problem.task)
            if param.scale in ("linear", "log", "int")
        }
        slider_ranges = self.estimator(values, problem.task).bounds(problem)
        for name, (low, high) in slider_ranges.items():
            widest = ranges[name]
            ranges[name] = max(low, widest[0]), min(high, widest[1])
        return ranges

    def grid(self, bounds: tuple[float, float], n_points: int = 51) -> np.ndarray:
        """Values of the scrubbed parameter, ascending, at most `n_points`."""
        param = self.param(self.path)
        low, high = bounds
        if param.scale == "int":
            whole = np.linspace(low, high, min(n_points, int(high - low) + 1))
            return np.unique(whole.round())
        if not param.zero:
            return np.geomspace(low, high, n_points)
        return np.concatenate([[0.0], np.geomspace(low, high, n_points - 1)])


def solve_path(
    method: Method, problem: Any, values: Values, grid: np.ndarray, state: Any = None
) -> Iterator[tuple[float, Any]]:
    """Solve a method along its path, each fit warm-started from the one before.

    Parameters
    ----------
    method : Method
        Method with a path: its `path` is not None.
    problem : Problem
        Training rows, made by `problem` of its estimator.
    values : mapping
        The other controls' values.
    grid : ndarray
        Values of the scrubbed parameter, in the order to solve.
    state : object, optional
        `state_` of a fitted estimator to start from.

    Yields
    ------
    value : float
    estimator : fitted estimator
    """
    number = int if method.param(method.path).scale == "int" else float
    for value in map(number, grid):
        here = {**values, method.path: value}
        estimator = method.estimator(here, problem.task, preview=True)
        estimator.solve(problem, state=state)
        state = estimator.state_
        yield value, estimator


def _is_drawn(values: Values) -> bool:
    """Whether a fit begins with a draw; what has no other start always does."""
    return values.get("start", "random") in ("auto", "kmeans", "random")


START_SEED = Param(
    "random_state",
    "Seed of the start",
    "int",
    0,
    99,
    help="Restart on the same rows: another seed draws another start.",
    shown_if=_is_drawn,
)

CLASS_WEIGHT = Param(
    "class_weight",
    "Class weights",
    "choice",
    options=((None, "none"), ("balanced", "balanced")),
    help="Balanced: each class has the same total weight.",
    tasks=("classification",),
)

#: The losses of SMP and of SMaLL.
LOSS = Param(
    "loss",
    "Loss",
    "choice",
    options=(("smooth", "smooth"), ("max", "max"), ("hinge", "hinge")),
    help="Smooth adds up all rivals of a row; max looks at the strongest only, and "
    "hinge no further than a lead of 1.",
)
