"""Inputs that come as raw counts of a converter, set by their user."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from pages.state.session import Slot
from pages.ui import exports
from pages.ui.elements import expander, persistent_data_editor
from pages.ui.text import message
from smpcore.codegen import Counts
from smpcore.datasets import plain_number
from smpcore.errors import ExportError

EDITED = Slot[pd.DataFrame]("export_counts")
_SCALE, _OFFSET = "value of one count", "value at count 0"
_LOW, _HIGH = "lowest count", "highest count"
_HELP = (
    "A converter gives whole counts: value = value at count 0 + value of one count × "
    "count. Fill in the value of one count of each column that comes so; both numbers "
    "become part of the model, which then takes the counts as they are. Where all "
    "columns do, integers need no float code. Empty: the column comes in its own units."
)


def editor(made: exports.Export) -> exports.Export:
    """Let the visitor say which columns come as counts; say what is wrong with them."""
    start = _start(made)
    if start.empty:
        return made
    number = st.column_config.NumberColumn
    with expander("Inputs as counts of a converter", "counts", "123"):
        st.caption(_HELP)
        edited = persistent_data_editor(
            EDITED,
            made.context.key,
            start,
            hide_index=True,
            height="content" if len(start) < 12 else 400,
            disabled=["column", "in training"],
            column_config={
                **{name: number(format="%.6g") for name in (_SCALE, _OFFSET)},
                **{name: number(step=1) for name in (_LOW, _HIGH)},
            },
        )
        counts, problems = _changed(made, start, edited)
        for problem in problems:
            message(st.error, problem)
    return exports.with_counts(made, counts)


def _training_range(entry: Any) -> str:
    return f"{plain_number(entry.low, 6)} to {plain_number(entry.high, 6)}"


def _start(made: exports.Export) -> pd.DataFrame:
    """The columns of numbers, none as counts."""
    lines = [
        (entry.name, _training_range(entry), None, 0.0, 0, 1023)
        for entry in made.compiled.inputs
        if entry.kind == "number"
    ]
    columns = ["column", "in training", _SCALE, _OFFSET, _LOW, _HIGH]
    start = pd.DataFrame(lines, columns=columns)
    return start.astype({_SCALE: float})


def _changed(
    made: exports.Export, start: pd.DataFrame, edited: pd.DataFrame
) -> tuple[dict[str, Counts], list[str]]:
    """Counts that can be, and a sentence about each column whose cannot."""
    counts, problems = {}, []
    numbers = edited[[_SCALE, _OFFSET, _LOW, _HIGH]].apply(pd.to_numeric)
    same = (start == edited) | (start.isna() & edited.isna())
    changed = edited.assign(**numbers)[~same.all(axis=1)]
    for after in changed.to_dict("records"):
        try:
            one = {after["column"]: _counts(after)}
            exports.with_counts(made, one)
            counts |= one
        except ExportError as error:
            problems.append(f"{error} Until then it comes in its own units.")
    return counts, problems


def _counts(line: dict[str, Any]) -> Counts:
    column = repr(line["column"])
    if gaps := [name for name in (_SCALE, _OFFSET, _LOW, _HIGH) if pd.isna(line[name])]:
        raise ExportError(
            f"The {gaps[0]} of {column} is empty; fill it in, or undo the change of "
            "its line."
        )
    low, high = line[_LOW], line[_HIGH]
    if low != round(low) or high != round(high):
        raise ExportError(
            f"The counts of {column} go from {low:g} to {high:g}; both ends "
            "should be whole numbers."
        )
    return Counts(float(line[_SCALE]), float(line[_OFFSET]), int(low), int(high))
