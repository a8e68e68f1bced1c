"""One column of the user's table, as generated code sees it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from smpcore.datasets.cells import parse_cell
from smpcore.errors import ExportError

#: A larger number in a table counts as missing, as it does for a Preparation.
LARGEST = 1e37


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
        values = np.asarray(column)
        if self.kind == "number":
            return as_numbers(values)
        places = {level: place for place, level in enumerate(self.levels)}
        places[None] = self.missing_level
        return np.array([places.get(_text(v), -1) for v in values], dtype=np.float64)

    def filled(self, values: np.ndarray) -> np.ndarray:
        """Values with the missing ones replaced, dtype kept."""
        if self.missing is None:
            return values
        return np.where(np.isnan(values), values.dtype.type(self.missing), values)


def as_numbers(column: Any) -> np.ndarray:
    """One raw column as float64; what is no number, or too large, is NaN."""
    values = np.asarray(column)
    if values.dtype.kind not in "fiu":
        values = np.array([_number(value) for value in values])
    values = values.astype(np.float64)
    return np.where(np.abs(values) <= LARGEST, values, np.nan)


def _number(value: Any) -> float:
    if isinstance(value, str | bool | np.bool_):
        return parse_cell(str(value))
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def _text(value: Any) -> str | None:
    """A category as text; whole numbers have no point, missing ones no text."""
    if isinstance(value, float | np.floating):
        if np.isnan(value):
            return None
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return None if value is None else str(value)
