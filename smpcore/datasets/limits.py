"""How much table one visitor may bring; refused before it is read."""

from os import PathLike
from typing import BinaryIO

from smpcore.errors import DatasetError

MAX_BYTES = 50_000_000
MAX_ROWS = 1_000_000
#: Of a file of series, which is read line by line.
MAX_SERIES_BYTES = 1_000_000_000
#: Of a table in memory: its values, and what is kept of each column besides.
MAX_TABLE_BYTES = 800_000_000
COLUMN_BYTES = 2_000
# The values of a compressed file, once they are numbers and text in memory.
MAX_EXPANDED = 250_000_000


_REMEDY = "take fewer rows or columns, or save it as Parquet"


def read_bytes(source: bytes | BinaryIO, remedy: str = _REMEDY) -> bytes:
    """Return the bytes of a file, if they are not too many."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        check_bytes(len(source), MAX_BYTES, remedy)
        return bytes(source)
    if isinstance(source, str | PathLike):
        raise DatasetError(
            "source should be the content of a file, not its name; give "
            "Path(name).read_bytes()."
        )
    if source.seekable():
        check_bytes(source.seek(0, 2), MAX_BYTES, remedy)
        source.seek(0)
    data = source.read(MAX_BYTES + 1)
    check_bytes(len(data), MAX_BYTES, remedy)
    return data


def check_bytes(size: int, most: int, remedy: str = _REMEDY) -> None:
    """Refuse a file of too many bytes, and one of none."""
    if size > most:
        raise DatasetError(
            f"The file has {size / 1e6:,.0f} MB, at most {most / 1e6:,.0f} MB are "
            f"read; {remedy}."
        )
    if size == 0:
        raise DatasetError("The file is empty; choose a file with a table.")


def check_size(n_rows: int, n_columns: int) -> None:
    """Refuse a table with too many rows, or that takes too much memory."""
    if n_rows > MAX_ROWS:
        raise DatasetError(
            f"The table has {n_rows:,} rows, at most {MAX_ROWS:,} are read; take fewer "
            "rows."
        )
    size = n_columns * (8 * n_rows + COLUMN_BYTES)
    if size > MAX_TABLE_BYTES:
        raise DatasetError(
            f"The table has {n_columns:,} columns and would take {size / 1e6:,.0f} MB "
            f"in memory, at most {MAX_TABLE_BYTES / 1e6:.0f} MB are kept; take fewer "
            "rows or columns, or shorter series."
        )


def check_expanded(what: str, size: int, most: int, remedy: str) -> None:
    """Refuse a file that becomes too large once it is unpacked."""
    if size > most:
        raise DatasetError(
            f"{what} expands to {size / 1e6:,.0f} MB, at most {most / 1e6:,.0f} MB are "
            f"read; {remedy}."
        )
