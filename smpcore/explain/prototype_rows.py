"""The rows that a prototype wins: typical ones, and what would make them another's."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from smpcore.datasets import Preparation
from smpcore.explain.contributions import deciding_prototypes
from smpcore.model import PrototypeModel

#: Of more rows than this, evenly spread ones are compared, or give values to try.
_MOST_ROWS = 1000
#: Values of a column that are tried, at most.
_MOST_VALUES = 200


def typical_rows(
    model: PrototypeModel, X: np.ndarray, n: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Choose medoids: rows to which the others are near, each standing for a part.

    Parameters
    ----------
    model : PrototypeModel
        Its used features are compared, in its scaled units.
    X : ndarray of shape (n_samples, n_features), user's units
        Rows, such as those that one prototype wins.
    n : int
        Number of medoids; fewer if there are not so many different rows.

    Returns
    -------
    places : ndarray of int, shape (n_medoids,)
        Positions in X; each one lowers the sum of distances to the nearest medoid most.
    shares : ndarray of shape (n_medoids,)
        Share of the rows to which each one is the nearest.
    """
    rows, used = _spread(len(X), _MOST_ROWS), model.support
    scaled = ((X[rows] - model.center) / model.scale)[:, used]
    apart = cdist(scaled, scaled)
    nearest, places = np.full(len(rows), np.inf), []
    for _ in range(min(n, len(rows))):
        costs = np.minimum(apart, nearest).sum(axis=1)
        if costs.min() >= nearest.sum():
            break
        places.append(int(costs.argmin()))
        nearest = np.minimum(nearest, apart[places[-1]])
    parts = apart[places].argmin(axis=0) if places else np.empty(0, dtype=int)
    return rows[places], np.bincount(parts, minlength=len(places)) / len(rows)


def other_winners(
    model: PrototypeModel, preparation: Preparation, x: np.ndarray, X: np.ndarray
) -> list[tuple[int, np.ndarray, int]]:
    """Find for each column the nearest value with which another prototype wins a row.

    Parameters
    ----------
    model : PrototypeModel
        Classifier that decides the row.
    preparation : Preparation
        It was fitted with.
    x : ndarray of shape (n_features,), user's units
        The row; one column of it is changed at a time.
    X : ndarray of shape (n_samples, n_features), user's units
        Training rows: their values are tried; of many rows, or of many values, evenly
        spread ones.

    Returns
    -------
    list of (int, ndarray, int)
        Number of the column, the changed row and the prototype that wins it, the
        smallest change in standard deviations first.
    """
    X = X[_spread(len(X), _MOST_ROWS)]
    now = deciding_prototypes(model, model.activations(x[None]))[0]
    changes = []
    for place in np.flatnonzero(preparation.used_columns(model.support)):
        spec = preparation.inputs[place]
        values = np.unique(X[:, spec.features], axis=0)
        values = values[_spread(len(values), _MOST_VALUES)]
        rows = np.repeat(x[None], len(values), axis=0)
        rows[:, spec.features] = values
        winners = deciding_prototypes(model, model.activations(rows))
        sizes = np.linalg.norm((rows - x) / model.scale, axis=1)
        sizes[winners == now] = np.inf
        best = int(sizes.argmin())
        if np.isfinite(sizes[best]):
            changes.append((sizes[best], int(place), rows[best], int(winners[best])))
    return [change[1:] for change in sorted(changes, key=lambda change: change[0])]


def _spread(n: int, most: int) -> np.ndarray:
    """Evenly spread positions among n, at most so many."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.int64)
