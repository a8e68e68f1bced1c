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
#: No change takes more steps; counts of steps are exact but for this.
_FAR, _ROUNDING = 1e6, 1e-6


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
class Grid:
    """Values that a change may end on, in scaled units from where it starts.

    Parameters
    ----------
    steps : ndarray of shape (n_features,)
        Between two such values; 0 where any value will do.
    offsets : ndarray of shape (n_features,)
        From the start to the next such value below it.
    groups : tuple of (first, width)
        Levels of one category: as many are 1 at the end as at the start.
    """

    steps: np.ndarray
    offsets: np.ndarray
    groups: tuple[tuple[int, int], ...]

    @property
    def columns(self) -> np.ndarray:
        """What a changed feature counts: of a category's levels two change."""
        columns = np.ones(len(self.steps))
        for first, width in self.groups:
            columns[first : first + width] = 0.5
        return columns


def nearest(
    borders: HalfSpaces, grid: Grid, relaxed: bool = False, few: float = np.inf
) -> tuple[np.ndarray | None, bool]:
    """Shortest move beyond the borders, to the grid unless that is relaxed.

    At most so many columns change. Also whether it is proved the shortest, or that
    there is none.
    """
    m, n = borders.G.shape
    used = (borders.G != 0).any(axis=0)
    for first, width in grid.groups:
        used[first : first + width] = True
    places = np.flatnonzero((grid.steps > 0) & used)
    many = len(places)
    steps, offsets = sparse.diags_array(grid.steps[places]), grid.offsets[places]
    limits = np.stack([borders.low, borders.high])
    # Unknowns: the way up and the way down, each at least 0; then how many steps, and
    # whether a value is left: one that is not on the grid need not be.
    low, high = np.hstack([limits, -limits[::-1]]).clip(0.0)
    counts = ((limits[:, places] - offsets) / grid.steps[places]).clip(-_FAR, _FAR)
    least, most = np.ceil(counts[0] - _ROUNDING), np.floor(counts[1] + _ROUNDING)
    on_grid, empty = offsets == 0, sparse.csr_array((m, 2 * many))
    least = np.where(on_grid, least, np.minimum(least, 0.0))
    most = np.where(on_grid, most, np.maximum(most, 0.0))
    chosen = sparse.eye_array(n, format="csr")[places]
    same = [chosen, -chosen, -steps, -sparse.diags_array(offsets)]
    stays = [sparse.csr_array((many, 2 * n)), sparse.eye_array(many)]
    rows = [
        LinearConstraint(sparse.hstack([borders.G, -borders.G, empty]), borders.need),
        LinearConstraint(sparse.hstack(same), 0.0, 0.0),
        LinearConstraint(sparse.hstack([*stays, -sparse.diags_array(most)]), ub=0.0),
        LinearConstraint(sparse.hstack([*stays, -sparse.diags_array(least)]), lb=0.0),
    ]
    for first, width in grid.groups:
        levels = (places >= first) & (places < first + width)
        sums = np.r_[np.zeros(2 * n), levels, np.zeros(many)]
        rows.append(LinearConstraint(sums, 0.0, 0.0))
    if few < np.inf:
        counted = np.r_[np.zeros(2 * n + many), grid.columns[places]]
        rows.append(LinearConstraint(counted, ub=few))
        on_grid = np.zeros(many)
    solution = milp(
        np.r_[np.ones(2 * n), np.zeros(2 * many)],
        integrality=np.r_[np.zeros(2 * n), np.full(2 * many, not relaxed)],
        bounds=Bounds(np.r_[low, least, on_grid], np.r_[high, most, np.ones(many)]),
        constraints=rows,
        options={"time_limit": _MILP_SECONDS},
    )
    if solution.x is None or (relaxed and solution.status):
        return None, solution.status == 2
    move = solution.x[:n] - solution.x[n : 2 * n]
    if not relaxed:
        n_steps, leaves = solution.x[2 * n :].round().reshape(2, many)
        move[places] = steps @ n_steps + offsets * leaves
        move = np.clip(move, borders.low, borders.high)
        move = move if borders.holds(move) else None
    return move, solution.status == 0
