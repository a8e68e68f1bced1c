"""A row edited by hand: what was typed stays with it, whatever is forbidden since."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from pages.prototypes.context import ModelContext
from pages.state import session
from pages.ui.text import escape_markdown, number_columns, short_label

#: Tables with more columns are not edited by hand.
MOST_EDITED = 400


def edit(context: ModelContext, place: int) -> tuple[pd.DataFrame, list[int], bool]:
    """Let the visitor edit a row and hold columns still.

    Parameters
    ----------
    context : ModelContext
    place : int
        Of the row in the table.

    Returns
    -------
    row : DataFrame
        With the visitor's own values.
    frozen : list of int
        Features held still.
    changed : bool
        Whether a value is another one than the table's.
    """
    row = context.data.dataset.frame.iloc[[place]].copy()
    order = {name: i for i, name in enumerate(context.chosen.whole.frame)}
    inputs = [*context.data.preparation.inputs, *context.forbidden]
    inputs.sort(key=lambda given: order.get(given.name, len(order)))
    if len(inputs) > MOST_EDITED:
        st.caption(f"Rows with more than {MOST_EDITED} columns cannot be edited here.")
        return row, [], False
    key = f"{context.chosen.whole.digest}_{place}"
    visit = session.get()
    typed = visit.typed.setdefault(key, {})
    # Editors of another name begin with the table's own values.
    key = f"{key}_{visit.editions['rows']}"
    gone = {given.name for given in context.forbidden}
    with st.expander("Edit the row, or fix columns", icon=":material/edit:"):
        for given in (i for i in inputs if i.kind == "category"):
            value = row[given.name].iloc[0]
            # A level that training rows lack cannot be chosen, and is left as it is.
            value = value if str(value) in list(given.levels) else None
            asked = _category(given, typed.get(given.name, (value, False)), key)
            _keep(typed, given.name, value, *asked)
        numbers = [given for given in inputs if given.kind == "number"]
        if numbers:
            _numbers(numbers, row, typed, key, gone)
        st.caption(
            "An empty number becomes the median of the training rows, an empty "
            "category none of its levels: of two levels that counts as the commoner."
        )
        _not_used(context, gone)
        if typed:
            st.button("As in the table", key="take_back", on_click=_back, args=(typed,))
    changed = _put(row, typed, inputs)
    held = [given for given in inputs if typed.get(given.name, (0, False))[1]]
    frozen = [
        f
        for given in held
        if given.name not in gone
        for f in range(given.first, given.first + given.width)
    ]
    return row, frozen, changed


def _back(typed: dict) -> None:
    """Forget what was typed into a row."""
    typed.clear()
    session.get().editions["rows"] += 1


def _keep(typed: dict, name: str, was: Any, value: Any, still: bool) -> None:
    """Remember a value that is not the table's, or that it is held still."""
    typed.pop(name, None)
    if still or not _same(value, was):
        typed[name] = value, still


def _same(one: Any, other: Any) -> bool:
    return (pd.isna(one) and pd.isna(other)) or str(one) == str(other)


def _put(row: pd.DataFrame, typed: dict, inputs: list[Any]) -> bool:
    """Put what was typed into the row; whether that changes it."""
    changed = False
    for given in inputs:
        was = row[given.name].iloc[0]
        was = _number(was) if given.kind == "number" else was
        value, _ = typed.get(given.name, (was, False))
        changed |= not _same(value, was)
        dtype = "float64" if given.kind == "number" else "object"
        row[given.name] = pd.Series([value], row.index, dtype=dtype)
    return changed


def _numbers(
    numbers: list[Any], row: pd.DataFrame, typed: dict, key: str, gone: set[str]
) -> None:
    """A table of the numbers, in which values are typed."""
    were = [_number(row[given.name].iloc[0]) for given in numbers]
    # What is given to the editor stays the same while it is on the page.
    widget = f"edit_{key}_{hash(tuple(sorted(gone)))}"
    results = session.get().results
    if widget not in st.session_state or results.get("typed", ("",))[0] != widget:
        known = [
            typed.get(given.name, (was, False))
            for given, was in zip(numbers, were, strict=True)
        ]
        start = pd.DataFrame(
            {
                "column": [given.name for given in numbers],
                "value": [float(value) for value, _ in known],
                "hold": [still for _, still in known],
                "lowest in training": [given.low for given in numbers],
                "highest": [given.high for given in numbers],
                **_uses(numbers, gone),
            }
        )
        results["typed"] = widget, start
    fixed = ["column", "lowest in training", "highest", "used"]
    values = results["typed"][1]
    table = st.data_editor(
        values,
        hide_index=True,
        disabled=fixed,
        key=widget,
        column_config=number_columns(values),
    )
    for given, was, value, still in zip(
        numbers, were, table["value"], table["hold"], strict=True
    ):
        _keep(typed, given.name, was, _number(value), bool(still))


def _uses(numbers: list[Any], gone: set[str]) -> dict[str, list[str]]:
    """Which columns the model gets; nothing to say where it gets them all."""
    if not gone:
        return {}
    return {"used": ["no" if given.name in gone else "yes" for given in numbers]}


def _not_used(context: ModelContext, gone: set[str]) -> None:
    """Say which columns the model does not get."""
    if not gone:
        return
    names = ", ".join(short_label(given.name) for given in context.forbidden[:8])
    more = f" and {len(gone) - 8} more" if len(gone) > 8 else ""
    st.caption(
        "Forbidden features, which do not affect the prediction: "
        f"{escape_markdown(names)}{more}."
    )


def _number(value: Any) -> float:
    return float(pd.to_numeric(value, errors="coerce"))


def _category(given: Any, start: tuple[Any, bool], key: str) -> tuple[Any, bool]:
    """One category: a choice of its levels, and whether it is held still."""
    value, held = start
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    levels = list(given.levels)
    now = levels.index(str(value)) if str(value) in levels else None
    chosen = left.selectbox(
        escape_markdown(short_label(given.name)),
        levels,
        now,
        short_label,
        key=f"level_{key}_{given.name}",
    )
    still = right.checkbox("hold", held, key=f"hold_{key}_{given.name}")
    return chosen, still
