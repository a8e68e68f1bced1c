"""Numbers of an experiment: chart, table, and the way to a measured model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from pages.papers import ranks
from pages.state import session, widget_state
from pages.state.choice import BUNDLED
from pages.ui.elements import table as show_table
from pages.ui.text import message
from pages.work import paper_runs, server_files
from smpcore import METHODS, figures
from smpcore.papers import Experiment, differences


def show(experiment: Experiment, table: pd.DataFrame) -> None:
    """Chart and table of one measure, and a model of it to open."""
    measures = [*table["measure"].unique()]
    if not measures:
        st.info("Nothing is reported in numbers, and nothing is measured yet.")
        return
    if experiment.ranked:
        ranks.show(experiment, table)
    for decided in paper_runs.from_tables(differences, [experiment])[1]:
        message(st.caption, decided)
    measure = measures[0]
    if len(measures) > 1:
        measure = widget_state.choose_one(st, "Measure", measures, "papers_measure")
    rows = table[table["measure"] == measure]
    if rows[["reported", "measured"]].notna().any(axis=None):
        models = [*rows["model"].unique()]
        # More colours than these cannot be told apart.
        drawn = st.multiselect(
            "Models in the chart",
            models,
            **widget_state.for_multiselect(
                f"papers_models_{experiment.name}", models, models[:4]
            ),
        )
        axis = experiment.axis if rows["at"].notna().any() else ""
        st.plotly_chart(
            figures.reported_measured(rows[rows["model"].isin(drawn)], measure, axis),
            key="papers_chart",
            alt=f"{measure}, reported (open) and measured (filled); the table has both",
        )
    empty = [name for name in rows if rows[name].isna().all()]
    show_table(rows.drop(columns=["measure", *empty]))
    _open(experiment)


def _open(experiment: Experiment) -> None:
    """Open a measured model on Explore: its data, method and settings."""
    models = {
        f"{data}, {model}, repetition {repetition + 1}": (data, *shown)
        for one in paper_runs.measured(experiment)
        for data, model, repetition in [one.trial]
        for shown in [(one.outcome.method, one.outcome.values)]
        if shown[0] in METHODS and _data_key(experiment, data)
    }
    # Otherwise the paper's method on the experiment's data, at its settings.
    models = models or {
        f"{key}, settings of the experiment": (key, experiment.paper, experiment.values)
        for key in experiment.data
        if experiment.paper in METHODS and _data_key(experiment, key)
    }
    if not models:
        return
    left, button = st.columns([5, 2], vertical_alignment="bottom")
    name = left.selectbox("Measured model", models, key="papers_model")
    if button.button(
        "Open this model",
        key="papers_use",
        on_click=_use,
        args=(experiment, *models[name]),
        help="Explore fits these settings to its own division of the data.",
    ):
        st.switch_page("pages/explore.py")


def _use(
    experiment: Experiment, data: str, method: str, values: Mapping[str, Any]
) -> None:
    choice = replace(
        session.get().choice,
        data=_data_key(experiment, data),
        method=method,
        values=dict(values),
        data_values={},
        forbidden=(),
        two_classes=experiment.data[data].two_classes,
        follow_up=None,
    )
    session.choose_data(choice)


def _data_key(experiment: Experiment, data: str) -> str:
    """The data as Explore names them; empty if it does not have them."""
    source = experiment.data[data]
    if source.bundled in BUNDLED:
        return source.bundled
    file = f"{server_files.PREFIX}{source.file}"
    return file if source.file and file in server_files.files() else ""
