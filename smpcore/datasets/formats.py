"""ARFF and Parquet: tables that say themselves what their columns are."""

import re
from collections.abc import Iterator
from itertools import islice

import arff
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from smpcore.datasets.columns import canonical, listed
from smpcore.datasets.dataset import Reading
from smpcore.datasets.delimited import decoded
from smpcore.datasets.limits import MAX_BYTES, check_size
from smpcore.errors import DatasetError

# Compressed columns may be this much longer than the longest file.
MAX_EXPANDED = 8 * MAX_BYTES
_CHUNK_ROWS = 10_000


def read_arff(data: bytes, encoding: str | None = None) -> tuple[pd.DataFrame, Reading]:
    """Read a dense or sparse ARFF file.

    Parameters
    ----------
    data : bytes
        The whole file.
    encoding : str, optional
        Detected if None.

    Returns
    -------
    DataFrame of shape (n_rows, n_columns)
        Numeric attributes as numbers, nominal, string and date ones as text.
    Reading
        The encoding used.
    """
    text, encoding = decoded(data, encoding)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    head, marker, body = _halves(text)
    if not marker:
        raise DatasetError(
            "The ARFF file has no @DATA line, it seems to be cut off; fetch it again."
        )
    check_size(body.count("\n"), len(re.findall(r"(?im)^\s*@attribute\b", head)))
    lines = _Counted((_plain(head) + marker + body).split("\n"))
    try:
        document = arff.load(lines, return_type=arff.DENSE_GEN)
        frame = _frame_of(document["data"], document["attributes"])
    except (arff.ArffException, ValueError, IndexError, KeyError) as error:
        # Its text is a format in which a quoted "%" of the file would go wrong.
        own = isinstance(error, arff.ArffException)
        words = error.message if own else str(error)
        words = words.replace("line %d", f"line {lines.number}")
        raise DatasetError(
            f"The ARFF file cannot be read beyond line {lines.number} "
            f"({words[:150].rstrip('.')}); correct that line, or save the table as CSV."
        ) from error
    if frame.empty:
        raise DatasetError(
            "The ARFF file has no rows; choose a file with rows of data."
        )
    return frame, Reading("ARFF", encoding=encoding)


class _Counted:
    """Lines, and the number of the last one handed out."""

    def __init__(self, lines: list[str]):
        self.number = 0
        self._lines = lines

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.number += 1
            yield line


def _halves(text: str) -> tuple[str, str, str]:
    found = re.search(r"(?im)^[ \t]*@data\b[^\n]*(\n|$)", text)
    if found is None:
        return text, "", ""
    return text[: found.start()], found[0], text[found.end() :]


def _plain(head: str) -> str:
    """A header in the words that liac-arff knows: text and real numbers, no tabs.

    It knows no dates and no ranges, and cuts the decimals off what is an integer.
    """
    head = head.replace("\t", " ")
    named = r"(?im)^( *@attribute .*[ '\"])"
    head = re.sub(named + r"date\b.*$", r"\1string", head)
    return re.sub(named + r"(real|numeric|integer) *(\[.*)?$", r"\1real", head)


def _frame_of(
    rows: Iterator[list], attributes: list[tuple[str, str | list[str]]]
) -> pd.DataFrame:
    """Columns from rows that come one by one, a bounded number of them at a time."""
    names = [name for name, _ in attributes]
    real = [isinstance(kind, str) and kind.upper() == "REAL" for _, kind in attributes]
    pieces = []
    while chunk := list(islice(rows, _CHUNK_ROWS)):
        columns = [
            pd.Series(values, dtype=np.float64 if number else "str")
            for values, number in zip(zip(*chunk, strict=True), real, strict=True)
        ]
        pieces.append(pd.concat(columns, axis=1))
    if not pieces:
        return pd.DataFrame(columns=names)
    return pd.concat(pieces, ignore_index=True).set_axis(names, axis=1)


def read_parquet(data: bytes) -> tuple[pd.DataFrame, list[str]]:
    """Read a Parquet file whose size, as its own directory says, is bearable.

    Parameters
    ----------
    data : bytes
        The whole file.

    Returns
    -------
    DataFrame of shape (n_rows, n_columns)
        Numbers or text; true and false, dates and the like become text.
    list of str
        Which columns were left out, because their cells hold more than one value.
    """
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        _check_directory(file.metadata)
        fields = list(file.schema_arrow)
        texts = [field.name for field in fields if _is_text(field.type)]
        flat = [field.name for field in fields if _is_flat(field.type)]
        # Repeated texts stay coded, so that few bytes cannot become many.
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
        table = file.read(columns=flat, use_threads=False)
        table.validate(full=True)
        _check_expanded(table)
        columns = [_plain_column(column) for column in table.columns]
    except DatasetError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DatasetError(
            "The Parquet file cannot be read, it seems to be cut off or damaged; fetch "
            "or save it again."
        ) from error
    if not columns:
        raise DatasetError(
            "No column of the Parquet file holds numbers or text; save it with plain "
            "columns."
        )
    if not table.num_rows:
        raise DatasetError("The Parquet file has no rows; choose a file with rows.")
    nested = [field.name for field in fields if not _is_flat(field.type)]
    notices = []
    if nested:
        notices.append(f"Left out, because neither numbers nor text: {listed(nested)}.")
    return pd.concat(columns, axis=1).set_axis(table.column_names, axis=1), notices


def _check_directory(metadata: pq.FileMetaData) -> None:
    check_size(metadata.num_rows, metadata.num_columns)
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    _check_bytes(sum(group.total_byte_size for group in groups))


def _check_bytes(size: int) -> None:
    if size > MAX_EXPANDED:
        raise DatasetError(
            f"The Parquet file expands to {size / 1e6:,.0f} MB, at most "
            f"{MAX_EXPANDED / 1e6:.0f} MB are read; take fewer rows or columns."
        )


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_flat(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_nested_or_bytes = pa.types.is_nested(kind) or pa.types.is_binary(kind)
    return not (
        is_nested_or_bytes
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _check_expanded(table: pa.Table) -> None:
    """Refuse texts that are short as codes and long as text."""
    size = 0
    for column in table.columns:
        for chunk in column.chunks:
            if pa.types.is_dictionary(chunk.type) and _is_text(chunk.type.value_type):
                lengths = pc.binary_length(chunk.dictionary)
                size += pc.sum(pc.take(lengths, chunk.indices)).as_py() or 0
    _check_bytes(size)


def _plain_column(column: pa.ChunkedArray) -> pd.Series:
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
