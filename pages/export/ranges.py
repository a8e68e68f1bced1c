"""What the inputs of an exported model can measure, as its user knows it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from pages.state import session
from pages.ui import exports
from pages.ui.text import escape_markdown
from smpcore import quantise
from smpcore.codegen import QuantModel, SensorRange
from smpcore.errors import ExportError

_COLUMNS = ("low", "high", "whole numbers", "unit")
_HELP = (
    "Integers are made so that they hold low to high: what your sensor can give. What "
    "lies outside is cut off, and counted. As it stands: the training range and a "
    "quarter more."
)


def kept_table(name: str, key: str, start: pd.DataFrame, **options: Any) -> Any:
    """A table to edit that is still as edited after a visit to another page.

    Parameters
    ----------
    name : str
        Of the table in the session.
    key : str
        What the table is about; another key begins anew.
    start : DataFrame
        What it holds before it is edited.
    **options
        Of `st.data_editor`.

    Returns
    -------
    DataFrame
    """
    widget, base, last = f"{name}.{key}", f"{name}.base", f"{name}.edited"
    results = session.get().results
    if widget not in st.session_state:
        known, edited = results.get(last, ("", start))
        # What is given to the editor stays the same while it is on the page.
        results[base] = key, edited if known == key else start
    edited = st.data_editor(results[base][1], key=widget, **options)
    results[last] = key, edited
    return edited


def editor(made: exports.Export) -> dict[str, SensorRange]:
    """Let the visitor set ranges and units; say what is wrong with them.

    Parameters
    ----------
    made : Export

    Returns
    -------
    dict of str to SensorRange
        Those that were changed and are sound.
    """
    try:
        usual = quantise(made.compiled, 16)
    except ExportError:
        return {}
    start = _start(usual)
    with st.expander("Ranges and units of the inputs", icon=":material/straighten:"):
        st.caption(_HELP)
        number = st.column_config.NumberColumn
        edited = kept_table(
            "export_ranges",
            made.context.key,
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
        found, problems = _sound(made, start, edited)
        for problem in problems:
            st.error(escape_markdown(problem))
        if categories := [one.given.name for one in usual.inputs if not one.is_number]:
            words = ", ".join(categories)
            st.caption(escape_markdown(f"Categories are their index: {words}."))
    return found


def _start(usual: QuantModel) -> pd.DataFrame:
    """The ranges of a model whose user has said nothing."""
    lines = [
        {
            "column": one.given.name,
            "in training": f"{one.given.low:.6g} to {one.given.high:.6g}",
            "low": float(f"{one.low:.6g}"),
            "high": float(f"{one.high:.6g}"),
            "whole numbers": one.given.integer,
            "unit": "",
        }
        for one in usual.inputs
        if one.is_number
    ]
    return pd.DataFrame(lines, columns=["column", "in training", *_COLUMNS])


def _sound(
    made: exports.Export, start: pd.DataFrame, edited: pd.DataFrame
) -> tuple[dict[str, SensorRange], list[str]]:
    """Changed ranges that can be, and a sentence about each one that cannot."""
    found, problems = {}, []
    for before, after in zip(
        start.to_dict("records"), edited.to_dict("records"), strict=True
    ):
        if all(_same(before[name], after[name]) for name in _COLUMNS):
            continue
        low, high = (_number(after[name]) for name in ("low", "high"))
        unit, whole = str(after["unit"] or ""), bool(after["whole numbers"])
        given = {before["column"]: SensorRange(low, high, whole, unit)}
        try:
            quantise(made.compiled, 16, given)
            found |= given
        except ExportError as error:
            problems.append(f"{error} Until then the range in training counts.")
    return found, problems


def _same(one: Any, other: Any) -> bool:
    return one == other or (pd.isna(one) and pd.isna(other))


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
