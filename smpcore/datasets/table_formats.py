"""Tables that a visitor brings: of each format, packed or not, and any frame."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pandas as pd

from smpcore.datasets.archives import ENDINGS, is_archive, unpack
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
    framed,
    is_numeric,
)
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import clean_names, shown
from smpcore.datasets.foreign import foreign_kind
from smpcore.datasets.images import is_images, read_images
from smpcore.datasets.json_tables import is_json, read_json
from smpcore.datasets.limits import MAX_BYTES, check_size, read_bytes
from smpcore.datasets.matlab_files import is_matlab, read_matlab
from smpcore.datasets.orange import read_text
from smpcore.datasets.plain_rows import of_sheet
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
    from_wide,
    is_row_per_series,
    is_ts,
    long_roles,
    read_ts,
)
from smpcore.datasets.sqlite_tables import MAGIC as SQLITE
from smpcore.datasets.sqlite_tables import read_sqlite
from smpcore.datasets.statistics_files import is_of, read_statistics_file
from smpcore.datasets.text import as_utf8, first_word, lines
from smpcore.datasets.workbooks import is_excel, is_open_document, read_workbook
from smpcore.errors import DatasetError

_ROW = (
    rb"[ \t]*[-+]?\d[\d.eE+-]*([ \t]+qid:\d+)?([ \t]+\d+:[-+\d.eE]+)+[ \t]*(#[^\r\n]*)?"
)
_QUERY = re.compile(rb"\sqid:\d")
_FIRST_ROWS = re.compile(rb"(" + _ROW + rb"(\r?\n|$)){1,3}")


def is_libsvm(data: bytes) -> bool:
    """Whether the first rows are a label and pairs of a position and a number."""
    return _FIRST_ROWS.match(data[:65_536]) is not None


def read_libsvm(data: bytes, options: ReadingOptions) -> FileTable:
    """Read rows of LibSVM: what a row does not name is 0; the label comes last."""
    from sklearn.datasets import load_svmlight_file

    check_size(data.count(b"\n"), 1)
    if match := re.match(rb"\s*[\d.]+(,[\d.]+)+\s", data):
        raise DatasetError(
            f"The rows of the LibSVM file have several labels each "
            f"({match[0].decode().strip()}), and one is learnt; keep one of them."
        )
    try:
        X, y, query = load_svmlight_file(BytesIO(data), query_id=True)
    except ValueError as error:
        raise DatasetError(
            f"The file looks like LibSVM rows, but cannot be read ({error}); save the "
            "table as CSV."
        ) from error
    check_size(X.shape[0], X.shape[1] + 2)
    frame = pd.DataFrame(X.toarray(), columns=[f"x{i + 1}" for i in range(X.shape[1])])
    notices, roles = ["Read as LibSVM rows: what a row does not name is 0."], {}
    if _QUERY.search(data):
        roles[frame.shape[1]] = "group"
        frame["qid"] = query
        notices.append("Rows of one query (qid) stay together, as a group.")
    frame["target"] = y.astype(np.int64) if np.all(y == np.floor(y)) else y
    return FileTable(frame, Reading("LibSVM"), notices, roles=roles)


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
    if not TABLE_FORMATS[reading.format].guesses:  # the file says what is a number
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
        time_axis=table.time_axis,
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


def _read_text(data: bytes, options: ReadingOptions) -> FileTable:
    """Read a text table; of a file of C4.5, class names without their full stop."""
    table = read_text(data, options)
    last = table.frame.iloc[:, -1]
    is_c45 = data.lstrip().startswith(b"|") and table.reading.delimiter != "|"
    if not is_c45 or is_numeric(last) or not last.dropna().str.endswith(".").all():
        return table
    columns = [*(table.frame.iloc[:, i] for i in range(table.frame.shape[1] - 1))]
    frame = framed([c.array for c in (*columns, last.str[:-1])], [*table.frame])
    words = "The full stop at the end of each row is left out."
    return table._replace(frame=frame, notices=[*table.notices, words])


def _read_arrow(data: bytes, options: ReadingOptions) -> FileTable:
    from smpcore.datasets.parquet import read_arrow

    frame, notices = read_arrow(data)
    return FileTable(frame, Reading("Arrow"), notices)


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
    is_text : bool
        Whether the file's name decides where its beginning does not.
    guesses : bool
        Whether texts may be numbers or dates: the file says what its texts are not.
    holds_series : bool
        Whether every sample is a series.
    """

    endings: tuple[str, ...]
    begins_so: Callable[[bytes], bool]
    read: Callable[[bytes, ReadingOptions], FileTable]
    is_text: bool = False
    guesses: bool = False
    holds_series: bool = False


