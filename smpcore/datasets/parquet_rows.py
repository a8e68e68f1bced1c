"""All rows of a Parquet file, a piece at a time: arrays, features, statistics."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from smpcore.datasets.columns import LARGEST, as_text, parsed_numbers
from smpcore.datasets.display_names import clean_names, listed
from smpcore.datasets.preparation import Input, Preparation, letter_codes, level_codes
from smpcore.errors import DatasetError

#: Bytes that all rows together may take as one array, and a row group as it is read.
MOST_ARRAY_BYTES = 2**30


class ParquetRows:
    """Columns of numbers of a Parquet file, as an array that stays in its file.

    A slice, or an array of ascending row numbers, gives these rows as float64. Each
    thread keeps the row group that it read last, so that whoever reads slices one after
    the other decodes each group once.

    Parameters
    ----------
    path : str or PathLike
        Of the file, or of a folder whose files are the parts of one table; it is opened
        at once and then read a row group at a time.
    columns : sequence of str, optional
        Names of its columns, in the order wanted; None: all, which must be numbers.
    rows : ndarray of int, shape (n_rows,), optional
        Numbers of the rows it consists of, from 0 and ascending; None: all.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    ndim : int
    dtype : dtype
        float64, whatever the file holds.
    columns : tuple of str

    Raises
    ------
    DatasetError
        If there is no such file or column, or a column does not hold numbers; while
        reading, if a value is missing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame = pd.DataFrame({"width": [1.0, 2.0], "kind": ["a", "b"]})
    ...     frame.to_parquet(f"{folder}/two.parquet")
    ...     ParquetRows(f"{folder}/two.parquet", ["width"])[:1]
    array([[1.]])
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(
        self,
        path: str | PathLike[str],
        columns: Sequence[str] | None = None,
        rows: np.ndarray | None = None,
    ) -> None:
        self.path, self._of_thread = Path(path), threading.local()
        self.columns = tuple(
            self._file.schema_arrow.names if columns is None else columns
        )
        self._refuse_columns()
        metadata = self._file.metadata
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._rows = rows
        n_rows = int(self._starts[-1]) if rows is None else len(rows)
        self.shape = n_rows, len(self.columns)
        self._refuse_sizes(sizes)

    @property
    def _file(self) -> Any:
        """The file, opened by each thread: one reader serves no two at once."""
        from smpcore.datasets.parquet import opened  # not for who reads no file

        if not hasattr(self._of_thread, "file"):
            try:
                self._of_thread.file = opened(self.path, memory_map=True)
            except DatasetError:  # a ValueError, too
                raise
            except (pa.ArrowException, OSError, ValueError) as error:
                raise DatasetError(
                    f"{self.path.name} cannot be read as a Parquet file; give the path "
                    "of a whole one."
                ) from error
        return self._of_thread.file

    def __len__(self) -> int:
        """Rows."""
        return self.shape[0]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path only: another process opens the file itself."""
        return ParquetRows, (self.path, self.columns, self._rows)

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Read rows; ``[slice, array]`` reads only those columns, by their numbers."""
        columns = np.arange(self.shape[1])
        if isinstance(rows, tuple):
            rows, columns = rows[0], np.asarray(rows[1])
        if self._rows is not None:
            rows = self._rows[rows]
        n_rows = len(range(len(self))[rows]) if isinstance(rows, slice) else len(rows)
        block = np.empty((len(columns), n_rows)).T  # columns lie together, as there
        for part, group, local in self._pieces(rows):
            for column, values in enumerate(self._group(group, columns)):
                block[part, column] = values[local]
        return block

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """All rows, if they are few enough for memory."""
        if 8 * self.shape[0] * self.shape[1] > MOST_ARRAY_BYTES:
            raise DatasetError(
                f"The {len(self):,} rows of {self.path.name} would take "
                f"{8 * self.shape[0] * self.shape[1] / 2**30:.3g} GiB as one array and "
                f"should take at most {MOST_ARRAY_BYTES / 2**30:g}; use an estimator "
                "that reads rows in blocks, or take a slice."
            )
        return self[:].astype(dtype or self.dtype, order="C", copy=False)

    def frame(self, rows: slice) -> pd.DataFrame:
        """Some rows with the names of the columns.

        Parameters
        ----------
        rows : slice

        Returns
        -------
        DataFrame of shape (n_rows, n_columns)
        """
        return pd.DataFrame(self[rows], columns=list(self.columns))

    def _refuse_columns(self) -> None:
        """Refuse columns that are not there, or not numbers."""
        schema = self._file.schema_arrow
        missing = [name for name in self.columns if name not in schema.names]
        if missing or not self.columns:
            raise DatasetError(
                f"{self.path.name} has no column {listed(missing or ['at all'])}; it "
                f"has {listed(schema.names)}: name some of these."
            )
        for name in self.columns:
            kind = schema.field(name).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                raise DatasetError(
                    f"Column {name!r} of {self.path.name} holds {kind} and should hold "
                    "numbers; leave it out of columns, or save it as numbers."
                )

    def _refuse_sizes(self, sizes: list[int]) -> None:
        """Refuse a file without rows, and groups too large to be read one by one."""
        if not len(self):
            raise DatasetError(f"{self.path.name} has no rows; choose one with rows.")
        if 8 * max(sizes) * self.shape[1] > MOST_ARRAY_BYTES:
            raise DatasetError(
                f"A row group of {self.path.name} has {max(sizes):,} rows, which take "
                f"{8 * max(sizes) * self.shape[1] / 2**30:.3g} GiB, and should take at "
                f"most {MOST_ARRAY_BYTES / 2**30:g}; save it with smaller row groups, "
                "such as row_group_size=100_000."
            )

    def _pieces(self, rows: Any) -> Iterator[tuple[slice, int, Any]]:
        """Places in the answer, the row group they come from, and places in that."""
        if isinstance(rows, slice):
            first, stop, step = rows.indices(len(self))
            if step != 1:
                raise DatasetError(
                    f"Rows of {self.path.name} were asked for in steps of {step} and "
                    "should be asked for one after the other; use a step of 1."
                )
            places = np.clip(self._starts, first, max(first, stop)) - first
        else:
            rows = np.asarray(rows)
            if (np.diff(rows) < 0).any() or (len(rows) and rows[0] < 0):
                raise DatasetError(
                    f"Rows of {self.path.name} should be asked for in ascending order, "
                    "from 0 on; sort the row numbers."
                )
            if len(rows) and rows[-1] >= self._starts[-1]:
                raise IndexError(f"row {rows[-1]} of {self._starts[-1]}")
            places = np.searchsorted(rows, self._starts)
        for group in np.flatnonzero(np.diff(places)):
            part, start = slice(*places[group : group + 2]), self._starts[group]
            if isinstance(rows, slice):
                local = slice(part.start + first - start, part.stop + first - start)
            else:
                local = rows[part] - start
            yield part, group, local

    def _group(self, group: int, columns: np.ndarray) -> list[np.ndarray]:
        """Columns of a row group as they are in the file."""
        key = (int(group), columns.tobytes())
        last, arrays = getattr(self._of_thread, "last", (None, []))
        if last == key:
            return arrays
        self._of_thread.last = (None, [])  # the old one makes room first
        del arrays
        arrays = self._arrays(int(group), columns)
        self._of_thread.last = (key, arrays)
        return arrays

    def _arrays(self, group: int, columns: np.ndarray) -> list[np.ndarray]:
        """The same, read."""
        names = [self.columns[i] for i in columns]
        table = self._table(group, names)
        for name in names:
            column = table.column(name)
            if column.null_count:
                row = self._starts[group] + pc.index(pc.is_null(column), True).as_py()
                raise DatasetError(
                    f"Column {name!r} of {self.path.name} has no value in row {row}; "
                    "leave such rows out, or fill them before the file is saved."
                )
        return [table.column(name).to_numpy() for name in names]

    def _table(self, group: int, names: list[str]) -> pa.Table:
        """Columns of a row group by their names in the file."""
        try:
            return self._file.read_row_group(group, columns=names, use_threads=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DatasetError(
                f"Row {self._starts[group]} and those after it cannot be read from "
                f"{self.path.name}, it seems to be cut off or damaged; save it again."
            ) from error


class PreparedRows(ParquetRows):
    """Feature vectors of rows that stay in their file, as `Preparation` makes them.

    Parameters
    ----------
    path : str or PathLike
        Of the file.
    preparation : Preparation
        Of its columns, learned on a sample of the rows.
    stored : mapping of str to str
        Name of an input -> name of its column in the file.
    rows : ndarray of int, shape (n_rows,)
        Numbers of the rows it consists of, from 0 and ascending.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        preparation: Preparation,
        stored: Mapping[str, str],
        rows: np.ndarray,
    ) -> None:
        self._preparation, self._stored = preparation, dict(stored)
        super().__init__(path, preparation.feature_names, rows)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path only: another process opens the file itself."""
        return PreparedRows, (self.path, self._preparation, self._stored, self._rows)

    def _refuse_columns(self) -> None:
        """Take columns of any kind: features are made of them."""

    def _arrays(self, group: int, columns: np.ndarray) -> list[np.ndarray]:
        """Some features of a row group."""
        inputs = self._preparation.inputs
        places = np.unique(self._preparation.column_of_feature[columns])
        used = [inputs[place] for place in places]
        table = self._table(group, [self._stored[spec.name] for spec in used])
        made: dict[int, np.ndarray] = {}
        for spec in used:
            column = table.column(self._stored[spec.name])
            made |= zip(spec.positions, _features(spec, column), strict=True)
        return [made[feature] for feature in columns]


def _features(spec: Input, column: pa.ChunkedArray) -> list[np.ndarray]:
    """The features that a column becomes."""
    from smpcore.datasets.parquet import class_codes, plain_column

    if spec.kind == "number":
        kind = column.type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if number and not column.null_count:
            values = column.to_numpy()
        else:
            values = parsed_numbers(plain_column(column))
        if max(-float(values.min()), float(values.max())) <= LARGEST:  # NaN is not
            return [values]
        return [np.where(np.abs(values) <= LARGEST, values, spec.fill)]
    if spec.kind == "text":
        return list(letter_codes(plain_column(column), spec).T)
    # Each value is looked up once, however many rows have it.
    codes, labels = class_codes(column)
    levels = np.append(level_codes(pd.Series(labels), spec), int(spec.fill))[codes]
    return [levels == level for level in spec.feature_levels]


@dataclass(frozen=True, eq=False)
class FileStatistics:
    """Statistics of all rows of a file.

    Parameters
    ----------
    columns : DataFrame of shape (n_columns, 7)
        Name, count and missing values of each column; mean, standard deviation,
        smallest and largest value of those with numbers, NaN of the others.
    class_counts : mapping of str to int
        Rows of each class, the most frequent first; empty without classes.
    n_rows : int
        Rows of the file.
    """

    columns: pd.DataFrame
    class_counts: Mapping[str, int]
    n_rows: int


def _summary(values: pa.ChunkedArray) -> tuple[float, ...]:
    """Count, missing values, mean, variance, smallest and largest of a row group."""
    kind, n_rows = values.type, len(values)
    is_decimal = pa.types.is_decimal(kind)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or is_decimal):
        known = n_rows - values.null_count, values.null_count
        return *known, *[np.nan] * 4
    # Arrow adds up in place: memory for arrays takes as long as the sums.
    x = values.cast(pa.float64(), safe=False).drop_null()
    if pc.any(is_nan := pc.is_nan(x)).as_py():
        x = x.filter(pc.invert(is_nan))
    statistics = pc.mean(x), pc.variance(x), *pc.min_max(x).values()
    return len(x), n_rows - len(x), *(one.as_py() for one in statistics)


