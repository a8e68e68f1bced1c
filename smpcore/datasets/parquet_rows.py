"""Rows of a Parquet file that are read a piece at a time, never all at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from smpcore.datasets.display_names import listed
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
        Of the file, which is opened at once and then read a row group at a time.
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
        import pyarrow.parquet as pq  # who reads no file does not wait for it

        if not hasattr(self._of_thread, "file"):
            try:
                self._of_thread.file = pq.ParquetFile(self.path, memory_map=True)
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
                yield (
                    part,
                    group,
                    slice(part.start + first - start, part.stop + first - start),
                )
            else:
                yield part, group, rows[part] - start

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
