"""An experiment of a paper: its data, its models, what it prints, and how it is run."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from smpcore.datasets import Dataset
from smpcore.errors import SmpcoreError
from smpcore.papers.sources import Source


class Trial(NamedTuple):
    """The smallest piece of an experiment that is measured by itself.

    Attributes
    ----------
    data : str
        Key of a source of the experiment.
    model : str
        One of the experiment's models.
    repetition : int
        From 0: decides the seeds of the split and of the fit.
    """

    data: str
    model: str
    repetition: int


@dataclass(frozen=True)
class Outcome:
    """What a trial has measured.

    Parameters
    ----------
    measures : mapping of str to float
        Measure -> value; NaN where there is none.
    curves : mapping of str to sequence of (float, float)
        Measure -> its values along the experiment's `axis`.
    method : str
        Key of the method that was fitted, so that Explore can show it; empty for
        another model.
    values : mapping
        Parameters of that fit.
    """

    measures: Mapping[str, float]
    curves: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    method: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reported:
    """A number that the paper prints.

    Parameters
    ----------
    data, model, measure : str
        What it is of, in the words of the experiment.
    value : float
        As printed, in the unit of the measure.
    spread : float
        Standard deviation over repetitions, as printed; NaN if none is.
    at : float
        Place on the experiment's `axis`; NaN for a number in a table.
    source : str
        Where in the paper it stands, if that is not the experiment's `where`.
    """

    data: str
    model: str
    measure: str
    value: float
    spread: float = float("nan")
    at: float = float("nan")
    source: str = ""


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper that can be run.

    Parameters
    ----------
    name : str
        As in ``python -m smpcore.papers run NAME``.
    paper : str
        Key of the paper's method, or ``"all"`` for a comparison of our own.
    where : str
        Where in the paper, as in "Table 1".
    title : str
        What is measured, in a few words.
    protocol : str
        Folds, grids and seeds, and what differs from the paper, in sentences.
    data : mapping of str to Source
        Data sets by the names that trials have.
    models : tuple of str
        What is fitted, in the paper's words.
    run : callable
        ``run(trial, dataset)`` returns an `Outcome`; a function of a module, which
        draws what it needs from seeds of the trial's repetition.
    repetitions : int
        Trials of one data set and one model.
    reported : tuple of Reported
        Numbers that the paper prints.
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
    paper: str
    where: str
    title: str
    protocol: str
    data: Mapping[str, Source] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    run: Callable[[Trial, Dataset], Outcome] | None = None
    repetitions: int = 1
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
            for model in self.models
        ]


def read_accuracies(path: Path) -> tuple[Reported, ...]:
    """Printed accuracies: a line for each data set, a column for each model."""
    text = path.read_text("utf-8")
    return tuple(
        Reported(row["data"], model, "accuracy", *map(float, row[model].split("±")))
        for row in csv.DictReader(text.splitlines())
        for model in row
        if model != "data"
    )


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
