"""Results of a batch run, opened on Trade-off: no fit is made again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from pages.state import session
from pages.ui.text import escape_markdown, short_label
from pages.work import cache
from smpcore import BASELINES, METHODS, SmpcoreError
from smpcore.evaluation import Subject, edition, folds, read_results, summary, title_of

#: Bytes of a file: a million fits take less.
MOST_BYTES = 200_000_000


@dataclass(frozen=True, eq=False)
class Opened:
    """The fits of a file, to be looked at like those of a sweep that is over.

    Parameters
    ----------
    name : str
        Of the file.
    subject : Subject
    table : DataFrame
        A row per fit.
    n_folds_drawn : int
        Folds that a point of these data has, repeats counted; 0 before that is known.
    """

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

    n_found = n_fits

    def look(self, score: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The fits, and the points that all folds have seen."""
        return self.table, summary(self.table, score, self.n_folds_drawn)


def section(data: cache.Parts) -> Opened | None:
    """The file picker, and what it has opened if that is of these data."""
    visit = session.get()
    _, kept = visit.results.get("batch", ("", None))
    with st.expander("Results of a batch run", icon=":material/folder_open:"):
        file = st.file_uploader(
            "A file that python -m smpcore.evaluation has written",
            ["parquet"],
            key=f"batch_file_{visit.editions['batch']}",
            on_change=_forget,
            help="It stays in the memory of this server while you are here.",
        )
        if file is not None and not (kept and kept.name == file.name):
            kept = _read(file)
        if kept is None:
            return None
        st.button("Close", key="close_batch", on_click=_close)
    problem = _other(kept.subject, data)
    if problem:
        st.warning(escape_markdown(problem))
        return None
    if not kept.n_folds_drawn:
        drawn = folds(data.dataset, data.split.train, kept.subject.n_folds)
        kept = replace(kept, n_folds_drawn=len(drawn))
        visit.results["batch"] = kept.name, kept
    st.caption(escape_markdown(_told(kept)))
    return kept


def _forget() -> None:
    session.get().results.pop("batch", None)


def _close() -> None:
    """Forget the file; a picker of another name has none."""
    _forget()
    session.get().editions["batch"] += 1


def _read(file: Any) -> Opened | None:
    try:
        if file.size > MOST_BYTES:
            raise SmpcoreError(
                f"The file has {file.size:,} bytes; at most {MOST_BYTES:,} are opened."
            )
        found = Opened(file.name, *read_results(file.getvalue(), file.name))
    except SmpcoreError as problem:
        st.error(escape_markdown(str(problem)))
        return None
    session.get().results["batch"] = found.name, found
    return found


def _other(subject: Subject, data: cache.Parts) -> str:
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


def _told(kept: Opened) -> str:
    methods = [title_of(key) for key in METHODS if key in kept.keys]
    methods += ["baselines"] * any(key in kept.keys for key in BASELINES)
    told = (
        f"From {short_label(kept.name)}: {kept.n_fits:,} fits of {', '.join(methods)} "
        f"on {kept.subject.n_folds} folds, other parameters at their defaults. They "
        "stand in place of sweeps of the same methods here, and other methods are "
        "swept on the same folds."
    )
    if kept.subject.edition != edition():
        told += (
            " They were made by another edition of this program or of its libraries: "
            "fitted here, a model may come out differently."
        )
    return told
