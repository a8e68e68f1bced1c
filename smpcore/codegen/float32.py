"""The functions of float32 programs, in operations that are the same everywhere.

Only products and sums are used, which every chip and numpy round alike; a division, a
root or an exponential would need another routine on a chip without floats in hardware.
"""

from __future__ import annotations

import numpy as np

#: Unit roundoff of float32.
UNIT = 2.0**-24

#: From here on 2^-u counts as 0: below it a product could leave the normal floats.
CUTOFF = np.float32(125.5)

#: 2^-f for |f| <= 1/2, highest power first: minimax of relative error, and exact at 0.
EXP2 = np.array(
    [-1.32639776e-3, 9.67186689e-3, -5.55075742e-2, 0.24022235, -0.693146944, 1.0],
    dtype=np.float32,
)

#: Largest relative error of `exp2_minus`: 3.1 units were found over all arguments.
EXP2_ERROR = 4 * UNIT

#: Numbers between these have a reciprocal root; smaller ones count as 0.
LEAST, MOST = np.float32(2.0**-100), np.float32(2.0**126)

#: The first guess halves the exponent: it is 3.5 % off at most.
GUESS = np.uint32(0x5F3759DF)

#: Each step of Newton squares the error.
STEPS = 3

#: Largest relative error of `inverse_root`: 3 units were found over all arguments.
ROOT_ERROR = 4 * UNIT


def to_float32(values: np.ndarray) -> np.ndarray:
    """Values rounded to float32, infinite beyond its range."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(values).astype(np.float32)


def exp2_minus(u: np.ndarray) -> np.ndarray:
    """2^-u in float32, in the operations that every target repeats."""
    inside = u < CUTOFF
    small = np.where(inside, u, np.float32(0))
    whole = np.floor(small + np.float32(0.5))
    rest = small - whole
    power = np.full_like(rest, EXP2[0])
    for coefficient in EXP2[1:]:
        power = power * rest + coefficient
    power = np.ldexp(power, -whole.astype(np.int32))
    return np.where(inside, power, np.where(np.isnan(u), u, np.float32(0)))


def inverse_root(square: np.ndarray) -> np.ndarray:
    """1 / sqrt(square) in float32, in the operations that every target repeats."""
    square = np.asarray(square, dtype=np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        usable = (square > LEAST) & (square < MOST)
        safe = np.where(usable, square, np.float32(1))
        root = (GUESS - (safe.view(np.uint32) >> np.uint32(1))).view(np.float32)
        half = np.float32(0.5) * safe
        for _ in range(STEPS):
            root = root * (np.float32(1.5) - half * root * root)
        return np.where(usable, root, np.float32(0) * square)
