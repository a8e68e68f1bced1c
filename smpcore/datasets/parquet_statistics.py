"""What the columns of a Parquet file hold, counted over all its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from smpcore.datasets.columns import as_text
from smpcore.datasets.names import clean_names


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


@dataclass
class _Column:
    """Moments of the numbers of a column so far."""

    count: int = 0
    missing: int = 0
    mean: float = np.nan
    squares: float = np.nan
    low: float = np.nan
    high: float = np.nan

    def add(self, values: pa.ChunkedArray) -> None:
        """Add the values of a row group."""
        kind, n_rows = values.type, len(values)
        is_decimal = pa.types.is_decimal(kind)
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or is_decimal):
            self.count += n_rows - values.null_count
            self.missing += values.null_count
            return
        # Arrow adds up in place: memory for arrays takes as long as the sums.
        x = values.cast(pa.float64(), safe=False).drop_null()
        if pc.any(is_nan := pc.is_nan(x)).as_py():
            x = x.filter(pc.invert(is_nan))
        n = len(x)
        self.missing += n_rows - n
        if not n:
            return
        mean, squares = pc.mean(x).as_py(), n * pc.variance(x).as_py()
        before, self.count = self.count, self.count + n
        if before:  # sums of squares about two means become one about the common mean
            difference = mean - self.mean
            squares += self.squares + difference * difference * before * n / self.count
            mean = self.mean + difference * n / self.count
        self.mean, self.squares = mean, squares
        extremes = pc.min_max(x).as_py()
        self.low = float(np.fmin(self.low, extremes["min"]))
        self.high = float(np.fmax(self.high, extremes["max"]))

    def row(self) -> dict[str, float]:
        """The statistics."""
        return {
            "count": self.count,
            "missing": self.missing,
            "mean": self.mean,
            "standard deviation": np.sqrt(self.squares / max(1, self.count)),
            "min": self.low,
            "max": self.high,
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
    import pyarrow.parquet as pq  # who reads no file does not wait for it

    from smpcore.datasets.parquet import damage_in_words, flat_columns

    with damage_in_words():
        file = pq.ParquetFile(path)
        read = flat_columns(file.schema_arrow)
        names = clean_names(read)[0]
        columns, classes = {name: _Column() for name in names}, Counter()
        for group in range(file.num_row_groups):
            if stop[0]:
                return None
            table = file.read_row_group(group, columns=read, use_threads=False)
            for name, values in zip(names, table.columns, strict=True):
                columns[name].add(values)
                if name == target:
                    classes.update(_class_counts(values))
            progress[0] = (group + 1) / file.num_row_groups
    rows = [{"column": name, **column.row()} for name, column in columns.items()]
    counts = dict(classes.most_common())
    return FileStatistics(pd.DataFrame(rows), counts, file.metadata.num_rows)


def _class_counts(values: pa.ChunkedArray) -> dict[str, int]:
    """Rows of each class, which is called as in the table of a sample."""
    from smpcore.datasets.parquet_sample import class_codes

    codes, labels = class_codes(values)
    counts = np.bincount(codes + 1, minlength=len(labels) + 1)[1:].tolist()
    pairs = zip(as_text(pd.Series(labels)), counts, strict=True)
    return {label: n for label, n in pairs if n}
