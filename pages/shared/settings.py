"""How the files of a model are to be made: number format, target, prefix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.shared import links
from pages.shared.choice import FORMATS, PREFIX, TARGETS, Choice

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
