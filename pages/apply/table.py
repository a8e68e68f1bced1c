"""The predictions as a table: what it carries of the file, and its downloads."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from pages.ui.elements import table as show_table
from pages.ui.file_download import download
from pages.ui.files import OpenFile
from pages.ui.text import message, short_label
from pages.work import cache
from smpcore.datasets import TABLE_WRITERS, list_names
from smpcore.evaluation import carry_columns, suggest_carried

#: Rows of the table on the screen; the files have all of them.
MOST_SHOWN = 1000
#: Columns of a file that can be chosen from.
MOST_OFFERED = 1000


def carried(file: OpenFile, data: cache.Parts) -> list[str]:
    """Let the visitor choose which columns the predictions carry of the file."""
    names = list(file.content.columns[:MOST_OFFERED])
    chosen = st.multiselect(
        "Columns of the file to carry into the predictions",
        names,
        suggest_carried(data.dataset, names),
        short_label,
        key=f"carried_{file.id}",
        help="At first those that tell rows apart: groups, times, and ignored columns "
        "in which no value repeats.",
    )
    words = f"Carried: {list_names(chosen, 8)}" if chosen else "No column is carried"
    message(st.caption, f"{words}. The table and all downloads have the same columns.")
    return chosen


def shown(file: OpenFile, names: list[str], answers: pd.DataFrame) -> None:
    """The first rows on the screen, and all of them as files."""
    table = carry_columns(file.content, names, answers)
    show_table(table.iloc[:MOST_SHOWN], hide_index=False, key="answers")
    if len(table) > MOST_SHOWN:
        st.caption(f"The first {MOST_SHOWN:,} of {len(table):,} rows.")
    with st.container(horizontal=True):
        for title, (ending, write) in TABLE_WRITERS.items():
            download(
                f"All predictions as {title}",
                partial(_written, table, write),
                f"predictions{ending}",
                key=f"answers_download_{title}",
            )


def _written(table: pd.DataFrame, write) -> bytes:
    return write(table.reset_index())
