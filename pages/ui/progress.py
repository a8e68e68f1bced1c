"""How far work is that lasts, shown until it is done."""

import streamlit as st

from pages.work.tasks import Task

#: Running work is looked at this often.
POLL_SECONDS = 0.5


@st.fragment(run_every=POLL_SECONDS)
def _show(task: Task, words: str, stoppable: bool) -> None:
    if task.wait(0.0):
        st.rerun()
    bar, button = st.columns([5, 1], vertical_alignment="center")
    done = min(1.0, float(task.progress[0]))
    bar.progress(done, f"{words}: {100 * done:.0f} %")
    if stoppable:
        button.button("Stop", key=f"stop {words}", on_click=task.leave)
    if task.where:
        st.caption(task.where)


def is_waiting(
    task: Task, seconds: float, words: str, *, stoppable: bool = True
) -> bool:
    """Whether a task is not done after so long.

    If so its progress is shown, and the whole page runs again when it is done.
    """
    waiting = not task.wait(seconds)
    if waiting:
        _show(task, words, stoppable)
    return waiting
