"""Features of series: few numbers in place of all samples, the same in C bit for bit.

Samples are counted in whole numbers of 16 bits, all sums and roots are those of whole
numbers, and one product of 32-bit floats gives a feature in the units of the samples.
"""

from typing import NamedTuple

import numpy as np

from smpcore.datasets.biquads import FACTOR_BITS, filtered
from smpcore.datasets.spectrum import (
    GAINED_BITS,
    Blocks,
    bins_of,
    power_names,
    spectra,
)

#: Features of a channel beside its bands.
PLAIN = (
    *("mean", "standard deviation", "zero crossings", "minimum", "maximum"),
    *("RMS", "variance", "range", "mean crossings", "jerk", "correlation"),
)
_BAND, _POWER = "band ", "FFT power "
#: Features of a spectrum as a whole.
SPECTRAL = "spectral peak", "spectral centroid"
#: Bits behind the point of a correlation.
_SHARE_BITS = 15
#: Bits behind the point: of the sine of a band, of its window.
SINE_BITS, WINDOW_BITS = 24, 16
#: Samples of a block of a band: more would need more than 32 bits, fewer hear nothing.
_BLOCK = range(4, 1025)


class Channel(NamedTuple):
    """Samples of a channel, a row for each window, and how they become counts.

    Attributes
    ----------
    samples : ndarray of shape (n_rows, n_times)
        In the unit of the table.
    count : float
        Value of one count.
    filters : tuple of str
        Some of `filter_names`, one after the other.
    """

    samples: np.ndarray
    count: float
    filters: tuple[str, ...] = ()

    @property
    def filtered_counts(self) -> np.ndarray:
        """What features are made of."""
        return filtered(counts(self.samples, self.count), self.filters)


class Band(NamedTuple):
    """Constants of a band: Goertzel's recursion, two cycles in each block of samples.

    Attributes
    ----------
    block, n_blocks : int
        Samples of a block, and blocks of a window.
    factor, sine : int
        Of the angle between two samples: 2 - 2 cos, and sin.
    """

    block: int
    n_blocks: int
    factor: int
    sine: int


