"""Rows of another table that equal rows of a data set, and the part these are in."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pandas as pd

from smpcore.datasets import Dataset, Preparation, Split
from smpcore.evaluation.new_rows import Matched, labelled
from smpcore.evaluation.scores import class_numbers

#: A row that equals rows of several parts counts for the first of these.
_PARTS = ("test", "train", "validation")


def known_rows(
    dataset: Dataset,
    split: Split,
    preparation: Preparation,
    X: np.ndarray,
    matched: Matched,
) -> np.ndarray:
    """Say of each row of another table which part of a data set has an equal one.

    Rows are equal where all their features are, as the models get them, and their
    labels. A column without a value is not compared, nor is a label that the row does
    not have or that is no class of the data set. In tables of few different values
    rows are equal by chance as well.

    Parameters
    ----------
    dataset : Dataset
        Data set whose rows are searched.
    split : Split
        Its parts: row numbers of training, validation and test.
    preparation : Preparation
        Preparation of the training rows.
    X : ndarray of shape (n_samples, n_features)
        Rows of the data set, prepared.
    matched : Matched
        The other table, from `match_columns`.

    Returns
    -------
    ndarray of str, shape (n_rows,)
        ``train``, ``validation``, ``test``, ``left out`` (in no part), or empty: the
        row is new.
    """
    compared = [
        feature
        for spec in preparation.inputs
        if matched.frame[spec.name].notna().any()
        for feature in range(spec.first, spec.first + spec.width)
    ]
    if not compared:
        return np.full(len(matched.frame), "", dtype=object)
    digests, targets = _digests(X[:, compared]), _numbers(dataset, dataset.frame)
    matches: dict[bytes, str] = {}
    left_out = np.setdiff1d(
        np.arange(dataset.n_samples), [r for p in _PARTS for r in getattr(split, p)]
    )
    parts = [("left out", left_out), *((p, getattr(split, p)) for p in _PARTS[::-1])]
    for part, rows in parts:
        for row in rows:
            matches[digests[row]] = matches[digests[row] + targets[row].tobytes()] = (
                part
            )
    keys = _digests(preparation.transform(matched.frame)[:, compared])
    if matched.labels is not None:
        labels = _numbers(dataset, matched.labels.to_frame(dataset.target))
        keys = [
            key if np.isnan(label) else key + label.tobytes()
            for key, label in zip(keys, labels, strict=True)
        ]
    return np.array([matches.get(key, "") for key in keys], dtype=object)


def _digests(X: np.ndarray) -> list[bytes]:
    # Adding 0 turns -0 into 0: equal numbers have equal bytes.
    return [blake2b(row + 0.0, digest_size=16).digest() for row in np.array(X, float)]


def _numbers(dataset: Dataset, frame: pd.DataFrame) -> np.ndarray:
    """The target as numbers; NaN where there is none, or none of the classes."""
    numbers = np.full(len(frame), np.nan)
    rows, y, _ = labelled(frame[dataset.target], dataset.classes)
    if dataset.classes is None:
        numbers[rows] = y + 0.0
        return numbers
    y_encoded = class_numbers(y, dataset.classes)
    numbers[rows] = np.where(y_encoded < 0, np.nan, y_encoded)
    return numbers
