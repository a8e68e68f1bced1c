"""Measured trials: a file for each experiment, a line of JSON for each trial.

A line is written as soon as its trial is measured, so that a run which is stopped, or
killed, goes on where it was.
"""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from smpcore.datasets import Dataset
from smpcore.errors import SmpcoreError
from smpcore.evaluation import edition, end_with_parent
from smpcore.evaluation.executors import running
from smpcore.evaluation.journal import JsonLines, read_json_lines
from smpcore.papers.experiment import Experiment, Outcome, Trial
from smpcore.papers.sources import MissingDataError, Source

#: Measured by the makers of this program; ``run NAME --again --out`` this folder.
SHIPPED = Path(__file__).with_name("measured")
#: How a need begins that differs in a number only.
_OPENML = "needs OpenML ID "
#: Where the command and the app keep what is measured here.
MEASURED_HERE = Path(".cache/papers")


@dataclass(frozen=True)
class Measured:
    """A trial and what it has measured, as a line of the file.

    Parameters
    ----------
    trial : Trial
        Which one it is.
    outcome : Outcome
        What was measured.
    seconds : float
        What the trial took.
    edition : str
        Of the program that measured it.
    """

    trial: Trial
    outcome: Outcome
    seconds: float
    edition: str

    def record(self) -> dict[str, Any]:
        """What the line holds; numbers that are not finite are null."""
        return {
            **self.trial._asdict(),
            "measures": {n: _written(v) for n, v in self.outcome.measures.items()},
            "curves": {
                name: [[_written(at), _written(value)] for at, value in points.items()]
                for name, points in self.outcome.curves.items()
            },
            "method": self.outcome.method,
            "values": dict(self.outcome.values),
            "seconds": round(self.seconds, 3),
            "edition": self.edition,
        }


def _written(value: float) -> float | None:
    return float(f"{float(value):.6g}") if np.isfinite(value) else None


