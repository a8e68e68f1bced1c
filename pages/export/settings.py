"""How the files of a model are to be made: number format, target, prefix."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from pages.state import widget_state
from smpcore.evaluation import NUMBER_FORMATS


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


class Settings(NamedTuple):
    """How the files of a model are to be made; the prefix as typed."""

    number_format: str
    target: str
    prefix: str


def controls() -> Settings:
    """Let the visitor choose; links and other pages keep it."""
    columns = st.columns([3, 2, 1], vertical_alignment="bottom")
    number_format = columns[0].segmented_control(
        "Number format",
        list(NUMBER_FORMATS),
        required=True,
        **widget_state.for_buttons("export_format", NUMBER_FORMATS, "float32"),
        help=_FORMAT_HELP,
    )
    target = columns[1].selectbox(
        "Target",
        list(TARGETS),
        format_func=lambda key: TARGETS[key].title,
        **widget_state.for_selectbox("export_target", TARGETS, "c99"),
        help=_TARGET_HELP,
    )
    prefix = columns[2].text_input(
        "Prefix of every name",
        max_chars=LONGEST_PREFIX,
        **widget_state.for_text("export_prefix", LONGEST_PREFIX, "mdl"),
    )
    return Settings(number_format, target, prefix)
