"""The file of new rows: what it should hold, and its picker."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd
import streamlit as st

from pages.ui.elements import table as show_table
from pages.ui.file_reading import read_file
from pages.ui.files import ENDINGS, OpenFile, like, open_file
from pages.ui.text import escape_markdown, message, short_label
from pages.work import cache
from smpcore.datasets import (
    Input,
    list_names,
    plain_number,
    read_frame,
    read_similarities,
    used_matrices,
)
from smpcore.evaluation import suggest_carried

_HOLDS = {"number": "numbers", "category": "a category", "text": "texts"}


def _seen(column: Input) -> str:
    """What the training rows have in a column."""
    if column.kind == "number":
        ends = plain_number(column.low, 6), plain_number(column.high, 6)
        return f"{' to '.join(ends)} {column.unit}"
    if column.kind == "text":
        return f"letters {', '.join(column.levels)}; at most {column.width} of them"
    return ", ".join(column.levels[:6])


def expected(data: cache.Parts, used: Collection[str]) -> None:
    """The columns that the file should have: those that the model uses."""
    if data.dataset.matrices:
        _expected_matrices(data)
        return
    names = data.preparation.source_columns(used)
    inputs = [column for column in data.preparation.inputs if column.name in names]
    lines = [
        {
            "column": column.name,
            "holds": _HOLDS[column.kind],
            "in training": _seen(column),
        }
        for column in inputs[:200]
    ]
    rest = len(data.preparation.inputs) - len(inputs)
    others = (
        f" The model does not use the other {rest:,} columns; where the file has them, "
        "they are compared with the training range."
        if rest
        else ""
    )
    carried = suggest_carried(data.dataset, data.dataset.frame.columns)
    if carried:
        names = escape_markdown(list_names(carried, 8))
        others += f" Carried into the predictions, if the file has them: {names}."
    these = f"these {len(inputs):,} columns, in any order"
    st.caption(
        f"It should have {these if len(inputs) > 1 else 'this column'}; "
        f"with {escape_markdown(short_label(data.dataset.target))} as well, the "
        f"predictions are scored.{others}"
    )
    if lines:
        show_table(lines)


def _expected_matrices(data: cache.Parts) -> None:
    """What a file of similarities should hold."""
    names = [matrix.name for matrix in used_matrices(data.dataset)]
    message(
        st.caption,
        f"An .npz file with an array for each matrix ({list_names(names, 8)}): a row "
        f"for each new sample, and {data.dataset.n_samples:,} columns, how similar it "
        "is to the samples of the data in their order. With labels as y, predictions "
        "are scored. What was normalised on Data must be normalised here as well.",
    )


def upload(data: cache.Parts) -> OpenFile | None:
    """The file picker, and the file that is open."""
    is_similarities, dataset = bool(data.dataset.matrices), data.dataset

    def read(file: Any) -> pd.DataFrame | None:
        key = file.file_id, dataset.digest
        if is_similarities:
            return read_file("new_rows", key, read_similarities, file, dataset)
        options = like(dataset)
        frame = read_file("new_rows", key, read_frame, file, file.name, **options)
        return None if frame is None else frame[0]

    return open_file(
        "new_rows",
        data.dataset.digest,
        read,
        "New rows: their similarities to the samples of the data"
        if is_similarities
        else "New rows: a table with the same columns, with or without the target",
        ["npz"] if is_similarities else ENDINGS,
        "They stay in memory until you close them, half an hour after your last visit "
        "at most, are visible in your browser only, and join neither the data set nor "
        "any export.",
    )
