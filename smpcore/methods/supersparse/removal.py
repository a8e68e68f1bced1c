"""Which virtual prototypes can be left out, and what that costs exactly."""

from __future__ import annotations

import numpy as np

from smpcore.methods.supersparse.problem import SQUARED, Objective, normal_matrix
from smpcore.similarity import SIMILARITIES

#: Ways to leave prototypes out.
REMOVALS = ("rise", "coefficient")

#: Mean similarity below which a prototype is dead: nothing is like it.
DEAD = 1e-6

#: A prototype is idle if its loss costs less than this share of the median cost.
IDLE = 0.05


def without_dead(objective: Objective, Z: np.ndarray) -> np.ndarray:
    """Leave out prototypes that no row is like."""
    if not SIMILARITIES[objective.similarity.kind].vanishes or not len(Z):
        return Z
    return Z[objective.rows.weights @ objective.similarities(Z) >= DEAD]


def without_idle(objective: Objective, Z: np.ndarray) -> np.ndarray:
    """Leave out the cheapest prototype if it does next to nothing beside the others."""
    costs = removal_increases(objective, Z)
    if costs.min() >= IDLE * np.median(costs):
        return Z
    return np.delete(Z, costs.argmin(), axis=0)


def kept_columns(
    objective: Objective, S: np.ndarray, n_kept: int, removal: str = "rise"
) -> np.ndarray:
    """Drop prototypes until so many remain."""
    remaining = np.arange(S.shape[1])
    if removal == "coefficient":
        sizes = np.linalg.norm(objective.refit(S)[1], axis=1)
        return np.sort(np.argsort(-sizes, kind="stable")[:n_kept])
    if objective.free != SQUARED:
        while len(remaining) > n_kept:
            costs = _costs_by_refits(objective, S[:, remaining])
            remaining = np.delete(remaining, costs.argmin())
        return remaining
    A, C = _equations(objective, S)
    while len(remaining) > n_kept:
        costs = column_costs(A[np.ix_(remaining, remaining)], C[remaining])
        remaining = np.delete(remaining, costs.argmin())
    return remaining


def removal_increases(objective: Objective, Z: np.ndarray) -> np.ndarray:
    """Exact rise of the objective when one of these prototypes is left out."""
    S = objective.similarities(Z)
    if objective.free != SQUARED:
        return _costs_by_refits(objective, S)
    return column_costs(*_equations(objective, S))


def _equations(objective: Objective, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Matrix and right side of the equations for the coefficients."""
    rows = objective.rows
    A, _, S_centred = normal_matrix(S, rows.weights, objective.lam)
    return A, S_centred.T @ (rows.weights[:, None] * rows.Y.T)


def _costs_by_refits(objective: Objective, S: np.ndarray) -> np.ndarray:
    """As `column_costs`, for a loss without equations: by as many fits."""
    columns = range(S.shape[1])
    left = [objective.refit(np.delete(S, j, axis=1))[0] for j in columns]
    return np.array(left) - objective.refit(S)[0]


def column_costs(A: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Exact rise of the objective when a column is left out and the others refitted."""
    inverse = np.linalg.inv(A)
    return ((inverse @ C) ** 2).sum(axis=1) / np.diag(inverse)
