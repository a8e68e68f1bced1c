"""Preparation: from a raw row to a feature vector, as learned on training rows."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from smpcore.datasets.columns import (
    LARGEST,
    Kind,
    as_numbers,
    as_text,
)
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.quoting import listed, shown
from smpcore.errors import DatasetError

# One model feature per level: more of them is a text, or an identifier.
MAX_CATEGORY_LEVELS = 1000
MAX_FEATURES = 20_000
MAX_PREPARED = 50_000_000


@dataclass(frozen=True)
class Input:
    """One raw column as a model sees it.

    Attributes
    ----------
    name : str
        Name of the raw column.
    kind : {"number", "category"}
        A number is one model feature; a category is one feature of 0 or 1 per level,
        but for the level ``dropped``.
    median : float
        What a missing number becomes: the median of the training rows.
    levels : tuple of str
        Sorted values of a category in the training rows. Any other value, and a
        missing one, makes all its features 0: of two levels it counts as the commoner.
    low, high : float
        Range of the model features in the training rows.
    integer : bool
        All training values are whole numbers.
    first, width : int
        Position of the first model feature, and how many there are.
    decimals : int
        Digits after the point of a number: those of the training values, but no more
        than four significant digits of their range need.
    dropped : int
        Position in ``levels`` of the level without a feature: of two levels the
        commoner in the training rows, the first if both are equally common; -1: none.
    """

    name: str
    kind: Kind
    median: float
    levels: tuple[str, ...]
    low: float
    high: float
    integer: bool
    first: int
    width: int
    decimals: int = 0
    dropped: int = -1

    @property
    def features(self) -> slice:
        """Positions of its model features."""
        return slice(self.first, self.first + self.width)

    @property
    def feature_levels(self) -> tuple[int, ...]:
        """Position in ``levels`` of the level of each feature; empty for a number."""
        return tuple(i for i in range(len(self.levels)) if i != self.dropped)

    def text(self, x: np.ndarray) -> str:
        """The value of the column in a feature vector: a level, or a number's digits.

        A number that needs more digits than the column's own has all of its digits.
        """
        if self.kind == "category":
            places = [*np.array(self.feature_levels)[x[self.features] != 0]]
            places += [self.dropped] * (not places and self.dropped >= 0)
            return " or ".join(self.levels[i] for i in places) or "none of its levels"
        value = float(x[self.first])
        text = f"{value:.{self.decimals}f}"
        return text if abs(value) < 1e15 and float(text) == value else repr(value)


@dataclass(frozen=True, eq=False)
class Preparation:
    """What turns raw rows into feature vectors; knows nothing but training rows.

    Attributes
    ----------
    inputs : tuple of Input
        One per raw feature column, in order.
    dataset : str
        Name of the data set that it was learned on.
    """

    inputs: tuple[Input, ...]
    dataset: str = ""

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Name of each model feature: the column's, or "column = level"."""
        return tuple(
            name
            for given in self.inputs
            for name in (
                [given.name]
                if given.kind == "number"
                else [f"{given.name} = {given.levels[i]}" for i in given.feature_levels]
            )
        )

    @cached_property
    def column_of_feature(self) -> np.ndarray:
        """Position in ``inputs`` of each model feature's column, (n_features,)."""
        return np.repeat(np.arange(len(self.inputs)), [i.width for i in self.inputs])

    @cached_property
    def has_level_features(self) -> bool:
        """Whether a column is several features."""
        return any(given.width > 1 for given in self.inputs)

    def sum_by_column(self, values: np.ndarray) -> np.ndarray:
        """Sum what belongs to features over the features of each column.

        Parameters
        ----------
        values : ndarray of shape (..., n_features)

        Returns
        -------
        ndarray of shape (..., n_inputs), float64
        """
        values = np.asarray(values, dtype=np.float64)
        sums = np.zeros((*values.shape[:-1], len(self.inputs)))
        columns, starts = np.unique(self.column_of_feature, return_index=True)
        sums[..., columns] = np.add.reduceat(values, starts, axis=-1)
        return sums

    def used_columns(self, used: np.ndarray) -> np.ndarray:
        """Which columns have a used feature.

        Parameters
        ----------
        used : ndarray of bool, shape (..., n_features)

        Returns
        -------
        ndarray of bool, shape (..., n_inputs)
        """
        return self.sum_by_column(used) > 0

    @property
    def n_features(self) -> int:
        """Number of model features."""
        return len(self.feature_names)

    @cached_property
    def key(self) -> str:
        """Short text that is the same for the same preparation only."""
        words = repr(self.inputs).encode()
        return hashlib.blake2b(words, digest_size=8).hexdigest()

    def transform(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the feature vectors of raw rows.

        Parameters
        ----------
        frame : DataFrame of shape (n_samples, n_columns)
            Has every input column by name, as numbers or text.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Fresh, C-contiguous, finite.
        """
        self._require(frame)
        X = np.zeros((len(frame), self.n_features))
        numbers = [given for given in self.inputs if given.kind == "number"]
        if numbers:
            values = _numbers(frame, [given.name for given in numbers])
            medians = np.array([given.median for given in numbers])
            np.copyto(values, medians, where=np.isnan(values))
            X[:, [given.first for given in numbers]] = values
        for given in self.inputs:
            if given.kind == "category":
                levels = _level_codes(frame[given.name], given)
                X[:, given.features] = levels[:, None] == np.array(given.feature_levels)
        return X

    def report(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Count what `transform` has to mend in these rows.

        Parameters
        ----------
        frame : DataFrame of shape (n_samples, n_columns)
            Has every input column by name.

        Returns
        -------
        DataFrame of shape (n_inputs, 3)
            For each input column the number of rows whose value is ``missing``,
            ``unseen`` (a category that the training rows do not have) or
            ``out_of_range`` (a number outside the training range).
        """
        self._require(frame)
        counts = {
            given.name: [mask.sum() for mask in _mended(frame[given.name], given)]
            for given in self.inputs
        }
        columns = ["missing", "unseen", "out_of_range"]
        return pd.DataFrame.from_dict(counts, orient="index", columns=columns)

    def report_rows(
        self, frame: pd.DataFrame, names: Collection[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Count in each row what `transform` has to mend.

        Parameters
        ----------
        frame : DataFrame of shape (n_samples, n_columns)
            Has every input column by name.
        names : collection of str, optional
            Input columns whose values are counted; all by default.

        Returns
        -------
        dict of str to ndarray of int, shape (n_samples,)
            ``out of range``, ``missing`` and ``unseen``, as for `report`.
        """
        self._require(frame)
        what = ("missing", "unseen", "out of range")
        counts = {name: np.zeros(len(frame), dtype=np.int64) for name in what}
        for given in self.inputs:
            if names is not None and given.name not in names:
                continue
            masks = _mended(frame[given.name], given)
            for name, mask in zip(what, masks, strict=True):
                counts[name] += mask
        return {name: counts[name] for name in ("out of range", "missing", "unseen")}

    def _require(self, frame: pd.DataFrame) -> None:
        absent = [given.name for given in self.inputs if given.name not in frame]
        if absent:
            raise DatasetError(
                f"The table has no column {listed(absent)}; it should have the columns "
                f"{listed([given.name for given in self.inputs], 20)}."
            )


def prepare(dataset: Dataset, rows: np.ndarray) -> Preparation:
    """Learn medians, category levels and ranges on these rows, and on no others.

    Parameters
    ----------
    dataset : Dataset
        Whose feature columns become inputs.
    rows : ndarray of int
        The training rows (of the fold).

    Returns
    -------
    Preparation
        Its ``transform`` takes ``dataset.frame`` or any table with these columns.

    Raises
    ------
    DatasetError
        If the columns make more features or values than memory should hold.
    """
    frame = dataset.frame[dataset.feature_columns].iloc[rows]
    inputs, first = [], 0
    for name in frame:
        learn = _number if dataset.kinds[name] == "number" else _category
        inputs.append(learn(frame[name], first))
        first += inputs[-1].width
    if first > MAX_FEATURES:
        raise DatasetError(
            f"The columns make {first:,} features, at most {MAX_FEATURES:,} are "
            "possible; give some columns the role ignore."
        )
    if first * dataset.n_samples > MAX_PREPARED:
        raise DatasetError(
            f"The columns make {first:,} features of {dataset.n_samples:,} rows, at "
            f"most {MAX_PREPARED:,} values are possible; give the columns with most "
            "categories the role ignore, or use fewer rows."
        )
    return Preparation(tuple(inputs), dataset.name)


def _number(column: pd.Series, first: int) -> Input:
    values = as_numbers(column)
    values = values[~np.isnan(values)]
    if not values.size:
        values = np.zeros(1)
    low, high = float(values.min()), float(values.max())
    median, decimals = float(np.median(values)), _decimals(values)
    integer = bool(np.all(values == np.floor(values)))
    return Input(
        column.name, "number", median, (), low, high, integer, first, 1, decimals
    )


def _decimals(values: np.ndarray) -> int:
    """Digits after the point that all values need, four significant ones at most."""
    spread = np.ptp(values) or np.abs(values[0]) or 1.0
    most = int(np.clip(3 - np.floor(np.log10(spread)), 0, 300))
    for decimals in range(most):
        # Most columns of many digits show it in their first values.
        if all(np.array_equal(v, np.round(v, decimals)) for v in (values[:8], values)):
            return decimals
    return most


def _category(column: pd.Series, first: int) -> Input:
    counts = as_text(column).dropna().value_counts()
    levels = tuple(sorted(counts.index))
    if len(levels) > MAX_CATEGORY_LEVELS:
        raise DatasetError(
            f"Column {shown(column.name)} has {len(levels):,} different values, at "
            f"most {MAX_CATEGORY_LEVELS:,} are possible for a category; give it the "
            "role ignore, or read it as a number."
        )
    dropped = -1
    if len(levels) == 2:
        dropped = int(counts[levels[1]] > counts[levels[0]])
    width = len(levels) - (dropped >= 0)
    return Input(
        column.name,
        "category",
        0.0,
        levels,
        0.0,
        1.0,
        True,
        first,
        width,
        dropped=dropped,
    )


def _numbers(frame: pd.DataFrame, names: list[str]) -> np.ndarray:
    part = frame[names]
    if not all(dtype.kind in "if" for dtype in part.dtypes):
        part = pd.DataFrame({name: as_numbers(part[name]) for name in names})
    values = part.to_numpy(np.float64, copy=True)
    values[~(np.abs(values) <= LARGEST)] = np.nan
    return values


def _level_codes(column: pd.Series, given: Input) -> np.ndarray:
    return pd.Index(given.levels, dtype="str").get_indexer(as_text(column))


def _mended(
    column: pd.Series, given: Input
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which values are missing, unseen, or out of the training range."""
    nowhere = np.zeros(column.size, dtype=bool)
    if given.kind == "category":
        missing = column.isna().to_numpy()
        return missing, ~missing & (_level_codes(column, given) < 0), nowhere
    values = as_numbers(column)
    outside = (values < given.low) | (values > given.high)
    return np.isnan(values), nowhere, outside
