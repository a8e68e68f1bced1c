"""A row edited by hand: what was typed stays with it, whatever is forbidden since."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from pages.prototypes.context import ModelContext
from pages.state import session
from pages.ui.elements import data_editor, number_columns
from pages.ui.text import escape_markdown, message, short_label
from smpcore.datasets import Input, Preparation, apply_steps, list_names

#: Tables with more columns are not edited by hand.
MOST_EDITED = 400

#: Column -> value, and whether it is fixed.
Typed = dict[str, tuple[Any, bool]]


def edit(context: ModelContext, place: int) -> tuple[pd.DataFrame, list[int], bool]:
    """Let the visitor edit a row and fix columns."""
    row = context.data.dataset.frame.iloc[[place]].copy()
    preparation = context.data.preparation
    order = {name: i for i, name in enumerate(context.whole.frame)}
    inputs = [*preparation.inputs, *context.forbidden]
    # What says where a value is missing follows from that value.
    inputs = [one for one in inputs if one.name not in preparation.added_columns]
    held = {*preparation.fixed_columns}  # an age or a sex, too
    inputs = [replace(one, fixed=one.name in held) for one in inputs]
    inputs.sort(key=lambda column: order.get(column.name, len(order)))
    if len(inputs) > MOST_EDITED:
        st.caption(f"Rows with more than {MOST_EDITED} columns cannot be edited here.")
        return row, preparation.fixed_features, False
    key = f"{context.whole.digest}_{place}"
    typed = session.get().typed.setdefault(key, {})
    forbidden = {column.name for column in context.forbidden}
    values = {column.name: _value(row, column) for column in inputs}
    with st.expander("Edit the row, or fix columns", icon=":material/edit:"):
        _widgets(inputs, values, typed, key, forbidden)
    changed = False
    for column in inputs:
        value, _ = typed.get(column.name, (values[column.name], column.fixed))
        changed |= not _same(value, values[column.name])
        dtype = "float64" if column.kind == "number" else "object"
        row[column.name] = pd.Series([value], row.index, dtype=dtype)
    row = apply_steps(row, preparation.cleaning)
    return row, _frozen(preparation, typed), changed


def _frozen(preparation: Preparation, typed: Typed) -> list[int]:
    """Features of the columns that a counterfactual must not change."""
    held = {name: (0, True) for name in preparation.fixed_columns} | typed
    fixed = [c for c in preparation.inputs if held.get(c.name, (0, False))[1]]
    return [feature for column in fixed for feature in column.positions]


def _value(row: pd.DataFrame, column: Input) -> Any:
    """The table's own value, as an editor shows it."""
    value = row[column.name].iloc[0]
    return _number(value) if column.kind == "number" else value


def _widgets(
    inputs: list[Input],
    values: dict[str, Any],
    typed: Typed,
    key: str,
    forbidden: set[str],
) -> None:
    """A select box for each category, an editor for the numbers."""
    # Editors of another name begin with the table's own values.
    key = f"{key}_{session.get().editions['rows']}"
    for column in inputs:
        if column.kind == "category":
            _category(column, values[column.name], typed, key)
        if column.kind == "text":
            _text(column, values[column.name], typed, key)
    numbers = [column for column in inputs if column.kind == "number"]
    if numbers:
        _numbers(numbers, values, typed, key, forbidden)
    message(
        st.caption,
        "An empty value is replaced as in the training rows: by default a number by "
        "their median; a category has none of its levels then, of two levels the "
        "commoner.",
    )
    if names := [column.name for column in inputs if column.fixed]:
        message(
            st.caption,
            f"Held, as set on Data or as an age or a sex: {list_names(names)}. They "
            "stay as they are unless you take the mark away.",
        )
    if forbidden:
        names = escape_markdown(
            list_names([c.name for c in inputs if c.name in forbidden])
        )
        st.caption(f"Forbidden features, which do not affect the prediction: {names}.")
    if typed:
        st.button("As in the table", key="take_back", on_click=_reset, args=(typed,))


def _reset(typed: Typed) -> None:
    """Forget what was typed into a row."""
    typed.clear()
    session.get().editions["rows"] += 1


def _remember(typed: Typed, column: Input, before: Any, value: Any, held: bool) -> None:
    """Remember a value that is not the table's, or a mark that is not the usual one."""
    typed.pop(column.name, None)
    if held != column.fixed or not _same(value, before):
        typed[column.name] = value, held


def _same(one: Any, other: Any) -> bool:
    return (pd.isna(one) and pd.isna(other)) or str(one) == str(other)


def _numbers(
    numbers: list[Input],
    values: dict[str, Any],
    typed: Typed,
    key: str,
    forbidden: set[str],
) -> None:
    """A table of the numbers, in which values are typed."""

    def start() -> pd.DataFrame:
        known = [typed.get(c.name, (values[c.name], c.fixed)) for c in numbers]
        columns = {
            "column": [column.name for column in numbers],
            "value": [float(value) for value, _ in known],
            "hold": [fixed for _, fixed in known],
            "lowest in training": [column.low for column in numbers],
            "highest": [column.high for column in numbers],
        }
        if any(column.unit for column in numbers):
            columns["unit"] = [column.unit for column in numbers]
        if forbidden:
            columns["used"] = ["no" if c.name in forbidden else "yes" for c in numbers]
        return pd.DataFrame(columns)

    widget = f"edit_{key}_{hash(tuple(sorted(forbidden)))}"
    table = data_editor(
        "typed",
        widget,
        start,
        hide_index=True,
        disabled=["column", "lowest in training", "highest", "unit", "used"],
        column_config=number_columns,
    )
    edited = zip(numbers, table["value"], table["hold"], strict=True)
    for column, value, held in edited:
        _remember(typed, column, values[column.name], _number(value), bool(held))


def _number(value: Any) -> float:
    return float(pd.to_numeric(value, errors="coerce"))


def _text(column: Input, before: Any, typed: Typed, key: str) -> None:
    """One text, to be typed."""
    value, held = typed.get(column.name, (before, column.fixed))
    name = escape_markdown(short_label(column.name))
    value = st.text_input(name, value, column.width, key=f"text_{key}_{column.name}")
    _remember(typed, column, before, value, held)


def _category(column: Input, before: Any, typed: Typed, key: str) -> None:
    """One category: a choice of its levels, and whether it is fixed."""
    levels = list(column.levels)
    # A level that training rows lack cannot be chosen, and is left as it is.
    before = before if str(before) in levels else None
    value, held = typed.get(column.name, (before, column.fixed))
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    value = left.selectbox(
        escape_markdown(short_label(column.name)),
        levels,
        levels.index(str(value)) if str(value) in levels else None,
        short_label,
        key=f"level_{key}_{column.name}",
    )
    held = right.checkbox("hold", held, key=f"hold_{key}_{column.name}")
    _remember(typed, column, before, value, held)
