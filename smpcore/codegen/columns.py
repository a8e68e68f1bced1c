"""The columns of a user's table, and which of them each model feature comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import identifier, shorten
from smpcore.errors import ExportError
from smpcore.model import PrototypeModel

#: Inputs, weights and scores stay this far inside float32 (largest 3.4e38).
LIMIT = 1e30

#: What to do about a column beyond that.
RESCALE = "rescale that column (for instance in other units) and fit again."

# An offset costs one subtraction per term. It is taken where it makes the input's
# share of the rounding bound this many times smaller (4 of float32's 24 bits).
_WORTH_AN_OFFSET = 16.0


# A 32-bit float should tell at least so many values of an input's range apart.
_FEWEST_STEPS = 64


class Column(NamedTuple):
    """What is known about one feature column of the user's table."""

    name: str
    low: float
    high: float
    integer: bool = False
    missing: float | None = None
    levels: tuple[str, ...] | None = None
    feature_levels: tuple[int, ...] = (-1,)
    missing_level: int = -1
    unit: str = ""
    cleaning: tuple[str, ...] = ()


class FeatureMap(NamedTuple):
    """Column, level (-1: a number) and offset of each model feature; whether it is
    `fixed`, with one value in all training rows, and that value less the offset.
    """

    columns: list[Column]
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
        inputs = tuple(
            _input(self.columns[place], place, offsets[place], words, level_words)
            for place in used.tolist()
        )
        return inputs, np.searchsorted(used, self.column[features])


def feature_map(model: PrototypeModel, preparation: Any = None) -> FeatureMap:
    """Find the column of each feature of a model."""
    columns = _columns(model, preparation)
    places = [
        (place, level)
        for place, column in enumerate(columns)
        for level in column.feature_levels
    ]
    if len(places) != model.n_features:
        raise ExportError(
            f"preparation gives {len(places)} features, but the model was fitted on "
            f"{model.n_features}; pass the preparation it was fitted with."
        )
    column, level = np.array(places, dtype=np.int64).reshape(-1, 2).T
    offset = np.where(level < 0, _offsets(columns, column, model.center), 0.0)
    return FeatureMap(
        columns, column, level, offset, fixed_features(model), model.low - offset
    )


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


def _columns(model: PrototypeModel, preparation: Any) -> list[Column]:
    if preparation is None:
        ranges = zip(model.feature_names, model.low, model.high, strict=True)
        return [Column(name, float(low), float(high)) for name, low, high in ranges]
    sentences = preparation.sentences
    return [
        _column(given)._replace(cleaning=tuple(sentences.get(given.name, ())))
        for given in preparation.inputs
    ]


def _column(given: Any) -> Column:
    """One column as the preparation has learned it."""
    if given.kind == "number":
        span = float(given.low), float(given.high)
        fill = float(given.fill)
        return Column(given.name, *span, bool(given.integer), fill, unit=given.unit)
    levels = tuple(given.levels)
    return Column(
        given.name,
        0.0,
        float(len(levels) - 1),
        True,
        levels=levels,
        feature_levels=given.feature_levels,
        missing_level=int(given.fill),
    )


def _offsets(
    columns: Sequence[Column], column: np.ndarray, center: np.ndarray
) -> np.ndarray:
    """What to subtract from each feature first: its centre as float32, or 0."""
    low = np.array([c.low for c in columns])[column]
    high = np.array([c.high for c in columns])[column]
    uncentred = np.maximum(np.abs(low), np.abs(high))
    centred = np.maximum(np.abs(low - center), np.abs(high - center))
    worth = uncentred > _WORTH_AN_OFFSET * centred
    within = np.clip(center, -LIMIT, LIMIT)
    return np.where(worth, within.astype(np.float32).astype(np.float64), 0.0)


def _check_offset(column: Column) -> None:
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


def _input(
    column: Column, place: int, offset: float, words: set[str], level_words: set[str]
) -> CompiledInput:
    """The column with identifiers of its own."""
    _check_offset(column)
    word = identifier(column.name, words)
    levels = column.levels or ()
    return CompiledInput(
        index=place,
        name=column.name,
        identifier=word,
        kind="category" if levels else "number",
        low=column.low,
        high=column.high,
        integer=column.integer,
        missing=column.missing,
        offset=offset,
        levels=levels,
        level_identifiers=tuple(
            identifier(f"{word} {level}", level_words) for level in levels
        ),
        missing_level=column.missing_level,
        unit=column.unit,
        cleaning=column.cleaning,
    )
