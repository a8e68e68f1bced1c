"""One contender in a job: fitted once for everybody who compares on the same data."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pages.work import jobs
from pages.work.warmup import uncompiled
from smpcore import (
    METHODS,
    Contender,
    Dataset,
    Fold,
    SmpcoreError,
    contend,
    folds,
    title_of,
)

log = logging.getLogger(__name__)

#: What it is called not to search for settings.
AS_THEY_ARE = "as they are"


@dataclass(frozen=True)
class Entry:
    """Who takes part.

    Parameters
    ----------
    key : str
        Of a method or a baseline.
    values : tuple of pairs
        Its parameters, where they are chosen.
    """

    key: str
    values: tuple[tuple[str, Any], ...] = ()

    @property
    def title(self) -> str:
        """Its title and the settings that are not the usual ones."""
        return ", ".join([title_of(self.key), *settings_in_words(dict(self.values))])


def settings_in_words(values: Mapping[str, Any]) -> list[str]:
    """Each parameter and its value."""
    return [
        f"{name} = {value:.4g}"
        if isinstance(value, float)
        else f"{name} = {value!s:.20}"
        for name, value in values.items()
    ]


class ContenderJob:
    """Fit one contender on the training rows.

    Parameters
    ----------
    dataset : Dataset
    rows : ndarray of int
        The training rows.
    entry : Entry
    search : bool
        Whether it may try several settings on folds of these rows.

    Attributes
    ----------
    contender : Contender or None
    problem : str
        Why there is none; empty if there is one, or none yet.
    """

    def __init__(
        self, dataset: Dataset, rows: np.ndarray, entry: Entry, search: bool
    ) -> None:
        self._entry, self._search = entry, search
        self._dataset, self._rows = dataset, rows
        self.start()

    def start(self) -> None:
        """Fit from the beginning."""
        self.contender: Contender | None = None
        self.problem = ""
        self._began = time.monotonic()
        self._job = jobs.Job(self._work, study=self._dataset)

    def _work(self, stop: np.ndarray, progress: np.ndarray) -> None:
        entry = self._entry
        if stop[0]:
            self.problem = "Stopped before it began."
            return
        try:
            if entry.key in uncompiled:
                METHODS[entry.key].warm_up()
            drawn = self._drawn() if self._search else ()
            of = self._dataset, self._rows, dict(entry.values), drawn, stop
            # What a visitor has uploaded stays on this machine.
            self.contender = contend(entry.key, *of, here=self._dataset.private)
        except SmpcoreError as error:
            self.problem = str(error)
        except Exception:
            log.exception("%s failed in a comparison", entry.key)
            self.problem = "Something went wrong; the server's log says more."

    def _drawn(self) -> list[Fold]:
        try:
            return folds(self._dataset, self._rows)
        except SmpcoreError as error:  # this page has no control for their number
            raise SmpcoreError(
                "the training rows cannot be divided into folds to search the settings "
                f'on; take the settings "{AS_THEY_ARE}", or give training a larger '
                "share on Data."
            ) from error

    @property
    def where(self) -> str:
        """On which machines it runs, if that is worth saying."""
        return self._job.where

    @property
    def running(self) -> bool:
        """Whether it may still come."""
        return not self._job.wait(0.0)

    def stop(self) -> None:
        """End soon."""
        self._job.stop()


def about_differences(n_rows: int, part: str, dataset: Dataset) -> str:
    """What the table of differences holds, and which rows it takes as dependent."""
    words = (
        f"Every model against A on the same {n_rows} {part} rows; intervals and "
        "p-values are of one test, corrected for the number of models (Holm). Only "
        "this table says whether two models differ: the intervals of single models "
        "may overlap all the same. Choosing by these rows makes the winner look "
        "better than it is: the test rows are for that."
    )
    if dataset.times is None:
        return words
    return (
        f"{words} Short blocks in time are the groups of these tests: rows near each "
        "other in time depend on each other, those of different blocks are taken as "
        "independent."
    )
