"""A sample of the rows of a Parquet file that is too large to be read as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from smpcore.datasets import limits
from smpcore.datasets.columns import is_numeric
from smpcore.datasets.guessing import guess_kinds, guess_roles, guess_task
from smpcore.datasets.parquet import (
    check_directory_size,
    damage_in_words,
    flat_columns,
    plain_frame,
)
from smpcore.datasets.quoting import shown
from smpcore.errors import DatasetError

#: Rows of a sample, and its values: a wide table gets fewer rows, but not too few.
MOST_ROWS, MOST_VALUES, LEAST_ROWS = 20_000, 1_000_000, 1_000
#: Bytes of the row groups that are read for it, once they are unpacked.
MOST_READ = 300_000_000
#: Bytes that one row group may have.
MOST_GROUP_BYTES = 2**30
#: With more classes than that, rows are drawn whatever their class; for classes that
#: the row groups lack, so many more groups are read.
MOST_CLASSES, MOST_MORE = 200, 3


@dataclass(frozen=True, eq=False)
class RowSample:
    """Some rows of a file.

    Parameters
    ----------
    frame : DataFrame of shape (n_sampled, n_columns)
    rows : ndarray of int, shape (n_sampled,)
        Their places in the file, ascending.
    n_rows : int
        Rows of the file.
    notices : tuple of str
        How they were drawn, and which columns were left out.
    """

    frame: pd.DataFrame
    rows: np.ndarray
    n_rows: int
    notices: tuple[str, ...]


def _opened(source: BinaryIO, **options: object) -> pq.ParquetFile:
    source.seek(0)
    return pq.ParquetFile(source, **options)


def is_too_large(source: BinaryIO) -> bool:
    """Whether a Parquet file has more rows, cells or bytes than are read as a whole.

    Parameters
    ----------
    source : binary file

    Returns
    -------
    bool
    """
    size = source.seek(0, 2)
    with damage_in_words():
        metadata = _opened(source).metadata
    source.seek(0)
    n_rows, n_columns = metadata.num_rows, metadata.num_columns
    return (
        size > limits.MAX_BYTES
        or n_rows > limits.MAX_ROWS
        or n_rows * n_columns > limits.MAX_CELLS
        or _group_bytes(metadata).sum() > limits.MAX_EXPANDED
    )


def sample_parquet(source: BinaryIO, seed: int = 0) -> RowSample:
    """Draw rows from row groups spread over a file, each class by its share of all.

    The column that a table of these rows has as its target is read as a whole, and its
    classes are counted. All other columns are read in some row groups only.

    Parameters
    ----------
    source : binary file
    seed : int, default=0
        Of the drawing: the same file gives the same rows.

    Returns
    -------
    RowSample
        At most 20,000 rows, fewer of a table with more than 50 columns.

    Raises
    ------
    DatasetError
        If the file is damaged, has no rows or no column of plain values, or if a row
        group is too large.
    """
    source.seek(-8, 2)
    check_directory_size(int.from_bytes(source.read(4), "little"))
    with damage_in_words():
        return _sample(source, np.random.default_rng(seed))


def _sample(source: BinaryIO, random: np.random.Generator) -> RowSample:
    file = _opened(source)
    fields, metadata = list(file.schema_arrow), file.metadata
    names = flat_columns(fields)
    limits.check_size(0, metadata.num_columns)
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    # Texts stay coded: few bytes cannot become many.
    texts = [field.name for field in fields if field.type in _TEXTS]
    file = _opened(source, read_dictionary=texts)
    groups = _spread(_group_bytes(metadata))
    table = file.read_row_groups(groups, columns=names)
    rows = _rows_of(groups, starts)
    n_wanted = max(LEAST_ROWS, min(MOST_ROWS, MOST_VALUES // max(1, len(names))))
    some = random.permutation(len(rows))[:n_wanted]
    frame, _ = plain_frame(table.take(some), fields)
    target, drawn = _classes_column(frame), "drawn at random"
    if target is not None:
        codes, _ = class_codes(file, target)
        if more := _groups_of_absent(codes, rows, starts):
            more_rows = file.read_row_groups(more, columns=names)
            table, groups = pa.concat_tables([table, more_rows]), groups + more
            rows = _rows_of(groups, starts)
        some, is_exact = _stratified(codes, rows, n_wanted, random)
        shares = "as in all rows" if is_exact else "as far as these have such rows"
        drawn = f"drawn by the classes of {shown(target)} with shares {shares}"
    some = some[np.argsort(rows[some])]
    frame, notices = plain_frame(table.take(some), fields)
    words = (
        f"A sample: {len(some):,} of {starts[-1]:,} rows, {drawn}, from {len(groups):,}"
        f" of {len(sizes):,} row groups."
    )
    return RowSample(frame, rows[some], int(starts[-1]), (words, *notices))


_TEXTS = (pa.string(), pa.large_string())


def _group_bytes(metadata: pq.FileMetaData) -> np.ndarray:
    """Bytes of each row group, once it is unpacked."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return np.array([group.total_byte_size for group in groups], dtype=np.int64)


