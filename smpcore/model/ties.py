"""Which class is the answer where scores are equal but for rounding."""

from __future__ import annotations

import numpy as np

#: `PrototypeModel.tie` of a fitted classifier, relative to the largest score in size.
RELATIVE_TIE = 1e-6


def lowest_within(scores: np.ndarray, tie: float | np.number) -> np.ndarray:
    """The lowest class whose score is at most `tie` below the largest one.

    Every form of a model decides by this rule, in its own arithmetic: float64, float32
    and integers. A chain of comparisons would not do: with scores 0, tie, 2 tie each
    class is within `tie` of the next, and the answer is the second.
    """
    columns = np.ascontiguousarray(scores.T)  # classes are few, and rows many
    largest = columns.max(axis=0)
    lowest, behind = np.zeros(len(scores), np.int64), np.ones(len(scores), bool)
    for column in columns:
        # An addition: chips without floats in hardware have no subtraction in use.
        behind &= column + tie < largest
        lowest += behind
    return lowest


def training_tie(scores: np.ndarray) -> float:
    """The `tie` of a model with these scores of its training rows.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        Scores of the training rows, before any tie.

    Returns
    -------
    float
        0 where a score is not finite.
    """
    largest = float(np.abs(scores).max(initial=0.0))
    return RELATIVE_TIE * largest if np.isfinite(largest) else 0.0
