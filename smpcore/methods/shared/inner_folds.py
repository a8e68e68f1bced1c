"""Folds of training rows within a fit: groups stay whole, times in order."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from smpcore.datasets import distinct_times
from smpcore.errors import SmpcoreError

#: Rows -> (those to learn from, those held out).
Folds = list[tuple[np.ndarray, np.ndarray]]


def metadata_arrays(n_samples: int, **metadata: Any) -> dict[str, np.ndarray]:
    """Numbers of groups and times of rows, in order; those that are None left out."""
    arrays = {}
    for name, column in metadata.items():
        if column is None:
            continue
        values = np.asarray(column)
        if values.shape != (n_samples,):
            raise SmpcoreError(
                f"{name} has shape {values.shape} and should have a value for each of "
                f"the {n_samples} rows."
            )
        try:
            arrays[name] = np.unique(values, return_inverse=True)[1]
        except TypeError as error:
            raise SmpcoreError(
                f"{name} holds values that cannot be sorted; give numbers or texts."
            ) from error
    return arrays


def of_distinct_rows(
    place: np.ndarray,
    groups: np.ndarray | None,
    times: np.ndarray | None,
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Groups and times of rows that each stand for one or more samples.

    Groups that share a row are one, and so are times.

    Parameters
    ----------
    place : ndarray of int, shape (n_samples,)
        The row that each sample is; -1: none.
    groups, times : ndarray of int, shape (n_samples,), or None
        Of the samples.
    """
    counted = place >= 0
    place, n_rows = place[counted], int(place.max()) + 1
    label = place
    if groups is not None:
        nodes = place, n_rows + groups[counted]
        size = n_rows + int(groups.max()) + 1
        links = coo_array((np.ones(len(place)), nodes), shape=(size, size))
        label = connected_components(links, directed=False)[1][place]
    of_rows = [None, None]
    for i, of in enumerate((groups, times)):
        if of is not None:
            values = label if i == 0 else distinct_times(times[counted], label)
            of_rows[i] = np.empty(n_rows, dtype=np.int64)
            of_rows[i][place] = values
    return of_rows[0], of_rows[1]


def inner_folds(
    n_folds: int,
    y_encoded: np.ndarray | None,
    groups: np.ndarray | None,
    times: np.ndarray | None,
) -> Folds:
    """Divide rows that have groups or times; none where that cannot be.

    Parameters
    ----------
    n_folds : int
        At most so many: fewer where there are fewer groups or times.
    y_encoded : ndarray of int, shape (n_rows,), or None
        Classes, whose shares the folds keep as far as groups let them; None: numbers.
    groups : ndarray of int, shape (n_rows,), or None
        Rows of a group stay together.
    times : ndarray of shape (n_rows,), or None
        Each fold learns from the past and holds out the block that comes next.

    Returns
    -------
    list of (ndarray of int, ndarray of int)
    """
    from sklearn.model_selection import (
        GroupKFold,
        StratifiedGroupKFold,
        TimeSeriesSplit,
    )

    if times is not None:
        moment = distinct_times(times, groups)
        n_folds = min(n_folds, int(moment.max(initial=0)))
        if n_folds < 2:
            return []
        blocks = TimeSeriesSplit(n_folds).split(np.unique(moment))
        drawn = [
            tuple(np.flatnonzero(np.isin(moment, part)) for part in parts)
            for parts in blocks
        ]
    else:
        n_folds = min(n_folds, len(np.unique(groups)))
        if n_folds < 2:
            return []
        stratified = y_encoded is not None and np.bincount(y_encoded).max() >= n_folds
        splitter = StratifiedGroupKFold if stratified else GroupKFold
        folds = splitter(n_folds, shuffle=True, random_state=0)
        with warnings.catch_warnings():  # a class with fewer rows is in fewer folds
            warnings.simplefilter("ignore", UserWarning)
            drawn = [*folds.split(groups, y_encoded, groups)]
    if y_encoded is not None:
        drawn = [of for of in drawn if len(np.unique(y_encoded[of[0]])) > 1]
    drawn = [of for of in drawn if len(of[0]) and len(of[1])]
    return drawn if len(drawn) > 1 else []


def in_words(groups: Any, times: Any) -> str:
    """How such folds are drawn, to follow "5 folds of 300 training rows"."""
    if times is not None:
        return ", each later than the rows that it was predicted from"
    return ", which part no group" if groups is not None else ""
