"""Inputs as the raw counts of a converter: no float on the way to an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smpcore.codegen.inputs import as_numbers
from smpcore.codegen.names import shorten
from smpcore.codegen.quant_inputs import SensorRange
from smpcore.errors import ExportError
from smpcore.model import PrototypeModel


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
        if preparation is not None:
            given = inputs[name]
            inputs[name] = replace(
                given,
                fill=float(count.of(given.fill)),
                unit="counts",
                low=float(np.floor(count.of(given.low))),
                high=float(np.ceil(count.of(given.high))),
                integer=True,
            )
    if preparation is not None:
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
