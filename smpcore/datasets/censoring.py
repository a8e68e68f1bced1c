"""Rows without an answer to a question of time to event, and weights of the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from smpcore.datasets.dataset import Dataset
from smpcore.datasets.follow_up import censoring_weight, within
from smpcore.datasets.validation import read_only


def censoring_weights(
    dataset: Dataset, learned_on: np.ndarray, rows: np.ndarray
) -> np.ndarray | None:
    """Weigh rows for those that were censored before the horizon.

    Parameters
    ----------
    dataset : Dataset
        Only one from `event_within` has weights.
    learned_on : ndarray of int
        Training rows with the censored ones, ``with_censored`` of a split or fold: how
        censoring goes is learned on them.
    rows : ndarray of int
        Rows whose weights are returned.

    Returns
    -------
    ndarray of shape (n_rows,), or None
        0 of a row without an answer; None where every row weighs 1.
    """
    question = dataset.follow_up
    if question is None:
        return None
    times, events = question.read(dataset.frame)
    _, known = within(times, events, question.horizon)
    known_at = np.minimum(times[rows], question.horizon)
    weights = censoring_weight(times[learned_on], events[learned_on], known_at)
    weights = np.where(known[rows], weights, 0.0)
    return None if np.all(weights == 1.0) else weights


def training_rows(
    dataset: Dataset, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows that a model learns from, and their weights.

    Parameters
    ----------
    dataset : Dataset
        Only in one from `event_within` rows are left out, and have weights.
    rows : ndarray of int
        ``with_censored`` of a split or fold.

    Returns
    -------
    trained : ndarray of int
        Those of the rows that have an answer.
    weights : ndarray of shape (n_trained,), or None
        From `censoring_weights`.
    """
    trained = rows if dataset.follow_up is None else rows[answered(dataset)[0][rows]]
    return trained, censoring_weights(dataset, rows, trained)


def answered(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Tell the rows with an answer from those that were censored before the horizon.

    Parameters
    ----------
    dataset : Dataset
        From `event_within`; of any other data set all rows have an answer.

    Returns
    -------
    known, censored : ndarray of bool, shape (n_samples,)
        Rows without a time, or without a word how it ended, are neither.
    """
    question = dataset.follow_up
    if question is None:
        known = np.ones(dataset.n_samples, dtype=bool)
        return known, ~known
    times, events = question.read(dataset.frame)
    _, known = within(times, events, question.horizon)
    return read_only(known), read_only(~np.isnan(times) & ~known)


def with_events(dataset: Dataset) -> Dataset:
    """Return a table of `event_within` with the event, at any time, as its target.

    Parts are drawn from it: which rows they have must not depend on the horizon.
    """
    if dataset.follow_up is None:
        return dataset
    frame, (_, events) = dataset.frame, dataset.follow_up.read(dataset.frame)
    labels = pd.Series(np.where(events, "event", "censored"), dtype="str")
    frame = frame.assign(**{dataset.target: labels})
    return replace(dataset, frame=frame, follow_up=None)
