"""Tables that a visitor brings: of each format, with a header of Orange, any frame."""

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pandas as pd

from smpcore.datasets.arff_reader import read_arff
from smpcore.datasets.cleaning import (
    CleaningStep,
    added_columns,
    apply_steps,
    steps_from_json,
)
from smpcore.datasets.columns import (
    Kind,
    Role,
    Task,
    canonical_columns,
    check_words,
    is_numeric,
)
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.delimited import read_delimited
from smpcore.datasets.display_names import clean_names, listed, shown
from smpcore.datasets.limits import MAX_BYTES, MAX_EXPANDED, check_size, read_bytes
from smpcore.datasets.reading import (
    FileTable,
    Reading,
    ReadingOptions,
    damage_in_words,
)
from smpcore.datasets.roles import Origin, apply_roles, guess_kinds, guess_roles
from smpcore.datasets.series import (
    from_long,
    from_rows,
    is_row_per_series,
    is_ts,
    long_roles,
    read_ts,
)
from smpcore.datasets.text import HEAD_BYTES, as_utf8, first_word, lines
from smpcore.errors import DatasetError

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("c", "n", "continuous", "numeric"), "number"),
    **dict.fromkeys(("d", "discrete", "categorical"), "category"),
    **dict.fromkeys(("s", "string", "text"), "category"),
}
_TYPES = {*_KINDS, "t", "time", "u"}
_ROLES: dict[str, Role] = {
    **dict.fromkeys(("class", "c"), "target"),
    **dict.fromkeys(("m", "meta", "i", "ignore", "w", "weight"), "ignore"),
}
# A name such as cD#diagnosis: the role, the type, and the name itself.
_PREFIXED = re.compile(r"(?=[^#])([mciw]?)([CDSTNU]?)#(.+)", re.DOTALL)


def read_text(data: bytes, options: ReadingOptions) -> FileTable:
    """Read a text table; a header of Orange gives its columns kinds and roles."""
    sign, n_rows = _header(_first_rows(data[:HEAD_BYTES], 3, "latin-1"))
    if not n_rows or options.header not in (None, n_rows):
        return read_delimited(data, options)
    options = replace(options, delimiter=sign, header=n_rows, skip=0)
    frame, reading, notices, *_ = read_delimited(data, options)
    text, _ = as_utf8(data, reading.encoding)
    header = [*csv.reader(_first_rows(text, n_rows), delimiter=sign)]
    if n_rows == 1:
        header = _parts(header[0])
    padded = [(*row, *[""] * frame.shape[1])[: frame.shape[1]] for row in header]
    names, types, flags = padded
    kinds, roles = {}, {}
    for place, (word, flag) in enumerate(zip(types, flags, strict=True)):
        word = word.strip().lower()
        if word not in ("", "t", "time", "u"):
            kinds[place] = _KINDS.get(word, "category")
        named = [_ROLES[part] for part in flag.lower().split() if part in _ROLES]
        named += ["ignore"] * (word in ("s", "string", "text"))
        for role in named[:1]:
            again = role == "target" and role in roles.values()
            roles[place] = "ignore" if again else role
    notices = [words for words in notices if not words.startswith("The names are")]
    notices.append("Types and roles of the columns are those of a header of Orange.")
    frame = frame.set_axis(list(names), axis=1)
    return FileTable(frame, reading, notices, roles=roles, kinds=kinds)


def _first_rows(text: bytes, n_rows: int, encoding: str = "utf-8") -> list[str]:
    rows = zip(lines(text), range(n_rows), strict=False)
    return [row.decode(encoding) for row, _ in rows]


def _header(rows: Sequence[str]) -> tuple[str, int]:
    """The sign between cells, and how many rows such a header has: 3, 1 or none."""
    sign = "\t" if rows and "\t" in rows[0] else ","
    names, types, flags = [
        [cell.strip() for cell in row.lower().split(sign)]
        for row in (*rows, "", "", "")[:3]
    ]
    words = " ".join(flags).split()
    known = all(word in _ROLES or "=" in word for word in words)
    # Rows of one letter each may be data: a role stands in few columns only.
    if known and ("" in flags or any(len(word) > 1 for word in words)):
        typed = [word in _TYPES or " " in word for word in types]
        if len(names) == len(types) > 1 and all(typed) and {*types} & _TYPES:
            return sign, 3
    prefixed = (
        [_PREFIXED.fullmatch(cell) for cell in rows[0].split(sign)] if rows else []
    )
    return sign, int(len(prefixed) > 1 and any(prefixed))


