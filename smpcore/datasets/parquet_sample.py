"""A sample of the rows of a Parquet file that is too large to be read as a whole."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from smpcore.datasets import limits
from smpcore.datasets.columns import is_numeric
from smpcore.datasets.display_names import listed, shown
from smpcore.datasets.guessing import guess_kinds, guess_roles, guess_task
from smpcore.datasets.parquet import (
    REPEATING,
    UNCODED,
    check_directory_size,
    damage_in_words,
    flat_columns,
    is_text,
    plain_column,
    plain_frame,
    stored_so,
)
from smpcore.datasets.reading import FileTable, Reading
from smpcore.errors import DatasetError

#: Rows of a sample, and its values: a wide table gets fewer rows, but not too few.
MOST_ROWS, MOST_VALUES, LEAST_ROWS = 20_000, 1_000_000, 1_000
#: Values of a table that is read as a whole.
MOST_WHOLE = 20_000_000
#: Bytes of the row groups that are read for it, once they are unpacked.
MOST_READ = 300_000_000
#: Bytes that one row group may have.
MOST_GROUP_BYTES = 2**30
#: With more classes than that, rows are drawn whatever their class; for classes that
#: the row groups lack, so many more groups are read.
MOST_CLASSES, MOST_MORE = 200, 3


def _opened(source: BinaryIO, **options: object) -> pq.ParquetFile:
    source.seek(0)
    # Pieces as they are decoded: whole columns take longer to get memory for.
    return pq.ParquetFile(source, pre_buffer=False, buffer_size=2**16, **options)


def is_too_large(source: BinaryIO) -> bool:
    """Whether a Parquet file has more rows, cells or bytes than are read as a whole."""
    size = source.seek(0, 2)
    with damage_in_words():
        metadata = _opened(source).metadata
    source.seek(0)
    n_rows, n_columns = metadata.num_rows, metadata.num_columns
    return (
        size > limits.MAX_BYTES
        or n_rows > limits.MAX_ROWS
        or n_rows * n_columns > MOST_WHOLE
        or _group_bytes(metadata).sum() > limits.MAX_EXPANDED
    )


def sample_parquet(source: BinaryIO) -> FileTable:
    """Draw rows from row groups spread over a file, each class by its share of all.

    The column that a table of these rows has as its target is read as a whole, and its
    classes are counted. All other columns are read in some row groups only.
    """
    source.seek(-8, 2)
    check_directory_size(int.from_bytes(source.read(4), "little"))
    with damage_in_words():
        return _sample(source)


def _sample(source: BinaryIO) -> FileTable:
    file, random = _opened(source), np.random.default_rng(0)
    fields, metadata = list(file.schema_arrow), file.metadata
    names = flat_columns(fields)
    limits.check_size(0, metadata.num_columns)
    if again := [name for name, n in Counter(names).items() if n > 1]:
        raise DatasetError(
            f"Several columns of the Parquet file are called {listed(again)}; a file "
            "of this size is read by its columns' names, so save it with other names."
        )
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    # Texts stay coded: few bytes cannot become many.
    texts = {field.name for field in fields if is_text(field.type)}
    if risky := stored_so(metadata, texts, {REPEATING}):
        raise DatasetError(
            f"{listed(sorted(risky))} of the Parquet file should not be stored as "
            f"{REPEATING} in a file of this size: it does not say how long its texts "
            "become; save it with another encoding."
        )
    coded = sorted(texts - stored_so(metadata, texts, UNCODED))
    file = _opened(source, read_dictionary=coded)
    groups = _spread(_group_bytes(metadata))
    n_wanted = max(LEAST_ROWS, min(MOST_ROWS, MOST_VALUES // max(1, len(names))))
    beginnings = _beginnings(file, groups, names, n_wanted)
    target, drawn = _classes_column(plain_frame(beginnings, fields)[0]), "at random"
    counted = None if target is None else _count_classes(file, target, groups)
    if counted is None:
        rows = random.permutation(_rows_of(groups, starts))[:n_wanted]
    else:
        groups, codes, counts = counted
        some, is_exact = _stratified(codes, counts, n_wanted, random)
        rows = _rows_of(groups, starts)[some]
        shares = "as in all rows" if is_exact else "as far as these have such rows"
        drawn = f"by the classes of {shown(target)} with shares {shares}"
    rows = np.sort(rows)
    frame, notices = plain_frame(_taken(file, groups, names, starts, rows), fields)
    words = (
        f"A sample: {len(rows):,} of {starts[-1]:,} rows, drawn {drawn}, from "
        f"{len(groups):,} of {len(sizes):,} row groups."
    )
    reading = Reading("Parquet", sampled_from=int(starts[-1]))
    return FileTable(frame, reading, [words, *notices], numbers=rows + 1)


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


def _beginnings(
    file: pq.ParquetFile, groups: list[int], names: list[str], n_rows: int
) -> pa.Table:
    """The first rows of some row groups, about so many of all."""
    tables = [file.schema_arrow.empty_table().select(names)]
    for group in groups:
        size = max(1, n_rows // len(groups))
        batches = file.iter_batches(size, row_groups=[group], columns=names)
        tables.append(pa.Table.from_batches(islice(batches, 1), tables[0].schema))
    return pa.concat_tables(tables)


def _taken(
    file: pq.ParquetFile,
    groups: list[int],
    names: list[str],
    starts: np.ndarray,
    rows: np.ndarray,
) -> pa.Table:
    """Some rows, ascending, of some row groups, which are read one by one."""
    tables = []
    for group in sorted(groups):
        first, last = np.searchsorted(rows, starts[group : group + 2])
        table = file.read_row_group(group, columns=names)
        tables.append(table.take(rows[first:last] - starts[group]))
    return pa.concat_tables(tables)


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


def class_codes(column: pa.ChunkedArray) -> tuple[np.ndarray, list]:
    """Number of each row's class, and the classes."""
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    coded = column.dictionary_encode().combine_chunks()
    codes = coded.indices.cast(pa.int64()).fill_null(-1)  # from a file: of any kind
    labels = plain_column(pa.chunked_array([coded.dictionary]))
    return codes.to_numpy(), labels.tolist()


