"""The nearest point beyond linear borders, by the sum of changes: HiGHS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

#: Borders are crossed by so much, scaled units.
MARGIN = 1e-6
_FEASIBLE = 1e-9
_MILP_SECONDS = 2.0


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """Half-spaces ``G @ move >= need`` within a box, rows of G of length 1.

    Parameters
    ----------
    G : ndarray of shape (n_borders, n_features)
    need : ndarray of shape (n_borders,)
    low, high : ndarray of shape (n_features,)
        Ends of the move, scaled units; 0 may lie outside of them.
    """

    G: np.ndarray
    need: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def holds(self, move: np.ndarray) -> bool:
        """Whether a move keeps to all borders."""
        return bool((self.G @ move >= self.need - _FEASIBLE).all())


def nearest(borders: HalfSpaces) -> np.ndarray | None:
    """Shortest move beyond the borders, or None if there is none."""
    n = len(borders.low)
    # A move is its way up less its way down, each at least 0.
    bounds = [*zip(borders.low, borders.high, strict=True)]
    bounds += [(-high, -low) for low, high in bounds]
    bounds = [(max(a, 0.0), max(b, 0.0) if np.isfinite(b) else None) for a, b in bounds]
    sides = np.hstack([-borders.G, borders.G])
    solution = linprog(np.ones(2 * n), A_ub=sides, b_ub=-borders.need, bounds=bounds)
    if solution.status != 0:
        return None
    return solution.x[:n] - solution.x[n:]


@dataclass(frozen=True, eq=False)
class Whole:
    """Features that take whole numbers only.

    Parameters
    ----------
    x : ndarray of shape (n_features,)
        Where the move starts, user's units.
    scale : ndarray of shape (n_features,)
        User's units per scaled unit.
    whole : ndarray of bool, shape (n_features,)
    groups : tuple of (first, width)
        Levels of one category: 0 or 1, and as many 1 as at the start.
    """

    x: np.ndarray
    scale: np.ndarray
    whole: np.ndarray
    groups: tuple[tuple[int, int], ...]


def nearest_whole(borders: HalfSpaces, whole: Whole) -> tuple[np.ndarray | None, bool]:
    """Shortest move to whole numbers, and whether it is proved the shortest."""
    n = len(borders.low)
    # Unknowns: new values in user's units, then lengths of the moves in scaled units.
    low, high = (
        whole.x + borders.low * whole.scale,
        whole.x + borders.high * whole.scale,
    )
    rows = [
        LinearConstraint(
            np.hstack([borders.G / whole.scale, np.zeros(borders.G.shape)]),
            borders.need + borders.G @ (whole.x / whole.scale),
        )
    ]
    unit, ratio = sparse.eye_array(n), sparse.diags_array(1.0 / whole.scale)
    for sign in (1.0, -1.0):
        start = -sign * whole.x / whole.scale
        rows.append(LinearConstraint(sparse.hstack([-sign * ratio, unit]), start))
    for first, width in whole.groups:
        row = np.zeros(2 * n)
        row[first : first + width] = 1.0
        total = float(whole.x[first : first + width].sum())
        rows.append(LinearConstraint(row, total, total))
    solution = milp(
        np.r_[np.zeros(n), np.ones(n)],
        integrality=np.r_[whole.whole.astype(int), np.zeros(n)],
        bounds=Bounds(np.r_[low, np.zeros(n)], np.r_[high, np.full(n, np.inf)]),
        constraints=rows,
        options={"time_limit": _MILP_SECONDS},
    )
    if solution.x is None:
        return None, solution.status == 2
    values = np.where(whole.whole, solution.x[:n].round(), solution.x[:n])
    move = np.clip((values - whole.x) / whole.scale, borders.low, borders.high)
    return (move if borders.holds(move) else None), solution.status == 0
