"""Files that pages read: how far that is, with Cancel, and one that stays open."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import streamlit as st

from pages.state import session
from pages.state.session import Slot
from pages.ui.elements import POLL_SECONDS, progress_bar, visit_task
from pages.ui.text import message, short_label
from pages.work import file_process, visitors
from pages.work.store import KEEP_SECONDS, Store
from pages.work.tasks import Task
from smpcore import Dataset, SmpcoreError
from smpcore.datasets import memory_of
from smpcore.evaluation import suggest_carried

#: Of all open files, and of one visitor's.
BUDGET_BYTES, VISITOR_BYTES = 400_000_000, 100_000_000
#: By browser, picker and what the file is about.
_files = Store(
    BUDGET_BYTES,
    VISITOR_BYTES,
    KEEP_SECONDS,
    size=lambda file: memory_of(file.content),
)


@dataclass(frozen=True, eq=False)
class OpenFile:
    """A file that a visitor has opened, and what was read from it.

    Parameters
    ----------
    id : str
        Of the upload.
    name : str
    content : object
    replaced : dict
        Column asked for -> what the visitor took in its place.
    """

    id: str
    name: str
    content: Any
    replaced: dict[str, str] = field(default_factory=dict)


def open_file(
    slot: Slot[OpenFile | None],
    about: str,
    read: Callable[[Any], Any],
    label: str,
    types: list[str] | None,
    help: str,
) -> OpenFile | None:
    """A file picker, and the file that is open: in memory only, also on other pages.

    A table is there again after a reload, for this browser only: one for each of what
    a file can be about, as another tab may be open on another one.
    """
    browser, name = visitors.browser(), slot.name
    edition, key = session.get().editions[name], (name, about)
    # It is used now, also where this tab has it already: half an hour begins anew.
    open_before = _files.get(key, browser) if browser else None
    opened = slot.get(about)
    if opened is None and open_before is not None:
        opened = open_before
        slot.put(about, opened)
    file = st.file_uploader(
        label,
        types,
        key=f"{name}_{about}_{edition}",
        on_change=_forget,
        args=(slot, about),
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
        slot.put(about, opened)
        if browser and isinstance(content, pd.DataFrame):
            _files.put(key, opened, browser)
    if opened is None:
        return None
    if isinstance(opened.content, SmpcoreError):
        if file is None:
            return None
        raise opened.content
    left, right = st.columns([4, 1], vertical_alignment="center")
    message(
        left.caption,
        f"Open: {short_label(opened.name)}. Stays in memory, also over a reload.",
    )
    right.button("Close", key=f"close_{name}", on_click=_close, args=(slot, about))
    return opened


def _forget(slot: Slot[OpenFile | None], about: str) -> None:
    slot.put("", None)
    _files.pop((slot.name, about), visitors.browser())


def _close(slot: Slot[OpenFile | None], about: str) -> None:
    """Forget the file; a picker of another name has none."""
    _forget(slot, about)
    session.get().editions[slot.name] += 1


def delete() -> None:
    """Forget every file of this browser."""
    _files.forget(visitors.browser())


def like(dataset: Dataset) -> dict[str, Any]:
    """Settings that make rows of another file join those of a data set.

    What tells rows apart stays as it is written; series get the same length.
    """
    if not dataset.channels:
        apart = suggest_carried(dataset, dataset.frame.columns)
        written = [name for name in apart if dataset.roles[name] != "time"]
        options = {"written": tuple(written)} if written else {}
        if (source := dataset.reading) is None:
            return options
        names = "points", "missing", "not_missing", "levels", "sheet"
        alike = {name: getattr(source, name) for name in names}
        alike = {name: value for name, value in alike.items() if value}
        return options | alike | {"usual_decimal": source.decimal}
    series = dataset.reading.series if dataset.reading else ()
    return {"series": series or False, "n_times": dataset.sample_shape[1]}


#: A page waits so long for a file before it shows how far it is.
QUICK_SECONDS = 1.0


def read_file(
    slot: Slot[Task],
    key: Hashable,
    reader: Callable[..., Any],
    *args: Any,
    **options: Any,
) -> Any | None:
    """What a function reads from a visitor's file; None while it is being read.

    Then the page shows how far it is, and runs again when it is done.
    """
    work = file_process.reading_of(reader, *args, **options)
    task = visit_task(slot, key, work, line=file_process.LINE)
    if not task.wait(max(0.0, QUICK_SECONDS - task.seconds)) and not task.was_left:
        _show_reading(task, slot)
        return None
    slot.pop()  # what was read is kept elsewhere, or not
    if task.was_left:
        raise SmpcoreError(
            "Reading the file was cancelled; choose it again to read it."
        )
    return task.result()


def stop_reading(slot: Slot[Task]) -> None:
    """Read the file of this slot no longer, if it is being read."""
    if task := slot.pop():
        task.leave()


@st.fragment(run_every=POLL_SECONDS)
def _show_reading(task: Task, slot: Slot[Task]) -> None:
    if task.wait(0.0) or task.was_left:
        st.rerun()
    share = float(task.progress[0])
    words = f"Reading the file: {share * file_process.PATIENCE:.0f} seconds"
    if not share:
        words = "The file waits until others have been read"
    # Streamlit keeps what a callback holds as long as the visit lasts: no task, then.
    cancel = {"key": slot.name, "on_click": _cancel, "args": (slot,)}
    progress_bar(min(share, 0.99), words, "Cancel", **cancel)


def _cancel(slot: Slot[Task]) -> None:
    if task := slot.last():
        task.leave()
