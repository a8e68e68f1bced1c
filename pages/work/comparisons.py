"""One candidate in a job: fitted once for everybody who compares on the same data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pages.work import study_pool
from pages.work.parts import Parts
from pages.work.tasks import Task
from pages.work.warmup import uncompiled
from smpcore import METHODS, Dataset, SmpcoreError
from smpcore.datasets import plain_number
from smpcore.evaluation import ComparedModel, Fold, fit_compared, folds, title_of

#: What it is called not to search for settings.
CURRENT_SETTINGS = "current settings"


@dataclass(frozen=True)
class Entry:
    """Who takes part."""

    key: str
    values: tuple[tuple[str, Any], ...] = ()

    @property
    def title(self) -> str:
        """Its title and the settings that are not the usual ones."""
        return ", ".join([title_of(self.key), *settings_in_words(dict(self.values))])


def settings_in_words(values: Mapping[str, Any]) -> list[str]:
    """Each parameter and its value."""
    return [
        f"{name} = {plain_number(value)}"
        if isinstance(value, float)
        else f"{name} = {value!s:.20}"
        for name, value in values.items()
    ]


class CandidateJob(Task):
    """Fit one candidate on the training rows."""

    def __init__(self, data: Parts, entry: Entry, search: bool) -> None:
        self._data, self._entry, self._search = data, entry, search
        self.candidate: ComparedModel | None = None
        super().__init__(self._fit, study=data.dataset)

    def _fit(self, stop: np.ndarray, progress: np.ndarray) -> None:
        entry = self._entry
        if entry.key in uncompiled:
            METHODS[entry.key].warm_up()
        dataset, rows = self._data.dataset, self._data.split.with_censored
        drawn = _folds(dataset, rows) if self._search else ()
        of = dataset, rows, dict(entry.values), drawn, stop
        if not drawn:
            self.candidate = fit_compared(entry.key, *of)
            return
        with study_pool.executor_for(dataset) as executor:
            self.candidate = fit_compared(entry.key, *of, executor)

    @property
    def missing(self) -> str:
        """Why there is no candidate; empty if there is one, or may still be."""
        gone = self.candidate is None and not self.running
        return self.problem or "Stopped." * gone


def _folds(dataset: Dataset, rows: np.ndarray) -> list[Fold]:
    try:
        return folds(dataset, rows)
    except SmpcoreError as error:  # this page has no control for their number
        raise SmpcoreError(
            "the training rows cannot be divided into folds for cross-validation; "
            f'choose "{CURRENT_SETTINGS}", or give training a larger share on Data.'
        ) from error


def about_differences(n_rows: int, part: str, dataset: Dataset) -> str:
    """What the table of differences holds, and which rows it takes as dependent."""
    words = (
        f"Paired test of every model against A on the same {n_rows} {part} rows; "
        "intervals and p-values are corrected for the number of models (Holm). Use "
        "this table to judge differences: intervals of single models can overlap "
        "even if they differ. The score of a model chosen on these rows is "
        "optimistic; use the test rows for the final estimate."
    )
    if dataset.times is None:
        return words
    return (
        f"{words} The tests use short blocks in time as groups: rows near each "
        "other in time depend on each other, those of different blocks are taken as "
        "independent."
    )
