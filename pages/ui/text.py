"""Text and numbers of users and of models as pages show them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from smpcore.datasets import shorten_name

#: Significant digits of numbers in tables: as a rule, and of large ones at most.
_DIGITS, _MOST_DIGITS = 4, 15


def escape_markdown(text: str) -> str:
    """A sentence that quotes a file, with every sign that Markdown reads escaped."""
    return re.sub(r"([\\`*_{}\[\]()<>#+!|~$:.-])", r"\\\1", text)


def short_label(text: object) -> str:
    """A name that fits into a control."""
    return shorten_name(text, 50)


def number_columns(table: Any) -> dict[str, Any]:
    """How the numbers of a table are shown, column by column: values stay exact.

    Four significant digits, however small a number is, and more where one has more
    before its point: Streamlit itself shows four places after it.

    Parameters
    ----------
    table : DataFrame, or what makes one
        With names for columns.

    Returns
    -------
    dict of str to column configuration
    """
    frame = pd.DataFrame(table)
    found = {}
    for name, column in frame.items():
        if isinstance(name, str) and column.dtype.kind == "f":
            style = f"%.{_digits(column.to_numpy(float, na_value=np.nan))}g"
            found[name] = st.column_config.NumberColumn(format=style)
    return found


def _digits(values: np.ndarray) -> int:
    largest = np.abs(values[np.isfinite(values)]).max(initial=1.0)
    before_the_point = int(np.log10(max(largest, 1.0))) + 1
    return min(max(_DIGITS, before_the_point), _MOST_DIGITS)
