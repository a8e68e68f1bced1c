"""An experiment of a paper, declared: data, models, claims; and what runs a trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from smpcore.datasets import Dataset
from smpcore.errors import SmpcoreError
from smpcore.papers.protocols import halves
from smpcore.papers.sources import Source

#: Model of a trial that measures what is claimed of all others.
CLAIMS = "claims"


class Trial(NamedTuple):
    """The smallest piece of an experiment that is measured by itself."""

    data: str
    model: str
    repetition: int


@dataclass(frozen=True)
class Outcome:
    """What a trial has measured."""

    measures: Mapping[str, float]
    curves: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    method: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reported:
    """A number that the paper prints."""

    data: str
    model: str
    measure: str
    value: float
    spread: float = float("nan")
    at: float = float("nan")
    source: str = ""


def holding(
    data: Iterable[str], models: Iterable[str], *claims: str
) -> tuple[Reported, ...]:
    """What a paper says of each of some models on each of some data sets: 1 each."""
    models = (*models,)
    return tuple(
        Reported(one, model, claim, 1.0)
        for one in data
        for model in models
        for claim in claims
    )


def printed_lines(
    lines: Mapping[str, str],
    columns: Iterable[str],
    measures: Sequence[str],
    source: str = "",
) -> tuple[Reported, ...]:
    """Numbers of a table as it is printed, a line a model; a dash is none."""
    pairs = [*product(columns, measures)]
    return tuple(
        Reported(column, model, measure, float(number), source=source)
        for model, line in lines.items()
        for (column, measure), number in zip(pairs, line.split(), strict=True)
        if number != "-"
    )


@dataclass(frozen=True)
class Case:
    """A trial of an experiment with its data set: what is measured, or claimed of."""

    experiment: Experiment
    trial: Trial
    dataset: Dataset

    @property
    def declared(self) -> Any:
        """What the experiment says of the trial's model."""
        return self.experiment.models[self.trial.model]

    @cached_property
    def rows(self) -> Any:
        """Training and test rows of the repetition."""
        return self.experiment.divide(self.dataset, self.trial.repetition)

    def of(self, model: str) -> Outcome:
        """What another model has measured, of the same repetition or on average."""
        return self.experiment.compared_with(self, model)


@dataclass(frozen=True)
class Claim:
    """A model's measure is in relation to ``factor * measure + more`` of each rival."""

    model: str
    relation: Callable[[float, float], bool]
    rivals: tuple[str, ...]
    measure: str
    factor: float = 1.0
    more: float = 0.0

    def __call__(self, case: Case) -> bool:
        """Whether it holds for each rival."""
        value = case.of(self.model).measures[self.measure]
        others = (case.of(rival).measures[self.measure] for rival in self.rivals)
        return all(self.relation(value, self.factor * x + self.more) for x in others)


def _means(numbers: Sequence[Mapping[Any, float]]) -> dict[Any, float]:
    """Mean of each number of the first, over those that have it."""
    return {
        key: float(np.mean([one[key] for one in numbers if key in one]))
        for key in numbers[0]
    }


def _mean_outcome(each: Sequence[Outcome]) -> Outcome:
    """Means of measures and curves, otherwise the first outcome."""
    measures = _means([one.measures for one in each])
    curves = {
        name: _means([one.curves[name] for one in each]) for name in each[0].curves
    }
    return replace(each[0], measures=measures, curves=curves)