def _parts(cells: Sequence[str]) -> list[list[str]]:
    """Names, types and roles of one row of prefixed names."""
    matches = [_PREFIXED.fullmatch(cell) for cell in cells]
    parts = [
        (cell, "", "") if match is None else (match[3], match[2], match[1])
        for cell, match in zip(cells, matches, strict=True)
    ]
    return [*map(list, zip(*parts, strict=True))]


_ROW = rb"[ \t]*[-+]?\d[\d.eE+-]*([ \t]+\d+:[-+\d.eE]+)+[ \t]*(#[^\r\n]*)?"
_FIRST_ROWS = re.compile(rb"(" + _ROW + rb"(\r?\n|$)){1,3}")


def is_workbook(data: bytes) -> bool:
    """Whether this is a workbook of Excel since 2007."""
    return data.startswith(b"PK\x03\x04") and b"xl/workbook" in data


def read_workbook(data: bytes, options: ReadingOptions) -> FileTable:
    """Read one sheet; titles, names and notes are found as in a text."""
    from openpyxl import load_workbook

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > MAX_EXPANDED:
            raise DatasetError("The workbook is too large; save the sheet as CSV.")
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        filled = (name for name, sheet in sheets.items() if _has_rows(sheet))
        title = options.sheet
        if title not in sheets:
            title = next(filled, next(iter(sheets)))
        sheet, rows = sheets.pop(title), []
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
    if sheets:
        notices.append(f"Sheet {shown(title)} is read, not {listed(sheets)}.")
    about = {"format": "Excel", "sheet": title, "other_sheets": tuple(sheets)}
    reading = replace(table.reading, **about, **dict.fromkeys(known, ""))
    return table._replace(reading=reading, notices=notices)


def _has_rows(sheet: Any) -> bool:
    """Whether it is seen and has names and two rows at least: no title page."""
    rows = sheet.iter_rows(max_row=100, values_only=True)
    n_filled = sum(len(row) - row.count(None) > 1 for row in rows)
    return sheet.sheet_state == "visible" and n_filled > 2


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


_FOREIGN = {
    b"PK\x03\x04": "a ZIP archive",
    b"PK\x05\x06": "a ZIP archive",
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"SQLite format 3": "a database",
}


def read_table(
    source: bytes | BinaryIO | Path,
    filename: str,
    *,
    kinds: Mapping[str, Kind] | None = None,
    roles: Mapping[str, Role] | None = None,
    task: Task | None = None,
    cleaning: Iterable[CleaningStep | Mapping[str, Any]] = (),
    **options: Any,
) -> Dataset:
    """Read a file of any of `TABLE_FORMATS`; what is not given is detected and said.

    Parameters
    ----------
    source : bytes, binary file or Path
        The content, whose size is checked before it is read; or a folder whose Parquet
        files are the parts of one table.
    filename : str
        Name the file had; its ending helps to tell the format. Never opened.
    kinds, roles : mapping of str to str, optional
        Kind and role of some or all columns.
    task : {"classification", "regression"}, optional
        What the target is.
    cleaning : iterable of CleaningStep, or of what `steps_to_json` writes
        What is done to the cells.
    **options
        Fields of `ReadingOptions`: delimiter, decimal, encoding, header, points,
        series, n_times, sample. ``dataset.reading`` holds those used.

    Returns
    -------
    Dataset
        Of series, ``sample_shape`` is (channels, times), and notices say whether they
        were resampled to one length. Private. It may still be unfit for fitting (one
        class, one row): see `check_fit`, so that the table can be shown and another
        target chosen.

    Raises
    ------
    DatasetError
        If the content is too large, damaged, of no known format, or has one column
        only.
    """
    reading_options = ReadingOptions(**options)
    table = _read(source, filename, reading_options)
    frame, reading = table.frame, table.reading
    if table.shape:  # a value is a feature even if it looks like nothing to use
        *values, last = range(frame.shape[1])
        places = dict.fromkeys(values, "feature") | {last: "target"}
        table = table._replace(roles=places | table.roles)
    roles = _of_file(table, table.roles, roles)
    kinds = _of_file(table, table.kinds, kinds)
    if frame.shape[1] < 2:
        remedy = "add a target or features"
        if reading.format == "CSV":
            remedy = f"choose another delimiter than {reading.delimiter!r}"
        raise DatasetError(
            f"The table has one column only ({shown(frame.columns[0])}), a target and "
            f"features are needed; {remedy}."
        )
    if reading.format not in ("CSV", "Excel"):  # the file itself says what is a number
        texts = [name for name in frame if not is_numeric(frame[name])]
        kinds = {**dict.fromkeys(texts, "category"), **kinds}
    return make_dataset(
        frame,
        PurePath(filename).stem[:80] or "table",
        kinds=kinds,
        roles=roles,
        task=task,
        notices=table.notices,
        cleaning=cleaning,
        source=f"file {shown(PurePath(filename).name)}",
        private=True,
        reading=reading,
        sample_shape=table.shape,
        numbers=table.numbers,
    )


