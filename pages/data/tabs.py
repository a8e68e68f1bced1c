"""The table of the Data page from several sides, each on a tab."""

import streamlit as st

from pages.data import (
    all_rows,
    charts,
    cleaning,
    matrices,
    roles,
    series_features,
    time_to_event,
    uploads,
)
from pages.state import session
from pages.ui.elements import problems_shown
from pages.ui.elements import table as show_table
from pages.ui.text import message, short_label
from pages.work import server_files
from smpcore import Dataset
from smpcore.datasets import Split

_CHARTS = {
    "Classes": charts.balance,
    "Missing values": charts.missing,
    "Two columns": charts.scatter,
    "Series": charts.series,
    "Map": matrices.map_of,
}


def show(dataset: Dataset, division: Split, table: Dataset) -> None:
    """Columns or matrices, the first rows, and charts."""
    names = ["Columns", "Table", "Classes", "Missing values", "Two columns"]
    names += ["Series"] if dataset.channels else []
    if dataset.matrices:
        names = ["Matrices", "Table", "Classes", "Map"]
    job = server_files.statistics(session.current().data, table)
    names += ["All rows"] if job else []
    tabs = dict(zip(names, st.tabs(names), strict=True))
    with tabs[names[0]]:
        _columns(table, division)
    some = time_to_event.answered_frame(dataset).iloc[:200, :200]
    with tabs["Table"]:
        show_table(some, hide_index=False, key="table")
        st.caption("At most the first 200 rows and columns.")
    for name in names[2:]:
        if name in _CHARTS:
            with tabs[name]:
                _CHARTS[name](dataset, division)
    if job:
        with tabs["All rows"], problems_shown():
            all_rows.show(job)
            all_rows.show_fit(session.resolved(), job.path)


def _columns(dataset: Dataset, division: Split) -> None:
    if dataset.matrices:
        roles.task(dataset)
        matrices.used(dataset)
        return
    uploads.reading_settings(dataset)
    if dataset.private and session.current().follow_up is None:
        message(
            st.caption,
            f"Target: {short_label(dataset.target)}. If that is not right, "
            'give another column the role "target". A column that says which '
            'rows belong together (a patient, a machine) gets the role "group".',
        )
    roles.task(dataset)
    series_features.choose(dataset, division)
    time_to_event.section(dataset)
    roles.roles(dataset)
    cleaning.clean(dataset)
    if not dataset.private:
        st.caption("Roles can be changed in uploaded tables.")
        uploads.copy(dataset)
