"""Arithmetic of generated code: functions in float32, and 2^-u in fixed point.

In float32 only products and sums are used, which every chip and numpy round alike; a
division, a root or an exponential would need another routine on a chip without floats
in hardware.

The similarity of a whole distance is found without floats and without a division::

    dropped = d >> drop                      0 without more where dropped > last
    u = (dropped * gain + half) >> down      Q.12: 4096 is one halving, u < 2^16
    k = u >> 7 & 31, rest = u & 127, whole = u >> 12
    p = TABLE_k - (((TABLE_k - TABLE_k+1) rest + 64) >> 7)
    s = (p + (2^whole >> 1)) >> whole     Q.15, at most 32767

dropped * gain + half < 2^32, as dropped <= last, the largest with u < 2^16. With
``scale`` the distance that halves a similarity, and gain = 2^(down + 12 + drop) / scale
plus some e, |e| <= 1/2, u differs from 4096 d / scale by at most

    dropped |e| / 2^down + |offset| + 1/2 + (2^drop - 1) / 2 * 4096 / scale

where offset is what ``half`` misses of the mean of both remainders. How far s is from
2^-u was computed for all 65,536 u.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

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


#: Halvings after which a similarity counts as 0.
HALVINGS = 16

#: 2^-(k / 32) in Q.15, less half of what the chord between two entries is too high.
TABLE = np.minimum(
    np.round(2.0**15 * 2.0 ** (-np.arange(33) / 32) * (1 - (np.log(2) / 32) ** 2 / 16)),
    32767,
).astype(np.int64)

#: Largest similarity.
ONE = int(TABLE[0])

#: A distance that halves is at most this: then `HALVINGS` of it fit 32 bits.
MOST_SCALE = 2.0**28 - 2.0**20


def power(u: np.ndarray) -> np.ndarray:
    """2^-u in Q.15 of u in Q.12, below 2^16."""
    k, rest, whole = u >> 7 & 31, u & 127, u >> 12
    high = TABLE[k]
    part = high - (((high - TABLE[k + 1]) * rest + 64) >> 7)
    return (part + ((1 << whole) >> 1)) >> whole


@cache
def power_error() -> float:
    """Most that `power` differs from the real one, over all its arguments."""
    u = np.arange(2**16)
    return float(np.abs(power(u) / 2.0**15 - 2.0 ** (-u / 4096)).max())


@dataclass(frozen=True)
class FixedPointExp2:
    """The constants of one model, see the top of this file."""

    scale: float
    drop: int
    gain: int
    half: int
    down: int
    last: int

    @classmethod
    def of(cls, scale: float) -> FixedPointExp2:
        """Choose the constants, gain as large as 16 bits hold."""
        drop = max(int(HALVINGS * scale).bit_length() - 16, 0)
        down = 15
        while (gain := round(2.0 ** (down + 12 + drop) / scale)) >= 2**16:
            down -= 1
        half = (2**down + round(gain * (1 - 2.0**-drop))) // 2
        last = min(((1 << (16 + down)) - 1 - half) // gain, 2**16 - 1)
        return cls(scale, drop, gain, half, down, last)

    def similarity(self, distance: np.ndarray) -> np.ndarray:
        """Similarities in Q.15 of whole distances, int64."""
        dropped = distance >> self.drop
        u = (np.minimum(dropped, self.last) * self.gain + self.half) >> self.down
        return np.where(dropped > self.last, 0, power(u))

    @property
    def exponent_error(self) -> float:
        """Most that u is off, in halvings."""
        count = 4096 / self.scale
        middle = (2**self.drop - 1) / 2 * count
        gain = abs(self.gain - 2.0 ** (self.down + 12 + self.drop) / self.scale)
        offset = abs(self.half / 2**self.down - 0.5 - middle)
        return (self.last * gain / 2**self.down + offset + 0.5 + middle) / 4096

    @property
    def error(self) -> float:
        """Most that a similarity is off on top of the error of its exponent."""
        beyond = 2.0 ** -(((self.last + 1) << self.drop) / self.scale)
        return max(power_error(), beyond)
