"""How far the columns of other rows differ from those that a model was trained on."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from smpcore.datasets import Input, as_numbers, as_text, plain_number, shorten_name
from smpcore.readouts import number_text


def column_drift(
    training: pd.DataFrame, rows: pd.DataFrame, inputs: Collection[Input]
) -> pd.DataFrame:
    """Compare each column of other rows with the training rows; the largest first.

    Of a number the size is the standardised difference: that of both means over the
    root of the mean of both variances (Austin, Statistics in Medicine 28, 2009). Of a
    category it is the largest change of a level's share among the values that are
    there. Rows count alike.

    Parameters
    ----------
    training : DataFrame of shape (n_train, ...)
        The rows that the model was trained on.
    rows : DataFrame of shape (n_rows, ...)
        The other rows, as `match_columns` gives them.
    inputs : collection of Input
        Columns to compare; texts are left out.

    Returns
    -------
    DataFrame
        ``column``; ``training`` and ``file``: mean and median, or the most frequent
        level of the training rows, with its share; ``difference``: what `size` is, in
        words; ``size``, from 0, NaN where a side has no value; ``missing in training``
        and ``missing in file``, shares.
    """
    lines = []
    for column in inputs:
        sides = [table[column.name] for table in (training, rows)]
        if column.kind == "number":
            values = [as_numbers(side) for side in sides]
            line = _of_numbers(*(of[np.isfinite(of)] for of in values), column.unit)
            absent = [float(np.mean(~np.isfinite(of))) for of in values]
        elif column.kind == "category":
            texts = [as_text(side) for side in sides]
            line = _of_levels(*(of.value_counts(normalize=True) for of in texts))
            absent = [float(of.isna().mean()) for of in texts]
        else:
            continue
        lines.append((column.name, *line, *absent))
    names = ["column", "training", "file", "difference", "size"]
    table = pd.DataFrame(
        lines, columns=[*names, "missing in training", "missing in file"]
    )
    order = np.argsort(-table["size"].fillna(-1.0).to_numpy(float), kind="stable")
    return table.iloc[order].reset_index(drop=True)


def _of_numbers(old: np.ndarray, new: np.ndarray, unit: str) -> tuple[Any, ...]:
    """Both sides in words, their difference in words, and its size."""
    sides = [_middle(of, unit) for of in (old, new)]
    if not (old.size and new.size):
        return *sides, "", np.nan
    gap, spread = new.mean() - old.mean(), np.sqrt((old.var() + new.var()) / 2)
    if spread == 0:
        return *sides, "another constant" if gap else "none", np.inf if gap else 0.0
    return *sides, f"{gap / spread:+.2f} SD", float(abs(gap) / spread)


def _middle(values: np.ndarray, unit: str) -> str:
    if not values.size:
        return "no values"
    mean, median = plain_number(values.mean()), plain_number(np.median(values))
    return f"{mean} (median {median}) {unit}".rstrip()


def _of_levels(old: pd.Series, new: pd.Series) -> tuple[Any, ...]:
    """The same, of the shares of levels, the most frequent first."""
    first = [*old.index[:1], *new.index[:1]][:1]
    sides = [_share(first[0], of) if len(of) else "no values" for of in (old, new)]
    if not (len(old) and len(new)):
        return *sides, "", np.nan
    change = new.sub(old, fill_value=0.0)
    level = change.abs().idxmax()
    before, after = (number_text(float(of.get(level, 0.0))) for of in (old, new))
    words = f"{shorten_name(level, 30)}: {before} to {after}"
    return *sides, words, float(abs(change[level]))


def _share(level: str, shares: pd.Series) -> str:
    return f"{shorten_name(level, 30)} ({number_text(float(shares.get(level, 0.0)))})"
