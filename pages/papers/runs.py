"""Running an experiment from the page, and its numbers as they come in."""

from __future__ import annotations

import streamlit as st

from pages.papers import numbers
from pages.ui.elements import problems_shown
from pages.ui.progress import progress_bar
from pages.ui.text import message
from pages.work import paper_runs
from pages.work.slots import poll_interval
from smpcore.datasets import plural
from smpcore.papers import Experiment, missing_data

#: A running experiment is looked at this often.
POLL_SECONDS = 1.0


def show(experiment: Experiment) -> None:
    """The command, a button that runs it here, and the numbers as they come in."""
    st.code(experiment.command, language="bash")
    polling = poll_interval(POLL_SECONDS) if _is_running(experiment) else None

    def refreshed() -> None:
        _progress(experiment)
        table = paper_runs.table(experiment)
        numbers.show(experiment, table)
        # The button that begins a run runs this alone.
        if (polling is not None) != _is_running(experiment):
            st.rerun()

    st.fragment(refreshed, run_every=polling)()


def _is_running(experiment: Experiment) -> bool:
    task = paper_runs.run_of(experiment)
    return task is not None and task.running


def _progress(experiment: Experiment) -> None:
    """How far the run is, or the button that starts it."""
    task = paper_runs.run_of(experiment)
    if task is not None and task.running:
        share = float(task.progress[0])
        text = f"{100 * share:.0f} % of {plural(len(experiment.trials()), 'trial')}"
        stop = {"key": "papers_stop", "on_click": task.leave}
        progress_bar(min(0.99, share), text, "Stop", **stop)
        return
    if task is not None and task.problem:
        message(st.info, task.problem)
    missing = missing_data(experiment, paper_runs.place())
    n_here = len(experiment.data) - len(missing)
    st.button(
        "Measure what is missing",
        key="papers_run",
        on_click=_start,
        args=(experiment,),
        disabled=not n_here,
        help="On this server; what is measured stays there, and a run that is stopped "
        "goes on where it was.",
    )
    if missing:
        message(
            st.caption,
            f"{n_here} of {plural(len(experiment.data), 'data set')} are here; the "
            "table says what the others need. Files are looked for in the operator's "
            "folder SPE_DATA; only the command downloads.",
        )


def _start(experiment: Experiment) -> None:
    with problems_shown():
        paper_runs.start(experiment)
