"""The projection that two of the printed algorithms use."""

from __future__ import annotations

import numpy as np


def nearest_mass(mass: np.ndarray) -> np.ndarray:
    """Nearest vector that is not negative and sums to 1 at most (Duchi et al.,
    2008).
    """
    if mass.sum() <= 1.0:
        return mass
    falling = np.sort(mass)[::-1]
    levels = (np.cumsum(falling) - 1.0) / np.arange(1, len(mass) + 1)
    level = levels[np.flatnonzero(falling > levels)[-1]]
    return np.maximum(mass - level, 0.0)