def _measured(entry: Any) -> Measured | None:
    """What a record of a file tells; None if it is damaged."""
    try:
        trial = Trial(*(entry[name] for name in Trial._fields))
        curves = {
            name: {_read(at): _read(value) for at, value in points}
            for name, points in entry["curves"].items()
        }
        measures = {name: _read(value) for name, value in entry["measures"].items()}
        outcome = Outcome(measures, curves, entry["method"], entry["values"])
        return Measured(trial, outcome, float(entry["seconds"]), entry["edition"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _read(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def path_of(name: str, folder: Path) -> Path:
    """Name the file with an experiment's trials.

    Parameters
    ----------
    name : str
        Of the experiment.
    folder : Path
        Where results are kept.

    Returns
    -------
    Path
    """
    return folder / f"{name}.jsonl"


def read_measured(experiment: Experiment, *folders: Path) -> dict[Trial, Measured]:
    """The trials that folders have of an experiment.

    Parameters
    ----------
    experiment : Experiment
        Whose trials are wanted.
    *folders : Path
        Folders with a file for each experiment; a later one counts before the others.

    Returns
    -------
    dict of Trial to Measured
        Empty if there is no file. Trials that the experiment no longer has, and lines
        that are damaged, are left out.
    """
    paths = (path_of(experiment.name, folder) for folder in folders)
    contents = (path.read_bytes() for path in paths if path.is_file())
    records = [one for content in contents for one in read_json_lines(content)]
    return _wanted(records, experiment)


def _wanted(records: list[Any], experiment: Experiment) -> dict[Trial, Measured]:
    wanted = {*experiment.trials(), *experiment.trials(experiment.rivals)}
    whole = filter(None, map(_measured, records))
    return {one.trial: one for one in whole if one.trial in wanted}


@dataclass(frozen=True)
class Place:
    """Where a run finds its data and keeps what it measures.

    Parameters
    ----------
    out : Path
        Folder with a file for each experiment.
    data : Path, optional
        Folder with data files.
    download : bool
        Whether OpenML may be asked.
    """

    out: Path = MEASURED_HERE
    data: Path | None = None
    download: bool = False


def missing_data(experiment: Experiment, place: Place) -> dict[str, str]:
    """Find data sets that are not here; nothing is read or downloaded.

    Parameters
    ----------
    experiment : Experiment
        Whose data are needed.
    place : Place
        Where they are looked for.

    Returns
    -------
    dict of str to str
        Key of a data set -> what it needs, in words.
    """
    sources = experiment.data.items()
    where = place.data, place.download
    return {key: one.needs for key, one in sources if not one.is_here(*where)}


def together(needs: Iterable[str]) -> str:
    """Say once what several data sets need."""
    texts = list(dict.fromkeys(needs))
    numbers = [text for text in texts if text.startswith(_OPENML)]
    ids = ", ".join(text.removeprefix(_OPENML) for text in numbers)
    others = [text for text in texts if text not in numbers]
    return "; ".join([f"{_OPENML}{ids}"] * bool(ids) + others)


def _not_loaded(experiment: Experiment, place: Place) -> dict[str, str]:
    """Data sets that are not here, or that OpenML does not give."""
    missing = missing_data(experiment, place)
    for key in experiment.data.keys() - missing.keys():
        try:
            _loaded(experiment.data[key], place)
        except MissingDataError as error:
            missing[key] = str(error)
    return missing


def run_experiment(
    experiment: Experiment,
    place: Place,
    executor: Executor | None = None,
    stop: np.ndarray | None = None,
    again: bool = False,
) -> Iterator[Measured]:
    """Measure the trials that are missing, and keep each at once.

    Parameters
    ----------
    experiment : Experiment
        What is to be measured.
    place : Place
        Where its data are, and where results are kept.
    executor : Executor, optional
        As in `smpcore.evaluation.sweep`.
    stop : ndarray of int64, shape (1,), optional
        Nothing is begun after it is not 0.
    again : bool
        Forget what was measured before.

    Yields
    ------
    Measured
        Each as it is ready.

    Raises
    ------
    SmpcoreError
        If the experiment is impossible, none of its data is here, or another run
        writes to the same file.
    """
    if experiment.impossible:
        raise SmpcoreError(f"{experiment.name}: {experiment.impossible}")
    stop = np.zeros(1, dtype=np.int64) if stop is None else stop
    missing = _not_loaded(experiment, place)
    if len(missing) == len(experiment.data):
        raise SmpcoreError(
            f"{experiment.name}: its data are not here ({together(missing.values())}). "
            f"{experiment.command} is the command that has them."
        )
    place.out.mkdir(parents=True, exist_ok=True)
    refusal = (
        f"Another run measures {experiment.name} into the same folder: wait for its "
        "end, or choose another --out."
    )
    with JsonLines(path_of(experiment.name, place.out), refusal) as file:
        done = _wanted(file.records, experiment)
        if again:
            file.clear()
            done = {t: one for t, one in done.items() if t.model in experiment.rivals}
            for one in done.values():  # measured elsewhere: no run can do it again
                file.add(one.record())
        left = [trial for trial in experiment.trials() if trial not in done]
        left = [trial for trial in left if trial.data not in missing]
        with running(_measure, (experiment, place), stop, executor) as run:
            for measured in run((trial,) for trial in left):
                if measured is None:
                    continue
                file.add(measured.record())
                yield measured


def begin_process() -> None:
    """Make a process of the command's pool ready; its parent decides when to stop."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore", UserWarning)  # a fit's status says the same


@lru_cache(4)
def _loaded(source: Source, place: Place) -> Dataset:
    return source.load(place.data, place.download)


def _measure(shared: tuple[Experiment, Place], task: tuple[Trial]) -> Measured | None:
    """Measure one trial, in whatever process this is."""
    (experiment, place), (trial,) = shared, task
    dataset = _loaded(experiment.data[trial.data], place)
    started = time.perf_counter()
    outcome = experiment.run(trial, dataset)
    return Measured(trial, outcome, time.perf_counter() - started, edition())
