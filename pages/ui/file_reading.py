"""A visitor's file is read: how far it is, with Cancel, while the page stays usable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.state import session
from pages.ui.progress import POLL_SECONDS, progress_bar, visit_task
from pages.work import file_process
from pages.work.tasks import Task
from smpcore import SmpcoreError

#: A page waits so long for a file before it shows how far it is.
QUICK_SECONDS = 1.0


def read_file(
    name: str, key: Any, reader: Callable[..., Any], *args: Any, **options: Any
) -> Any | None:
    """What a function reads from a visitor's file; None while it is being read.

    Then the page shows how far it is, and runs again when it is done.
    """
    name = f"reading {name}"
    work = file_process.reading_of(reader, *args, **options)
    task = visit_task(name, key, work, line=file_process.LINE)
    if not task.wait(max(0.0, QUICK_SECONDS - task.seconds)) and not task.was_left:
        _show(task, name)
        return None
    session.get().results.pop(name, None)  # what was read is kept elsewhere, or not
    if task.was_left:
        raise SmpcoreError(
            "Reading the file was cancelled; choose it again to read it."
        )
    return task.result()


def stop_reading(name: str) -> None:
    """Read the file of this place no longer, if it is being read."""
    _, task = session.get().results.pop(f"reading {name}", (None, None))
    if task is not None:
        task.leave()


@st.fragment(run_every=POLL_SECONDS)
def _show(task: Task, name: str) -> None:
    if task.wait(0.0) or task.was_left:
        st.rerun()
    share = float(task.progress[0])
    words = f"Reading the file: {share * file_process.PATIENCE:.0f} seconds"
    if not share:
        words = "The file waits until others have been read"
    # Streamlit keeps what a callback holds as long as the visit lasts: no task, then.
    cancel = {"key": name, "on_click": _cancel, "args": (name,)}
    progress_bar(min(share, 0.99), words, "Cancel", **cancel)


def _cancel(name: str) -> None:
    _, task = session.get().results.get(name, (None, None))
    if task is not None:
        task.leave()
