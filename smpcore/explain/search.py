"""A small change that flips the answer, found by search: for any model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

_STARTS = 12
_HALVINGS = 40
_SWEEPS = 3

Flips = Callable[[np.ndarray], np.ndarray]


def search(
    flips: Flips,
    x: np.ndarray,
    starts: np.ndarray,
    blocks: Sequence[tuple[slice, bool]],
    length: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray | None:
    """Walk from rows with another answer towards x, as far as the answer stays other.

    First along the straight line (where every feature may take any value), then one
    block of features at a time.
    """
    starts = starts[flips(starts)] if len(starts) else starts
    if not len(starts):
        return None
    order = np.argsort(length(starts - x), kind="stable")[:_STARTS]
    candidates = starts[order]
    if all(free for _, free in blocks):
        candidates = _along(flips, x, candidates)
        candidates = candidates[
            np.argsort(length(candidates - x), kind="stable")[: _STARTS // 3]
        ]
    reduced = np.array([_reduce(flips, x, row, blocks, length) for row in candidates])
    return reduced[length(reduced - x).argmin()]


def _along(flips: Flips, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Halve the way between x and each row, as long as the answer is another."""
    near, far = np.zeros(len(rows)), np.ones(len(rows))
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        other = flips(x + middle[:, None] * (rows - x))
        far, near = np.where(other, middle, far), np.where(other, near, middle)
    return x + far[:, None] * (rows - x)


def _reduce(flips, x, row, blocks, length) -> np.ndarray:
    """Give features back their own values, the longest moves last to be touched."""
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
    far, near = row[part].copy(), x[part].copy()
    for _ in range(_HALVINGS):
        middle = (far + near) / 2
        if whole:
            middle = near + np.trunc((far - near) / 2)
        if (middle == near).all() or (middle == far).all():
            break
        trial[part] = middle
        if flips(trial[None])[0]:
            far = middle
        else:
            near = middle
    trial[part] = far
    return trial