def _begins(*beginnings: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(beginnings)


#: Name of a format -> how it is recognised and read; the first that fits is taken.
TABLE_FORMATS = {
    "Parquet": TableFormat((".parquet", ".pq"), _begins(b"PAR1"), _read_parquet),
    "Arrow": TableFormat(
        (".feather", ".arrow"),
        _begins(b"ARROW1", b"FEA1", b"\xff\xff\xff\xff"),
        _read_arrow,
    ),
    "ARFF": TableFormat(
        (".arff",),
        lambda data: first_word(data, b"%") == b"@relation",
        read_arff,
        is_text=True,
    ),
    "ts": TableFormat(
        (".ts",),
        is_ts,
        lambda data, options: read_ts(BytesIO(data), options),
        is_text=True,
        holds_series=True,
    ),
    "Excel": TableFormat(
        (".xlsx", ".xlsm", ".xlsb", ".xls"), is_excel, read_workbook, guesses=True
    ),
    "OpenDocument": TableFormat(
        (".ods",), is_open_document, read_workbook, guesses=True
    ),
    "SPSS": TableFormat((".sav", ".zsav", ".por"), is_of("SPSS"), read_statistics_file),
    "Stata": TableFormat((".dta",), is_of("Stata"), read_statistics_file),
    "SAS": TableFormat((".sas7bdat", ".xpt"), is_of("SAS"), read_statistics_file),
    "MATLAB": TableFormat((".mat",), is_matlab, read_matlab),
    "Images": TableFormat((), is_images, read_images),
    "SQLite": TableFormat(
        (".sqlite", ".sqlite3", ".db"), _begins(SQLITE), read_sqlite, guesses=True
    ),
    "JSON": TableFormat(
        (".json", ".jsonl", ".ndjson"), is_json, read_json, guesses=True
    ),
    "LibSVM": TableFormat((".libsvm", ".svm"), is_libsvm, read_libsvm, is_text=True),
    "CSV": TableFormat(
        (".csv", ".tsv", ".tab", ".txt", ".data", ".dat", ".test"),
        lambda data: True,
        _read_text,
        is_text=True,
        guesses=True,
    ),
}
#: Endings of the names of files that are read; others may be tables as well.
TABLE_ENDINGS = (*(e for row in TABLE_FORMATS.values() for e in row.endings), *ENDINGS)


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


def _format_of(data: bytes, ending: str) -> TableFormat:
    """What a file is decides, and its name only where that leaves texts open."""
    *rows, text = TABLE_FORMATS.values()
    by_content = (row for row in rows if row.begins_so(data))
    by_name = (row for row in rows if row.is_text and ending in row.endings)
    return next(by_content, next(by_name, text))


def _unpacked(
    data: bytes, filename: str, options: ReadingOptions
) -> tuple[FileTable, str]:
    """The table of an archive, and the name of its file."""
    inner = unpack(data, filename, options.sheet, TABLE_ENDINGS)
    table = _read_content(inner.data, inner.filename, options)
    frame, width = table.frame, table.frame.shape[1]
    notices = [f"Read from the archive {shown(PurePath(filename).name)}."]
    if len(inner.names) in (width, width - 1) and not table.reading.header:
        names = [*inner.names, "class"][:width]
        table = table._replace(frame=frame.set_axis(names, axis=1))
        notices.append("The names of the columns are those of the .names file.")
    table = table._replace(notices=[*notices, *table.notices])
    return of_sheet(table, inner.filename, inner.others), filename


def _read_content(data: bytes, filename: str, options: ReadingOptions) -> FileTable:
    ending = PurePath(filename).suffix.lower()
    if thing := foreign_kind(data, ending):
        raise DatasetError(f"The file {shown(filename)} is {thing}.")
    if is_archive(data) and not is_images(data):
        return _named(*_unpacked(data, filename, options))
    file_format = _format_of(data, ending)
    table = _named(file_format.read(data, options), filename)
    series, n_times = options.series, options.n_times
    no_names = table.reading.format == "CSV" and not table.reading.header
    if no_names and options.header is None and not series:
        series = "rows" if is_row_per_series(table.frame) else False
    if table.shape or not series:
        return table
    if isinstance(series, str):
        made = (from_wide if series == "wide" else from_rows)(table.frame, n_times)
    else:
        series = long_roles(list(table.frame)) if series is True else tuple(series)
        numbers = _line_numbers(data, table.reading, len(table.frame))
        made = from_long(table.frame, numbers, n_times, series)
    reading = replace(table.reading, series=series, n_times=n_times)
    notices = [*table.notices, *made.notices]
    others = range(made.shape[0] * made.shape[1], made.frame.shape[1] - 1)
    roles = dict.fromkeys(others, "ignore")
    read = FileTable(made.frame, reading, notices, made.shape, roles=roles)
    return _named(read._replace(time_axis=made.time_axis), filename)


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
