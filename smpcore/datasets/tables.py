"""Tables that a visitor brings: CSV, ARFF and Parquet files, or any DataFrame."""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import BinaryIO

import pandas as pd

from smpcore.datasets.arrange import Origin, arrange
from smpcore.datasets.columns import (
    Kind,
    Role,
    Task,
    canonical,
    check_words,
    clean_names,
    guess_kinds,
    guess_roles,
    is_numeric,
    shown,
)
from smpcore.datasets.dataset import Dataset, Reading
from smpcore.datasets.delimited import read_delimited
from smpcore.datasets.formats import read_arff, read_parquet
from smpcore.datasets.limits import read_bytes
from smpcore.errors import DatasetError

_ARFF = re.compile(rb"(?i)(\s|%[^\n]*\n)*@relation\s")
_FOREIGN = {
    b"PK\x03\x04": "a ZIP archive (Excel workbooks are such archives, too)",
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
    source: bytes | BinaryIO,
    filename: str,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    kinds: Mapping[str, Kind] | None = None,
    roles: Mapping[str, Role] | None = None,
    task: Task | None = None,
) -> Dataset:
    """Read a CSV, ARFF or Parquet file; what is not given is detected and said.

    Parameters
    ----------
    source : bytes or binary file
        The content; its size is checked before it is read.
    filename : str
        Name the file had; its ending helps to tell the format. Never opened.
    delimiter, decimal, encoding, header : optional
        Settings for text tables, see `read_delimited`; ``dataset.reading`` holds those
        used.
    kinds, roles : mapping of str to str, optional
        Kind and role of some or all columns.
    task : {"classification", "regression"}, optional
        What the target is.

    Returns
    -------
    Dataset
        Private. It may still be unfit for fitting (one class, one row): see
        `check_fit`, so that the table can be shown and another target chosen.
    """
    settings = (delimiter, decimal, encoding, header)
    frame, reading, notices = read_frame(source, filename, *settings)
    if frame.shape[1] < 2:
        remedy = "add a target or features"
        if reading.format == "CSV":
            remedy = f"choose another delimiter than {reading.delimiter!r}"
        raise DatasetError(
            f"The table has one column only ({shown(frame.columns[0])}), a target and "
            f"features are needed; {remedy}."
        )
    if reading.format != "CSV":  # the file itself says what is a number
        texts = [name for name in frame if not is_numeric(frame[name])]
        kinds = {**dict.fromkeys(texts, "category"), **(kinds or {})}
    return make_dataset(
        frame,
        PurePath(filename).stem[:80] or "table",
        kinds=kinds,
        roles=roles,
        task=task,
        notices=notices,
        source=f"file {shown(PurePath(filename).name)}",
        private=True,
        reading=reading,
    )


def read_frame(
    source: bytes | BinaryIO,
    filename: str,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> tuple[pd.DataFrame, Reading, tuple[str, ...]]:
    """Read the bare table of a file, without roles: for new rows and test files.

    Returns
    -------
    DataFrame of shape (n_rows, n_columns)
        Columns of numbers or text with clean names.
    Reading
        How the file was read.
    tuple of str
        What was changed.
    """
    data = read_bytes(source)
    for beginning, thing in _FOREIGN.items():
        if data.startswith(beginning):
            raise DatasetError(
                f"The file {shown(filename)} is {thing}, not a table; unpack it, or "
                "save the table as CSV, ARFF or Parquet."
            )
    ending = PurePath(filename).suffix.lower()
    notices: list[str] = []
    if data.startswith(b"PAR1") or ending in (".parquet", ".pq"):
        frame, notices = read_parquet(data)
        reading = Reading("Parquet")
    elif ending == ".arff" or _ARFF.match(data):
        frame, reading = read_arff(data, encoding)
    else:
        frame, reading = read_delimited(data, delimiter, decimal, encoding, header)
    names, renamed = clean_names(frame.columns)
    frame = frame.set_axis(names, axis=1).reset_index(drop=True)
    return frame, reading, (*notices, *renamed)


def make_dataset(
    frame: pd.DataFrame,
    name: str,
    *,
    kinds: Mapping[str, Kind] | None = None,
    roles: Mapping[str, Role] | None = None,
    task: Task | None = None,
    notices: tuple[str, ...] = (),
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
    **about
        Further fields of `Dataset` (source, description, private, reading, ...).

    Returns
    -------
    Dataset
        With ``origin``, so that roles and kinds can be changed without loss.
    """
    names, renamed = clean_names(frame.columns)
    frame = frame.set_axis(names, axis=1).reset_index(drop=True)
    frame = pd.DataFrame({name: canonical(frame[name]) for name in names})
    roles, kinds = dict(roles or {}), dict(kinds or {})
    check_words("roles", roles, names)
    check_words("kinds", kinds, names)
    kinds, kind_notices = guess_kinds(frame, kinds)
    roles, role_notices = guess_roles(frame, kinds, roles)
    origin = Origin(frame, notices=(*notices, *renamed))
    arranged = arrange(origin, roles, kinds, task)
    arranged["notices"] = (*arranged["notices"], *kind_notices, *role_notices)
    return Dataset(name=name, **arranged, **about)
