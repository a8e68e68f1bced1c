"""Files of SPSS, Stata and SAS: labels of values become levels."""

from collections.abc import Callable
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from smpcore.datasets.columns import canonical, framed, narrowed
from smpcore.datasets.display_names import listed, plural, shown
from smpcore.datasets.limits import (
    MAX_ROWS,
    MAX_TABLE_BYTES,
    check_expanded,
    check_size,
)
from smpcore.datasets.plain_rows import check_columns
from smpcore.datasets.reading import (
    FileTable,
    Reading,
    ReadingOptions,
    damage_in_words,
)

_SAS = b"\0" * 12 + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
#: Versions of Stata before 13, by the first byte.
_OLD_STATA = bytes((105, 108, *range(110, 116)))


def _is_old_stata(data: bytes) -> bool:
    return (
        data[:1].isalpha()
        and data[0] in _OLD_STATA
        and data[1:4] in (b"\1\1\0", b"\2\1\0")
    )


class _Kind(NamedTuple):
    program: str
    reader: str  # a function of pyreadstat
    begins_so: Callable[[bytes], bool]


_KINDS_OF_FILES = (
    _Kind("SPSS", "read_sav", lambda data: data[:4] in (b"$FL2", b"$FL3")),
    _Kind("SPSS", "read_por", lambda data: b"SPSSPORT" in _unbroken(data)),
    _Kind("Stata", "read_dta", lambda data: data.startswith(b"<stata_dta>")),
    _Kind("Stata", "read_dta", _is_old_stata),
    _Kind("SAS", "read_sas7bdat", lambda data: data.startswith(_SAS)),
    _Kind("SAS", "read_xport", lambda data: data.startswith(b"HEADER RECORD*******L")),
)


def _unbroken(data: bytes) -> bytes:
    """The first lines without their ends, which come after each 80 signs."""
    return data[:600].replace(b"\r", b"").replace(b"\n", b"")


def is_of(program: str) -> Callable[[bytes], bool]:
    """What tells whether a file is of SPSS, Stata or SAS."""
    rows = [row for row in _KINDS_OF_FILES if row.program == program]
    return lambda data: any(row.begins_so(data) for row in rows)


def read_statistics_file(data: bytes, options: ReadingOptions) -> FileTable:
    """Read a file of SPSS, Stata or SAS, which says what its columns are."""
    kind = next(row for row in _KINDS_OF_FILES if row.begins_so(data))
    remedy = f"save it again, or as CSV in {kind.program}"
    with damage_in_words(f"The {kind.program} file", remedy):
        frame, about = _frame(kind.reader, data)
    check_columns([*frame], f"{kind.program} file")
    check_size(*frame.shape)
    columns, notices, kinds = [], [], {}
    for place, (name, column) in enumerate(frame.items()):
        labels = about.variable_value_labels.get(name, {})
        column, words = _labelled(column, labels)
        columns.append(column.array)
        notices += [f"Column {shown(name)}: {words}."] * bool(words)
        if labels and not words:
            kinds[place] = "category"
    if kinds:
        named = listed(frame.columns[place] for place in kinds)
        notices.insert(0, f"Labels of values are read as levels: {named}.")
    table = framed(columns, [*frame])
    return FileTable(table, Reading(kind.program), notices, kinds=kinds)


def _frame(reader: str, data: bytes) -> tuple[pd.DataFrame, Any]:
    """The columns as pyreadstat has them, if they are not too large."""
    import pyreadstat

    def read(**options: Any) -> tuple[pd.DataFrame, Any]:
        function = getattr(pyreadstat, reader)
        try:
            return function(BytesIO(data), **options)
        except pyreadstat.ReadstatError as error:
            if "encoding" not in str(error).lower():
                raise
            return function(BytesIO(data), encoding="cp1252", **options)

    _, about = read(metadataonly=True)
    n_rows = max(0, about.number_rows or 0)
    check_size(n_rows, about.number_columns)
    widths = getattr(about, "variable_storage_width", {}).values()
    size = n_rows * sum(widths)
    check_expanded("The file", size, MAX_TABLE_BYTES, "take fewer rows or columns")
    return read(row_limit=MAX_ROWS + 1)


def _labelled(column: pd.Series, labels: dict[Any, str]) -> tuple[pd.Series, str]:
    """A column as tables hold it, and why its labels are not used, if they are not."""
    if column.dtype.kind not in "iuf":
        column = column.map(str, na_action="ignore").astype("str")
        column = column.where(column != "")
    words = ""
    if labels:
        values = column.dropna().unique().tolist()
        present = [labels[value] for value in values if value in labels]
        if len(present) < len(values):
            words = (
                f"{len(present)} of its {plural(len(values), 'value')} have labels "
                f"({listed(labels.values(), 3)}), so its numbers are read"
            )
        elif len({*present}) < len(present):
            words = "some values have the same label, so its numbers are read"
        else:
            return column.map(labels).astype("str"), ""
    if column.dtype.kind == "f":
        values = column.to_numpy(np.float64)
        return pd.Series(narrowed(values)), words
    return canonical(column), words
