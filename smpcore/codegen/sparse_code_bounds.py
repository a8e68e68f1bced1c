"""How far the float32 code of an input can be from the float64 one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from smpcore.codegen.float32 import UNIT
from smpcore.codegen.sparse_code import DEPENDENT, EQUAL, FLAT, LITTLE


class _Solved(NamedTuple):
    """Weights on a support I."""

    support: list[int]
    z: np.ndarray
    wrong: np.ndarray
    shares: np.ndarray
    cause: np.ndarray


def code_bounds(
    gram: np.ndarray, alike: np.ndarray, off: np.ndarray, limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Follow the greedy search, and bound the weights where every choice is certain.

    Both searches make the same choices where each one (which prototype enters, whether
    it depends on the others, that all weights are above 0, when to stop) has a margin
    larger than the rounding before it, and the tolerances of both agree on it.

    On a support I the weights solve G_I z = s_I. With backward error E of the
    factorisation, at most ``(4 k + 60) u sqrt(G_ii G_jj)`` for k entries ([1]_
    theorem 10.4, and the roots' own error), ``|z - z*| <= |G_I^-1| (off + E |z|)``,
    twice that for the second order. Slopes and objective are off by less: both are
    shares of z and s, which keep the sign of what is off.
    """
    gram = gram.astype(np.float64)
    amounts, errors = np.zeros(alike.shape), np.full(alike.shape, np.inf)
    for amount, error, s, e in zip(amounts, errors, alike, off, strict=True):
        if np.isfinite(s).all() and np.isfinite(e).all():
            found = _follow(gram, s, e, limit)
            if found is not None:
                support, z, wrong = found
                error[:] = 0.0
                amount[support], error[support] = z, wrong
    return amounts, errors


def _follow(
    gram: np.ndarray, s: np.ndarray, off: np.ndarray, limit: int
) -> tuple[list[int], np.ndarray, np.ndarray] | None:
    """Support, weights and their errors of one input; None if a choice is open."""
    now = _Solved([], np.zeros(0), np.zeros(0), np.zeros((0, len(s))), np.zeros(0))
    free = np.ones(len(s), dtype=bool)
    value, value_off = 0.0, 0.0
    flat = 1.01 * float(FLAT) * np.abs(s).max(initial=0.0)
    room = off.max(initial=0.0) + 4 * UNIT * np.abs(s).max(initial=0.0)
    near = float(EQUAL) * np.abs(s).max(initial=0.0) + np.array([-room, room])
    while True:
        support, z = now.support, now.z
        most = np.abs(s) + (z + now.wrong) @ np.abs(gram[support])
        rounded = (len(support) + 4) * UNIT * most
        slope_off = off + now.cause @ np.abs(now.shares) + rounded
        slope = np.where(free, -s + z @ gram[support], np.inf)
        if (slope > slope_off).all():
            return support, z, now.wrong
        j = _enters(slope, slope_off, near, flat)
        if j is None:
            return None
        free[j] = False
        depends = _depends(gram, now, j)
        if depends is None:
            return None
        if depends:
            continue
        now = _solve(gram, s, off, [*support, j])
        if now is None:
            return None
        support, most = now.support, now.z + now.wrong
        lower = -0.5 * s[support] @ now.z
        # s'(z - z*) is z'(what is off in G z = s): z keeps the objective flat.
        lower_off = 0.5 * (off[support] + now.cause) @ most
        lower_off += (limit + 3) * UNIT * (np.abs(s[support]) @ most)
        if len(support) == limit:
            return support, now.z, now.wrong
        room = value - lower - value_off - lower_off
        if not room > 1.01 * float(LITTLE) * (abs(lower) + lower_off):
            return None
        value, value_off = lower, lower_off


def _enters(
    slope: np.ndarray, off: np.ndarray, near: np.ndarray, flat: float
) -> int | None:
    """The lowest prototype with a slope equal to the lowest one; None: not certain."""
    free = np.isfinite(slope)
    low, high = np.where(free, slope - off, np.inf), np.where(free, slope + off, np.inf)
    within = (high <= low.min() + near[0]) & (high < -flat)
    if not within.any():
        # Of one alone it is certain where all others are farther above.
        within = np.arange(len(slope)) == slope.argmin()
        within &= high < min(np.delete(low, slope.argmin()).min(initial=np.inf), -flat)
    if not within.any():
        return None
    j = int(within.argmax())
    return j if (low[:j] > high.min() + near[1]).all() else None


def _depends(gram: np.ndarray, now: _Solved, j: int) -> bool | None:
    """Whether prototype j depends on a support; None where that is not certain.

    With w = G_I^-1 G_Ij the pivot is G_jj - w'G_Ij, and errors E of the whole of G
    change it by (-w, 1)'E (-w, 1); twice that for the second order.
    """
    support, w = now.support, now.shares[:, j]
    root = np.sqrt(np.diagonal(gram))
    off = 2 * _backward(len(support) + 1) * (np.abs(w) @ root[support] + root[j]) ** 2
    pivot, least = gram[j, j] - w @ gram[support, j], float(DEPENDENT) * gram[j, j]
    return bool(pivot < least) if abs(pivot - least) > off else None


def _backward(k: int) -> float:
    """Error of k rows of G, relative to sqrt(G_ii G_jj), that stands for rounding."""
    return (4 * k + 60) * UNIT


def _solve(
    gram: np.ndarray, s: np.ndarray, off: np.ndarray, support: list[int]
) -> _Solved | None:
    """Weights on a support and their errors; None where that is not certain."""
    part, backward = gram[np.ix_(support, support)], _backward(len(support))
    root = np.sqrt(np.diagonal(part))
    try:
        inverse = np.linalg.inv(part)
    except np.linalg.LinAlgError:
        return None
    size = np.abs(inverse)
    # The second order is below the first where this holds.
    if not 2 * backward * (root @ size @ root) < 0.5:
        return None
    z = inverse @ s[support]
    wrong = 2 * size @ (off[support] + backward * root * (root @ np.abs(z)))
    cause = off[support] + backward * root * (root @ (np.abs(z) + wrong))
    if not (z > wrong).all():
        return None
    return _Solved(support, z, wrong, inverse @ gram[support], 1.01 * cause)
