"""High-pass and low-pass filters of series: whole numbers, the same bits in C.

A filter is one biquad, a Butterworth filter of order 2. Its recursion is of the last
value and of its last change, as coefficients of low frequencies are small then:
``change += (gain * (x ± 2 x1 + x2) - level * y - damping * change) >> FACTOR_BITS``,
``y += change``. It begins as if the first sample had been there forever, so a constant
leaves a low-pass as it is, and nothing of it leaves a high-pass.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

#: Bits behind the point: of coefficients, and of values while they are filtered.
FACTOR_BITS, VALUE_BITS = 24, 12
#: Rounding may change a value by so many counts at most.
_MOST_ROUNDING = 0.5


class Biquad(NamedTuple):
    """Coefficients in whole numbers.

    Attributes
    ----------
    sign : int
        Of twice the sample before: 1 of a low-pass, -1 of a high-pass.
    gain, level, damping : int
        Of the three samples together, of the last value, of its last change.
    """

    sign: int
    gain: int
    level: int
    damping: int

    @property
    def is_stable(self) -> bool:
        """Whether both poles are inside the unit circle (Jury's criterion, exact)."""
        beyond = 4 * 2**FACTOR_BITS - self.level - 2 * self.damping
        return self.level > 0 and self.damping > 0 and beyond > 0

    @property
    def most_rounding(self) -> float:
        """Counts that rounding, and with it any limit cycle, adds at most."""
        return 0.5 * self._size([1.0]) / 2**VALUE_BITS

    @property
    def most_gain(self) -> float:
        """Largest value per largest sample, whatever the signal."""
        share = self.gain / 2**FACTOR_BITS
        return self._size([share, 2 * self.sign * share, share])

    def _size(self, taps: list[float]) -> float:
        """Bound of the sum of sizes of the response, its tail included."""
        level, damping = self.level / 2**FACTOR_BITS, self.damping / 2**FACTOR_BITS
        radius = (1 - damping) ** 0.5  # complex poles, as of any Butterworth filter
        n = int(np.ceil(60 / -np.log(radius)))
        y = change = total = 0.0
        for k in range(n):
            tap = taps[k] if k < len(taps) else 0.0
            change += tap - level * y - damping * change
            y += change
            total += abs(y)
        tail = radius ** (n - 2) * (n + 1) / (1 - radius) ** 2
        return total + sum(map(abs, taps)) * tail


def filter_names(n_times: int) -> list[str]:
    """Filters that a channel of so many samples can have.

    Parameters
    ----------
    n_times : int
        Samples of a window.

    Returns
    -------
    list of str
        "high-pass c" and "low-pass c": c cycles in a window pass at half their power.
    """
    cycles = [2**k for k in range(n_times.bit_length()) if 4 * 2**k <= n_times]
    names = [f"{kind}-pass {c}" for kind in ("high", "low") for c in cycles]
    return [name for name in names if _is_exact(biquad(name, n_times))]


def _is_exact(one: Biquad) -> bool:
    """Whether rounding is below half a count, and 32 bits hold all values."""
    largest = one.most_gain * 2 ** (15 + VALUE_BITS)
    return one.is_stable and one.most_rounding < _MOST_ROUNDING and largest < 2**30


@cache
def biquad(name: str, n_times: int) -> Biquad:
    """Coefficients of a filter.

    Parameters
    ----------
    name : str
        One of `filter_names`.
    n_times : int
        Samples of a window.

    Returns
    -------
    Biquad
    """
    from scipy.signal import butter

    kind, _, cycles = name.partition("-pass ")
    _, a = butter(2, 2 * int(cycles) / n_times, kind)
    damping = round((1 - a[2]) * 2**FACTOR_BITS)
    level = 4 * round(a.sum() * 2 ** (FACTOR_BITS - 2))
    if kind == "low":  # a constant passes as it is
        return Biquad(1, level // 4, level, damping)
    return Biquad(-1, round(2**FACTOR_BITS - level / 4 - damping / 2), level, damping)


def filtered(q: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Counts behind filters, one after the other, cut off at 16 bits.

    Parameters
    ----------
    q : ndarray of shape (n_rows, n_times), int64
    names : tuple of str
        Some of `filter_names`.

    Returns
    -------
    ndarray of shape (n_rows, n_times), int64
    """
    for name in names:
        one, out = biquad(name, q.shape[1]), np.empty_like(q)
        x1 = x2 = q[:, 0]
        y = (q[:, 0] << VALUE_BITS) * (one.sign > 0)
        change = np.zeros_like(y)
        for k, x in enumerate(q.T):
            taps = one.gain * ((x + 2 * one.sign * x1 + x2) << VALUE_BITS)
            taps -= one.level * y + one.damping * change - 2 ** (FACTOR_BITS - 1)
            change = change + (taps >> FACTOR_BITS)
            y = y + change
            out[:, k] = (y + 2 ** (VALUE_BITS - 1)) >> VALUE_BITS
            x1, x2 = x, x1
        q = np.clip(out, -(2**15), 2**15 - 1)
    return q
