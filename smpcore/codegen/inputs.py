"""The columns of a user's table: as a model's inputs, as integers and as raw counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from smpcore.codegen.arithmetic import UNIT, to_float32
from smpcore.codegen.names import identifier, shorten
from smpcore.datasets.columns import as_numbers, as_text
from smpcore.errors import ExportError
from smpcore.model import PrototypeModel


@dataclass(frozen=True)
class CompiledInput:
    """One column of the user's table that the model reads.

    Parameters
    ----------
    index : int
        Place among the table's feature columns.
    name : str
        As the user wrote it.
    identifier : str
        ASCII name for generated code.
    kind : {"number", "category"}
        Whether values are numbers or levels of a category.
    low, high : float
        Range of the training rows, user's units; first and last level of a category.
    integer : bool
        Whether the training rows hold whole numbers only.
    missing : float or None
        What a missing number counts as; None if it must be given. An unknown
        category counts as no level at all.
    offset : float
        Subtracted before anything else; a float32.
    levels, level_identifiers : tuple of str
        Values of a category, as written and for generated code.
    missing_level : int
        Index of the level that a missing category counts as; -1: no level at all.
    unit : str
        As its user gave it; not computed with.
    cleaning : tuple of str
        What was done to the column before, in sentences.
    """

    index: int
    name: str
    identifier: str
    kind: Literal["number", "category"]
    low: float
    high: float
    integer: bool = False
    missing: float | None = None
    offset: float = 0.0
    levels: tuple[str, ...] = ()
    level_identifiers: tuple[str, ...] = ()
    missing_level: int = -1
    unit: str = ""
    cleaning: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for word in (self.identifier, *self.level_identifiers):
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,50}", word):
                raise ExportError(f"identifier={word!r} should be a short identifier.")
        if (self.kind == "category") != bool(self.levels):
            raise ExportError("levels should be given for a category, and only there.")
        numbers = (self.low, self.high, self.offset, self.missing or 0.0)
        if not np.isfinite(numbers).all():
            raise ExportError("low, high, missing and offset should be finite.")

    def read(self, column: Any) -> np.ndarray:
        """One raw column as numbers, NaN: missing; of categories levels, -1: none."""
        values = pd.Series(column)
        if self.kind == "number":
            return as_numbers(values)
        places = pd.Index(self.levels, dtype="str").get_indexer(as_text(values))
        return np.where(values.isna(), self.missing_level, places).astype(np.float64)

    def filled(self, values: np.ndarray) -> np.ndarray:
        """Values with the missing ones replaced, dtype kept."""
        if self.missing is None:
            return values
        return np.where(np.isnan(values), values.dtype.type(self.missing), values)


#: Inputs, weights and scores stay this far inside float32 (largest 3.4e38).
LIMIT = 1e30

#: What to do about a column beyond that.
RESCALE = "rescale that column (for instance in other units) and fit again."

# An offset costs one subtraction per term. It is taken where it makes the input's
# share of the rounding bound this many times smaller (4 of float32's 24 bits).
_WORTH_AN_OFFSET = 16.0


# A 32-bit float should tell at least so many values of an input's range apart.
_FEWEST_STEPS = 64


class FeatureMap(NamedTuple):
    """Column, level (-1: a number) and offset of each model feature; whether it is
    `fixed`, with one value in all training rows, and that value less the offset.
    """

    columns: list[CompiledInput]
    column: np.ndarray
    level: np.ndarray
    offset: np.ndarray
    fixed: np.ndarray
    value: np.ndarray

    def constants(self, features: np.ndarray) -> dict[str, float | str]:
        """Columns of fixed features, and what they always are in training."""
        found = {}
        for feature in features[self.fixed[features]].tolist():
            column, level = self.columns[self.column[feature]], self.level[feature]
            value = float(self.value[feature] + self.offset[feature])
            found[column.name] = value if level < 0 else column.levels[level]
        return found

    def inputs(
        self, features: np.ndarray
    ) -> tuple[tuple[CompiledInput, ...], np.ndarray]:
        """The columns behind some features, and the place of each feature among
        them.
        """
        offsets = dict(zip(self.column.tolist(), self.offset.tolist(), strict=True))
        used = np.unique(self.column[features])
        words: set[str] = set()
        level_words: set[str] = set()
        inputs = []
        for place in used.tolist():
            column = self.columns[place]
            _check_offset(column)
            word = identifier(column.name, words)
            levels = (identifier(f"{word} {one}", level_words) for one in column.levels)
            own = {"identifier": word, "level_identifiers": tuple(levels)}
            inputs.append(replace(column, offset=offsets[place], **own))
        return tuple(inputs), np.searchsorted(used, self.column[features])


def feature_map(model: PrototypeModel, preparation: Any = None) -> FeatureMap:
    """Find the column of each feature of a model."""
    if preparation is None:
        ranges = zip(model.feature_names, model.low, model.high, strict=True)
        columns = [
            CompiledInput(place, name, "x", "number", float(low), float(high))
            for place, (name, low, high) in enumerate(ranges)
        ]
        places = [(place, -1) for place in range(len(columns))]
    else:
        given, sentences = preparation.inputs, preparation.sentences
        columns = [
            replace(_column(one), index=k, cleaning=tuple(sentences.get(one.name, ())))
            for k, one in enumerate(given)
        ]
        places = [
            (place, level)
            for place, one in enumerate(given)
            for level in (one.feature_levels if one.kind != "number" else [-1])
        ]
    if len(places) != model.n_features:
        raise ExportError(
            f"preparation gives {len(places)} features, but the model was fitted on "
            f"{model.n_features}; pass the preparation it was fitted with."
        )
    column, level = np.array(places, dtype=np.int64).reshape(-1, 2).T
    low, high = np.array([(one.low, one.high) for one in columns])[column].T
    # The centre as float32, or 0 where it is not worth a subtraction.
    uncentred = np.maximum(np.abs(low), np.abs(high))
    centred = np.maximum(np.abs(low - model.center), np.abs(high - model.center))
    worth = (level < 0) & (uncentred > _WORTH_AN_OFFSET * centred)
    center = np.clip(model.center, -LIMIT, LIMIT).astype(np.float32)
    offset = np.where(worth, center.astype(np.float64), 0.0)
    fixed = fixed_features(model)
    return FeatureMap(columns, column, level, offset, fixed, model.low - offset)


def fixed_features(model: PrototypeModel) -> np.ndarray:
    """Features with one value in all training rows, bool of shape (n_features,)."""
    return model.low == model.high


def reach(entry: CompiledInput) -> float:
    """Largest size of an input inside the training range."""
    size = max(map(abs, (entry.low, entry.high, entry.missing or 0.0)))
    if not size <= LIMIT:
        raise ExportError(
            f"Input {shorten(entry.name)} reaches {size:.3g}, but a 32-bit float "
            f"input should stay below {LIMIT:.0e}; {RESCALE}"
        )
    return size


def _column(given: Any) -> CompiledInput:
    """One column as the preparation has learned it; it has no name in C yet."""
    if given.kind == "number":
        low, high, missing = float(given.low), float(given.high), float(given.fill)
        whole, unit = bool(given.integer), given.unit
        ends = low, high, whole, missing
        return CompiledInput(0, given.name, "x", "number", *ends, unit=unit)
    levels = tuple(given.levels)
    return CompiledInput(
        *(0, given.name, "x", "category" if levels else "number"),
        *(0.0, float(len(levels) - 1), True),
        levels=levels,
        missing_level=int(given.fill),
    )


def _check_offset(column: CompiledInput) -> None:
    """Refuse a column whose offset leaves a 32-bit float too few of its values."""
    largest = max(abs(column.low), abs(column.high))
    exact = column.integer and largest <= 2.0**24
    if column.levels or exact or not 0 < column.high - column.low < np.inf:
        return
    step = float(np.spacing(np.float32(min(largest, LIMIT))))
    if column.high - column.low < _FEWEST_STEPS * step:
        middle = (column.low + column.high) / 2
        raise ExportError(
            f"Input {shorten(column.name)} goes from {column.low:.10g} to "
            f"{column.high:.10g}, where 32-bit floats lie {step:.3g} apart and cannot "
            f"tell its values from each other; subtract {middle:.6g} from that column "
            "and fit again, and from the input before the call."
        )


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
    gone = [np.array([one.given.missing or 0.0]) for one in inputs]
    return tuple(
        replace(one, missing=int(one.quantise(missing, width)[0]))
        if one.is_number
        else one
        for one, missing in zip(inputs, gone, strict=True)
    )


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
    wrong = "" if given.low < given.high else "its low end should be below its high end"
    if not np.isfinite([given.low, given.high]).all():
        wrong = "both ends should be numbers"
    if wrong:
        raise ExportError(
            f"The range of {shorten(entry.name)} is {given.low:g} to {given.high:g}; "
            f"{wrong}."
        )
    whole = entry.integer if given.integer is None else given.integer
    return float(given.low), float(given.high), whole


@dataclass(frozen=True)
class Counts:
    """How the counts of a converter stand for the values of a column.

    Parameters
    ----------
    scale : float
        Value of one count, above 0.
    offset : float, default 0.0
        Value at count 0.
    low, high : int, default 0 and 1023
        Least and largest count that comes.
    """

    scale: float
    offset: float = 0.0
    low: int = 0
    high: int = 1023

    def of(self, values: Any) -> Any:
        """Counts of values, not rounded."""
        return (values - self.offset) / self.scale

    @property
    def in_words(self) -> str:
        """The formula of a value."""
        return f"{self.offset:.9g} + {self.scale:.9g} * count"


def in_counts(
    model: PrototypeModel, preparation: Any, counts: Mapping[str, Counts]
) -> tuple[PrototypeModel, Any, dict[str, SensorRange]]:
    """Fold the scales and offsets of counts into a model and its preparation.

    Parameters
    ----------
    model : PrototypeModel
        The model of values that is to take counts.
    preparation : Preparation or None
        What turns the user's table into its features.
    counts : mapping of str to Counts
        Name of a column of numbers -> what it comes as.

    Returns
    -------
    model : PrototypeModel
        Gives for counts what the given one gives for values.
    preparation : Preparation or None
    ranges : dict of str to SensorRange
        For `quantise`.

    Raises
    ------
    ExportError
        If a column is no number of the model, or a scale is not above 0.
    """
    inputs = {} if preparation is None else {g.name: g for g in preparation.inputs}
    places = {name: g.first for name, g in inputs.items() if g.kind == "number"}
    if preparation is None:
        places = {name: place for place, name in enumerate(model.feature_names)}
    arrays = {n: getattr(model, n).copy() for n in ("center", "scale", "low", "high")}
    for name, count in counts.items():
        _check(name, count, places)
        feature = places[name]
        for what in ("center", "low", "high"):
            arrays[what][feature] = count.of(arrays[what][feature])
        arrays["scale"][feature] /= count.scale
        if given := inputs.get(name):
            inputs[name] = replace(
                given,
                fill=float(count.of(given.fill)),
                unit="counts",
                low=float(np.floor(count.of(given.low))),
                high=float(np.ceil(count.of(given.high))),
                integer=True,
            )
    if inputs:
        preparation = replace(preparation, inputs=tuple(inputs.values()))
    ranges = {
        name: SensorRange(count.low, count.high, integer=True, unit="counts")
        for name, count in counts.items()
    }
    return replace(model, **arrays), preparation, ranges


def table_in_counts(table: Any, counts: Mapping[str, Counts]) -> Any:
    """Rows of values as a converter gives them.

    Parameters
    ----------
    table : DataFrame
        Values in the units of the table.
    counts : mapping of str to Counts
        Name of a column -> what it comes as.

    Returns
    -------
    DataFrame
        Whole counts; what is missing stays so.
    """
    columns = {
        name: np.clip(np.rint(one.of(as_numbers(table[name]))), one.low, one.high)
        for name, one in counts.items()
    }
    return table.assign(**columns) if columns else table


def _check(name: str, count: Counts, places: Mapping[str, int]) -> None:
    if name not in places:
        raise ExportError(
            f"counts names {shorten(name)}, which is no number of the model; such are "
            f"{', '.join(map(shorten, list(places)[:8]))}."
        )
    if not (0 < count.scale < np.inf and np.isfinite(count.offset)):
        raise ExportError(
            f"scale={count.scale!r} and offset={count.offset!r} of {shorten(name)} "
            "should be numbers, the scale above 0; where a larger count stands for a "
            "smaller value, subtract the counts from their largest one first."
        )
    if not count.low < count.high:
        raise ExportError(
            f"low={count.low!r} of {shorten(name)} should be below high={count.high!r}."
        )
