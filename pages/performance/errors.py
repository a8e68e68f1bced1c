"""Where is a regression wrong: residuals in pictures, and row by row."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.performance import operating_point
from pages.performance.operating_point import EvaluatedRows
from pages.performance.subgroups import columns
from pages.state import widget_state
from pages.ui.text import escape_markdown, message, short_label
from smpcore import figures
from smpcore.datasets import with_unit
from smpcore.evaluation import RegressionScores
from smpcore.live import define, of_part
from smpcore.readouts import COVERAGE, READOUTS, number_text

_LISTED = ["residual", "actual", "predicted"]


@st.fragment
def section(rows: EvaluatedRows) -> None:
    """Draw predictions and residuals, and list the rows by their error."""
    of_rows = rows.data.clusters(rows.part), rows.data.weights(rows.part)
    scores = RegressionScores(rows.y, rows.scores[:, 0], *of_rows)
    lines = of_part(rows.part, scores, rows.data)
    # The page begins with the first line of the validation rows.
    for line in lines[rows.part == rows.data.scored_part :]:
        message(st.markdown, f"{line['name']} {line['value']}: {line['detail']}.")
    if np.isfinite(scores.mape):
        label = READOUTS["mape"].label
        words = f"{label} {number_text(scores.mape)}: of {rows.title}, all above 0."
        message(st.markdown, words, help=define(label))
    table = scores.residuals()
    places = table.index.to_numpy()
    table["row"] = rows.numbers[places]
    interval = _add_intervals(rows, table)
    target = with_unit(rows.data.dataset, rows.data.dataset.target)
    compared = figures.predicted_actual(table, target, interval)
    against = figures.residuals(table, "predicted", f"predicted {target}")
    quantiles = figures.residual_quantiles(table)
    left, right = st.columns(2)
    _show(left, rows, "Actual against predicted", compared)
    _show(right, rows, "Residuals against predicted", against)
    left, right = st.columns(2, vertical_alignment="bottom")
    _show(left, rows, "QQ plot of the residuals", quantiles, "QQ plot")
    with right:
        _against_column(rows, table)
    st.caption("The rows below: largest error first.")
    operating_point.cases(rows, places, {n: table[n].to_numpy() for n in _LISTED})


def _add_intervals(rows: EvaluatedRows, table: pd.DataFrame) -> str:
    """Add both ends of the intervals of rows that were not fitted; give their name."""
    model = rows.model()
    if model.calibration is None or rows.part == "train":
        return ""
    intervals = model.intervals(rows.X[table.index], COVERAGE)
    table["low"], table["high"] = intervals.T
    return READOUTS["interval"].label if np.isfinite(intervals).all() else ""


def _against_column(rows: EvaluatedRows, table: pd.DataFrame) -> None:
    """Residuals against any column, also one that the model does not use."""
    dataset = rows.data.dataset
    names = [name for name in columns(rows) if name != dataset.target]
    first = next(iter([*dataset.feature_columns, *names]))
    start = {"default": first, "format_func": short_label}
    name = widget_state.choose_one(st, "Column", names, "residual_column", **start)
    table["column"] = dataset.frame[name].to_numpy()[rows.rows[table.index]]
    figure = figures.residuals(table, "column", with_unit(dataset, name))
    _show(st, rows, f"Residuals against {short_label(name)}", figure)
    if n_missing := int(table["column"].isna().sum()):
        st.caption(f"Not drawn, as their value is missing: {n_missing:,} rows.")


def _show(
    place: Any, rows: EvaluatedRows, title: str, figure: Any, term: str = "Residual"
) -> None:
    """A picture whose points choose a row of the list below."""
    key = f"residuals_{title}"
    place.plotly_chart(
        figure,
        key=key,
        on_select=partial(_choose_clicked, rows, key),
        selection_mode="points",
        alt=f"{title}, {len(rows.y):,} {rows.title}; the table below has the same rows",
    )
    place.caption(f"{escape_markdown(title)}.", help=define(term))


def _choose_clicked(rows: EvaluatedRows, key: str) -> None:
    picked = st.session_state[key].selection.points
    if picked and picked[0].get("customdata") in rows.numbers:
        widget_state.set_value("case", int(picked[0]["customdata"]))
