"""How much table one visitor may bring; refused before it is read."""

from typing import BinaryIO

from smpcore.errors import DatasetError

MAX_BYTES = 50_000_000
MAX_ROWS = 1_000_000
MAX_COLUMNS = 10_000
MAX_CELLS = 20_000_000
# The values of a compressed file, once they are numbers and text in memory.
MAX_EXPANDED = 250_000_000


def read_bytes(source: bytes | BinaryIO) -> bytes:
    """Return the bytes of a file, if they are not too many."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        check_bytes(len(source))
        return bytes(source)
    if source.seekable():
        check_bytes(source.seek(0, 2))
        source.seek(0)
    data = source.read(MAX_BYTES + 1)
    check_bytes(len(data))
    return data


def check_bytes(size: int) -> None:
    """Refuse a file of more than ``MAX_BYTES``, and one of none."""
    if size > MAX_BYTES:
        raise DatasetError(
            f"The file has {size / 1e6:,.0f} MB, at most {MAX_BYTES / 1e6:.0f} MB are "
            "read; take fewer rows or columns, or save it as Parquet."
        )
    if size == 0:
        raise DatasetError("The file is empty; choose a file with a table.")


def check_size(n_rows: int, n_columns: int) -> None:
    """Refuse a table with too many rows, columns or cells."""
    for name, size, most in (
        ("rows", n_rows, MAX_ROWS),
        ("columns", n_columns, MAX_COLUMNS),
        ("cells", n_rows * n_columns, MAX_CELLS),
    ):
        if size > most:
            raise DatasetError(
                f"The table has {size:,} {name}, at most {most:,} are read; take fewer "
                "rows or columns."
            )
