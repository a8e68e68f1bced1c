"""Which virtual prototypes can be left out, and what that costs exactly."""

from __future__ import annotations

import numpy as np

from smpcore.estimators.supersparse.problem import Objective, normal_matrix
from smpcore.estimators.supersparse.rows import Rows

#: Mean similarity below which a prototype is dead: nothing is like it.
DEAD = 1e-6

#: A prototype is idle if its loss costs less than this share of the median cost.
IDLE = 0.05


def without_dead(objective: Objective, Z: np.ndarray) -> np.ndarray:
    """Leave out prototypes that no row is like.

    Parameters
    ----------
    objective : Objective
    Z : ndarray of shape (n_prototypes, n_features)

    Returns
    -------
    ndarray of shape (at most n_prototypes, n_features)
    """
    if not objective.similarity.traits.vanishes or not len(Z):
        return Z
    return Z[objective.rows.weights @ objective.similarities(Z) >= DEAD]


def without_idle(objective: Objective, Z: np.ndarray) -> np.ndarray:
    """Leave out the cheapest prototype if it does next to nothing beside the others.

    Parameters
    ----------
    objective : Objective
    Z : ndarray of shape (n_prototypes, n_features)

    Returns
    -------
    ndarray of shape (n_prototypes or one less, n_features)
    """
    costs = removal_increases(objective, Z)
    if costs.min() >= IDLE * np.median(costs):
        return Z
    return np.delete(Z, costs.argmin(), axis=0)


def kept_columns(S: np.ndarray, rows: Rows, lam: float, n_kept: int) -> np.ndarray:
    """Drop prototypes one by one, each time the one whose loss costs least.

    Parameters
    ----------
    S : ndarray of shape (n_samples, n_prototypes)
    rows : Rows
    lam : float
    n_kept : int

    Returns
    -------
    ndarray of int, shape (n_kept,)
        Columns that remain, ascending.
    """
    A, _, S_centred = normal_matrix(S, rows.weights, lam)
    C = S_centred.T @ (rows.weights[:, None] * rows.Y.T)
    kept = np.arange(len(A))
    while len(kept) > n_kept:
        costs = column_costs(A[np.ix_(kept, kept)], C[kept])
        kept = np.delete(kept, costs.argmin())
    return kept


def removal_increases(objective: Objective, Z: np.ndarray) -> np.ndarray:
    """Exact rise of the objective when one of these prototypes is left out.

    Parameters
    ----------
    objective : Objective
    Z : ndarray of shape (n_prototypes, n_features)

    Returns
    -------
    ndarray of shape (n_prototypes,)
    """
    rows = objective.rows
    S = objective.similarities(Z)
    A, _, S_centred = normal_matrix(S, rows.weights, objective.lam)
    return column_costs(A, S_centred.T @ (rows.weights[:, None] * rows.Y.T))


def column_costs(A: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Exact rise of the objective when a column is left out and the others refitted.

    Parameters
    ----------
    A : ndarray of shape (n_prototypes, n_prototypes)
        Matrix of the equations for the coefficients.
    C : ndarray of shape (n_prototypes, n_outputs)
        Their right side.

    Returns
    -------
    ndarray of shape (n_prototypes,)
    """
    inverse = np.linalg.inv(A)
    return ((inverse @ C) ** 2).sum(axis=1) / np.diag(inverse)
