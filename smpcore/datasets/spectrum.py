"""Fourier transform of blocks of a window in whole numbers, the same bits in C.

All numbers of a block share an exponent. Before each stage they are halved until a
butterfly cannot leave 16 bits, so that soft signals keep their digits; the mean of a
block is taken off first. A block of N real samples is a transform of N / 2 complex
numbers, of which bins 1 to N / 2 - 1 follow.
"""

from typing import NamedTuple

import numpy as np

#: Samples of a block.
_LEAST, _MOST = 64, 512
#: Bits behind the point of cosines.
COSINE_BITS = 14
#: Before a stage no number is larger: (1 + 2 ** 0.5) times as much fits in 16 bits.
LARGEST = 13500
#: Bits that a soft block gains at most: more, and sums would need more than 64 bits.
GAINED_BITS = 3


class Blocks(NamedTuple):
    """How a window is divided into blocks, the first at its begin, the last at its end.

    Attributes
    ----------
    size : int
        Samples of a block: a power of two.
    n_blocks : int
    step : int
        From block to block.
    """

    size: int
    n_blocks: int
    step: int

    @classmethod
    def of(cls, n_times: int) -> "Blocks":
        """Those of a window of so many samples."""
        size = min(2 ** (n_times.bit_length() - 1), _MOST)
        n_blocks = -(-n_times // size)
        return cls(size, n_blocks, (n_times - size) // max(n_blocks - 1, 1))


def bins_of(name: str) -> range:
    """Bins of a feature "FFT power a-b"."""
    first, _, last = name.rpartition(" ")[2].partition("-")
    return range(int(first), int(last) + 1)


def power_names(n_times: int) -> list[str]:
    """Octaves of bins that a window of so many samples has; none of a short one."""
    if n_times < _LEAST:
        return []
    size = Blocks.of(n_times).size
    firsts = (2**k for k in range(size.bit_length() - 2))
    return [f"FFT power {first}-{2 * first - 1}" for first in firsts]


def cosines(size: int) -> np.ndarray:
    """Cosines of a half turn, and its end, in steps of a block's size to a turn."""
    turns = np.arange(size // 2 + 1) / size
    return np.rint(np.cos(2 * np.pi * turns) * 2**COSINE_BITS).astype(np.int16)


def spectra(q: np.ndarray, hann: np.ndarray, bits: int) -> np.ndarray:
    """Power of each bin of each block.

    Parameters
    ----------
    q : ndarray of shape (n_rows, n_times), int64
        Counts of 16 bits.
    hann : ndarray of shape (size,)
        Whole numbers that the samples of a block are weighted with.
    bits : int
        Behind the point of these numbers.

    Returns
    -------
    ndarray of shape (n_rows, n_blocks, size // 2), int64
        Of bin 0 nothing; in 4 ** -`GAINED_BITS` square counts.
    """
    size, n_blocks, step = Blocks.of(q.shape[1])
    starts = np.arange(n_blocks)[:, None] * step
    blocks = q[:, starts + np.arange(size)]
    blocks, exponent = _without_mean(blocks)
    weighted = blocks * hann >> bits
    z, shift = _transform(weighted[..., ::2], weighted[..., 1::2], cosines(size))
    power = _power(*z, cosines(size))
    return power << 2 * (exponent + shift + GAINED_BITS)


def _without_mean(blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Blocks without their means, doubled or halved, and how often they are halved."""
    size, total = blocks.shape[-1], blocks.sum(axis=-1, keepdims=True)
    mean = (total + size // 2) // size
    top = np.abs(blocks - mean).max(axis=-1, keepdims=True) + 1  # rounding adds one
    times = _halvings(top)
    for _ in range(GAINED_BITS):
        times -= (times <= 0) & (top << (1 - np.minimum(times, 0)) <= LARGEST)
    factor = 1 << np.maximum(-times, 0)
    blocks = blocks * factor - (total * factor + size // 2) // size
    return _halved(blocks, np.maximum(times, 0)), times


def _halvings(top: np.ndarray) -> np.ndarray:
    """How often numbers are halved, rounded up, until none is too large."""
    times = np.zeros_like(top)
    while (large := top > LARGEST).any():
        top = np.where(large, (top + 1) >> 1, top)
        times += large
    return times


def _halved(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Numbers halved so often, all at once, rounded."""
    return (values + ((1 << times) >> 1)) >> times


def _transform(
    real: np.ndarray, imaginary: np.ndarray, cosine: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Transform of complex numbers, by halves in time, and their exponent."""
    n, quarter = real.shape[-1], real.shape[-1] // 2
    order = [int(f"{k:0{n.bit_length() - 1}b}"[::-1], 2) for k in range(n)]
    z = np.stack([real[..., order], imaginary[..., order]], axis=-1)
    total, span = 0, 1
    while span < n:
        times = _halvings(np.abs(z).max(axis=(2, 3), keepdims=True))
        z, total = _halved(z, times), total + times
        pairs = z.reshape(*z.shape[:2], n // (2 * span), 2, span, 2)
        angle = np.arange(span) * (n // span)
        c, s = cosine[angle].astype(np.int64), cosine[np.abs(quarter - angle)]
        upper, lower = pairs[..., 0, :, :], pairs[..., 1, :, :]
        a, b = lower[..., 0], lower[..., 1]
        half = 1 << COSINE_BITS - 1
        turned = np.stack([a * c + b * s + half, b * c - a * s + half], axis=-1)
        turned >>= COSINE_BITS
        z = np.stack([upper + turned, upper - turned], axis=-3).reshape(z.shape)
        span *= 2
    times = _halvings(np.abs(z).max(axis=(2, 3), keepdims=True))
    return np.moveaxis(_halved(z, times), -1, 0), (total + times)[..., 0]


def _power(real: np.ndarray, imaginary: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    """Power of the real signal whose even and odd samples were transformed as one."""
    n = real.shape[-1]
    power = np.zeros_like(real)
    k = np.arange(1, n // 2 + 1)
    c, s = cosine[k].astype(np.int64), cosine[n // 2 - k].astype(np.int64)
    a, b, x, y = (
        real[..., k],
        imaginary[..., k],
        real[..., n - k],
        imaginary[..., n - k],
    )
    half = 1 << COSINE_BITS - 1
    odd = ((b + y) * c - (a - x) * s + half) >> COSINE_BITS
    even = ((b + y) * s + (a - x) * c + half) >> COSINE_BITS
    for place, sign in ((n - k, -1), (k, 1)):
        one, other = (a + x + sign * odd) >> 1, (b - y - sign * even) >> 1
        power[..., place] = one * one + other * other
    return power
