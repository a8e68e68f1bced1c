"""One raw column as a model sees it, learned on training rows."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from smpcore.datasets.cleaning import Imputation
from smpcore.datasets.columns import Kind, as_numbers, as_text
from smpcore.datasets.quoting import shown
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


def learn_number(column: pd.Series, first: int, impute: Imputation = "") -> Input:
    """Learn the replacement, range and digits of a column of numbers."""
    values = as_numbers(column)
    values = values[~np.isnan(values)]
    if not values.size:
        values = np.zeros(1)
    low, high = float(values.min()), float(values.max())
    fill, decimals = float(np.median(values)), _decimals(values)
    if impute == "most frequent":
        different, counts = np.unique(values, return_counts=True)
        fill = float(different[counts.argmax()])
    integer = bool(np.all(values == np.floor(values)))
    return Input(
        column.name, "number", fill, (), low, high, integer, first, 1, decimals
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
