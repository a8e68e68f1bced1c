"""Features that no model may use: as if their columns were not in the table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import listed, shown
from smpcore.errors import DatasetError

#: More than that is another question: then the roles of the columns say it better.
MOST_FORBIDDEN = 100


def forbiddable(dataset: Dataset) -> dict[str, list[str]]:
    """What an expert may forbid, and the columns that go with it.

    Of a table each column, a category with all its levels; of an image each pixel; of
    series of several channels a whole channel, since a single moment of one means
    little; of series of one channel each moment; of matrices each matrix.

    Parameters
    ----------
    dataset : Dataset
        Table, images or series whose features are listed.

    Returns
    -------
    dict of str to list of str
        In the order of the columns; what is forbidden already is among them.
    """
    columns = dataset.sample_columns
    parts = dataset.channels if len(dataset.channels) > 1 else []
    parts = [matrix.name for matrix in dataset.matrices] or parts
    if not parts:
        return {name: [name] for name in columns}
    width = len(columns) // len(parts)
    starts = range(0, len(columns), width)
    return {
        name: columns[first : first + width]
        for name, first in zip(parts, starts, strict=True)
    }


def forbid(dataset: Dataset, names: Iterable[str]) -> Dataset:
    """Return the same table with features that no model may use.

    Their columns are ignored, so that every method learns exactly what it would learn
    from a table without them. Rows, targets and the shape of a sample stay.

    Parameters
    ----------
    dataset : Dataset
        Table whose columns are to be ignored.
    names : iterable of str
        Some of `forbiddable`; what was forbidden before and is not among them is
        allowed again.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If a name is not known, or nothing would be left to learn from.
    """
    known, names = forbiddable(dataset), list(names)
    if unknown := [name for name in names if name not in known]:
        raise DatasetError(
            f"{shown(dataset.name)} has no feature {listed(unknown)} to forbid; it has "
            f"{listed(list(known))}."
        )
    if len(set(names)) > MOST_FORBIDDEN:
        raise DatasetError(
            f"{len(set(names))} features are forbidden, at most {MOST_FORBIDDEN} can "
            "be; give columns the role ignore instead."
        )
    if len(set(names)) == len(known):
        raise DatasetError("All features are forbidden; allow at least one of them.")
    gone = {column for name in names for column in known[name]}
    roles = dict(dataset.roles)
    for column in dataset.sample_columns:
        roles[column] = "ignore" if column in gone else "feature"
    return replace(dataset, roles=roles, forbidden=tuple(sorted(gone)))


def in_place(
    dataset: Dataset, rows: np.ndarray, blank: float = float("nan")
) -> np.ndarray:
    """Return what belongs to features at the features' places in a whole sample.

    Parameters
    ----------
    dataset : Dataset
        All features are numbers.
    rows : ndarray of shape (n_rows, n_features)
        Values, or weights, of the features that may be used.
    blank : float
        What stands at the forbidden places.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        As many as ``dataset.sample_shape`` says.
    """
    if not dataset.forbidden:
        return rows
    allowed = [dataset.roles[name] == "feature" for name in dataset.sample_columns]
    whole = np.full((len(rows), len(allowed)), blank, dtype=rows.dtype)
    whole[:, allowed] = rows
    return whole
