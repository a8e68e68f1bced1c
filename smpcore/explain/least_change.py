"""The nearest point beyond linear borders, by the sum of changes: HiGHS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

#: Borders are crossed by so much, scaled units.
MARGIN = 1e-6
#: The solver's tolerance, which is less than the margin.
_FEASIBLE = 1e-7
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


def nearest(
    borders: HalfSpaces, whole: Whole, relaxed: bool = False
) -> tuple[np.ndarray | None, bool]:
    """Shortest move beyond the borders, to whole numbers unless these are relaxed.

    Also whether it is proved the shortest, or that there is none.
    """
    m, n = borders.G.shape
    places = np.flatnonzero(whole.whole)
    limits = np.stack([borders.low, borders.high])
    x, scale = whole.x[places], whole.scale[places]
    # Unknowns: the way up and the way down, each at least 0; then the whole numbers.
    low, high = np.hstack([limits, -limits[::-1]]).clip(0.0)
    values = x + limits[:, places] * scale
    many = len(places)
    step = sparse.csr_array((scale, (np.arange(many), places)), (many, n))
    sides = sparse.csr_array(np.hstack([borders.G, -borders.G, np.zeros((m, many))]))
    same = sparse.hstack([step, -step, -sparse.eye_array(many)])
    rows = [LinearConstraint(sides, borders.need), LinearConstraint(same, -x, -x)]
    for first, width in whole.groups:
        levels = (places >= first) & (places < first + width)
        total = float(whole.x[first : first + width].sum())
        rows.append(LinearConstraint(np.r_[np.zeros(2 * n), levels], total, total))
    solution = milp(
        np.r_[np.ones(2 * n), np.zeros(many)],
        integrality=np.r_[np.zeros(2 * n), np.full(many, not relaxed)],
        bounds=Bounds(np.r_[low, values[0]], np.r_[high, values[1]]),
        constraints=rows,
        options={"time_limit": _MILP_SECONDS},
    )
    if solution.x is None or (relaxed and solution.status):
        return None, solution.status == 2
    move = solution.x[:n] - solution.x[n : 2 * n]
    if not relaxed:
        move[places] = (solution.x[2 * n :].round() - x) / scale
        move = np.clip(move, borders.low, borders.high)
        move = move if borders.holds(move) else None
    return move, solution.status == 0
