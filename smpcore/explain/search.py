"""A small change that flips the answer, found by search: for any model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

#: A border is located among so many values at once, and again between two of them.
_POINTS, _ROUNDS = 8, 7
_SWEEPS = 3

Flips = Callable[[np.ndarray], np.ndarray]


def reduced(
    flips: Flips,
    x: np.ndarray,
    row: np.ndarray,
    blocks: Sequence[tuple[slice, bool]],
    length: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Give blocks of features back their own values as far as the answer stays another.

    The longest moves are the last to be touched.
    """
    row = row.copy()
    for _ in range(_SWEEPS):
        before = row.copy()
        moved = [b for b in blocks if (row[b[0]] != x[b[0]]).any()]
        moved.sort(key=lambda b: abs(row[b[0]] - x[b[0]]).max())
        for part, free in moved:
            row = _give_back(flips, x, row, part, free)
        if length((before - row)[None])[0] <= 1e-9:
            break
    return row


def _give_back(flips, x, row, part: slice, free: bool) -> np.ndarray:
    """Move one block towards its own value, as far as the answer stays another."""
    trial = row.copy()
    trial[part] = x[part]
    if flips(trial[None])[0]:
        return trial
    whole = not free and part.stop - part.start == 1
    if not (free or whole):
        return row
    near, far = x[part], row[part]
    rows = np.repeat(row[None], _POINTS, axis=0)
    for _ in range(_ROUNDS):
        steps = np.linspace(0.0, 1.0, _POINTS + 1)[1:, None] * (far - near)
        points = near + (np.ceil(np.abs(steps)) * np.sign(steps) if whole else steps)
        points[-1] = far
        rows[:, part] = points
        first = int(flips(rows).argmax())
        near, far = points[first - 1] if first else near, points[first]
    trial[part] = far
    return trial
