"""Columns of texts that methods compare letter by letter."""

import numpy as np
import pandas as pd

from smpcore.datasets.columns import as_text
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import shown
from smpcore.datasets.inputs import Input
from smpcore.errors import DatasetError

#: Letters of a text, and different letters of a column, at most: comparing two texts
#: takes the product of their lengths, and editing one takes every letter.
MAX_LENGTH, MAX_LETTERS = 100, 64


def text_features(dataset: Dataset) -> list[str]:
    """Columns that a model may use and that are read as text.

    Parameters
    ----------
    dataset : Dataset
        A table, series or matrices.

    Returns
    -------
    list of str
        Their names; mostly there are none.
    """
    return [name for name in dataset.feature_columns if dataset.kinds[name] == "text"]


def only_compared(dataset: Dataset) -> bool:
    """Whether rows are known by their similarities, and no feature means anything.

    Parameters
    ----------
    dataset : Dataset
        A table, series or matrices.

    Returns
    -------
    bool
    """
    return bool(dataset.matrices or text_features(dataset))


def learn_text(column: pd.Series, first: int) -> Input:
    """Learn the letters of a column of texts, and its longest text."""
    texts = as_text(column).dropna()
    letters = tuple(sorted(set("".join(texts))))
    width = max(map(len, texts), default=1) or 1
    for size, most, what in (
        (width, MAX_LENGTH, "letters in a text"),
        (len(letters), MAX_LETTERS, "different letters"),
    ):
        if size > most:
            raise DatasetError(
                f"Column {shown(column.name)} has {size:,} {what}, at most {most} are "
                "compared; shorten its texts, or read it as a category."
            )
    high = float(max(len(letters) - 1, 0))
    return Input(column.name, "text", -1.0, letters, -1.0, high, True, first, width)


def letter_codes(column: pd.Series, spec: Input) -> np.ndarray:
    """Number of each letter, as the model wants it."""
    places = {letter: place for place, letter in enumerate(spec.levels)}
    codes = np.full((len(column), spec.width), -1.0)
    for row, text in enumerate(as_text(column).fillna("")):
        for k, letter in enumerate(text[: spec.width]):
            codes[row, k] = places.get(letter, len(places))
    return codes
