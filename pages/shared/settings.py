"""How the files of a model are to be made: number format, target, prefix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from pages.shared import jobs, links, tables
from pages.shared.choice import FORMATS, PREFIX, TARGETS, Choice

#: Work that is not done after this long shows its progress, looked at this often.
QUICK_SECONDS, POLL_SECONDS = 1.0, 0.4
_FORMAT_HELP = (
    "float32 for every model. Integers answer many times sooner on a chip without "
    "floats; with 8 bits an input has 256 steps, with 16 bits 65,536."
)


def ask(choice: Choice) -> Choice:
    """Let the visitor choose; the choice with it, which the link then carries."""
    columns = st.columns([3, 2, 1], vertical_alignment="bottom")
    edition = links.edition()
    number_format = columns[0].segmented_control(
        "Number format",
        list(FORMATS),
        default=choice.number_format,
        required=True,
        key=f"export_format_{edition}",
        help=_FORMAT_HELP,
    )
    target = columns[1].selectbox(
        "Target",
        list(TARGETS),
        list(TARGETS).index(choice.target),
        format_func=lambda key: TARGETS[key][0],
        key=f"export_target_{edition}",
    )
    prefix = columns[2].text_input(
        "Prefix of every name",
        choice.prefix,
        max_chars=links.LONGEST_PREFIX,
        key=f"export_prefix_{edition}",
    )
    asked = {"format": number_format, "target": target, "prefix": prefix}
    usual = {"format": next(iter(FORMATS)), "target": next(iter(TARGETS))}
    usual["prefix"] = PREFIX
    files = {name: value for name, value in asked.items() if value != usual[name]}
    if files != choice.files:
        choice = replace(choice, files=files)
        links.choose(choice)
    return choice


def key(choice: Choice) -> Any:
    """The same for the same model with the same open rows only."""
    opened = choice.open_test, choice.opened and choice.times_opened
    return choice.key, choice.operating, opened


def begun(name: str, key: Any, work: Callable[..., Any]) -> jobs.Job:
    """The job of this name; one for another key is stopped and this one begun.

    Parameters
    ----------
    name : str
    key : object
        The same for the same work only.
    work : callable
        See `jobs.Job`.

    Returns
    -------
    Job
    """
    before = st.session_state.get(name, (key, None))
    if before[0] != key:
        before[1].stop()
    return tables.remembered(name, key, partial(jobs.Job, work))


def waits(job: jobs.Job, words: str) -> bool:
    """Whether a job goes on for long; if so its progress is shown until it is done."""
    if job.wait(QUICK_SECONDS):
        return False

    def look() -> None:
        if job.wait(0.0):
            st.rerun()
        st.progress(min(1.0, float(job.progress[0])), text=words)

    st.fragment(look, run_every=POLL_SECONDS)()
    return True
