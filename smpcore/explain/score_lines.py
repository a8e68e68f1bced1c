"""The lines that a risk score may have: statements about a column, true or false.

A column of numbers is cut near its quantiles, at the roundest number there is between
two quantiles that lie close by, in no more digits than the column has itself. A
category has a line for each level, for one of two. A missing value counts as the number
that the preparation puts in its place; of a category without one no level is true, or
of two levels the commoner.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from smpcore.datasets import Input, shown
from smpcore.errors import SmpcoreError
from smpcore.explain.score_search import MOST_LOG_ODDS

#: Cuts of a column of numbers, at most.
N_CUTS = 9
#: A line is true, and false, for this share of the rows at least.
_LEAST = 0.01


@dataclass(frozen=True)
class Line:
    """A statement about a row.

    Parameters
    ----------
    column : Input
        What it is about.
    cut : float
        The statement is "at least the cut"; NaN: it is about a level.
    level : int
        Position in the levels of a category.
    negated : bool
        Whether it is the opposite.
    """

    column: Input
    cut: float = math.nan
    level: int = 0
    negated: bool = False

    def holds(self, X: np.ndarray) -> np.ndarray:
        """Whether it is true for prepared rows."""
        if self.column.kind == "number":
            return (X[:, self.column.first] >= self.cut) != self.negated
        return (X[:, self._feature] != 0) != self.negated

    @property
    def _feature(self) -> int:
        return self.column.first + self.column.feature_levels.index(self.level)

    @property
    def missing_holds(self) -> bool:
        """Whether it is true for a row without a value."""
        x = np.zeros((1, self.column.first + self.column.width))
        if self.column.kind == "number":
            x[0, self.column.first] = self.column.fill
        elif self.column.fill >= 0 and self.column.fill != self.column.dropped:
            place = self.column.feature_levels.index(int(self.column.fill))
            x[0, self.column.first + place] = 1.0
        return bool(self.holds(x)[0])

    @property
    def value(self) -> str:
        """What is said of the column: "≥ 50", "male", "not red"."""
        if self.column.kind == "number":
            return f"{'<' if self.negated else '≥'} {self.cut:.10g}"
        levels = self.column.levels
        if self.negated and len(levels) == 2:
            return levels[1 - self.level]
        return ("not " if self.negated else "") + levels[self.level]


def roundest(low: float, high: float, decimals: int) -> float:
    """The number of the fewest digits above `low` and not above `high`.

    Parameters
    ----------
    low, high : float
        An interval; a column has values at its ends.
    decimals : int
        Digits after the point that the column has.

    Returns
    -------
    float
    """
    if low >= high:
        return high
    power = math.ceil(math.log10(max(abs(low), abs(high), high - low)))
    for digits in range(-power, decimals + 1):
        for factor in (5, 2, 1):
            step = factor * 10.0**-digits
            first, last = math.floor(low / step) + 1, math.floor(high / step)
            if first <= last:
                middle = round((low + high) / 2 / step)
                return round(min(max(first, middle), last) * step, max(digits, 0))
    return high


def _cuts(values: np.ndarray, weights: np.ndarray, column: Input) -> list[float]:
    """Round numbers near the quantiles of a column, ascending."""
    centres = np.arange(1, N_CUTS + 1) / (N_CUTS + 1)
    apart = 0.25 / (N_CUTS + 1)
    low, high = np.quantile(
        values,
        [centres - apart, centres + apart],
        weights=weights,
        method="inverted_cdf",
    )
    pairs = zip(low.tolist(), high.tolist(), strict=True)
    return sorted({roundest(a, b, column.decimals) for a, b in pairs})


def candidate_lines(
    inputs: Iterable[Input], X: np.ndarray, weights: np.ndarray
) -> list[Line]:
    """Every line that a score may have.

    Parameters
    ----------
    inputs : iterable of Input
        Columns that it may use.
    X : ndarray of shape (n_samples, n_features)
        Prepared training rows.
    weights : ndarray of shape (n_samples,)
        Weights of the rows.

    Returns
    -------
    list of Line
        None that is true for nearly all rows or for nearly none.
    """
    lines: list[Line] = []
    for column in inputs:
        if column.kind == "number":
            cuts = _cuts(X[:, column.first], weights, column)
            lines += [Line(column, cut=cut) for cut in cuts]
        elif column.kind == "category":
            lines += [Line(column, level=level) for level in column.feature_levels]
    share = [np.average(line.holds(X), weights=weights) for line in lines]
    pairs = zip(lines, share, strict=True)
    return [line for line, part in pairs if _LEAST <= part <= 1 - _LEAST]


def bounds_of(
    lines: list[Line], signs: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """What lines may add to the log-odds, where columns must raise or lower the risk.

    Parameters
    ----------
    lines : list of Line
        Lines, none of them negated.
    signs : mapping of str to int
        Name of a column of numbers -> 1 if more of it never lowers the risk, -1 if it
        never raises it.

    Returns
    -------
    ndarray of shape (n_lines,), ndarray of shape (n_lines,)

    Raises
    ------
    SmpcoreError
        For the sign of a category, or one that is not 1 or -1.
    """
    kinds = {line.column.name: line.column.kind for line in lines}
    for name, sign in signs.items():
        if sign not in (1, -1):
            raise SmpcoreError(f"The sign of {shown(name)} should be 1 or -1.")
        if kinds.get(name) == "category":
            raise SmpcoreError(
                f"{shown(name)} is a category, which has no more or less; give signs "
                "to columns of numbers."
            )
    of_lines = [signs.get(line.column.name, 0) for line in lines]
    low = [0.0 if sign > 0 else -MOST_LOG_ODDS for sign in of_lines]
    high = [0.0 if sign < 0 else MOST_LOG_ODDS for sign in of_lines]
    return np.array(low), np.array(high)


def without_equal(
    lines: list[Line], holds: np.ndarray, low: np.ndarray, high: np.ndarray
) -> list[int]:
    """Positions of lines of which none is equal, or opposite, to one before.

    Parameters
    ----------
    lines : list of Line
        Lines.
    holds : ndarray of bool, shape (n_samples, n_lines)
        Whether they are true.
    low, high : ndarray of shape (n_lines,)
        Their bounds: of equal lines with other bounds both stay.

    Returns
    -------
    list of int
    """
    seen: dict[tuple, int] = {}
    for j in range(len(lines)):
        box = low[j], high[j]
        if holds[0, j]:
            key = (~holds[:, j]).tobytes(), 0.0 - high[j], 0.0 - low[j]
        else:
            key = holds[:, j].tobytes(), *box
        seen.setdefault(key, j)
    return sorted(seen.values())
