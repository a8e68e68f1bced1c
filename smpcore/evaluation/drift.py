"""How far the columns of other rows differ from those that a model was trained on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from smpcore.datasets import Input, as_numbers, as_text, plain_number, shorten_name
from smpcore.datasets.preparation import weighted_median
from smpcore.readouts import number_text


def column_drift(
    training: pd.DataFrame,
    rows: pd.DataFrame,
    inputs: Collection[Input],
    weights: Sequence[np.ndarray | None] = (None, None),
) -> pd.DataFrame:
    """Compare each column of other rows with the training rows; the largest first.

    Of a number the size is the standardised difference: that of both means over the
    root of the mean of both variances (Austin, Statistics in Medicine 28, 2009). Of a
    category it is the largest change of a level's share among the values that are
    there.

    Parameters
    ----------
    training : DataFrame of shape (n_train, ...)
        The rows that the model was trained on.
    rows : DataFrame of shape (n_rows, ...)
        The other rows, as `match_columns` gives them.
    inputs : collection of Input
        Columns to compare; texts are left out.
    weights : pair of (ndarray of shape (n_rows,) or None), optional
        How much each row of either table counts.

    Returns
    -------
    DataFrame
        ``column``; ``training`` and ``file``: mean and median, or the most frequent
        level of the training rows, with its share; ``difference``: what `size` is, in
        words; ``size``, from 0, NaN where a side has no value; ``missing in training``
        and ``missing in file``, shares.
    """
    tables = [
        (table, np.ones(len(table)) if mass is None else mass)
        for table, mass in zip((training, rows), weights, strict=True)
    ]
    compared = {"number": _of_numbers, "category": _of_levels}
    lines = []
    for column in inputs:
        if compare := compared.get(column.kind):
            read = as_numbers if column.kind == "number" else as_text
            sides = [_Side(read(table[column.name]), mass) for table, mass in tables]
            absent = (side.absent for side in sides)
            lines.append((column.name, *compare(*sides, column.unit), *absent))
    names = ["column", "training", "file", "difference", "size"]
    table = pd.DataFrame(
        lines, columns=[*names, "missing in training", "missing in file"]
    )
    order = np.argsort(-table["size"].fillna(-1.0).to_numpy(float), kind="stable")
    return table.iloc[order].reset_index(drop=True)


class _Side:
    """Values of a column that are there, what each weighs, and the share of the rest.

    A row without weight is none.
    """

    def __init__(self, values: np.ndarray | pd.Series, mass: np.ndarray):
        known = pd.notna(values) & (mass > 0)
        if isinstance(values, np.ndarray):
            known &= np.isfinite(values)
        self.values, self.mass = values[known], mass[np.asarray(known)]
        self.absent = float(1 - self.mass.sum() / mass.sum())


def _of_numbers(old: _Side, new: _Side, unit: str) -> tuple[Any, ...]:
    """Both sides in words, their difference in words, and its size."""
    sides = [_middle(side, unit) for side in (old, new)]
    if not (old.values.size and new.values.size):
        return *sides, "", np.nan
    (low, first), (high, second) = map(_mean_and_variance, (old, new))
    gap, spread = high - low, np.sqrt((first + second) / 2)
    if spread == 0:
        return *sides, "another constant" if gap else "none", np.inf if gap else 0.0
    return *sides, f"{gap / spread:+.2f} SD", float(abs(gap) / spread)


def _mean_and_variance(side: _Side) -> tuple[float, float]:
    mean = np.average(side.values, weights=side.mass)
    return mean, np.average((side.values - mean) ** 2, weights=side.mass)


def _middle(side: _Side, unit: str) -> str:
    if not side.values.size:
        return "no values"
    mean = plain_number(np.average(side.values, weights=side.mass))
    median = plain_number(weighted_median(side.values[:, None], side.mass)[0])
    return f"{mean} (median {median}) {unit}".rstrip()


def _of_levels(before: _Side, after: _Side, unit: str) -> tuple[Any, ...]:
    """The same, of the shares of levels, the most frequent first."""
    del unit  # categories have none
    old, new = (
        pd.Series(side.mass / side.mass.sum())
        .groupby(side.values.to_numpy())
        .sum()
        .sort_values(ascending=False, kind="stable")
        for side in (before, after)
    )
    first = [*old.index[:1], *new.index[:1]][:1]
    sides = [_share(first[0], of) if len(of) else "no values" for of in (old, new)]
    if not (len(old) and len(new)):
        return *sides, "", np.nan
    change = new.sub(old, fill_value=0.0)
    level = change.abs().idxmax()
    start, end = (number_text(float(of.get(level, 0.0))) for of in (old, new))
    words = f"{shorten_name(level, 30)}: {start} to {end}"
    return *sides, words, float(abs(change[level]))


def _share(level: str, shares: pd.Series) -> str:
    return f"{shorten_name(level, 30)} ({number_text(float(shares.get(level, 0.0)))})"