def _spread(sizes: np.ndarray) -> list[int]:
    """Row groups at even distances, as many as may be read."""
    if not len(sizes):
        return []
    if sizes.max() > MOST_GROUP_BYTES:
        raise DatasetError(
            f"A row group of the Parquet file has {sizes.max() / 1e6:,.0f} MB and "
            f"should have at most {MOST_GROUP_BYTES / 1e6:,.0f}; save the file with "
            "smaller row groups, such as row_group_size=100_000."
        )
    n_groups = int(np.clip(MOST_READ // max(1, sizes.mean()), 1, len(sizes)))
    middles = (np.arange(n_groups) + 0.5) * len(sizes) / n_groups
    return [int(middle) for middle in middles]


def _rows_of(groups: list[int], starts: np.ndarray) -> np.ndarray:
    """Places of the rows of some row groups, group after group."""
    none = np.empty(0, dtype=np.int64)
    return np.concatenate([none, *(np.arange(*starts[i : i + 2]) for i in groups)])


def _classes_column(frame: pd.DataFrame) -> str | None:
    """Column that is the target of such a table, if it holds few classes."""
    fixed = {name: "category" for name in frame if not is_numeric(frame[name])}
    kinds, _ = guess_kinds(frame, fixed)
    roles, _ = guess_roles(frame, kinds, {})
    target = next((name for name, role in roles.items() if role == "target"), None)
    if target is None or frame[target].nunique() > MOST_CLASSES:
        return None
    is_classes = guess_task(frame[target], kinds[target]) == "classification"
    return target if is_classes else None


def class_codes(file: pq.ParquetFile, name: str) -> tuple[np.ndarray, list]:
    """Number of each row's class, and the classes.

    Parameters
    ----------
    file : ParquetFile
    name : str
        Of the column with the classes, which is read as a whole.

    Returns
    -------
    codes : ndarray of int, shape (n_rows,)
        -1 for none.
    labels : list of length n_classes
    """
    column = file.read(columns=[name]).column(0)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    chunks = column.dictionary_encode().unify_dictionaries().chunks
    codes = [chunk.indices.fill_null(-1).to_numpy() for chunk in chunks]
    return np.concatenate(codes), chunks[0].dictionary.to_pylist()


def _counts(codes: np.ndarray) -> np.ndarray:
    """Rows of each class."""
    return np.bincount(codes + 1)[1:]


def _groups_of_absent(
    codes: np.ndarray, rows: np.ndarray, starts: np.ndarray
) -> list[int]:
    """Row groups with the first row of each class that none of some rows has."""
    counts = _counts(codes)
    seen = np.bincount(codes[rows] + 1, minlength=len(counts) + 1)[1:]
    absent = np.flatnonzero((counts > 0) & (seen == 0))[:MOST_MORE]
    places = [np.argmax(codes == code) for code in absent]
    return sorted({int(i) for i in np.searchsorted(starts, places, "right") - 1})


def _stratified(
    codes: np.ndarray, rows: np.ndarray, n_wanted: int, random: np.random.Generator
) -> tuple[np.ndarray, bool]:
    """Places in `rows` of a sample in which each class has its share of all rows.

    A class of very few rows has one. The second is whether there were enough of each.
    """
    counts = _counts(codes)
    wanted = np.round(counts * (min(n_wanted, len(rows)) / counts.sum()))
    quotas = np.where(counts > 0, np.maximum(1, wanted), 0).astype(np.int64)
    order = random.permutation(len(rows))
    shuffled = codes[rows[order]]
    some = [order[shuffled == code][:quota] for code, quota in enumerate(quotas)]
    return np.concatenate(some), [len(part) for part in some] == quotas.tolist()
