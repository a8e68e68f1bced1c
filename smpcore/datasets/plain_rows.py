"""Rows of cells that a file holds otherwise than as text, read as a text table is."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from smpcore.datasets.delimited import read_delimited
from smpcore.datasets.display_names import listed, shown
from smpcore.datasets.limits import MAX_EXPANDED, check_expanded, check_size
from smpcore.datasets.reading import FileTable, Reading, ReadingOptions
from smpcore.errors import DatasetError

#: How `csv_of` writes a table.
WRITTEN_SO = {
    "delimiter": ",",
    "quote": '"',
    "escape": "",
    "decimal": ".",
    "encoding": "utf-8",
}
_NAMES_ABOVE = {"header": 1, "skip": 0, "footer": 0}


def csv_of(rows: Iterable[Sequence[Any]]) -> bytes:
    """A text table of cells; refused where it becomes too large."""
    lines, size = [], 0
    for number, row in enumerate(rows, start=1):
        check_size(number, len(row))
        line = ",".join(map(_quoted, row)).encode(errors="replace")
        size += len(line)
        remedy = "take fewer rows or columns, or shorter texts"
        check_expanded("The table", size, MAX_EXPANDED, remedy)
        lines.append(line)
    return b"\n".join(lines)


def _quoted(value: Any) -> str:
    """A cell as a text table has it."""
    if value is None:
        return ""
    if isinstance(value, float):
        if value != value:
            return ""
        return str(int(value)) if value.is_integer() else repr(value)
    text = str(value).replace("\0", "")
    if hasattr(value, "isoformat"):
        text = text.removesuffix(" 00:00:00")
    return '"' + text.replace('"', '""') + '"'


def read_rows(
    kind: str, names: Sequence[str], rows: Iterable[Sequence[Any]], **options: Any
) -> FileTable:
    """Read rows of a file of some kind, whose columns have names."""
    data = csv_of([[*names], *rows])
    known = ReadingOptions(**options, **WRITTEN_SO, **_NAMES_ABOVE)
    table = read_delimited(data, known)
    frame = table.frame.set_axis([*names], axis=1)
    notices = [words for words in table.notices if not words.startswith("The first r")]
    return FileTable(frame, Reading(kind), notices)


def of_sheet(table: FileTable, title: str, others: Sequence[str]) -> FileTable:
    """A table that is one of several in its file, which a notice says."""
    if not others:
        return table
    noun = "Sheet" if table.reading.format == "Excel" else "Table"
    words = f"{noun} {shown(title)} is read, not {listed(others)}."
    reading = replace(table.reading, sheet=title, other_sheets=tuple(others))
    return table._replace(reading=reading, notices=[*table.notices, words])


def without_values(left_out: Sequence[str]) -> list[str]:
    """A notice of columns that no table can hold."""
    words = f"Left out, because neither numbers nor text: {listed(left_out)}."
    return [words] * bool(left_out)


def check_columns(names: Sequence[str], what: str) -> None:
    """Refuse a file without any column to read."""
    if not names:
        raise DatasetError(
            f"The {what} holds no table of numbers or text; save the table as CSV."
        )