def _of_all_rows(parts: np.ndarray) -> dict[str, pd.Series]:
    """Statistics of columns, of summaries of shape (n_groups, n_columns, 6)."""
    statistics = map(pd.DataFrame, np.moveaxis(parts, -1, 0))
    count, missing, mean, variance, low, high = statistics
    share = count / count.sum()
    of_all = (share * mean).sum(min_count=1)
    spread = variance + (mean - of_all) ** 2
    return {
        "count": count.sum().astype(np.int64),
        "missing": missing.sum().astype(np.int64),
        "mean": of_all,
        "standard deviation": np.sqrt((share * spread).sum(min_count=1)),
        "min": low.min(),
        "max": high.max(),
    }


def file_statistics(
    path: Path, target: str | None, stop: np.ndarray, progress: np.ndarray
) -> FileStatistics | None:
    """Go through a Parquet file, one row group after the other.

    Parameters
    ----------
    path : Path
        Of the file, which is opened only while it is read.
    target : str or None
        Name of the column whose classes are counted.
    stop : ndarray of int64, shape (1,)
        Ends it once it is not 0.
    progress : ndarray of float64, shape (1,)
        Set to the share of the row groups that are done.

    Returns
    -------
    FileStatistics or None
        None if it was stopped.

    Raises
    ------
    DatasetError
        If the file cannot be read.
    """
    # Who reads no file does not wait for it.
    from smpcore.datasets.parquet import damage_in_words, flat_columns, opened

    with damage_in_words():
        file = opened(path)
        read = flat_columns(file.schema_arrow)
        names = clean_names(read)[0]
        parts = np.full((file.num_row_groups, len(names), 6), np.nan)
        classes: Counter[str] = Counter()
        for group in range(file.num_row_groups):
            if stop[0]:
                return None
            table = file.read_row_group(group, columns=read, use_threads=False)
            for place, values in enumerate(table.columns):
                parts[group, place] = _summary(values)
                if names[place] == target:
                    classes.update(_class_counts(values))
            progress[0] = (group + 1) / file.num_row_groups
    columns = pd.DataFrame({"column": names, **_of_all_rows(parts)})
    counts = dict(classes.most_common())
    return FileStatistics(columns, counts, file.metadata.num_rows)


def _class_counts(values: pa.ChunkedArray) -> dict[str, int]:
    """Rows of each class, which is called as in the table of a sample."""
    from smpcore.datasets.parquet import class_codes

    codes, labels = class_codes(values)
    counts = np.bincount(codes + 1, minlength=len(labels) + 1)[1:].tolist()
    pairs = zip(as_text(pd.Series(labels)), counts, strict=True)
    return {label: n for label, n in pairs if n}
