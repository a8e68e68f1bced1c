"""Which training rows are equal, so that one can stand for all of them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse


def sorted_by_projection(
    X: np.ndarray, along: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sort rows along a direction and find where a new set of equal rows begins.

    Equal rows meet along a random direction, and the order depends on values only.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
    along : ndarray of shape (n_samples,)
        Projection of each row on a random direction.
    labels : ndarray of shape (n_samples,)
        Rows of different labels are not equal.
    weights : ndarray of shape (n_samples,)
        Rows of weight 0 are left out.

    Returns
    -------
    order : ndarray of int, shape (n_counted,)
    new : ndarray of bool, shape (n_counted,)
        Whether the row in that place differs from the one before.
    """
    order = np.lexsort([labels, along])
    order = order[weights[order] > 0]
    before, after = order[:-1], order[1:]
    new = (along[before] != along[after]) | (labels[before] != labels[after])
    near = np.flatnonzero(~new)
    differs = X[before[near]] != X[after[near]]
    new[near] = differs.sum(axis=1) > 0 if issparse(X) else differs.any(axis=1)
    return order, np.r_[True, new]
