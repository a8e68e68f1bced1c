"""For whom is it wrong: measures group by group."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from pages.performance import operating_point
from pages.performance.operating_point import EvaluatedRows
from pages.state import widget_state
from pages.state.session import Slot
from pages.ui.elements import download, expander, problems_shown, table
from pages.ui.text import escape_markdown, message, short_label
from smpcore import figures
from smpcore.datasets import AFTERWARDS, as_csv, list_names, plain_number
from smpcore.evaluation import (
    FEWEST_ROWS,
    LEVEL,
    RowMeasure,
    group_rows,
    row_measures,
    subgroups,
)
from smpcore.live import BAND_NOTE, define
from smpcore.readouts import COVERAGE

_FIRST_COLUMN = Slot[str]("first_column")
#: Roles in the order in which a column is offered at first.
_FIRST = ("group", "ignore", "feature", AFTERWARDS, "time", "weight", "target")


@st.fragment
def section(rows: EvaluatedRows) -> None:
    """Choose a column and a measure; compare each group with all other rows."""
    left, right = st.columns(2)
    names = columns(rows)
    digest = rows.data.dataset.digest
    first = _FIRST_COLUMN.get_or_make(digest, lambda: _default(rows, names))
    column = widget_state.choose_one(
        *(left, "Column", names, "subgroup_column"),
        default=first,
        format_func=short_label,
        help="Any column, also one that the model does not use. Numbers are cut at "
        "their quartiles in the training rows.",
    )
    measures = _measures(rows)
    options = [measure.name for measure in measures]
    chosen = widget_state.choose_one(
        *(right, "Measure", options, "subgroup_measure"),
        format_func=short_label,
        help=define("Calibration-in-the-large"),
    )
    with problems_shown():
        grouping = group_rows(rows.data.dataset, column, rows.data.split.train)
        measure = measures[options.index(chosen)]
        of_rows = rows.dependence()
        _show(rows, measure, subgroups(grouping, rows.rows, [measure], **of_rows))
        everything = partial(subgroups, grouping, rows.rows, measures, **of_rows)
        download(
            "Download all measures as CSV",
            lambda: as_csv(everything()),
            "subgroups.csv",
            key="subgroups_csv",
        )


def columns(rows: EvaluatedRows) -> list[str]:
    """Columns that can make groups: a class has its recall instead."""
    dataset = rows.data.dataset
    hidden = {dataset.target} if dataset.task == "classification" else set()
    return [name for name in dataset.roles if name not in hidden]


def _default(rows: EvaluatedRows, names: list[str]) -> str:
    """A category with few levels if there is one, rather than a number.

    Never what is to be predicted, nor the columns that a question of time is about.
    """
    dataset, asks = rows.data.dataset, rows.data.dataset.follow_up
    outcomes = {dataset.target, rows.table.target}
    outcomes |= {asks.time, asks.event} if asks else set()
    others = [name for name in names if name not in outcomes] or names
    few = [n for n in others if dataset.frame[n].nunique() <= 2 * FEWEST_ROWS]
    return min(few or others, key=lambda name: _FIRST.index(dataset.roles[name]))


def _measures(rows: EvaluatedRows) -> list[RowMeasure]:
    """Measures of the model at the threshold that is tried."""
    model, sure = operating_point.tried_model(rows), {}
    if model.calibration is not None and model.classes is not None:
        sure = {"probabilities": rows.model().probabilities(rows.X)}
    elif model.calibration is not None and rows.part != "train":
        sure = {"intervals": model.intervals(rows.X, COVERAGE)}
    answers = model.predict(rows.X)
    return row_measures(model.classes, answers, rows.y, **sure)


def _show(rows: EvaluatedRows, measure: RowMeasure, lines: pd.DataFrame) -> None:
    """Draw the groups, and say which differ, how sure that is and of how few rows."""
    known = np.isfinite(measure.values)
    weights = rows.dependence(known)["weights"]
    overall = float(np.average(measure.values[known], weights=weights))
    n_groups = len(lines)
    value = measure.text(overall)
    message(st.markdown, f"{measure.name} of all {rows.title}: {value}.")
    for sentence in differences_in_words(lines, measure):
        message(st.markdown, sentence)
    figure = figures.group_values(lines, measure.name, overall, measure.is_share)
    alt = f"{measure.name} of {n_groups} groups; the table below has the same numbers"
    st.plotly_chart(figure, key="group_values", alt=alt)
    moved = ""
    if rows.is_binary and (threshold := operating_point.current(rows).threshold):
        shown = escape_markdown(rows.threshold_in_words(threshold))
        moved = f" Threshold {shown}."
    if rows.is_binary and operating_point.current(rows).band:
        moved += f" {BAND_NOTE}"
    tests = "Differences from all other rows: score test, not below Fisher's exact one"
    if not measure.is_share:
        tests = "Differences from all other rows: Welch's t test"
    st.caption(
        f"Intervals hold together for the {n_groups} groups (Bonferroni: each at "
        f"{plain_number(100 - 100 * LEVEL / n_groups)} %{rows.data.cluster_note}"
        f"{escape_markdown(rows.data.weight_note)}). {tests}, "
        f"corrected for the number of groups (Holm).{moved}",
        help=define("Simultaneous interval", "p (Holm)"),
    )
    with expander("Show as a table", "groups", "table"):
        table(lines.drop(columns="measure"))


def differences_in_words(lines: pd.DataFrame, measure: RowMeasure) -> list[str]:
    """Groups that differ clearly from the rest, and groups of few rows."""
    sentences = []
    for line in lines[lines["p_value"] < LEVEL].itertuples():
        numbers = line.value, line.rest, line.difference_low, line.difference_high
        value, rest, low, high = map(measure.text, numbers)
        sentences.append(
            f"{short_label(line.group)} differs from the rest: {value} against {rest} "
            f"(interval of the difference {low} to {high}, p = {line.p_value:.2g})."
        )
    if not sentences:
        sentences = ["No clear difference between a group and the rest."]
    if lines["few"].any():
        few = list_names(lines["group"][lines["few"]], 6, 40)
        sentences.append(f"Fewer than {FEWEST_ROWS} rows, not tested: {few}.")
    return sentences
