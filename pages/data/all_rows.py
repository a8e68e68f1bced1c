"""What all rows of a large file hold, of which the pages show a sample."""

from __future__ import annotations

import streamlit as st

from pages.ui import progress
from pages.ui.elements import table
from pages.work.server_files import FileStatisticsJob


def show(job: FileStatisticsJob) -> None:
    """Statistics of all rows, or how far they are.

    Raises
    ------
    SmpcoreError
        If the file cannot be read.
    """
    job.join()
    if not job.was_left and progress.is_waiting(job, 0.0, "Counting over all rows"):
        return
    if job.was_left or (statistics := job.result()) is None:
        st.caption("Stopped.")
        st.button("Count over all rows", on_click=job.start, key="count_all_rows")
        return
    st.caption(
        f"Of all {statistics.n_rows:,} rows of the file; all else on these pages is "
        "computed from the sample."
    )
    table(statistics.columns, key="all_rows")
    if statistics.class_counts:
        rows = [
            {"class": label, "rows": n, "share %": 100 * n / statistics.n_rows}
            for label, n in statistics.class_counts.items()
        ]
        table(rows, key="all_rows_classes")
