"""Rows of a Parquet file as features of a model, made a row group at a time."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from smpcore.datasets.columns import LARGEST, parsed_numbers
from smpcore.datasets.inputs import Input
from smpcore.datasets.parquet_rows import ParquetRows
from smpcore.datasets.preparation import Preparation, level_codes
from smpcore.datasets.text_columns import letter_codes


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
    from smpcore.datasets.parquet import plain_column
    from smpcore.datasets.parquet_sample import class_codes

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