def _count_classes(
    file: pq.ParquetFile, name: str, groups: list[int]
) -> tuple[list[int], np.ndarray, np.ndarray] | None:
    """Count the classes in all row groups; None if they are too many."""
    numbers: dict[object, int] = {}
    codes: dict[int, np.ndarray] = {}
    counts = here = first = np.zeros(0, np.int64)

    def group_codes(group: int) -> np.ndarray:
        column = file.read_row_group(group, columns=[name], use_threads=False).column(0)
        codes, labels = class_codes(column)
        known = [numbers.setdefault(label, len(numbers)) for label in labels]
        return np.array([*known, -1])[codes]

    chosen = set(groups)
    for group in range(file.num_row_groups):
        some = group_codes(group)
        more = 0, len(numbers) - len(counts)
        counts, here, first = (np.pad(each, more) for each in (counts, here, first))
        n_rows = np.bincount(some + 1, minlength=len(numbers) + 1)[1:]
        first[(counts == 0) & (n_rows > 0)] = group
        counts += n_rows
        if np.count_nonzero(counts) > MOST_CLASSES:
            return None
        if group in chosen:
            codes[group], here = some, here + n_rows
    absent = first[(counts > 0) & (here == 0)][:MOST_MORE]
    for group in np.unique(absent).tolist():
        codes[group] = group_codes(group)
    return [*codes], np.concatenate([*codes.values()]), counts


def _stratified(
    codes: np.ndarray, counts: np.ndarray, n_wanted: int, random: np.random.Generator
) -> tuple[np.ndarray, bool]:
    """Places of a sample in which each class has its share of all rows.

    A class of very few rows has one. The second is whether there were enough of each.
    """
    n_rows = min(n_wanted, len(codes))
    wanted = np.round(counts * (n_rows / counts.sum()))
    quotas = np.where(counts > 0, np.maximum(1, wanted), 0).astype(np.int64)
    while quotas.sum() > n_rows:
        quotas[quotas.argmax()] -= 1
    order = random.permutation(len(codes))
    shuffled = codes[order]
    some = [order[shuffled == code][:quota] for code, quota in enumerate(quotas)]
    return np.concatenate(some), [len(part) for part in some] == quotas.tolist()