#: What trials of experiments with claims have measured in this process: claims are
#: about the same fits as their models.
_known: dict[tuple[Any, ...], Outcome] = {}


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper that can be run.

    Parameters
    ----------
    name : str
        As in ``python -m smpcore.papers run NAME``.
    where : str
        Where in the paper, as in "Table 1".
    title : str
        What is measured, in a few words.
    protocol : str
        Folds, grids and seeds, and what differs from the paper, in sentences.
    paper : str
        Key of the paper's method, or ``"all"`` for a comparison of our own; from
        `of_paper`.
    data : mapping of str to Source
        Data sets by the names that trials have.
    models : mapping of str to object
        What is fitted, in the paper's words -> what `measure` makes it from.
    measure : callable
        ``measure(case)`` returns the `Outcome` of a `Case`; a function of a module,
        which draws what it needs from seeds of the trial's repetition.
    divide : callable
        ``divide(dataset, repetition)`` returns the rows of a case.
    repetitions : int
        Trials of one data set and one model.
    n_halves : int
        Divisions that a trial is the mean over; then each has one repetition.
    summary : callable, optional
        More measures of a trial, from its outcome.
    claims : mapping of str to callable
        What the paper says of several models -> ``claim(case)``: whether it holds, or
        a number; None where it is not about the data set.
    claims_of : {"repetition", "means", "means, once"}
        What a claim compares: each repetition by itself, or the means of all.
    claimed : mapping of str to tuple of str, optional
        Data set -> claims that the paper makes of it; None: all of each.
    reported : tuple of Reported
        Numbers that the paper prints, without `claims`.
    tolerance : float
        A measured mean this near to a reported number reproduces it, whatever the
        spreads; 0: only the same number does.
    axis : str
        What curves go along, with its unit; empty if there are none.
    elsewhere : tuple of str
        Measures that another machine changes, such as seconds: shown, not compared.
    ranked : str
        The measure by which models are ranked over the data sets; empty: they are not.
    sizes : tuple of str
        Measures of size that it is drawn against, where models are ranked.
    impossible : str
        Why the experiment cannot be run at all; empty if it can.
    omitted : mapping of str to str
        Models of the paper that are not fitted -> why.
    """

    name: str
    where: str
    title: str
    protocol: str
    paper: str = ""
    data: Mapping[str, Source] = field(default_factory=dict)
    models: Mapping[str, Any] = field(default_factory=dict)
    measure: Callable[[Case], Outcome] | None = None
    divide: Callable[[Dataset, int], Any] = halves
    repetitions: int = 1
    n_halves: int = 1
    summary: Callable[[Outcome], Mapping[str, float]] | None = None
    claims: Mapping[str, Callable[[Case], float | None]] = field(default_factory=dict)
    claims_of: Literal["repetition", "means", "means, once"] = "repetition"
    claimed: Mapping[str, tuple[str, ...]] | None = None
    reported: tuple[Reported, ...] = ()
    tolerance: float = 0.02
    axis: str = ""
    elsewhere: tuple[str, ...] = ()
    ranked: str = ""
    sizes: tuple[str, ...] = ()
    impossible: str = ""
    omitted: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The command that runs it, with what its data need."""
        needs = "".join(dict.fromkeys(s.option for s in self.data.values()))
        return f"python -m smpcore.papers run {self.name}{needs}"

    def trials(self) -> list[Trial]:
        """All trials; of one data set the repetitions come last."""
        return [
            Trial(data, model, repetition)
            for repetition in range(self.repetitions)
            for data in self.data
            for model in self.all_models
        ]

    @property
    def all_models(self) -> tuple[str, ...]:
        """Models of its trials: those that are fitted, and the claims."""
        return (*self.models, *[CLAIMS] * bool(self.claims))

    @property
    def printed(self) -> tuple[Reported, ...]:
        """All that the paper prints: numbers, and claims that hold."""
        claimed = self.claimed
        if claimed is None:
            claimed = dict.fromkeys(self.data, (*self.claims,))
        pairs = (holding((one,), (CLAIMS,), *claims) for one, claims in claimed.items())
        return self.reported + sum(pairs, ())

    def run(self, trial: Trial, dataset: Dataset) -> Outcome:
        """Measure one of the trials, or what is claimed, on its loaded data."""
        if trial.model != CLAIMS:
            return self._mean(trial, dataset)
        if trial.repetition and self.claims_of == "means, once":
            return Outcome({})
        case = Case(self, trial, dataset)
        held = {words: claim(case) for words, claim in self.claims.items()}
        return Outcome({words: x for words, x in held.items() if x is not None})

    def compared_with(self, case: Case, model: str) -> Outcome:
        """What a model has measured that a claim, or another model, asks for."""
        trial = case.trial._replace(model=model)
        if case.trial.model != CLAIMS:
            return self._once(trial, case.dataset)
        if self.claims_of == "repetition":
            return self._mean(trial, case.dataset)
        trials = (trial._replace(repetition=r) for r in range(self.repetitions))
        return _mean_outcome([self._once(one, case.dataset) for one in trials])

    def _mean(self, trial: Trial, dataset: Dataset) -> Outcome:
        """The outcome of a trial, over its divisions of the rows."""
        outcome = self._once(trial, dataset)
        if self.n_halves > 1:
            trials = (trial._replace(repetition=r) for r in range(self.n_halves))
            each = [self._once(one, dataset) for one in trials]
            outcome = _mean_outcome(each)
            spread = {
                f"{name}, standard deviation": float(
                    np.std([one.measures[name] for one in each], ddof=1)
                )
                for name in [*outcome.measures][:1]
            }
            outcome = replace(outcome, measures={**outcome.measures, **spread})
        if self.summary is None:
            return outcome
        more = self.summary(outcome)
        return replace(outcome, measures={**outcome.measures, **more})

    def _once(self, trial: Trial, dataset: Dataset) -> Outcome:
        """The outcome on one division; it is remembered where claims ask again."""
        if not self.claims:
            return self.measure(Case(self, trial, dataset))
        key = self.name, self.measure, dataset.digest, trial
        if key not in _known:
            _known[key] = self.measure(Case(self, trial, dataset))
        return _known[key]


def of_paper(paper: str, *modules: Any) -> tuple[Experiment, ...]:
    """The experiments that some modules declare, as those of a paper."""
    every = (one for module in modules for one in module.EXPERIMENTS)
    return tuple(replace(one, paper=paper) for one in every)


def by_name(experiments: Sequence[Experiment], name: str) -> Experiment:
    """The experiment with a name.

    Parameters
    ----------
    experiments : sequence of Experiment
        Those to look among.
    name : str
        As in `Experiment.name`.

    Returns
    -------
    Experiment

    Raises
    ------
    SmpcoreError
        If there is none.
    """
    for experiment in experiments:
        if experiment.name == name:
            return experiment
    raise SmpcoreError(
        f"There is no experiment {name!r}; python -m smpcore.papers list names them."
    )
