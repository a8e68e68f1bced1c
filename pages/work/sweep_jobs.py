"""A sweep in a job: its fits are there to be looked at while they come in."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

import numpy as np
import pandas as pd

from pages.work import slots, study_pool
from pages.work.memo import Pairs
from pages.work.parts import Parts
from pages.work.tasks import Task
from pages.work.warmup import uncompiled
from smpcore import METHODS, sweep
from smpcore.evaluation import (
    baseline_paths,
    engine,
    folds,
    method_path,
    summary,
    sweep_table,
)

#: In place of a method's key: a group of baselines, all in one sweep.
SWEPT_GROUPS = ("usual", "selected")
#: Points of a first sweep, and of a fine one.
COARSE, FINE = 8, 30
#: A first sweep takes at most this long; the rest of it waits for a fine one.
COARSE_SECONDS = 2.0


class SweepJob(Task):
    """One method's sweep over the folds of the training rows."""

    def __init__(
        self, data: Parts, key: str, values: Pairs, n_folds: int, fine: bool
    ) -> None:
        self.key, self.fine = key, fine
        self._dataset, self._rows = data.dataset, data.split.with_censored
        self._values, self._n_folds = dict(values), n_folds
        self._looked: dict[str, tuple[pd.DataFrame, pd.DataFrame]] = {}
        self._fits: list[dict[str, Any]] = []
        self.n_folds_drawn = self.n_fits = 0
        self._began = time.monotonic()
        super().__init__(self._sweep, study=data.dataset)

    def _sweep(self, stop: np.ndarray, progress: np.ndarray) -> None:
        # A list of its own: one that was stopped may still add a fit to the former.
        rows = self._fits = []
        self._looked = {}
        if self.key in uncompiled:
            METHODS[self.key].warm_up()
        drawn = folds(self._dataset, self._rows, self._n_folds)
        if not self.fine:
            drawn = [fold for fold in drawn if fold.repeat == 0]
        paths = self._paths()
        self.n_folds_drawn = len(drawn)
        self.n_fits = n_fits = len(drawn) * sum(len(path.grid) for path in paths)
        deadline = slots.stopped_after(COARSE_SECONDS, stop)
        self._began = time.monotonic()
        # Workers of a cluster that are new compile before their first fit.
        ready = self._dataset.private or engine().client is None
        options = {"mode": "warm" if self.fine else "preview", "stop": stop}
        with ExitStack() as study:
            if ready and not self.fine:
                study.enter_context(deadline)
            executor = study_pool.executor_for(self._dataset)
            options["executor"] = study.enter_context(executor)
            for path in paths:  # the slowest is last
                for row in sweep(self._dataset, drawn, [path], **options):
                    if not (ready or self.fine or rows):
                        study.enter_context(deadline)
                    rows.append(row)
                    progress[0] = len(rows) / n_fits

    def _paths(self) -> list[Any]:
        if self.key in SWEPT_GROUPS:
            return baseline_paths(self._dataset.task, (self.key,))
        points = FINE if self.fine else COARSE
        where = self._dataset, self._rows
        return [method_path(self.key, *where, self._values, points)]

    @property
    def has_no_points(self) -> bool:
        """Whether it ended before its first point was done: too busy a moment."""
        return self.done and not self.problem and self.n_done < self.n_folds_drawn

    @property
    def complete(self) -> bool:
        """Whether every fit is there."""
        return 0 < self.n_fits == len(self._fits)

    @property
    def n_done(self) -> int:
        """Fits so far."""
        return len(self._fits)

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far; None before there is one."""
        done = self.n_done
        if not done:
            return None
        return (time.monotonic() - self._began) / done * (self.n_fits - done)

    def look(self, score: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The fits so far, and the points that all folds have seen.

        Who looks again while nothing has come in gets the same tables.
        """
        rows = list(self._fits)
        fits, points = self._looked.get(score, (None, None))
        if fits is None or len(fits) != len(rows):
            fits = sweep_table(rows, self._dataset.task)
            points = summary(fits, score, self.n_folds_drawn or 1)
            self._looked[score] = fits, points
        return fits, points
