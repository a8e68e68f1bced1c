"""One raw column as a model sees it, learned on training rows."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from smpcore.datasets.cleaning import Imputation
from smpcore.datasets.columns import Kind, as_text
from smpcore.datasets.display_names import plain_number, shown
from smpcore.errors import DatasetError

# One model feature per level: more of them is a text, or an identifier.
MAX_CATEGORY_LEVELS = 1000


@dataclass(frozen=True)
class Input:
    """One raw column as a model sees it.

    Attributes
    ----------
    name : str
        Name of the raw column.
    kind : {"number", "category", "text"}
        A number is one model feature; a category is one feature of 0 or 1 per level,
        but for the level ``dropped``; a text is one per letter, see `learn_text`.
    fill : float
        What a missing number becomes: the median of the training rows, or their most
        frequent value. Of a category the position in ``levels`` of the level that a
        missing value becomes; -1: none.
    levels : tuple of str
        Sorted values of a category in the training rows. Any other value, and a
        missing one without a ``fill``, makes all its features 0: of two levels it
        counts as the commoner. Of a text its letters.
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
    unit : str
        Of a number, as the user wrote it.
    fixed : bool
        The value cannot be changed: counterfactuals keep it.
    """

    name: str
    kind: Kind
    fill: float
    levels: tuple[str, ...]
    low: float
    high: float
    integer: bool
    first: int
    width: int
    decimals: int = 0
    dropped: int = -1
    unit: str = ""
    fixed: bool = False

    def beyond(self, value: float) -> str:
        """Say that a number is outside of the training range; empty if it is not."""
        if value > self.high:
            return f"above what was seen: max {plain_number(self.high, 6)}"
        if value < self.low:
            return f"below what was seen: min {plain_number(self.low, 6)}"
        return ""

    @property
    def features(self) -> slice:
        """Positions of its model features."""
        return slice(self.first, self.first + self.width)

    @property
    def positions(self) -> range:
        """The same one by one."""
        return range(self.first, self.first + self.width)

    @property
    def feature_levels(self) -> tuple[int, ...]:
        """Position in ``levels`` of the level of each feature; empty for a number."""
        return tuple(i for i in range(len(self.levels)) if i != self.dropped)

    def text(self, x: np.ndarray) -> str:
        """The value of the column in a feature vector: a level, or a number's digits.

        A number that needs more digits than the column's own has all of its digits.
        """
        if self.kind == "text":
            codes = [int(code) for code in x[self.features] if code >= 0]
            return "".join([*self.levels, "?"][code] for code in codes)
        if self.kind == "category":
            places = [*np.array(self.feature_levels)[x[self.features] != 0]]
            places += [self.dropped] * (not places and self.dropped >= 0)
            return " or ".join(self.levels[i] for i in places) or "none of its levels"
        value = float(x[self.first])
        text = f"{value:.{self.decimals}f}"
        return text if abs(value) < 1e15 and float(text) == value else repr(value)


def learn_numbers(
    values: np.ndarray, names: list[str], imputed: list[Imputation]
) -> list[Input]:
    """Learn replacement, range and digits of columns of numbers, all at once."""
    gaps = np.isnan(values)
    empty = gaps.all(axis=0)
    if empty.any():
        values = np.where(empty, 0.0, values)
        gaps = gaps & ~empty
    whole = ~gaps.any(axis=0)
    fills = np.empty(len(names))
    fills[whole] = np.median(values[:, whole], axis=0) if whole.any() else 0.0
    for i in np.flatnonzero(~whole):
        fills[i] = np.median(values[~gaps[:, i], i])
    for i, impute in enumerate(imputed):
        if impute == "most frequent":
            different, counts = np.unique(values[~gaps[:, i], i], return_counts=True)
            fills[i] = different[counts.argmax()]
    low = np.min(values, axis=0, where=~gaps, initial=np.inf)
    high = np.max(values, axis=0, where=~gaps, initial=-np.inf)
    integer = (gaps | (values == np.floor(values))).all(axis=0)
    digits = _decimals(values, gaps, low, high)
    columns = zip(names, fills, low, high, integer, digits, strict=True)
    return [
        Input(n, "number", float(f), (), float(a), float(b), bool(i), 0, 1, int(d))
        for n, f, a, b, i, d in columns
    ]


def _decimals(
    values: np.ndarray, gaps: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Digits after the point that each column needs, four significant ones at most."""
    spread = high - low
    spread = np.where(spread > 0.0, spread, np.where(high != 0.0, np.abs(high), 1.0))
    needed = np.clip(3 - np.floor(np.log10(spread)), 0, 300).astype(np.int64)
    undecided = np.arange(len(needed))
    for decimals in range(int(needed.max(initial=0))):
        undecided = undecided[needed[undecided] > decimals]
        enough = undecided
        # Most columns of many digits show it in their first values.
        for rows in (slice(8), slice(None)):
            part = values[rows, enough]
            same = gaps[rows, enough] | (part == np.round(part, decimals))
            enough = enough[same.all(axis=0)]
        needed[enough] = decimals
    return needed


def learn_category(column: pd.Series, first: int, impute: Imputation = "") -> Input:
    """Learn the levels of a category, and which of them replaces a missing value."""
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
    fill = -1.0
    if impute == "most frequent" and levels:
        fill = float(np.argmax([counts[level] for level in levels]))
    return Input(
        column.name,
        "category",
        fill,
        levels,
        0.0,
        1.0,
        True,
        first,
        width,
        dropped=dropped,
    )
