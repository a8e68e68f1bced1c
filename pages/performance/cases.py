"""Rows as a list, of which one is opened in "Why this prediction"."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.performance.rows import EvaluatedRows
from pages.state import session, widget_state
from pages.ui.elements import number_columns

#: Rows and columns of the list.
MOST_ROWS, MOST_COLUMNS = 1000, 200


def show(rows: EvaluatedRows, places: np.ndarray, columns: Mapping[str, Any]) -> None:
    """List rows with their own values, and offer to open one."""
    if not len(places):
        return
    shown = places[:MOST_ROWS]
    frame = rows.data.dataset.frame.iloc[rows.rows[shown], :MOST_COLUMNS]
    frame = frame.drop(columns=rows.data.dataset.target, errors="ignore")
    for name, values in reversed(columns.items()):
        name = f"{name} (model)" if name in frame else name
        frame.insert(0, name, values[:MOST_ROWS])
    numbers = rows.numbers[shown]
    st.dataframe(
        frame.set_axis(pd.Index(numbers, name="row"), axis=0),
        key="cases",
        placeholder="–",
        height=min(260, 38 + 35 * len(frame)),
        column_config=number_columns(frame),
        on_select=partial(_picked, numbers),
        selection_mode="single-row",
    )
    if len(places) > MOST_ROWS or frame.shape[1] > MOST_COLUMNS:
        st.caption(
            f"The first {len(shown):,} of {len(places):,} rows, at most "
            f"{MOST_COLUMNS} columns."
        )
    _open(rows, numbers.tolist())


def _picked(numbers: np.ndarray) -> None:
    selected = st.session_state["cases"].selection.rows
    if selected and selected[0] < len(numbers):
        widget_state.set_value("case", int(numbers[selected[0]]))


def _open(rows: EvaluatedRows, numbers: list[int]) -> None:
    """The twin of a click on a line, and the button."""
    left, right = st.columns([2, 6], vertical_alignment="bottom")
    number = widget_state.choose_one(left, "Row", numbers, "case")
    right.button(
        "Open in Why this prediction",
        key="open_case",
        icon=":material/open_in_new:",
        on_click=_choose,
        args=(rows, number),
    )
    # A callback cannot leave the page.
    if session.get().results.pop("open_case", None):
        st.switch_page("pages/prototypes.py")


def _choose(rows: EvaluatedRows, number: int) -> None:
    """Set what the section of the other page begins with."""
    widget_state.set_value("prototypes_section", "Why this prediction")
    widget_state.set_value("why_part", rows.part)
    widget_state.set_value(f"why_row_{rows.data.split.key}_{rows.part}", number)
    session.get().results["open_case"] = rows.key, number