def feature_names(n_times: int) -> list[str]:
    """Features that a channel of so many samples can have.

    Parameters
    ----------
    n_times : int
        Samples of a window.

    Returns
    -------
    list of str
        "mean crossings" are those of the window's mean, which needs all of its samples
        at once; "jerk" is the mean size of the change from sample to sample;
        "correlation" is with the next channel, of the last one with the first; "band c"
        is the strength around c cycles in a window, half of it from 0.6 c to 1.4 c,
        none of it of a constant or from 2 c on. Of 64 samples or more there are "FFT
        power a-b", the variance in bins a to b of a block of `Blocks.of` (mean over its
        blocks), "spectral peak" and "spectral centroid", in cycles per window.
    """
    cycles = (2**k for k in range(1, n_times.bit_length()))
    bands = [c for c in cycles if 2 * n_times // c in _BLOCK]
    powers = power_names(n_times)
    whole = SPECTRAL if powers else ()
    return [*PLAIN, *(f"{_BAND}{c}" for c in bands), *powers, *whole]


def is_spectral(name: str) -> bool:
    """Whether a feature is made of a Fourier transform."""
    return name in SPECTRAL or name.startswith(_POWER)


def band(name: str, n_times: int) -> Band | None:
    """Constants of a band; None for a feature that is none."""
    if not name.startswith(_BAND):
        return None
    block = 2 * n_times // int(name.removeprefix(_BAND))
    half = 2 * np.pi / block
    factor = round(4 * np.sin(half) ** 2 * 2**FACTOR_BITS)
    return Band(block, n_times // block, factor, round(np.sin(2 * half) * 2**SINE_BITS))


def hann(block: int) -> np.ndarray:
    """Whole numbers that the samples of a block are weighted with."""
    weights = np.sin(np.pi * (np.arange(block) + 0.5) / block) ** 2
    whole = np.rint(weights * (2**WINDOW_BITS - 1)).astype(np.uint16)
    return np.minimum(whole, whole[::-1])  # the same from either end


def per_unit(count: float) -> np.float32:
    """Counts of a unit."""
    return np.float32(1 / count)


def scale(name: str, n_times: int, count: float) -> np.float32:
    """What a feature is per whole number that stands for it."""
    if (constants := band(name, n_times)) is not None:
        return np.float32(4 * count / (constants.block * constants.n_blocks**0.5))
    if is_spectral(name):
        return _spectral_scale(name, Blocks.of(n_times), n_times, count)
    if name.endswith("crossings"):
        return np.float32(1)
    if name == "correlation":
        return np.float32(2.0**-_SHARE_BITS)
    if name == "variance":
        return np.float32((count / n_times) ** 2)
    if name == "jerk":
        return np.float32(count / max(n_times - 1, 1))
    is_value = name in ("minimum", "maximum", "range")
    return np.float32(count if is_value else count / n_times)


def _spectral_scale(
    name: str, blocks: Blocks, n_times: int, count: float
) -> np.float32:
    size = blocks.size
    if name == "spectral peak":
        return np.float32(n_times / size)
    if name == "spectral centroid":  # a share of all bins
        return np.float32(n_times / 2 * 2.0**-_SHARE_BITS)
    # Both signs of a frequency, and the mean square of the weights.
    of_block = 2 / (3 / 8 * size**2 * 4**GAINED_BITS)
    return np.float32(count**2 * of_block / blocks.n_blocks)


def counts(samples: np.ndarray, count: float) -> np.ndarray:
    """Whole numbers of samples, rounded, and cut off at 16 bits; NaN: 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.float32(samples) * per_unit(count)
        scaled += np.where(scaled < 0, np.float32(-0.5), np.float32(0.5))
    return np.nan_to_num(np.clip(scaled, -(2**15), 2**15 - 1)).astype(np.int64)


def series_features(
    channel: Channel, names: list[str], following: Channel | None = None
) -> np.ndarray:
    """Features of a channel in each row.

    Parameters
    ----------
    channel : Channel
        Its samples.
    names : list of str
        Some of `feature_names`.
    following : Channel, optional
        The next channel. Default: the same.

    Returns
    -------
    ndarray of shape (n_rows, n_features), float64
        Numbers that 32-bit floats hold; NaN where a sample is missing.
    """
    q, n = channel.filtered_counts, channel.samples.shape[1]
    following = following or channel
    spectral = [name for name in names if is_spectral(name)]
    rest = {*names} - {"correlation", *spectral}
    whole = {name: _whole(q, name) for name in rest}
    if spectral:
        whole |= _spectral(q, spectral)
    if "correlation" in names:
        whole["correlation"] = _correlation(q, following.filtered_counts)
    columns = [_float32(whole[name]) * scale(name, n, channel.count) for name in names]
    features = np.column_stack(columns).astype(np.float64)
    features[np.isnan(channel.samples).any(axis=1)] = np.nan
    gone = np.isnan(following.samples).any(axis=1)
    features[np.ix_(gone, np.array(names) == "correlation")] = np.nan
    return features


def _correlation(q: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Correlations in steps of 2**-15, towards 0; 0 where a channel is constant."""
    n = q.shape[1]
    product = n * (q * others).sum(axis=1) - q.sum(axis=1) * others.sum(axis=1)
    roots = (_whole(one, "standard deviation") for one in (q, others))
    return np.sign(product) * _share(np.abs(product), np.prod([*roots], axis=0))


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """A whole number in steps of 2**-15 of another, at most that, towards 0."""
    part = np.minimum(part, whole)
    share = np.zeros_like(part)
    for _ in range(_SHARE_BITS + 1):  # digit by digit: no number takes 64 bits
        digit = (part >= whole) & (whole > 0)
        share, part = 2 * share + digit, 2 * (part - digit * whole)
    return share


def _spectral(q: np.ndarray, names: list[str]) -> dict[str, np.ndarray]:
    """Whole numbers that stand for features of spectra."""
    size = Blocks.of(q.shape[1]).size
    power = spectra(q, hann(size), WINDOW_BITS)
    total, bins = power.sum(axis=1), np.arange(size // 2)
    whole = {}
    for name in names:
        if name == "spectral peak":  # of the block where it is highest
            whole[name] = power.reshape(len(q), -1).argmax(axis=1) % (size // 2)
        elif name == "spectral centroid":
            parts = (total * bins).sum(axis=1), total.sum(axis=1) * (size // 2)
            whole[name] = _share(*parts)
        else:
            whole[name] = total[:, [*bins_of(name)]].sum(axis=1)
    return whole


def _float32(whole: np.ndarray) -> np.ndarray:
    """32-bit floats of whole numbers; from 2**32 on of both halves, as in C."""
    halves = np.float32(whole >> 32) * np.float32(2**32) + np.float32(whole % 2**32)
    return np.where(whole < 2**32, np.float32(whole), halves)


def _whole(q: np.ndarray, name: str) -> np.ndarray:
    """The whole number that stands for a feature, of rows of counts."""
    n = q.shape[1]
    if (constants := band(name, n)) is not None:
        return _strength(q, constants)
    if name == "mean":
        return q.sum(axis=1)
    if name in ("standard deviation", "variance"):
        spread = n * (q * q).sum(axis=1) - q.sum(axis=1) ** 2
        return spread if name == "variance" else _root(spread)
    if name == "RMS":
        return _root(n * (q * q).sum(axis=1))
    if name.endswith("crossings"):
        level = q.sum(axis=1, keepdims=True) if name == "mean crossings" else 0
        return np.count_nonzero(np.diff(n * q < level, axis=1), axis=1)
    if name == "jerk":
        return np.abs(np.diff(q, axis=1)).sum(axis=1)
    if name == "range":
        return np.ptp(q, axis=1)
    return q.min(axis=1) if name == "minimum" else q.max(axis=1)


def _strength(q: np.ndarray, band: Band) -> np.ndarray:
    """Root of the power in all blocks of a band."""
    shape = len(q), band.n_blocks, band.block
    samples = q[:, : band.n_blocks * band.block].reshape(shape) * hann(band.block)
    level, change = np.zeros(shape[:2], np.int64), np.zeros(shape[:2], np.int64)
    for sample in np.moveaxis(samples >> WINDOW_BITS, -1, 0):
        change += sample - (band.factor * level >> FACTOR_BITS)
        level += change
    before = level - change
    real = change + (band.factor * before >> FACTOR_BITS + 1)
    imaginary = band.sine * before >> SINE_BITS
    return _root((real * real + imaginary * imaginary).sum(axis=1))


def _root(square: np.ndarray) -> np.ndarray:
    """Largest whole number whose square is not larger."""
    root = np.sqrt(square.astype(np.float64)).astype(np.int64)
    root -= root * root > square
    return root + ((root + 1) ** 2 <= square)
