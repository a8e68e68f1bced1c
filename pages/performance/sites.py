"""Does it hold elsewhere? Each site is left out once, each period is predicted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from pages.performance.operating_point import EvaluatedRows
from pages.state import widget_state
from pages.state.session import Slot
from pages.ui.elements import show_section, study
from pages.ui.fold_scores import SITES
from pages.ui.text import message, short_label
from pages.work import study_pool
from pages.work.tasks import Task
from smpcore import figures
from smpcore.evaluation import (
    FEWEST_ROWS,
    MOST_SITES,
    SiteScores,
    internal_external,
    site_columns,
)
from smpcore.readouts import Section
from smpcore.report import sites_section

_COLUMNS = Slot[list[str]]("site_columns")
#: Parts of names by which a column is offered first.
_LIKELY = (
    "site",
    "center",
    "centre",
    "zentrum",
    "hospital",
    "klinik",
    "clinic",
    "region",
)


def section(rows: EvaluatedRows) -> None:
    """Choose a column; fit without each of its sites, and show how that went."""
    data = rows.data
    key = data.dataset.digest, data.split.key
    names = _COLUMNS.get_or_make(key, lambda: site_columns(data.dataset, data.split))
    if not names:
        st.info(
            f"No column makes sites: that takes at most {MOST_SITES} values, two of "
            f"them with {FEWEST_ROWS} rows or more in training and validation. There "
            "is no time column either; Data sets roles."
        )
        return
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    column = widget_state.choose_one(
        *(left, "Column", names, "site_column"),
        default=min(names, key=partial(_rank, rows)),
        format_func=short_label,
        help="A site, centre, hospital or region; also a column that the model does "
        "not use. Of the time column, periods are predicted from all earlier rows.",
    )
    is_time = column == data.dataset.time
    study(
        SITES,
        (rows.key, rows.outcome, column),
        partial(_job, rows, column),
        _show,
        words="Fits without a site",
        intro="The model is fitted anew for each site on training and validation rows "
        "of the other sites, and scored on the rows of the site: whether it holds "
        "where it was not learned. Test rows take no part.",
        place=right,
        label="Predict each period" if is_time else "Leave each site out",
        key="leave_sites_out",
        icon=":material/location_off:",
    )


def _rank(rows: EvaluatedRows, name: str) -> tuple[bool, bool]:
    """A column that is named like a site, then one that is no input, comes first."""
    is_likely = any(part in name.lower() for part in _LIKELY)
    return not is_likely, rows.data.dataset.roles[name] == "feature"


def _job(rows: EvaluatedRows, column: str) -> Task:
    """Fit in a thread: all it needs is looked up now."""
    dataset, division = rows.data.dataset, rows.data.split
    unfitted = rows.method.estimator_for(dataset, rows.values)
    if rows.is_binary:
        dataset = replace(dataset, outcome=rows.names[rows.outcome])

    def work(stop: np.ndarray, progress: np.ndarray) -> SiteScores:
        with study_pool.executor_for(dataset) as executor:
            where = {"executor": executor, "stop": stop, "progress": progress}
            return internal_external(unfitted, dataset, division, column, **where)

    return Task(work, study=dataset)


def _show(result: SiteScores) -> None:
    """A dot with its interval for each site, and the numbers."""
    name = "AUC" if "AUC" in result.measures else result.measures[0]
    mean = result.summary().set_index("measure").loc[name, "mean"]
    kind = "site, by a model of all others"
    if result.in_time:
        kind = "period, by a model of all earlier rows"
    lines = result.lines[result.lines[name].notna()]
    drawn = {name: "value", f"{name} low": "low", f"{name} high": "high"}
    lines = lines.rename(columns=drawn).assign(kind=kind)
    sentence, *numbers, words = sites_section(result).blocks
    message(st.markdown, sentence)
    figure = figures.forest(lines, name, mean, "mean")
    alt = f"{name} of {len(lines)} parts; the table below has the same numbers"
    st.plotly_chart(figure, key="site_values", alt=alt)
    show_section(Section("", numbers))
    message(st.caption, f"Dotted: the mean over them. {words}")