def _of_file(
    table: FileTable, named: Mapping[int, str], chosen: Mapping[str, str] | None
) -> dict[str, str]:
    """Roles or kinds that a file names, below those that are asked for."""
    chosen = dict(chosen or {})
    target = "target" in chosen.values()  # there is one only
    names = list(table.frame)
    of_file = {names[i]: word for i, word in named.items()}
    return {n: w for n, w in of_file.items() if not (target and w == "target")} | chosen


def read_frame(
    source: bytes | BinaryIO, filename: str, **options: Any
) -> tuple[pd.DataFrame, Reading, tuple[str, ...]]:
    """Read the bare table of a file, without roles: for new rows and test files.

    Parameters
    ----------
    source, filename, **options
        As in `read_table`; series are best given the length of those they are to join.

    Returns
    -------
    DataFrame of shape (n_rows, n_columns)
        Columns of numbers or text with clean names.
    Reading
        How the file was read.
    tuple of str
        What was changed.
    """
    frame, reading, notices, *_ = _read(source, filename, ReadingOptions(**options))
    return frame, reading, notices


def _read_parquet(data: bytes | Path, options: ReadingOptions) -> FileTable:
    from smpcore.datasets.parquet import read_parquet

    frame, notices = read_parquet(data)
    return FileTable(frame, Reading("Parquet"), notices)


class TableFormat(NamedTuple):
    """A file format of tables; a new one is a row of `TABLE_FORMATS` and its reader.

    Parameters
    ----------
    endings : tuple of str
        Of file names, with the dot.
    begins_so : callable
        Content -> whether it is of this format, whatever the file's name.
    read : callable
        Content and `ReadingOptions` -> `FileTable`.
    holds_series : bool
        Whether every sample is a series.
    """

    endings: tuple[str, ...]
    begins_so: Callable[[bytes], bool]
    read: Callable[[bytes, ReadingOptions], FileTable]
    holds_series: bool = False


#: Name of a format -> how it is recognised and read; the first that fits is taken.
TABLE_FORMATS = {
    "Parquet": TableFormat(
        (".parquet", ".pq"), lambda data: data.startswith(b"PAR1"), _read_parquet
    ),
    "ARFF": TableFormat(
        (".arff",), lambda data: first_word(data, b"%") == b"@relation", read_arff
    ),
    "ts": TableFormat(
        (".ts",),
        is_ts,
        lambda data, options: read_ts(BytesIO(data), options),
        holds_series=True,
    ),
    "Excel": TableFormat((".xlsx",), is_workbook, read_workbook),
    "LibSVM": TableFormat((".libsvm", ".svm"), is_libsvm, read_libsvm),
    "CSV": TableFormat(
        (".csv", ".tsv", ".tab", ".txt", ".data"), lambda data: True, read_text
    ),
}


def _foreign(data: bytes) -> str:
    """What a file is that is no table, and what to do; empty: it may be one."""
    if b"opendocument.spreadsheet" in data[:100]:
        return "an OpenDocument sheet, which is not read; save it as .xlsx or CSV"
    if data[:200].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return (
            "a web page, perhaps an error message, not a table; open its address in "
            "a browser and save the table itself"
        )
    for beginning, thing in _FOREIGN.items():
        if data.startswith(beginning):
            return (
                f"{thing}, not a table; unpack it, or save the table as CSV, ARFF or "
                "Parquet"
            )
    return ""


def _sampled(source: bytes | BinaryIO | Path) -> FileTable | None:
    """Some rows of a Parquet file or folder that is too large; None of any other."""
    source = BytesIO(source) if isinstance(source, bytes) else source
    if not isinstance(source, Path):
        if not source.seekable():  # rows are fetched from all over a file
            return None
        source.seek(0)
        is_parquet = TABLE_FORMATS["Parquet"].begins_so(source.read(4))
        source.seek(0)
        if not is_parquet:
            return None
    from smpcore.datasets.parquet import is_too_large, sample_parquet

    return sample_parquet(source) if is_too_large(source) else None


