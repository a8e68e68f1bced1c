"""Parquet: tables that say themselves what their columns are."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from smpcore.datasets.columns import canonical, framed
from smpcore.datasets.display_names import listed
from smpcore.datasets.limits import MAX_EXPANDED, check_size
from smpcore.errors import DatasetError

# The directory at the file's end is taken apart as a whole.
MAX_DIRECTORY_BYTES = 16_000_000

#: Stored so, each text may repeat all of the one before it: few bytes become many.
REPEATING = "DELTA_BYTE_ARRAY"
#: Texts that are stored so cannot be read as codes.
UNCODED = {REPEATING, "DELTA_LENGTH_BYTE_ARRAY"}


def read_parquet(data: bytes) -> tuple[pd.DataFrame, list[str]]:
    """Read a Parquet file whose size, as its own directory says, is bearable."""
    if data.endswith(b"PAR1"):
        check_directory_size(int.from_bytes(data[-8:-4], "little"))
    with damage_in_words():
        file = pq.ParquetFile(pa.BufferReader(data))
        _check_directory(file.metadata)
        fields = list(file.schema_arrow)
        # Repeated texts stay coded, so that few bytes cannot become many.
        texts = {field.name for field in fields if is_text(field.type)}
        coded = sorted(texts - stored_so(file.metadata, texts, UNCODED))
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=coded)
        table = file.read(columns=flat_columns(fields), use_threads=False)
        return plain_frame(table, fields)


@contextmanager
def damage_in_words() -> Iterator[None]:
    """Refuse a file that Arrow cannot read, in words; lack of memory is raised."""
    try:
        yield
    except (DatasetError, MemoryError):  # the latter is Arrow's, too
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DatasetError(
            "The Parquet file cannot be read, it seems to be cut off or damaged; fetch "
            "or save it again."
        ) from error


def flat_columns(fields: Iterable[pa.Field]) -> list[str]:
    """Names of the columns whose cells hold one value each."""
    return [field.name for field in fields if _is_flat(field.type)]


def plain_frame(
    table: pa.Table, fields: list[pa.Field]
) -> tuple[pd.DataFrame, list[str]]:
    """Check what was read of a file, and store it as every table is."""
    table.validate(full=True)
    _check_bytes(text_bytes(table))
    columns, names = [], []
    left_out = [field.name for field in fields if not _is_flat(field.type)]
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            columns.append(plain_column(column).array)
            names.append(name)
        except pa.ArrowInvalid:  # bytes that are no text, such as pictures
            left_out.append(name)
    if not columns:
        raise DatasetError(
            "No column of the Parquet file holds numbers or text; save it with plain "
            "columns."
        )
    if not table.num_rows:
        raise DatasetError("The Parquet file has no rows; choose a file with rows.")
    words = f"Left out, because neither numbers nor text: {listed(left_out)}."
    return framed(columns, names), [words] * bool(left_out)


def check_directory_size(size: int) -> None:
    """Refuse a file whose directory, of so many bytes, is too large to take apart."""
    if size > MAX_DIRECTORY_BYTES:
        raise DatasetError(
            f"The directory of the Parquet file has {size / 1e6:,.0f} MB, at most "
            f"{MAX_DIRECTORY_BYTES / 1e6:.0f} MB are read; save it again, with fewer "
            "row groups."
        )


def stored_so(
    metadata: pq.FileMetaData, names: set[str], encodings: set[str]
) -> set[str]:
    """Which columns a file stores by one of some encodings, if only in part."""
    paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return {
        paths[place]
        for group in groups
        for place in range(len(paths))
        if paths[place] in names
        and not encodings.isdisjoint(group.column(place).encodings)
    }


def _check_directory(metadata: pq.FileMetaData) -> None:
    """Refuse by its directory alone a file whose values need too much memory."""
    check_size(metadata.num_rows, metadata.num_columns)
    size = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            packed = column.total_uncompressed_size
            if REPEATING in column.encodings:  # the worst is taken
                packed *= max(1, column.num_values)
            size += packed
    _check_bytes(size)


def _check_bytes(size: int) -> None:
    if size > MAX_EXPANDED:
        raise DatasetError(
            f"The Parquet file expands to {size / 1e6:,.0f} MB, at most "
            f"{MAX_EXPANDED / 1e6:.0f} MB are read; take fewer rows or columns, or "
            "shorter texts."
        )


def is_text(kind: pa.DataType) -> bool:
    """Whether cells hold texts, marked so or not, however long these may become."""
    tests = pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view
    tests += pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
    return any(test(kind) for test in tests)


def _is_flat(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return not (pa.types.is_nested(kind) or pa.types.is_fixed_size_binary(kind))


def text_bytes(table: pa.Table) -> int:
    """Length of all texts that are stored as codes: short as these, long as texts."""
    size = 0
    for column in table.columns:
        for chunk in column.chunks:
            if pa.types.is_dictionary(chunk.type) and is_text(chunk.type.value_type):
                lengths = pc.binary_length(chunk.dictionary)
                size += pc.sum(pc.take(lengths, chunk.indices)).as_py() or 0
    return size


def plain_column(column: pa.ChunkedArray) -> pd.Series:
    """Store a column as those of every table: numbers or text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not number and not pa.types.is_boolean(kind):
        column = column.cast(pa.large_string())
    elif pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    if pa.types.is_boolean(kind) and column.null_count:
        column = pc.if_else(column, "True", "False")
    return canonical(column.to_pandas())
