"""How the inputs of a model become integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import UNIT, CompiledInput, to_float32
from smpcore.codegen.names import shorten
from smpcore.errors import ExportError

#: Without a range of the user's own, the training range and this share of it more.
WIDEN = 0.25


@dataclass(frozen=True)
class SensorRange:
    """What an input can measure, as its user knows it.

    Parameters
    ----------
    low, high : float
        User's units; values outside saturate.
    integer : bool, optional
        Whether only whole numbers come (counts of a converter); default: as in the
        training rows.
    unit : str
        Said in the files, not computed with.
    """

    low: float
    high: float
    integer: bool | None = None
    unit: str = ""


@dataclass(frozen=True)
class QuantInput:
    """An input and its integer ``q = round((x - zero) * per_unit)``.

    Values outside the range go to the ends of the container, which a value inside
    never reaches, so that an end means: saturated. A category is the index of its
    level, -1 if it is unknown.

    Parameters
    ----------
    given : CompiledInput
    low, high : float
        Range inside which nothing saturates, user's units.
    zero, per_unit : float
        Float32 numbers.
    missing : int
        What a missing value counts as.
    exact : bool
        Whether the integer is the number itself: no conversion, no rounding.
    unit : str
        As its user gave it.
    """

    given: CompiledInput
    low: float
    high: float
    zero: float = 0.0
    per_unit: float = 1.0
    missing: int = 0
    exact: bool = False
    unit: str = ""

    @property
    def is_number(self) -> bool:
        """Whether it is not a category."""
        return self.given.kind == "number"

    def quantise(self, values: np.ndarray, width: int) -> np.ndarray:
        """Integers of raw values, as the generated ``quantise`` computes them.

        Parameters
        ----------
        values : ndarray of shape (n,)
            See `CompiledInput.read`.
        width : int
            Bits of the container.

        Returns
        -------
        ndarray of shape (n,), int64
        """
        low, high = ends(width)
        x = to_float32(values)
        if not self.is_number:
            known = (x >= 0) & (x < len(self.given.levels))
            return np.where(known, x, -1).astype(np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = (x - np.float32(self.zero)) * np.float32(self.per_unit)
            half = np.where(scaled < 0, np.float32(-0.5), np.float32(0.5))
            clamped = np.clip(scaled + half, np.float32(low), np.float32(high))
        gone = np.isnan(clamped)
        rounded = np.trunc(np.where(gone, 0, clamped)).astype(np.int64)
        return np.where(gone, self.missing, rounded)

    def values(self, integers: np.ndarray) -> np.ndarray:
        """Raw values that integers stand for, float64."""
        if not self.is_number:
            return integers.astype(np.float64)
        return integers / float(self.per_unit) + float(self.zero)

    def rounding(self, values: np.ndarray, width: int) -> np.ndarray:
        """How far, in counts, an integer is from the exact value, at most.

        Half a count inside the range, whatever the value; the very distance where it
        saturates.

        Parameters
        ----------
        values : ndarray of shape (n,), float64
            Raw; nothing missing.
        width : int

        Returns
        -------
        ndarray of shape (n,), float64
        """
        if not self.is_number:
            return np.zeros(len(values))
        exact = (values - float(self.zero)) * float(self.per_unit)
        distance = np.abs(exact - self.quantise(values, width))
        whole = self.exact & (values == np.round(values))
        inside = np.where(whole, 0.0, 0.5 + 8 * UNIT * (np.abs(exact) + 1))
        return np.maximum(inside, distance)


def ends(width: int) -> tuple[int, int]:
    """Least and largest integer of a container."""
    return -(2 ** (width - 1)), 2 ** (width - 1) - 1


def quant_inputs(
    compiled: CompiledModel,
    width: int,
    ranges: Mapping[str, SensorRange] | None = None,
    widen: float = WIDEN,
) -> tuple[QuantInput, ...]:
    """Choose zero and step of each input so that its range fits the container.

    Whole numbers that fit are taken as they are. Everything else is centred on the
    middle of its range and fills the container but for its two ends.

    Parameters
    ----------
    compiled : CompiledModel
    width : int
        Bits of an input.
    ranges : mapping of str to SensorRange, optional
        Name of a column -> what it can measure.
    widen : float, default 0.25
        Share added to the training range of all others, half on either side.

    Returns
    -------
    tuple of QuantInput

    Raises
    ------
    ExportError
        If a range belongs to no input, is empty, or is no range.
    """
    ranges = dict(ranges or {})
    names = [entry.name for entry in compiled.inputs]
    for name in ranges:
        if name not in names:
            raise ExportError(
                f"The model has no input {shorten(name)}; ranges can be set for: "
                f"{', '.join(map(shorten, names[:8]))}{', …' if names[8:] else ''}."
            )
    if not (np.isfinite(widen) and widen >= 0):
        raise ExportError(f"widen={widen!r} should be a number of at least 0.")
    return tuple(
        _quant_input(entry, width, ranges.get(entry.name), widen)
        for entry in compiled.inputs
    )


def _quant_input(
    entry: CompiledInput, width: int, given: SensorRange | None, widen: float
) -> QuantInput:
    least, most = ends(width)
    if entry.levels:
        if len(entry.levels) > most:
            raise ExportError(
                f"Column {shorten(entry.name)} has {len(entry.levels)} levels, but "
                f"{width} bits hold at most {most}; choose a wider number format."
            )
        return QuantInput(entry, entry.low, entry.high, missing=-1, exact=True)
    low, high, whole = _range(entry, given, widen)
    unit = given.unit if given else ""
    if whole and least < low and high < most:
        missing = 0 if entry.missing is None else round(entry.missing)
        missing = int(np.clip(missing, least, most))
        return QuantInput(entry, low, high, 0.0, 1.0, missing, True, unit)
    zero = np.float32((low + high) / 2)
    if whole:
        zero = np.float32(np.round(zero))
    # The ends of the range stay a count inside those of the container.
    reach = max(high - float(zero), float(zero) - low)
    with np.errstate(over="ignore", divide="ignore"):
        per_unit = np.float32((most - 1) / reach) if reach else np.float32(1)
    if whole and per_unit >= 1:
        per_unit = np.float32(1)
    if not (np.isfinite(per_unit) and per_unit > 0 and np.isfinite(zero)):
        raise ExportError(
            f"Column {shorten(entry.name)} spans {high - low:.3g}, which 32-bit floats "
            "cannot scale; rescale that column (for instance in other units) and fit "
            "again."
        )
    made = QuantInput(entry, low, high, float(zero), float(per_unit), unit=unit)
    missing = 0.0 if entry.missing is None else entry.missing
    counts = int(made.quantise(np.array([missing]), width)[0])
    return QuantInput(
        entry, low, high, float(zero), float(per_unit), counts, False, unit
    )


def _range(
    entry: CompiledInput, given: SensorRange | None, widen: float
) -> tuple[float, float, bool]:
    """Range to cover, and whether it holds whole numbers only."""
    if given is None:
        more = widen * (entry.high - entry.low) / 2
        low, high = entry.low - more, entry.high + more
        if entry.integer:
            low, high = float(np.floor(low)), float(np.ceil(high))
        return low, high, entry.integer
    if not (np.isfinite(given.low) and np.isfinite(given.high)):
        raise ExportError(
            f"The range of {shorten(entry.name)} is {given.low:g} to {given.high:g}; "
            "both ends should be numbers."
        )
    if not given.low < given.high:
        raise ExportError(
            f"The range of {shorten(entry.name)} is {given.low:g} to {given.high:g}; "
            "its low end should be below its high end."
        )
    whole = entry.integer if given.integer is None else given.integer
    return float(given.low), float(given.high), whole