def _read(
    source: bytes | BinaryIO | Path, filename: str, options: ReadingOptions
) -> FileTable:
    if options.sample and (sample := _sampled(source)):
        return _named(sample, filename)
    if isinstance(source, Path):
        return _named(_read_parquet(source, options), filename)
    ending = PurePath(filename).suffix.lower()
    is_file = hasattr(source, "seekable") and source.seekable()
    damage = damage_in_words(f"The file {shown(filename)}", "fetch or save it again")
    if is_file and source.seek(0, 2) > MAX_BYTES and ending == ".ts":
        with damage:
            return _named(read_ts(source, options), filename)
    data = read_bytes(source)
    with damage:
        return _read_content(data, filename, options)


def _read_content(data: bytes, filename: str, options: ReadingOptions) -> FileTable:
    ending, thing = PurePath(filename).suffix.lower(), _foreign(data)
    if thing and not is_workbook(data):
        raise DatasetError(f"The file {shown(filename)} is {thing}.")
    file_format = next(
        row
        for row in TABLE_FORMATS.values()
        if ending in row.endings or row.begins_so(data)
    )
    table = _named(file_format.read(data, options), filename)
    series, n_times = options.series, options.n_times
    no_names = table.reading.format == "CSV" and not table.reading.header
    if no_names and options.header is None and not series:
        series = "rows" if is_row_per_series(table.frame) else False
    if table.shape or not series:
        return table
    if series == "rows":
        frame, shape, changes = from_rows(table.frame, n_times)
    else:
        series = long_roles(list(table.frame)) if series is True else tuple(series)
        numbers = _line_numbers(data, table.reading, len(table.frame))
        frame, shape, changes = from_long(table.frame, numbers, n_times, series)
    reading = replace(table.reading, series=series, n_times=n_times)
    return _named(
        FileTable(frame, reading, [*table.notices, *changes], shape), filename
    )


def _named(table: FileTable, filename: str) -> FileTable:
    """A table with clean names, and the name of its file."""
    names, renamed = clean_names(table.frame.columns)
    return table._replace(
        frame=table.frame.set_axis(names, axis=1).reset_index(drop=True),
        reading=replace(table.reading, filename=PurePath(filename).name),
        notices=(*table.notices, *renamed),
    )


def _line_numbers(data: bytes, reading: Reading, n_rows: int) -> np.ndarray | None:
    """Line of each row of a text table; None if a quoted field has several lines."""
    if reading.format != "CSV":
        return None
    text, _ = as_utf8(data, reading.encoding)
    numbered = enumerate(lines(text), start=1)
    filled = [number for number, line in numbered if line.strip(b" \t")]
    first = reading.skip + reading.header + text[:4].lower().startswith(b"sep=")
    return np.array(filled[first:]) if len(filled) == first + n_rows else None


def make_dataset(
    frame: pd.DataFrame,
    name: str,
    *,
    kinds: Mapping[str, Kind] | None = None,
    roles: Mapping[str, Role] | None = None,
    task: Task | None = None,
    notices: tuple[str, ...] = (),
    cleaning: Iterable[CleaningStep | Mapping[str, Any]] = (),
    **about,
) -> Dataset:
    """Make a data set of any table: what is not given is guessed and said.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        Any table; rows without a target are left out with a notice.
    name : str
        Short name for titles.
    kinds, roles : mapping of str to str, optional
        Kind and role of some or all columns.
    task : {"classification", "regression"}, optional
        What the target is.
    notices : tuple of str
        What reading has already found.
    cleaning : iterable of CleaningStep, or of what `steps_to_json` writes
        What is done to the cells before anything is guessed.
    **about
        Further fields of `Dataset` (source, description, private, reading, ...);
        ``numbers`` are those of all rows of `frame`.

    Returns
    -------
    Dataset
        With ``origin``, so that roles and kinds can be changed without loss.
    """
    names, renamed = clean_names(frame.columns)
    frame = frame.set_axis(names, axis=1).reset_index(drop=True)
    frame = canonical_columns(frame)
    roles, kinds = dict(roles or {}), dict(kinds or {})
    steps = steps_from_json(cleaning)
    added = added_columns(steps)
    check_words(roles, kinds, [*names, *added])
    of_added = {name: roles[name] for name in added if name in roles}
    cleaned = apply_steps(frame, steps).drop(columns=list(added))
    kinds, kind_proposals = guess_kinds(cleaned, kinds)
    roles, role_proposals, targets = guess_roles(cleaned, kinds, roles)
    roles |= of_added
    proposals = (*kind_proposals, *role_proposals)
    of_rows = about.pop("numbers", None)
    origin = Origin(frame, 0, (*notices, *renamed), proposals, of_rows, targets)
    applied = apply_roles(origin, roles, kinds, task, steps)
    return Dataset(name=name, **applied, **about)
