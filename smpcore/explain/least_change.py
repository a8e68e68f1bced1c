"""The nearest point beyond linear borders: a dual Newton method, HiGHS, branching."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp, nnls

#: Borders are crossed by so much, scaled units.
MARGIN = 1e-6
_FEASIBLE = 1e-9
_MOST_STEPS = 200
_MOST_NODES = 300
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
    """Shortest move (L2) beyond the borders, or None if there is none.

    Projected Newton steps on the dual, which has one unknown per border.
    """
    G, need = borders.G, borders.need
    duals = np.zeros(len(need))

    def move_of(duals: np.ndarray) -> np.ndarray:
        return np.clip(duals @ G, borders.low, borders.high)

    def value(duals: np.ndarray) -> float:
        move = move_of(duals)
        return float(0.5 * move @ move - duals @ (G @ move - need))

    now = value(duals)
    for _ in range(_MOST_STEPS):
        move = move_of(duals)
        slope = need - G @ move
        held = (duals <= 0) & (slope <= 0)
        if (slope <= 0.1 * _FEASIBLE).all() and np.abs(slope[~held]).sum() <= _FEASIBLE:
            return move
        pull = duals @ G
        inner = (pull > borders.low) & (pull < borders.high)
        part = G[~held][:, inner]
        curve = part @ part.T + 1e-12 * np.eye(len(part))
        step = np.zeros(len(duals))
        step[~held] = np.linalg.solve(curve, slope[~held])
        size = 1.0
        while size > 1e-12:
            trial = np.maximum(duals + size * step, 0.0)
            gained = value(trial) - now
            if gained >= 1e-4 * slope @ (trial - duals):
                break
            size /= 2
        if size <= 1e-12 or np.array_equal(trial, duals):
            break
        duals, now = trial, now + gained
    return _by_active_set(borders)


def _by_active_set(borders: HalfSpaces) -> np.ndarray | None:
    """The same by Lawson and Hanson's least distance method; also says "nowhere"."""
    if nearest_l1(borders) is None:
        return None
    n = len(borders.low)
    box = [(np.eye(n)[np.isfinite(borders.low)], borders.low)]
    box += [(-np.eye(n)[np.isfinite(borders.high)], -borders.high)]
    rows = np.vstack([borders.G, *[row for row, _ in box]])
    need = np.concatenate([borders.need, *[e[np.isfinite(e)] for _, e in box]])
    system = np.vstack([rows.T, need])
    duals, _ = nnls(system, np.r_[np.zeros(n), 1.0], maxiter=20 * system.shape[1])
    residual = system @ duals - np.r_[np.zeros(n), 1.0]
    if residual[-1] >= -1e-14:
        return None
    move = np.clip(-residual[:-1] / residual[-1], borders.low, borders.high)
    return move if borders.holds(move) else None


def nearest_l1(borders: HalfSpaces) -> np.ndarray | None:
    """Shortest move (L1) beyond the borders, or None if there is none."""
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


def nearest_l1_whole(
    borders: HalfSpaces, whole: Whole
) -> tuple[np.ndarray | None, bool]:
    """Shortest move (L1) to whole numbers, and whether it is proved the shortest."""
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
    unit, ratio = np.eye(n), np.diag(1.0 / whole.scale)
    for sign in (1.0, -1.0):
        start = -sign * whole.x / whole.scale
        rows.append(LinearConstraint(np.hstack([-sign * ratio, unit]), start))
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


def nearest_whole(
    borders: HalfSpaces, whole: Whole, below: float = np.inf
) -> tuple[np.ndarray | None, bool]:
    """Shortest move (L2) to whole numbers, and whether it is proved the shortest.

    Branches on the whole numbers, best bound first; starts from a first dive.
    """
    best = _dive(borders, whole)
    if best is None:
        best, _ = nearest_l1_whole(borders, whole)
    length = below if best is None else min(below, float(np.linalg.norm(best)))
    order, waiting = itertools.count(), []

    def wait(low: np.ndarray, high: np.ndarray) -> None:
        inside = HalfSpaces(borders.G, borders.need, low, high)
        move = nearest(inside) if (low <= high).all() else None
        if move is not None and np.linalg.norm(move) < length * (1 - 1e-6):
            entry = (float(np.linalg.norm(move)), next(order), inside, move)
            heapq.heappush(waiting, entry)

    wait(borders.low, borders.high)
    for _ in range(_MOST_NODES):
        if not waiting or waiting[0][0] >= length * (1 - 1e-6):
            return best, True
        bound, _, inside, move = heapq.heappop(waiting)
        branches = list(_branches(inside, move, whole))
        if not branches:
            best, length = move, bound
        for low, high in branches:
            wait(low, high)
    return best, False


def _dive(borders: HalfSpaces, whole: Whole) -> np.ndarray | None:
    """Follow the nearest branch down to whole numbers; None in a dead end."""
    move = nearest(borders)
    for _ in range(3 * int(whole.whole.sum()) + 1):
        if move is None:
            return None
        branches = list(_branches(borders, move, whole))
        if not branches:
            return move
        inside = [HalfSpaces(borders.G, borders.need, *limits) for limits in branches]
        tried = [(part, nearest(part)) for part in inside]
        tried = [
            (part, nearest_move)
            for part, nearest_move in tried
            if nearest_move is not None
        ]
        if not tried:
            return None
        borders, move = min(tried, key=lambda pair: np.linalg.norm(pair[1]))
    return None


def _branches(inside: HalfSpaces, move: np.ndarray, whole: Whole):
    """Smaller boxes that leave out this move; none if it is whole already."""
    values = whole.x + move * whole.scale
    for first, width in whole.groups:
        part = slice(first, first + width)
        group_values = values[part]
        total = whole.x[part].sum()
        if (
            np.abs(group_values - group_values.round()).max() > 1e-7
            or abs(group_values.sum() - total) > 1e-7
        ):
            for level in range(width):
                low, high = inside.low.copy(), inside.high.copy()
                fixed = np.zeros(width)
                fixed[level] = total
                fixed = (fixed - whole.x[part]) / whole.scale[part]
                low[part], high[part] = fixed, fixed
                reached = (fixed >= inside.low[part]) & (fixed <= inside.high[part])
                if reached.all():
                    yield low, high
            return
    odd = np.where(whole.whole, np.abs(values - values.round()), 0.0)
    worst = int(odd.argmax())
    if odd[worst] <= 1e-7:
        return
    for end, floor in (("high", np.floor), ("low", np.ceil)):
        low, high = inside.low.copy(), inside.high.copy()
        edge = (floor(values[worst]) - whole.x[worst]) / whole.scale[worst]
        (high if end == "high" else low)[worst] = edge
        yield low, high
