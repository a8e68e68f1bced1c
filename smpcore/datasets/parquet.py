"""Parquet: tables that say what their columns are, read as a whole or as a sample."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pyarrow.parquet as pq

from smpcore.datasets import limits, reading
from smpcore.datasets.columns import canonical, framed, is_numeric
from smpcore.datasets.display_names import listed, shown
from smpcore.datasets.reading import FileTable, Reading
from smpcore.datasets.roles import guess_kinds, guess_roles
from smpcore.datasets.targets import guess_task
from smpcore.errors import DatasetError

# The directory at the file's end is taken apart as a whole.
MAX_DIRECTORY_BYTES = 16_000_000

#: Stored so, each text may repeat all of the one before it: few bytes become many.
REPEATING = "DELTA_BYTE_ARRAY"
#: Texts that are stored so cannot be read as codes.
UNCODED = {REPEATING, "DELTA_LENGTH_BYTE_ARRAY"}


def read_parquet(source: bytes | Path) -> tuple[pd.DataFrame, list[str]]:
    """Read a table whose size, as its own directory says, is bearable."""
    if isinstance(source, bytes) and source.endswith(b"PAR1"):
        check_directory_size(int.from_bytes(source[-8:-4], "little"))
    source = BytesIO(source) if isinstance(source, bytes) else source
    with damage_in_words():
        file = opened(source)
        _check_directory(file.metadata)
        fields = list(file.schema_arrow)
        # Repeated texts stay coded, so that few bytes cannot become many.
        texts = {field.name for field in fields if is_text(field.type)}
        coded = sorted(texts - stored_so(file.metadata, texts, UNCODED))
        file = opened(source, read_dictionary=coded)
        table = file.read(columns=flat_columns(fields), use_threads=False)
        return plain_frame(table, fields)


def read_arrow(data: bytes) -> tuple[pd.DataFrame, list[str]]:
    """Read a table of Arrow: a file, a stream, or Feather of either version."""
    with reading.damage_in_words("The Arrow file", "fetch or save it again"):
        try:
            table = _arrow_table(data)
        except MemoryError as error:  # it may say so of itself, and be damaged
            raise DatasetError(
                "The Arrow file needs more memory than there is, or is damaged; save "
                "it again, or with fewer rows or columns."
            ) from error
        limits.check_size(table.num_rows, table.num_columns)
        fields = list(table.schema)
        flat = [place for place, field in enumerate(fields) if _is_flat(field.type)]
        return plain_frame(table.select(flat), fields, "Arrow")


def _arrow_table(data: bytes) -> pa.Table:
    buffer = pa.BufferReader(data)
    if data.startswith(b"FEA1"):
        return feather.read_table(buffer, use_threads=False)
    if data.startswith(b"ARROW1"):
        file = pa.ipc.open_file(buffer)
        parts = map(file.get_batch, range(file.num_record_batches))
    else:
        file = parts = pa.ipc.open_stream(buffer)
    batches, size = [], 0
    for batch in parts:
        size += batch.nbytes
        _check_bytes(size, "Arrow")
        batches.append(batch)
    return pa.Table.from_batches(batches, file.schema)


class ParquetParts:
    """The Parquet files of a folder as one file, as Spark and Dask write tables.

    It has what is used here of `pyarrow.parquet.ParquetFile`. Files are taken in the
    order of the numbers in their names; those that begin with "_" or "." are no parts.

    Parameters
    ----------
    folder : Path
    **options
        Of `pyarrow.parquet.ParquetFile`.
    """

    def __init__(self, folder: Path, **options: object) -> None:
        entries = [path for path in folder.iterdir() if path.name[0] not in "_."]
        if not entries or any(path.is_dir() for path in entries):
            raise DatasetError(
                f"The folder {shown(folder.name)} should hold the Parquet files of one "
                "table and no other folders; save the table without partitions."
            )
        entries.sort(key=lambda path: [*map(_place, re.split(r"(\d+)", path.name))])
        files = [pq.ParquetFile(path, **options) for path in entries]
        self.schema_arrow: pa.Schema = files[0].schema_arrow
        self.metadata: pq.FileMetaData = files[0].metadata
        self._groups = []
        for path, file in zip(entries, files, strict=True):
            if not file.schema_arrow.equals(self.schema_arrow):
                raise DatasetError(
                    f"{shown(path.name)} has other columns than "
                    f"{shown(entries[0].name)}; save the parts with the same ones."
                )
            if file is not files[0]:
                self.metadata.append_row_groups(file.metadata)
            self._groups += [(file, i) for i in range(file.num_row_groups)]
        self.num_row_groups = len(self._groups)

    def read_row_group(self, group: int, **options: object) -> pa.Table:
        """Read one row group."""
        file, number = self._groups[group]
        return file.read_row_group(number, **options)

    def read(self, **options: object) -> pa.Table:
        """Read all row groups."""
        numbers = range(self.num_row_groups)
        return pa.concat_tables(self.read_row_group(i, **options) for i in numbers)

    def iter_batches(
        self, size: int, row_groups: list[int], **options: object
    ) -> Iterator[pa.RecordBatch]:
        """Read row groups in batches of at most so many rows."""
        for group in row_groups:
            file, number = self._groups[group]
            yield from file.iter_batches(size, row_groups=[number], **options)


def _place(part: str) -> tuple[bool, int | str]:
    """Sort numbers within names as numbers."""
    return (False, int(part)) if part.isdigit() else (True, part)


def opened(source: Path | BinaryIO, **options: object) -> pq.ParquetFile | ParquetParts:
    """A file, or a folder of parts."""
    if isinstance(source, Path):
        return (ParquetParts if source.is_dir() else pq.ParquetFile)(source, **options)
    source.seek(0)
    return pq.ParquetFile(source, **options)


damage_in_words = partial(
    reading.damage_in_words, "The Parquet file", "fetch or save it again"
)


def flat_columns(fields: Iterable[pa.Field]) -> list[str]:
    """Names of the columns whose cells hold one value each."""
    return [field.name for field in fields if _is_flat(field.type)]


def plain_frame(
    table: pa.Table, fields: list[pa.Field], kind: str = "Parquet"
) -> tuple[pd.DataFrame, list[str]]:
    """Check what was read of a file, and store it as every table is."""
    table.validate(full=True)
    _check_bytes(text_bytes(table), kind)
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
            f"No column of the {kind} file holds numbers or text; save it with plain "
            "columns."
        )
    if not table.num_rows:
        raise DatasetError(f"The {kind} file has no rows; choose a file with rows.")
    words = f"Left out, because neither numbers nor text: {listed(left_out)}."
    durations = [field.name for field in fields if pa.types.is_duration(field.type)]
    notices = [f"Durations are read in seconds: {listed(durations)}."] * bool(durations)
    return framed(columns, names), [words] * bool(left_out) + notices


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
    return {
        column.path_in_schema
        for column in _stored_columns(metadata)
        if not encodings.isdisjoint(column.encodings)
    } & names


def _stored_columns(metadata: pq.FileMetaData) -> Iterator[pq.ColumnChunkMetaData]:
    """What the directory says of each column of each row group."""
    for group in row_groups(metadata):
        yield from map(group.column, range(group.num_columns))


def row_groups(metadata: pq.FileMetaData) -> Iterator[pq.RowGroupMetaData]:
    """What the directory says of each row group."""
    return map(metadata.row_group, range(metadata.num_row_groups))


def _check_directory(metadata: pq.FileMetaData) -> None:
    """Refuse by its directory alone a file whose values need too much memory."""
    limits.check_size(metadata.num_rows, metadata.num_columns)
    size = 0
    for column in _stored_columns(metadata):
        # Of texts that repeat the one before, the worst is taken.
        times = max(1, column.num_values) if REPEATING in column.encodings else 1
        size += times * column.total_uncompressed_size
    _check_bytes(size)


def _check_bytes(size: int, kind: str = "Parquet") -> None:
    remedy = "take fewer rows or columns, or shorter texts"
    limits.check_expanded(f"The {kind} file", size, limits.MAX_EXPANDED, remedy)


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
    if pa.types.is_duration(kind):
        whole = column.cast(pa.duration("us"), safe=False).cast(pa.int64())
        column, kind = pc.divide(whole.cast(pa.float64()), 1e6), pa.float64()
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not number and not pa.types.is_boolean(kind):
        column = column.cast(pa.large_string())
    elif pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    if pa.types.is_boolean(kind) and column.null_count:
        column = pc.if_else(column, "True", "False")
    return canonical(column.to_pandas())


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


#: Pieces as they are decoded: whole columns take longer to get memory for.
_BY_PIECES = {"pre_buffer": False, "buffer_size": 2**16}


def is_too_large(source: Path | BinaryIO) -> bool:
    """Whether a Parquet table has more rows, cells or bytes than are read whole."""
    size = 0 if isinstance(source, Path) else source.seek(0, 2)
    with damage_in_words():
        metadata = opened(source, **_BY_PIECES).metadata
    if not isinstance(source, Path):
        source.seek(0)
    n_rows, n_columns = metadata.num_rows, metadata.num_columns
    return (
        size > limits.MAX_BYTES
        or n_rows > limits.MAX_ROWS
        or n_rows * n_columns > MOST_WHOLE
        or _group_bytes(metadata).sum() > limits.MAX_EXPANDED
    )


def sample_parquet(source: Path | BinaryIO) -> FileTable:
    """Draw rows from row groups spread over a file, each class by its share of all.

    The column that a table of these rows has as its target is read as a whole, and its
    classes are counted. All other columns are read in some row groups only.
    """
    if not isinstance(source, Path):
        source.seek(-8, 2)
        check_directory_size(int.from_bytes(source.read(4), "little"))
    with damage_in_words():
        return _sample(source)


def _sample(source: Path | BinaryIO) -> FileTable:
    file, random = opened(source, **_BY_PIECES), np.random.default_rng(0)
    fields, metadata = list(file.schema_arrow), file.metadata
    names = flat_columns(fields)
    limits.check_size(0, metadata.num_columns)
    if again := [name for name, n in Counter(names).items() if n > 1]:
        raise DatasetError(
            f"Several columns of the Parquet file are called {listed(again)}; a file "
            "of this size is read by its columns' names, so save it with other names."
        )
    sizes = [group.num_rows for group in row_groups(metadata)]
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
    file = opened(source, read_dictionary=coded, **_BY_PIECES)
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
    sizes = [group.total_byte_size for group in row_groups(metadata)]
    return np.array(sizes, dtype=np.int64)


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
    file: pq.ParquetFile | ParquetParts,
    groups: list[int],
    names: list[str],
    n_rows: int,
) -> pa.Table:
    """The first rows of some row groups, about so many of all."""
    tables = [file.schema_arrow.empty_table().select(names)]
    for group in groups:
        size = max(1, n_rows // len(groups))
        batches = file.iter_batches(size, row_groups=[group], columns=names)
        tables.append(pa.Table.from_batches(islice(batches, 1), tables[0].schema))
    return pa.concat_tables(tables)


def _taken(
    file: pq.ParquetFile | ParquetParts,
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
    roles, *_ = guess_roles(frame, kinds, {})
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
    file: pq.ParquetFile | ParquetParts, name: str, groups: list[int]
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
