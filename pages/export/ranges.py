"""Ranges and units of the inputs of an exported model, set by its user."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd
import streamlit as st

from pages.state.session import Slot
from pages.ui import exports
from pages.ui.elements import expander, persistent_data_editor
from pages.ui.text import message
from smpcore import quantise
from smpcore.codegen import QuantModel, SensorRange
from smpcore.datasets import plain_number
from smpcore.errors import ExportError

EDITED = Slot[pd.DataFrame]("export_ranges")
_COLUMNS = ("low", "high", "whole numbers", "unit")
_HELP = (
    "Integers are made so that they hold low to high: what your sensor can give. What "
    "lies outside is cut off, and counted. As it stands: the training range and a "
    "quarter more."
)


def editor(made: exports.Export) -> dict[str, SensorRange]:
    """Let the visitor set ranges and units; say what is wrong with them."""
    try:
        usual = quantise(made.compiled, 16, made.ranges)
    except ExportError:
        return {}
    start = _start(usual, made.ranges)
    if start.empty:
        return made.ranges
    with expander("Ranges and units of the inputs", "ranges", "straighten"):
        st.caption(_HELP)
        number = st.column_config.NumberColumn
        edited = persistent_data_editor(
            EDITED,
            f"{made.context.key}{sorted(made.counts)}",
            start,
            hide_index=True,
            height="content" if len(start) < 12 else 400,
            disabled=["column", "in training"],
            column_config={
                "low": number(format="%.6g"),
                "high": number(format="%.6g"),
                "unit": st.column_config.TextColumn(max_chars=20),
            },
        )
        ranges, problems = _changed(made, start, edited)
        for problem in problems:
            message(st.error, problem)
        if categories := [one.given.name for one in usual.inputs if not one.is_number]:
            names = ", ".join(categories)
            message(st.caption, f"Categories are their index: {names}.")
    return made.ranges | ranges


def _start(usual: QuantModel, counts: Collection[str] = ()) -> pd.DataFrame:
    """The ranges of a model whose user has said nothing; not of counts."""
    lines = [
        {
            "column": one.given.name,
            "in training": f"{plain_number(one.given.low, 6)} to "
            f"{plain_number(one.given.high, 6)}",
            "low": float(f"{one.low:.6g}"),
            "high": float(f"{one.high:.6g}"),
            "whole numbers": one.given.integer,
            "unit": one.given.unit,
        }
        for one in usual.inputs
        if one.is_number and one.given.name not in counts
    ]
    return pd.DataFrame(lines, columns=["column", "in training", *_COLUMNS])


def _changed(
    made: exports.Export, start: pd.DataFrame, edited: pd.DataFrame
) -> tuple[dict[str, SensorRange], list[str]]:
    """Changed ranges that can be, and a sentence about each one that cannot."""
    ranges, problems = {}, []
    numbers = {name: pd.to_numeric(edited[name]) for name in ("low", "high")}
    edited = edited.assign(**numbers)
    same = (start == edited) | (start.isna() & edited.isna())
    for after in edited[~same.all(axis=1)].to_dict("records"):
        unit, whole = str(after["unit"] or ""), bool(after["whole numbers"])
        limits = after["low"], after["high"]
        changed: dict[str, Any] = {after["column"]: SensorRange(*limits, whole, unit)}
        try:
            quantise(made.compiled, 16, changed)
            ranges |= changed
        except ExportError as error:
            problems.append(f"{error} Until then the range in training counts.")
    return ranges, problems
