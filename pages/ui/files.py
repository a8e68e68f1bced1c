"""Files that pages read: their endings, and one that stays open for a visit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.state import session
from pages.ui.text import message, short_label
from smpcore import Dataset, SmpcoreError
from smpcore.datasets import TABLE_FORMATS
from smpcore.evaluation import suggest_carried

ENDINGS = [end[1:] for row in reversed(TABLE_FORMATS.values()) for end in row.endings]


@dataclass(frozen=True, eq=False)
class OpenFile:
    """A file that a visitor has opened, and what was read from it.

    Parameters
    ----------
    id : str
        Of the upload.
    name : str
    content : object
    """

    id: str
    name: str
    content: Any


def open_file(
    name: str,
    about: str,
    read: Callable[[Any], Any],
    label: str,
    types: list[str],
    help: str,
) -> OpenFile | None:
    """A file picker, and the file that is open: in memory only, also on other pages."""
    visit = session.get()
    before, opened = visit.results.get(name, (about, None))
    opened = opened if before == about else None
    file = st.file_uploader(
        label,
        types,
        key=f"{name}_{about}_{visit.editions[name]}",
        on_change=visit.results.pop,
        args=(name, None),
        help=help,
    )
    if file is not None and (opened is None or opened.id != file.file_id):
        try:
            content = read(file)
        except SmpcoreError as problem:  # the file is not read again for it
            content = problem
        opened = None
        if content is not None:
            opened = OpenFile(file.file_id, file.name, content)
        visit.results[name] = about, opened
    if opened is None:
        return None
    if isinstance(opened.content, SmpcoreError):
        if file is None:
            return None
        raise opened.content
    left, right = st.columns([4, 1], vertical_alignment="center")
    message(
        left.caption, f"Open: {short_label(opened.name)}. Stays while you are here."
    )
    right.button("Close", key=f"close_{name}", on_click=_close, args=(name,))
    return opened


def _close(name: str) -> None:
    """Forget the file; a picker of another name has none."""
    session.get().results.pop(name, None)
    session.get().editions[name] += 1


def like(dataset: Dataset) -> dict[str, Any]:
    """Settings that make rows of another file join those of a data set.

    What tells rows apart stays as it is written; series get the same length.
    """
    if not dataset.channels:
        apart = suggest_carried(dataset, dataset.frame.columns)
        written = [name for name in apart if dataset.roles[name] != "time"]
        return {"written": tuple(written)} if written else {}
    series = dataset.reading.series if dataset.reading else ()
    return {"series": series or False, "n_times": dataset.sample_shape[1]}
