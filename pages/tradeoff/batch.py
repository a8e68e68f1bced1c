"""Results of a batch run, opened on Trade-off: no fit is made again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from pages.state import session
from pages.ui.elements import problems_shown
from pages.ui.files import open_file
from pages.ui.text import message, short_label
from pages.work import cache
from smpcore import BASELINES, METHODS, SmpcoreError
from smpcore.evaluation import Subject, edition, folds, read_results, summary, title_of

#: Bytes of a file: a million fits take less.
MOST_BYTES = 200_000_000


@dataclass(frozen=True, eq=False)
class Opened:
    """The fits of a file, to be looked at like those of a sweep that is over."""

    name: str
    subject: Subject
    table: pd.DataFrame
    n_folds_drawn: int = 0

    running, complete, has_no_points, problem = False, True, False, ""
    seconds_left, where = None, ""

    @property
    def keys(self) -> set[str]:
        """Methods and baselines that it has fits of."""
        return set(self.table["method"])

    @property
    def n_fits(self) -> int:
        """All of them."""
        return len(self.table)

    n_done = n_fits

    def look(self, score: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The fits, and the points that all folds have seen."""
        return self.table, summary(self.table, score, self.n_folds_drawn)


def section(data: cache.Parts) -> Opened | None:
    """The file picker, and what it has opened if that is of these data."""
    file = None
    with st.expander("Results of a batch run", icon=":material/folder_open:"):
        with problems_shown(st.error):
            file = open_file(
                "batch",
                "file",
                _read,
                "A file that python -m smpcore.evaluation has written",
                ["parquet"],
                "It stays in the memory of this server while you are here.",
            )
    if file is None:
        return None
    opened = file.content
    if problem := _mismatch(opened.subject, data):
        message(st.warning, problem)
        return None
    n_folds = opened.subject.n_folds
    drawn = session.remembered(
        "batch_folds",
        (file.id, data.split.key),
        lambda: len(folds(data.dataset, data.split.with_censored, n_folds)),
    )
    message(st.caption, _summary(opened))
    return replace(opened, n_folds_drawn=drawn)


def _read(file: Any) -> Opened:
    if file.size > MOST_BYTES:
        raise SmpcoreError(
            f"The file has {file.size:,} bytes; at most {MOST_BYTES:,} are opened."
        )
    return Opened(file.name, *read_results(file.getvalue(), file.name))


def _mismatch(subject: Subject, data: cache.Parts) -> str:
    """Why the results do not belong to what the pages show; empty if they do."""
    here = data.dataset
    if (subject.digest, subject.task) != (here.digest, here.task):
        return (
            f"The opened results are of {subject.name[:100]!r}, not of the data that "
            "are chosen (or these were read, or their columns used, otherwise). Choose "
            "those on Data."
        )
    if subject.split != data.split.key:
        return (
            "The opened results are of these data, but of other training rows: choose "
            "the shares and the seed of the batch run on Data."
        )
    return ""


def _summary(opened: Opened) -> str:
    methods = [title_of(key) for key in METHODS if key in opened.keys]
    methods += ["baselines"] * any(key in opened.keys for key in BASELINES)
    words = (
        f"From {short_label(opened.name)}: {opened.n_fits:,} fits of "
        f"{', '.join(methods)} on {opened.subject.n_folds} folds, other "
        "parameters at their defaults. They stand in place of sweeps of the same "
        "methods here, and other methods are swept on the same folds."
    )
    if opened.subject.edition != edition():
        words += (
            " They were made by another edition of this program or of its libraries: "
            "fitted here, a model may come out differently."
        )
    return words
