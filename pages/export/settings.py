"""How the files of a model are to be made: number format, target, name."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from pages.state import widget_state
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


class Settings(NamedTuple):
    """How the files of a model are to be made, and the chip whose costs are shown."""

    number_format: str
    target: str
    chip: str
    name: str


def controls(default_name: str) -> Settings:
    """Let the visitor choose; links and other pages keep it."""
    columns = st.columns([3, 2, 2, 2], vertical_alignment="bottom")
    number_format = widget_state.choose_one(
        *(columns[0], "Number format", NUMBERS, "export_format"),
        buttons=True,
        default="float32",
        help=_FORMAT_HELP,
    )
    target = widget_state.choose_one(
        *(columns[1], "Target", TARGETS, "export_target"),
        default="c99",
        format_func=lambda key: TARGETS[key].title,
        help=_TARGET_HELP,
    )
    chip = widget_state.choose_one(
        *(columns[2], "Costs on", CHIPS, "export_chip"),
        default="Cortex-M0",
        help=_CHIP_HELP,
    )
    name = columns[3].text_input(
        "Model name",
        max_chars=LONGEST_NAME,
        placeholder=default_name,
        **widget_state.for_text("export_name", LONGEST_NAME, ""),
        help=_NAME_HELP,
    )
    return Settings(number_format, target, chip, name)
