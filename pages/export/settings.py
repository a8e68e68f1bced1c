"""How the files of a model are to be made: number format, target, name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from pages.state import session, widget_state
from pages.state.context import Context
from pages.ui.progress import is_waiting
from pages.work.tasks import Task
from smpcore.chips import CHIPS
from smpcore.codegen import NUMBERS, TARGETS

#: Characters that a name can have while it is typed: what is wrong with it is said.
LONGEST_NAME = 40

#: Work that is not done after this long shows its progress.
QUICK_SECONDS = 1.0
_FORMAT_HELP = (
    "float32 for every model. Integers answer many times faster on a chip without "
    "floats; with 8 bits an input has 256 steps, with 16 bits 65,536. Inputs that come "
    "as floats are converted first, which computes in floats and can take more than "
    "the rest."
)
_TARGET_HELP = (
    "What the zip is for. All libraries in C have the same code; the README tells how "
    "it is tried and used."
)
_CHIP_HELP = "Flash, RAM and time below are those of this chip; the files are for any."
_NAME_HELP = (
    "Begins every name and file of the code, so that two models fit into one program."
)


@dataclass(frozen=True)
class Settings:
    """How the files of a model are to be made.

    Parameters
    ----------
    number_format : str
        Of `smpcore.codegen.NUMBERS`.
    target : str
        Of `smpcore.codegen.TARGETS`.
    chip : str
        Whose costs are shown.
    name : str
        As typed; empty: the usual one.
    """

    number_format: str
    target: str
    chip: str
    name: str


def ask(usual: str) -> Settings:
    """Let the visitor choose; links and other pages keep it.

    Parameters
    ----------
    usual : str
        Name of the model where none is typed.

    Returns
    -------
    Settings
    """
    columns = st.columns([3, 2, 2, 2], vertical_alignment="bottom")
    number_format = columns[0].segmented_control(
        "Number format",
        list(NUMBERS),
        required=True,
        **widget_state.press("export_format", NUMBERS, "float32"),
        help=_FORMAT_HELP,
    )
    target = columns[1].selectbox(
        "Target",
        list(TARGETS),
        format_func=lambda key: TARGETS[key].title,
        **widget_state.pick("export_target", TARGETS, "c99"),
        help=_TARGET_HELP,
    )
    chip = columns[2].selectbox(
        "Costs on",
        list(CHIPS),
        **widget_state.pick("export_chip", CHIPS, "Cortex-M0"),
        help=_CHIP_HELP,
    )
    name = columns[3].text_input(
        "Model name",
        max_chars=LONGEST_NAME,
        placeholder=usual,
        **widget_state.words("export_name", LONGEST_NAME, ""),
        help=_NAME_HELP,
    )
    return Settings(number_format, target, chip, name)


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
