"""An experiment of a paper, declared: data, models, conclusions; it runs a trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from smpcore.datasets import Dataset
from smpcore.errors import SmpcoreError
from smpcore.papers.conclusions import Check, Conclusion, conclusions_of, read_rows
from smpcore.papers.protocols import halves
from smpcore.papers.sources import Source


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


def read_printed(path: Path) -> tuple[Reported, ...]:
    """Numbers of a table as it is printed: a line a model; an empty cell is none."""
    return tuple(
        Reported(data, row["model"], measure, float(number))
        for row in read_rows(path)
        for column, number in row.items()
        for data, _, measure in [column.partition(": ")]
        if measure and number
    )


@dataclass(frozen=True)
class Case:
    """A trial of an experiment with its data set."""

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
        """What another model has measured on the same division."""
        other = replace(self, trial=self.trial._replace(model=model))
        experiment = self.experiment
        key = experiment.measure, experiment.divide, self.dataset.digest, other.trial
        if key not in _known:
            _known[key] = experiment.measure(other)
        return _known[key]


def by_declared(case: Case) -> Outcome:
    """Measure a trial whose model is declared as what measures it."""
    return case.declared(case)


def _means(numbers: Iterable[Mapping[Any, float]]) -> dict[Any, float]:
    """Mean of each number, over those that have it."""
    return pd.DataFrame([*numbers]).mean().to_dict()


#: What trials have measured in this process: models ask for others of their division.
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
        Folds, grids and seeds, and what differs from the paper, in sentences: those
        of ``protocols.md``.
    paper : str
        Key of the paper's method, or ``"all"`` for a comparison of our own.
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
    checks : mapping of str to callable
        What tests the sentences of ``conclusions.csv``, by their names there, and
        other readings of them.
    reported : tuple of Reported
        Numbers that the paper prints.
    settings : tuple of str or of pairs of str
        Measures that are passed in, or are facts of the data, of all models or each
        with its model: no results.
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
    rivals : tuple of str
        Models that no run fits: `tests/bench/rivals.py` measures them elsewhere.
    beside : str
        The paper's own model, which others are set beside where the numbers that it
        prints are of data that are not here.
    values : mapping of str to object
        Settings of the paper's method that Explore opens where trials name none.
    others : tuple of Experiment
        Those whose trials are other readings of its conclusions.
    """

    name: str
    where: str
    title: str
    protocol: str = ""
    paper: str = ""
    data: Mapping[str, Source] = field(default_factory=dict)
    models: Mapping[str, Any] = field(default_factory=dict)
    measure: Callable[[Case], Outcome] | None = None
    divide: Callable[[Dataset, int], Any] = halves
    repetitions: int = 1
    n_halves: int = 1
    summary: Callable[[Outcome], Mapping[str, float]] | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)
    reported: tuple[Reported, ...] = ()
    settings: tuple[str | tuple[str, str], ...] = ()
    axis: str = ""
    elsewhere: tuple[str, ...] = ()
    ranked: str = ""
    sizes: tuple[str, ...] = ()
    impossible: str = ""
    omitted: Mapping[str, str] = field(default_factory=dict)
    rivals: tuple[str, ...] = ()
    beside: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    others: tuple[Experiment, ...] = ()

    @property
    def command(self) -> str:
        """The command that runs it, with what its data need."""
        needs = "".join(dict.fromkeys(s.option for s in self.data.values()))
        return f"python -m smpcore.papers run {self.name}{needs}"

    @property
    def conclusions(self) -> list[Conclusion]:
        """What the paper concludes from it, and what tests that here."""
        return conclusions_of(self.name, self.checks)

    def trials(self, models: Iterable[str] | None = None) -> list[Trial]:
        """All trials of a run, or of other models; of a data set repetitions last."""
        models = [*self.models] if models is None else [*models]
        return [
            Trial(data, model, repetition)
            for repetition in range(self.repetitions)
            for data in self.data
            for model in models
        ]

    def run(self, trial: Trial, dataset: Dataset) -> Outcome:
        """Measure one of the trials, over its divisions of the rows of loaded data."""
        first, halves = trial.repetition, range(self.n_halves)
        trials = (trial._replace(repetition=first + half) for half in halves)
        each = [self.measure(Case(self, one, dataset)) for one in trials]
        outcome, more = each[0], {}
        if len(each) > 1:
            of = outcome.curves
            curves = {name: _means(one.curves[name] for one in each) for name in of}
            measures = _means(one.measures for one in each)
            for name in [*measures][:1]:
                values = [one.measures[name] for one in each]
                more[f"{name}, standard deviation"] = float(np.std(values, ddof=1))
            outcome = replace(outcome, measures=measures, curves=curves)
        more |= self.summary(outcome) if self.summary else {}
        return replace(outcome, measures={**outcome.measures, **more})


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
