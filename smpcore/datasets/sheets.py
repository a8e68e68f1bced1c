"""Tables of other programs: the first sheet of an Excel workbook, and LibSVM rows."""

import io
import re
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from smpcore.datasets.delimited import read_delimited
from smpcore.datasets.limits import MAX_EXPANDED, check_size
from smpcore.datasets.reading import FileTable, Reading, ReadingOptions
from smpcore.errors import DatasetError

_ROW = rb"[ \t]*[-+]?\d[\d.eE+-]*([ \t]+\d+:[-+\d.eE]+)+[ \t]*(#[^\r\n]*)?"
_FIRST_ROWS = re.compile(rb"(" + _ROW + rb"(\r?\n|$)){1,3}")


def is_workbook(data: bytes) -> bool:
    """Whether this is a workbook of Excel since 2007."""
    return data.startswith(b"PK\x03\x04") and b"xl/workbook" in data


def read_workbook(data: bytes, options: ReadingOptions) -> FileTable:
    """Read the first sheet; titles, names and notes are found as in a text."""
    from openpyxl import load_workbook

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > MAX_EXPANDED:
            raise DatasetError("The workbook is too large; save the sheet as CSV.")
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheet, rows = book.worksheets[0], []
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            check_size(number, len(row))
            rows.append(",".join(map(_quoted, row)))
    except DatasetError:
        raise
    except Exception as error:  # openpyxl raises whatever it meets
        raise DatasetError(
            "The workbook is damaged, or locked; save its sheet as CSV."
        ) from error
    known = {"delimiter": ",", "quote": '"', "escape": "", "decimal": "."}
    known["encoding"] = "utf-8"
    table = read_delimited("\n".join(rows).encode(), replace(options, **known))
    notices = [*table.notices]
    if len(book.worksheets) > 1:
        title, rest = sheet.title, len(book.worksheets) - 1
        notices.append(f"Read is the first sheet, {title!r}, not the {rest} others.")
    reading = replace(table.reading, format="Excel", **dict.fromkeys(known, ""))
    return table._replace(reading=reading, notices=notices)


def _quoted(value: Any) -> str:
    """A cell as a text table has it."""
    if value is None:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    text = str(value)
    if hasattr(value, "isoformat"):
        text = text.removesuffix(" 00:00:00")
    return '"' + text.replace('"', '""') + '"'


def is_libsvm(data: bytes) -> bool:
    """Whether the first rows are a label and pairs of a position and a number."""
    return _FIRST_ROWS.match(data[:65_536]) is not None


def read_libsvm(data: bytes, options: ReadingOptions) -> FileTable:
    """Read rows of LibSVM: what a row does not name is 0; the label comes last."""
    from sklearn.datasets import load_svmlight_file

    check_size(data.count(b"\n"), 1)
    try:
        X, y = load_svmlight_file(io.BytesIO(data))
    except ValueError as error:
        raise DatasetError(
            f"The file looks like LibSVM rows, but cannot be read ({error}); save the "
            "table as CSV."
        ) from error
    check_size(X.shape[0], X.shape[1] + 1)
    frame = pd.DataFrame(X.toarray(), columns=[f"x{i + 1}" for i in range(X.shape[1])])
    frame["target"] = y.astype(np.int64) if np.all(y == np.floor(y)) else y
    words = "Read as LibSVM rows: what a row does not name is 0."
    return FileTable(frame, Reading("LibSVM"), [words])
