"""A table as a file: CSV, Parquet or a sheet of Excel, in which no text is run."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from smpcore.errors import DatasetError

#: A spreadsheet would run text that begins like this as a formula; some take signs of
#: full width for the same.
_FORMULA = (*"=+-@＝＋－＠", "\t", "\r", "\n")
#: Where a spreadsheet of another country has a new cell begin like this, or one that
#: minds no quotation marks a new row.
_FORMULA_WITHIN = re.compile(r"(?<=[;\t\r\n])(?=[=+\-@＝＋－＠])")
#: Rows of a sheet below its heading, columns, and characters of a cell.
_MOST_ROWS, _MOST_COLUMNS, _MOST_TEXT = 1_048_575, 16_384, 32_767
#: What XML, and so a sheet, cannot hold.
_NO_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def as_csv(frame: pd.DataFrame) -> bytes:
    """CSV in which text that reads like a formula begins with an apostrophe.

    Also text behind a semicolon, a tab or the end of a line, at which many spreadsheets
    part cells, be it in quotation marks or not. Every table that leaves as CSV is
    written here.

    Parameters
    ----------
    frame : DataFrame
        With names for columns; its index is left out.

    Returns
    -------
    bytes
    """
    safe = frame.copy(deep=False)
    for place, kind in enumerate(frame.dtypes):
        if kind.kind not in "biufcmM":
            # As a list: a series of whole numbers and others would make all floats.
            cells = [*map(_quoted, frame.iloc[:, place].astype(object))]
            safe.isetitem(place, pd.Series(cells, frame.index, object))
    safe.columns = [_quoted(name) for name in safe.columns]
    # With this end of a line, a text with a line break of any sort is quoted.
    return safe.to_csv(index=False, lineterminator="\r\n").encode("utf-8")


def _quoted(value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    text = _FORMULA_WITHIN.sub("'", str(value))
    if text.startswith(_FORMULA):
        return f"'{text}"
    return value if text == str(value) else text


def _as_parquet(frame: pd.DataFrame) -> bytes:
    """Parquet, whose columns have types: text is text."""
    texts = [name for name in frame if frame[name].dtype == object]
    return frame.astype(dict.fromkeys(texts, "str")).to_parquet(index=False)


def _as_excel(frame: pd.DataFrame) -> bytes:
    """A sheet of Excel whose texts stay text, also where one is edited there."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    if len(frame) > _MOST_ROWS or frame.shape[1] > _MOST_COLUMNS:
        raise DatasetError(
            f"The table has {len(frame):,} rows and {frame.shape[1]:,} columns, a "
            f"sheet of Excel holds at most {_MOST_ROWS:,} and {_MOST_COLUMNS:,}; "
            "choose CSV or Parquet."
        )
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Table")

    def cell(value: Any) -> Any:
        if value is None or value != value:
            return None
        # Excel has 15 digits: a longer number, an ID, is text.
        if isinstance(value, int | np.integer) and abs(int(value)) < 10**15:
            return int(value)
        if isinstance(value, float | np.floating) and np.isfinite(value):
            return float(value)
        text = _NO_XML.sub("\ufffd", str(value))[:_MOST_TEXT]
        # What begins with # may be read as one of Excel's errors.
        if not text.startswith((*_FORMULA, "#")):
            return text or None
        made = WriteOnlyCell(sheet, text)
        made.data_type, made.quotePrefix = "s", True
        return made

    sheet.append([cell(name) for name in frame])
    for row in frame.itertuples(index=False, name=None):
        sheet.append([cell(value) for value in row])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


#: Title of a format -> ending of its files, and what writes it.
TABLE_WRITERS: Mapping[str, tuple[str, Callable[[pd.DataFrame], bytes]]] = (
    MappingProxyType(
        {
            "CSV": (".csv", as_csv),
            "Parquet": (".parquet", _as_parquet),
            "Excel": (".xlsx", _as_excel),
        }
    )
)
