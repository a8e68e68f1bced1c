"""Experiments of the papers: one run of each for all visitors, kept on the server."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pages.work import study_pool
from pages.work.store import Store
from pages.work.tasks import Task
from smpcore.papers import (
    SHIPPED,
    Experiment,
    Measured,
    Place,
    missing_data,
    path_of,
    read_measured,
    run_experiment,
    table_of,
)

_runs = Store()
#: What is made from experiments' files, with the state of the files.
_tables = Store()


def place() -> Place:
    """Where the server has data files; nothing is downloaded for a visitor."""
    folder = os.environ.get("SPE_DATA", "")
    return Place(data=Path(folder) if folder else None)


class ExperimentRun(Task):
    """Measure the trials of an experiment that are missing."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        where = place()
        missing = missing_data(experiment, where)
        here = next(one for key, one in experiment.data.items() if key not in missing)
        # Of a public data set: a cluster may do the trials.
        super().__init__(self._measure, study=here.load(where.data))

    def _measure(self, stop: np.ndarray, progress: np.ndarray) -> None:
        n_trials, where = len(self._experiment.trials()), place()
        n_done = len(read_measured(self._experiment, where.out))
        with study_pool.executor_for(self._study) as executor:
            for _ in run_experiment(self._experiment, where, executor, stop):
                n_done += 1
                progress[0] = n_done / n_trials


def start(experiment: Experiment) -> None:
    """Run an experiment, or join its run."""
    _runs.get_or_make(experiment.name, lambda: ExperimentRun(experiment)).start()


def run_of(experiment: Experiment) -> Task | None:
    """The last run of an experiment in this process."""
    return _runs.get(experiment.name)


def table(experiment: Experiment) -> pd.DataFrame:
    """The numbers of an experiment: read anew where its files have changed."""
    make = partial(table_of, experiment, place())
    return _kept(experiment.name, [experiment], make)


def from_tables(
    function: Callable[..., Any], experiments: Sequence[Experiment], *more: Hashable
) -> Any:
    """``function(experiments, table, *more)``: anew where a file has changed."""
    names = (one.name for one in experiments)
    key = function.__name__, *names, *more
    return _kept(key, experiments, lambda: function(experiments, table, *more))


def _kept(
    key: Hashable, experiments: Sequence[Experiment], make: Callable[[], Any]
) -> Any:
    where = place()
    state = [
        (f.stat().st_mtime_ns, f.stat().st_size) if f.is_file() else 0
        for one in experiments
        for f in (path_of(one.name, folder) for folder in (SHIPPED, where.out))
    ]
    state += [tuple(missing_data(one, where)) for one in experiments]
    before, made = _tables.get(key) or (None, None)
    if before != state:
        made = make()
        _tables.put(key, (state, made))
    return made


def measured(experiment: Experiment) -> list[Measured]:
    """Trials that were measured here, or else by the makers of this program."""
    return [*read_measured(experiment, SHIPPED, place().out).values()]
