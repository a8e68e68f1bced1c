"""Work that lasts: one task of a name for each visit, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import streamlit as st

from pages.state import session
from pages.work.tasks import Task

#: Running work is looked at this often.
POLL_SECONDS = 0.5


def visit_task(name: str, key: Any, work: Callable[..., Any], **options: Any) -> Task:
    """The visit's task of this name; one for another key is left and this one begun."""
    results = session.get().results
    before, task = results.get(name, (key, None))
    if before != key:
        task.leave()
    if before != key or task is None:
        task = Task(work, **options)
        results[name] = key, task
    return task


def progress_bar(share: float, text: str, button: str = "", **options: Any) -> None:
    """How far work is, and a button beside it."""
    left, right = st.columns([5, 1], vertical_alignment="center")
    if share < 1:
        left.progress(share, text)
    else:
        left.caption(f"{text}.")
    if button:
        right.button(button, width="stretch", **options)


def stop_all(tasks: Iterable[Task]) -> None:
    """Leave tasks; what is finished is kept."""
    for task in tasks:
        task.leave()


def start_all(tasks: Iterable[Task]) -> None:
    """Begin tasks anew."""
    for task in tasks:
        task.start()


@st.fragment(run_every=POLL_SECONDS)
def _show(task: Task, words: str, stoppable: bool) -> None:
    if task.wait(0.0):
        st.rerun()
    done = min(0.99, float(task.progress[0]))
    button = "Stop" if stoppable else ""
    text = f"{words}: {100 * done:.0f} %"
    progress_bar(done, text, button, key=f"stop {words}", on_click=task.leave)
    if task.where:
        st.caption(task.where)


def is_waiting(
    task: Task, seconds: float, words: str, *, stoppable: bool = True
) -> bool:
    """Whether a task is not done after so long; its progress is shown until it is."""
    if not stoppable and task.was_left:  # the tab lost its connection for a while
        task.start()
    waiting = not task.wait(seconds)
    if waiting:
        _show(task, words, stoppable)
    return waiting
