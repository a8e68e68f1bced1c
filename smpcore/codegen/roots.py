"""Square roots in float32 that are the same everywhere, without a library.

Only products and sums are used, which every chip and numpy round alike; a division
or a root would need another routine on a chip without floats in hardware.
"""

from __future__ import annotations

import numpy as np

from smpcore.codegen.inputs import UNIT

#: Numbers between these have a reciprocal root; smaller ones count as 0.
LEAST, MOST = np.float32(2.0**-100), np.float32(2.0**126)

#: The first guess halves the exponent: it is 3.5 % off at most.
GUESS = np.uint32(0x5F3759DF)

#: Each step of Newton squares the error.
STEPS = 3

#: Largest relative error of `inverse_root`: 3 units were found over all arguments.
ROOT_ERROR = 4 * UNIT


def inverse_root(square: np.ndarray) -> np.ndarray:
    """1 / sqrt(square) in float32, in the operations that every back end repeats.

    Parameters
    ----------
    square : ndarray, float32

    Returns
    -------
    ndarray, float32
        0 for a number that is too small or negative; a NaN where it is none or
        infinite.
    """
    square = np.asarray(square, dtype=np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        usable = (square > LEAST) & (square < MOST)
        safe = np.where(usable, square, np.float32(1))
        root = (GUESS - (safe.view(np.uint32) >> np.uint32(1))).view(np.float32)
        half = np.float32(0.5) * safe
        for _ in range(STEPS):
            root = root * (np.float32(1.5) - half * root * root)
        return np.where(usable, root, np.float32(0) * square)
