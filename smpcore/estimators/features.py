"""What is known of features besides their values: range and names."""

from __future__ import annotations

from typing import Any

import numpy as np


def feature_entries(estimator: Any, X: np.ndarray, weights: np.ndarray) -> dict:
    """Entries of a problem that say what its features are.

    Parameters
    ----------
    estimator : estimator
        Has seen the names of the features, if they have any.
    X : ndarray of shape (n_samples, n_features), user's units
    weights : ndarray of shape (n_samples,)
        Rows of weight 0 do not count.

    Returns
    -------
    dict
        `low`, `high`, `feature_names` and `named`.
    """
    counted = weights > 0
    rows = X if counted.all() else X[counted]
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"x{r}" for r in range(X.shape[1])]
    return {
        "low": rows.min(axis=0),
        "high": rows.max(axis=0),
        "feature_names": tuple(map(str, names)),
        "named": hasattr(estimator, "feature_names_in_"),
    }
