"""Workbooks of Excel and OpenDocument: one sheet is read, as a text table is."""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from itertools import islice
from typing import Any
from xml.parsers import expat

from smpcore.datasets.display_names import plural
from smpcore.datasets.limits import MAX_EXPANDED, check_size
from smpcore.datasets.orange import read_text
from smpcore.datasets.plain_rows import WRITTEN_SO, csv_of, of_sheet
from smpcore.datasets.reading import FileTable, ReadingOptions
from smpcore.errors import DatasetError

_ZIP = b"PK\x03\x04"
#: What files of Microsoft's older programs begin with.
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LOCKED = "The workbook is locked by a password; save it without one, or as CSV."

#: Columns and rows of cells, and what an error such as #DIV/0! is marked with.
_COLUMN = re.compile(rb"\sr=[\"']([A-Z]{1,3})\d")
_ROW = re.compile(rb"<row\s[^>]*?\br=[\"'](\d{1,9})[\"']")
_ERROR = re.compile(rb"\st=[\"']e[\"']")
#: Rows and cells of OpenDocument, each of which may stand for many.
_OPEN = re.compile(
    rb"<table:(table|table-row|(?:covered-)?table-cell)(?=[\s/>])([^>]*)>"
)
_REPEATED = re.compile(rb"-repeated=[\"'](\d{1,9})[\"']")


def is_excel(data: bytes) -> bool:
    """Whether this is a workbook of Excel, of any year."""
    if data.startswith(OLE):
        words = ("Workbook", "Book")
        return any(word.encode("utf-16-le") + b"\0\0" in data for word in words)
    # An archive of workbooks holds these words, too, but no file of that name.
    return data.startswith(_ZIP) and b"xl/workbook" in data and _has_workbook(data)


def _has_workbook(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return any(name.startswith("xl/workbook") for name in archive.namelist())
    except Exception:  # what the library meets in a damaged file
        return True


def is_open_document(data: bytes) -> bool:
    """Whether this is a sheet of OpenDocument."""
    return data.startswith(_ZIP) and b"opendocument.spreadsheet" in data[:200]


def read_workbook(data: bytes, options: ReadingOptions) -> FileTable:
    """Read one sheet; titles, names and notes are found as in a text."""
    from python_calamine import CalamineWorkbook, PasswordError

    try:
        notices = _check_cells(data) if data.startswith(_ZIP) else []
        book = CalamineWorkbook.from_filelike(BytesIO(data))
        titles = [sheet.name for sheet in book.sheets_metadata if _is_sheet(sheet)]
        title = options.sheet
        if title not in titles:
            filled = (name for name in titles if _has_rows(book, name))
            title = next(filled, titles[0])
        rows = csv_of(_cells(book, title))
    except (DatasetError, MemoryError):
        raise
    except PasswordError as error:
        raise DatasetError(_LOCKED) from error
    except BaseException as error:  # a panic of Rust is no Exception
        if not isinstance(error, Exception) and "Panic" not in type(error).__name__:
            raise
        raise DatasetError(
            "The workbook is damaged, or locked; save its sheet as CSV."
        ) from error
    table = read_text(rows, replace(options, **WRITTEN_SO))
    reading = replace(
        table.reading, format="Excel", sheet=title, **dict.fromkeys(WRITTEN_SO, "")
    )
    table = table._replace(reading=reading, notices=[*table.notices, *notices])
    return of_sheet(table, title, [name for name in titles if name != title])


def _is_sheet(sheet: Any) -> bool:
    """Whether it holds cells; charts and macros have sheets of their own."""
    return str(sheet.typ).endswith("WorkSheet")


def _cells(book: Any, title: str) -> Iterator[list[Any]]:
    """The rows of a sheet, from its first one on; an empty cell is None."""
    for row in book.get_sheet_by_name(title).iter_rows():
        yield [None if value == "" else value for value in row]


def _has_rows(book: Any, title: str) -> bool:
    """Whether it is seen and has names and two rows at least: no title page."""
    sheet = next(sheet for sheet in book.sheets_metadata if sheet.name == title)
    if not str(sheet.visible).endswith(".Visible"):
        return False
    rows = islice(_cells(book, title), 100)
    return sum(len(row) - row.count(None) > 1 for row in rows) > 2


def _check_cells(data: bytes) -> list[str]:
    """Refuse what would be too large before it is read; say that there are errors."""
    n_errors = 0
    with zipfile.ZipFile(BytesIO(data)) as archive:
        if sum(part.file_size for part in archive.infolist()) > MAX_EXPANDED:
            raise DatasetError("The workbook is too large; save the sheet as CSV.")
        for part in archive.infolist():
            if part.filename == "content.xml":
                _check_repeated(archive.read(part))
            elif re.fullmatch(r"xl/worksheets/[^/]+\.xml", part.filename):
                xml = archive.read(part)
                columns = {match[1] for match in _COLUMN.finditer(xml)}
                rows = {int(match[1]) for match in _ROW.finditer(xml)}
                check_size(max(rows, default=0), max(map(_place, columns), default=0))
                n_errors += sum(1 for _ in _ERROR.finditer(xml))
    words = f"{plural(n_errors, 'cell')} of the workbook with an error, such as "
    words += f"#DIV/0!, {'count' if n_errors > 1 else 'counts'} as missing."
    return [words] * bool(n_errors)


def _place(letters: bytes) -> int:
    """The number of a column: A is 1, AA is 27."""
    place = 0
    for letter in letters:
        place = 26 * place + letter - 64
    return place


def _check_repeated(xml: bytes) -> None:
    """Refuse a sheet of OpenDocument in which few cells stand for too many."""
    expat.ParserCreate().Parse(xml, True)  # in broken XML calamine looks on forever
    n_rows = width = place = 0
    for match in _OPEN.finditer(xml):
        number = _REPEATED.search(match[2])
        times = int(number[1]) if number else 1
        if match[1] == b"table":
            n_rows = width = 0
        elif match[1] == b"table-row":
            n_rows, place = n_rows + times, 0
        else:
            place += times
            if b"value-type" in match[2]:  # empty cells at an end are not kept
                width = max(width, place)
                check_size(n_rows, width)
