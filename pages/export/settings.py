"""How the files of a model are to be made: number format, target, prefix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from pages.state import session, widget_state
from pages.state.context import Context
from pages.ui.progress import is_waiting
from pages.work.tasks import Task

#: Number format of files -> bits of its integers; None: floats.
FORMATS = {"float32": None, "int16": 16, "int8": 8}


class Target(NamedTuple):
    """What the files are for: its name, whose costs are shown, how they are packed."""

    title: str
    chip: str
    files: str


TARGETS = {
    "c99": Target("Generic C99", "Cortex-M0", "c99"),
    "arduino": Target("Arduino library", "ATmega328P", "arduino"),
    "avr": Target("ATmega328P", "ATmega328P", "c99"),
    "m0": Target("Cortex-M0", "Cortex-M0", "c99"),
    "m4f": Target("Cortex-M4F", "Cortex-M4F", "c99"),
}
#: Characters that a prefix can have while it is typed: what is wrong with it is said.
LONGEST_PREFIX = 40

#: Work that is not done after this long shows its progress.
QUICK_SECONDS = 1.0
_FORMAT_HELP = (
    "float32 for every model. Integers answer many times faster on a chip without "
    "floats; with 8 bits an input has 256 steps, with 16 bits 65,536. Inputs that come "
    "as floats are converted first, which computes in floats and can take more than "
    "the rest."
)
_TARGET_HELP = (
    "The same code for all. An Arduino library comes with sketches and is added in the "
    "IDE as it is; all others come with a Makefile."
)


@dataclass(frozen=True)
class Settings:
    """How the files of a model are to be made.

    Parameters
    ----------
    number_format : str
        Of `FORMATS`.
    target : str
        Of `TARGETS`.
    prefix : str
        As typed.
    """

    number_format: str
    target: str
    prefix: str


def ask() -> Settings:
    """Let the visitor choose; links and other pages keep it."""
    columns = st.columns([3, 2, 1], vertical_alignment="bottom")
    number_format = columns[0].segmented_control(
        "Number format",
        list(FORMATS),
        required=True,
        **widget_state.press("export_format", FORMATS, "float32"),
        help=_FORMAT_HELP,
    )
    target = columns[1].selectbox(
        "Target",
        list(TARGETS),
        format_func=lambda key: TARGETS[key].title,
        **widget_state.pick("export_target", TARGETS, "c99"),
        help=_TARGET_HELP,
    )
    prefix = columns[2].text_input(
        "Prefix of every name",
        max_chars=LONGEST_PREFIX,
        **widget_state.words("export_prefix", LONGEST_PREFIX, "mdl"),
    )
    return Settings(number_format, target, prefix)


def key(context: Context) -> Any:
    """The same for the same model with the same open rows only."""
    opened = context.choice.open_test, context.times_opened
    return context.key, context.operating, opened


def begun(name: str, key: Any, work: Callable[..., Any]) -> Task:
    """The task of this name; one for another key is left and this one begun.

    Parameters
    ----------
    name : str
    key : object
        The same for the same work only.
    work : callable
        See `tasks.Task`.

    Returns
    -------
    Task
    """
    before = session.get().results.get(name, (key, None))
    if before[0] != key:
        before[1].leave()
    task = session.remembered(name, key, partial(Task, work))
    if task.was_left:  # the tab lost its connection for a while
        task.start()
    return task


def waits(job: Task, words: str) -> bool:
    """Whether a job goes on for long; if so its progress is shown until it is done."""
    return is_waiting(job, QUICK_SECONDS, words, stoppable=False)
