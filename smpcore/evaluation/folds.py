"""Folds: training rows divided again, so that choosing needs no test row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from smpcore.datasets import (
    Dataset,
    Preparation,
    answered,
    distinct_times,
    prepare,
    read_times,
    read_weights,
    row_weights,
    shown,
)
from smpcore.errors import DatasetError, SmpcoreError

#: Below this many rows the folds are drawn several times: one draw says too little.
FEW_ROWS = 200
#: How often they are drawn then.
REPEATS = 3


@dataclass(frozen=True, eq=False)
class Fold:
    """One division of the training rows.

    Parameters
    ----------
    train, held_out : ndarray of int
        Sorted row numbers of the data set, disjoint.
    repeat, number : int
        Which draw of the folds, and which fold of that draw.
    censored : ndarray of int
        Rows beside `train` that were censored, see `Split.censored`.
    """

    train: np.ndarray
    held_out: np.ndarray
    repeat: int
    number: int
    censored: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def with_censored(self) -> np.ndarray:
        """Rows to learn from, and those of them that were censored."""
        return np.sort(np.concatenate([self.train, self.censored]))

    def prepared(self, dataset: Dataset) -> tuple[Preparation, np.ndarray, np.ndarray]:
        """What is learned from `train` alone, and both parts prepared by it."""
        preparation = prepare(dataset, self.train)
        X, X_held_out = (
            preparation.transform(dataset.frame.iloc[rows])
            for rows in (self.train, self.held_out)
        )
        return preparation, X, X_held_out


def fit_fold(
    unfitted: Any, dataset: Dataset, fold: Fold, stop: np.ndarray
) -> tuple[Any, np.ndarray]:
    """Fit a copy on a fold, and prepare the held-out rows for it."""
    _, X, X_held_out = fold.prepared(dataset)
    weights = row_weights(dataset, fold.with_censored, fold.train)
    estimator = clone(unfitted)
    metadata = dataset.metadata(fold.train)
    problem = estimator.problem(X, dataset.y[fold.train], weights, **metadata)
    return estimator.solve(problem, stop=stop), X_held_out


def folds(
    dataset: Dataset, rows: np.ndarray, n_folds: int = 5, seed: int = 0
) -> list[Fold]:
    """Divide rows into folds; rows of a group stay together, classes keep their shares.

    With a time column each fold learns from the past and holds out the block that
    comes next: the earliest rows are never held out, the latest never learned from.

    Parameters
    ----------
    dataset : Dataset
        With times, `seed` changes nothing.
    rows : ndarray of int
        The training rows, ``with_censored`` of a split; no other row is looked at.
    n_folds : int
        From 2. A class with fewer rows is in fewer folds.
    seed : int
        Seed that draws the folds; equal seeds give equal folds.

    Returns
    -------
    list of Fold
        `n_folds` of them; `REPEATS` times as many below `FEW_ROWS` rows, but not in
        time, where they are divided in one way.

    Raises
    ------
    SmpcoreError
        With fewer rows or groups than folds; in time, with too few moments for a
        block of rows before each fold, or one class in the first of them.
    """
    groups = None if dataset.groups is None else dataset.groups[rows]
    units = rows.size if groups is None else np.unique(groups).size
    if n_folds < 2:
        raise SmpcoreError(f"n_folds={n_folds} should be at least 2.")
    if dataset.times is not None:
        moment = distinct_times(dataset.times[rows], groups)
        return with_answers(_in_time(dataset, rows, moment, n_folds), dataset)
    if units < n_folds:
        what = "training rows" if groups is None else "groups among the training rows"
        if units < 2:
            raise SmpcoreError(
                f"Folds need at least 2 {what}, there is {units}; give training more "
                "of them."
            )
        raise SmpcoreError(
            f"n_folds={n_folds} should be at most {units}, the number of {what}; "
            "ask for fewer folds or give training more of them."
        )
    drawn_folds = []
    for repeat in range(n_draws(dataset, rows)):
        drawn = _drawn(dataset, rows, groups, n_folds, seed + repeat)
        for number, (train, held_out) in enumerate(drawn):
            drawn_folds.append(Fold(rows[train], rows[held_out], repeat, number))
    return with_answers(drawn_folds, dataset)


def with_answers(drawn_folds: list[Fold], dataset: Dataset) -> list[Fold]:
    """The same folds, rows without an answer kept apart (see `event_within`)."""
    if dataset.follow_up is None:
        return drawn_folds
    known, censored = answered(dataset)
    return [
        Fold(
            fold.train[known[fold.train]],
            fold.held_out[known[fold.held_out]],
            fold.repeat,
            fold.number,
            fold.train[censored[fold.train]],
        )
        for fold in drawn_folds
    ]


def n_draws(dataset: Dataset, rows: np.ndarray) -> int:
    """How often `folds` divides these rows: several times where they are few.

    Parameters
    ----------
    dataset : Dataset
        Table whose groups or times decide how folds are drawn.
    rows : ndarray of int
        Numbers of the training rows.

    Returns
    -------
    int
    """
    return REPEATS if rows.size < FEW_ROWS and dataset.times is None else 1


def clusters(dataset: Dataset, rows: np.ndarray) -> np.ndarray | None:
    """Tell which rows depend on each other: groups, or neighbours in time.

    Blocks in time have about as many rows as the cube root of their number, the order
    of length that suits the spread of a mean (Hall, Horowitz and Jing, Biometrika 82,
    1995).

    Parameters
    ----------
    dataset : Dataset
        Table with a group or time column, if there is one.
    rows : ndarray of int
        Numbers of the rows that are asked about.

    Returns
    -------
    ndarray of int, shape (n_rows,), or None
        Number of each row's cluster; None where rows count as independent.
    """
    groups = None if dataset.groups is None else dataset.groups[rows]
    times = None if dataset.times is None else dataset.times[rows]
    return _clusters(times, groups)


def clusters_like(dataset: Dataset, frame: pd.DataFrame) -> np.ndarray | None:
    """Tell the same of the rows of another table, as far as it has these columns.

    Parameters
    ----------
    dataset : Dataset
        Data set whose group or time column is looked for.
    frame : DataFrame of shape (n_rows, n_columns)
        Other table, with raw columns.

    Returns
    -------
    ndarray of int, shape (n_rows,), or None
        None also where the table has neither groups nor times that can be read.
    """
    groups = times = None
    for name, role in dataset.roles.items():
        if role == "group" and name in frame:
            groups = pd.factorize(frame[name], use_na_sentinel=False)[0]
        elif role == "time" and name in frame:
            with suppress(DatasetError):
                times = read_times(frame[name].reset_index(drop=True))
    return _clusters(times, groups)


def weights_like(dataset: Dataset, frame: pd.DataFrame) -> np.ndarray | None:
    """Tell what the rows of another table weigh, if it has the column of weights.

    Parameters
    ----------
    dataset : Dataset
        Data set whose weight column is looked for.
    frame : DataFrame of shape (n_rows, n_columns)
        Other table, with raw columns.

    Returns
    -------
    ndarray of shape (n_rows,), or None
        None also where the table's column holds what is no weight.
    """
    if dataset.weight is not None and dataset.weight in frame:
        with suppress(DatasetError):
            return read_weights(frame[dataset.weight].reset_index(drop=True))
    return None


def _clusters(times: np.ndarray | None, groups: np.ndarray | None) -> np.ndarray | None:
    if times is None:
        return groups
    moment = distinct_times(times, groups)
    sizes = np.bincount(moment)
    before = np.cumsum(sizes) - sizes
    return (before // round(times.size ** (1 / 3)))[moment] if times.size else moment


def _in_time(
    dataset: Dataset, rows: np.ndarray, moment: np.ndarray, n_folds: int
) -> list[Fold]:
    """Blocks of equally many moments, each held out after all that came before."""
    from sklearn.model_selection import TimeSeriesSplit

    n_moments = int(moment.max(initial=-1)) + 1
    if n_moments <= n_folds:
        grouped = "" if dataset.groups is None else " that part no group"
        raise SmpcoreError(
            f"n_folds={n_folds} should be below {n_moments}, the number of different "
            f"times{grouped} among the training rows, as the first block only trains; "
            "ask for fewer folds or give training more rows."
        )
    drawn_folds = []
    drawn = TimeSeriesSplit(n_folds).split(np.arange(n_moments))
    for number, (past, following) in enumerate(drawn):
        train, held_out = rows[np.isin(moment, past)], rows[np.isin(moment, following)]
        drawn_folds.append(Fold(train, held_out, 0, number))
    if dataset.task == "classification":
        first = drawn_folds[0].train
        labels = np.unique(dataset.y[first[answered(dataset)[0][first]]])
        if labels.size < 2:
            raise SmpcoreError(
                f"n_folds={n_folds} leaves the first fold one class to learn from, "
                f"{shown(labels[0])}; ask for fewer folds: its block is longer then."
            )
    return drawn_folds


def _drawn(
    dataset: Dataset,
    rows: np.ndarray,
    groups: np.ndarray | None,
    n_folds: int,
    seed: int,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """One draw, by scikit-learn's splitter for this kind of rows."""
    from sklearn.model_selection import (
        GroupKFold,
        KFold,
        StratifiedGroupKFold,
        StratifiedKFold,
    )

    options = {"n_splits": n_folds, "shuffle": True, "random_state": seed}
    unstratified = (KFold if groups is None else GroupKFold)(**options)
    if dataset.task == "regression":
        return unstratified.split(rows, groups=groups)
    # Rows without an answer are spread over the folds as a class is.
    known = answered(dataset)[0][rows]
    y_encoded = np.where(known, dataset.y_encoded[rows], len(dataset.classes))
    # scikit-learn refuses when no class fills the folds, and warns of those that do
    # not: these are spread with the largest class.
    counts = np.bincount(y_encoded)
    y_encoded = np.where(counts[y_encoded] < n_folds, counts.argmax(), y_encoded)
    if np.bincount(y_encoded).max() < n_folds:
        return unstratified.split(rows, groups=groups)
    stratified = StratifiedKFold if groups is None else StratifiedGroupKFold
    return stratified(**options).split(rows, y_encoded, groups)
