"""How the inputs of a model become integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from smpcore.codegen.float32 import UNIT, to_float32
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import shorten
from smpcore.errors import ExportError

#: Without a range of the user's own, the training range and this share of it more.
WIDEN = 0.25
#: Most whole numbers of an input that C makes integers without floats.
_MOST_COUNTS = 2**16


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
        The same input of the float model, before rounding.
    low, high : float
        Range inside which nothing saturates, user's units.
    zero, per_unit : float
        Float32 numbers.
    missing : int
        What a missing value counts as.
    exact : bool
        Whether whole numbers lose nothing: `zero` is whole, `per_unit` a power of 2.
    """

    given: CompiledInput
    low: float
    high: float
    zero: float = 0.0
    per_unit: float = 1.0
    missing: int = 0
    exact: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is not a category."""
        return self.given.kind == "number"

    @property
    def is_itself(self) -> bool:
        """Whether the integer is the number itself: no conversion."""
        return self.exact and self.zero == 0 and self.per_unit == 1

    @property
    def comes_as_counts(self) -> bool:
        """Whether it is few enough whole numbers for C without floats."""
        low, high = np.floor(self.low), np.ceil(self.high)
        is_whole = self.given.integer or self.given.unit == "counts"
        fits = max(abs(low), abs(high)) < 2**31 and high - low < _MOST_COUNTS
        return bool(self.is_number and is_whole and fits)

    @property
    def formula(self) -> str:
        """How the integer of a number comes from its value."""
        if self.is_itself:
            return "the number itself"
        value = f"(value - {self.zero:.9g})" if self.zero else "value"
        return f"{value} * {self.per_unit:.9g}{'' if self.exact else ', rounded'}"

    def quantise(self, values: np.ndarray, width: int) -> np.ndarray:
        """Integers of raw values, as the generated ``quantise`` computes them."""
        low, high = container_ends(width)
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
        """How far, in counts, an integer is from the exact value, at most."""
        if not self.is_number:
            return np.zeros(len(values))
        exact = (values - float(self.zero)) * float(self.per_unit)
        distance = np.abs(exact - self.quantise(values, width))
        whole = self.exact & (values == np.round(values))
        inside = np.where(whole, 0.0, 0.5 + 8 * UNIT * (np.abs(exact) + 1))
        return np.maximum(inside, distance)


def with_units(
    given: Sequence[CompiledInput], ranges: Mapping[str, SensorRange]
) -> tuple[CompiledInput, ...]:
    """Inputs with the units that ranges give them."""
    names = [entry.name for entry in given]
    for name in ranges:
        if name not in names:
            raise ExportError(
                f"The model has no input {shorten(name)}; ranges can be set for: "
                f"{', '.join(map(shorten, names[:8]))}{', …' if names[8:] else ''}."
            )
    return tuple(
        replace(entry, unit=ranges[entry.name].unit or entry.unit)
        if entry.name in ranges
        else entry
        for entry in given
    )


def container_ends(width: int) -> tuple[int, int]:
    """Least and largest integer of a container."""
    return -(2 ** (width - 1)), 2 ** (width - 1) - 1


def quant_inputs(
    given: Sequence[CompiledInput],
    width: int,
    ranges: Mapping[str, SensorRange] | None = None,
    multiplied: bool = False,
) -> tuple[QuantInput, ...]:
    """Choose zero and step of each input so that its range fits the container.

    Whole numbers that fit are taken as they are, or multiplied by a power of 2 that
    makes their integers as large as those of all others. Everything else is centred on
    the middle of its range and fills the container but for its two ends.
    """
    ranges = ranges or {}
    inputs = [
        _quant_input(entry, width, ranges.get(entry.name), multiplied)
        for entry in given
    ]
    if multiplied and all(one.exact for one in inputs):
        # A power that is common to all gives no weight more digits.
        common = min((one.per_unit for one in inputs if one.is_number), default=1.0)
        inputs = [
            replace(one, per_unit=one.per_unit / common if one.is_number else 1.0)
            for one in inputs
        ]
    return tuple(_with_missing(one, width) for one in inputs)


def _quant_input(
    entry: CompiledInput,
    width: int,
    given: SensorRange | None,
    multiplied: bool,
) -> QuantInput:
    most = container_ends(width)[1]
    if entry.levels:
        if len(entry.levels) > most:
            raise ExportError(
                f"Column {shorten(entry.name)} has {len(entry.levels)} levels, but "
                f"{width} bits hold at most {most}; choose a wider number format."
            )
        return QuantInput(entry, entry.low, entry.high, missing=-1, exact=True)
    low, high, whole = covered_range(entry, given)
    zero = 0.0 if whole else float(np.float32((low + high) / 2))
    # The ends of the range stay a count inside those of the container.
    per_unit = _per_unit(low - zero, high - zero, width)
    if whole:
        middle = float(np.float32(np.round((low + high) / 2)))
        centred = _per_unit(low - middle, high - middle, width)
        if multiplied:
            per_unit, centred = _power_of_2(per_unit), _power_of_2(centred)
        # Without a zero it is simpler, where that costs a bit at most.
        if per_unit < (centred / 2 if multiplied else 1):
            zero, per_unit = middle, centred
        if per_unit >= 1 and not multiplied:
            per_unit = 1.0
    if not (np.isfinite(per_unit) and per_unit > 0 and np.isfinite(zero)):
        raise ExportError(
            f"Column {shorten(entry.name)} spans {high - low:.3g}, which 32-bit floats "
            "cannot scale; rescale that column (for instance in other units) and fit "
            "again."
        )
    return QuantInput(entry, low, high, zero, per_unit, exact=whole and per_unit >= 1)


def _with_missing(one: QuantInput, width: int) -> QuantInput:
    """The input with the integer of what a missing value counts as."""
    if not one.is_number:
        return one
    missing = np.array([one.given.missing or 0.0])
    return replace(one, missing=int(one.quantise(missing, width)[0]))


def _power_of_2(per_unit: float) -> float:
    """The next lower power of 2, from 1 on."""
    return float(2.0 ** np.floor(np.log2(per_unit))) if per_unit >= 1 else per_unit


def _per_unit(low: float, high: float, width: int) -> float:
    """Counts of a unit, if this range is a count inside the ends of the container."""
    reach = max(abs(low), abs(high))
    with np.errstate(over="ignore", divide="ignore"):
        most = container_ends(width)[1] - 1
        return float(np.float32(most / reach)) if reach else 1.0


def covered_range(
    entry: CompiledInput, given: SensorRange | None
) -> tuple[float, float, bool]:
    """Range to cover, and whether it holds whole numbers only."""
    if given is None:
        more = WIDEN * (entry.high - entry.low) / 2
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
