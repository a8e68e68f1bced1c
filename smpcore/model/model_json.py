"""Entries of a model as JSON values, and back."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.model.calibration import Calibration
from smpcore.model.history import History
from smpcore.similarity import Similarity

_RECORDS = {"similarity": Similarity, "calibration": Calibration, "history": History}
#: Fields of records that are not saved.
_UNSAVED = {"function", "steps", "phases"}
_INTEGERS = {"counts"}
_TUPLES = {"feature_names", "sample_shape"}
_SCALARS = {"pooling", "kind_of_prototype", "fallback", "code_size", "band", "tie"}
_SCALARS |= {"outcome"}


def write_entries(model: Any, schema: int) -> str:
    """Write the entries of a model as a JSON object of this schema."""
    return json.dumps({"schema": schema} | _json_value(model), allow_nan=False)


def _json_value(value: Any) -> Any:
    """Turn arrays and records into lists and dicts; None is no finite number."""
    if getattr(value, "function", None) is not None:
        raise SmpcoreError("A model with a Python function cannot be saved.")
    if is_dataclass(value):
        names = [entry.name for entry in fields(value) if entry.name not in _UNSAVED]
        return {name: _json_value(getattr(value, name)) for name in names}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        finite = np.isfinite(value)
        value = value if finite.all() else np.where(finite, value, None)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [*map(_json_value, value)] if isinstance(value, tuple) else value


def _read_value(name: str, value: Any) -> Any:
    """Undo `_json_value` for one entry of the model."""
    if name in _RECORDS:
        empty = value is None and name == "calibration"
        return None if empty else _read_record(_RECORDS[name], value)
    if name in ("classes", "gram"):
        return None if value is None else np.asarray(value)
    if name in _TUPLES:
        return tuple(value)
    if name in _SCALARS:
        return value
    dtype = np.int64 if name in _INTEGERS else np.float64
    try:
        return np.asarray(value, dtype=dtype)
    except (ValueError, TypeError):
        raise SmpcoreError(f"{name} should be a table of numbers.") from None


def _read_record(kind: type, content: dict[str, Any]) -> Any:
    """Read a record that has its saved fields, arrays where it has arrays."""
    types = {entry.name: entry.type for entry in fields(kind)}
    saved = types.keys() - _UNSAVED
    first = {next(iter(types))}  # no record is without its first entry
    if not (saved - _optional(kind)) | first <= content.keys() <= saved:
        raise KeyError(kind.__name__)
    values = {}
    for name, value in content.items():
        if types[name] == "np.ndarray":
            unknown = np.inf if name == "half_widths" else np.nan
            value = np.array([unknown if v is None else v for v in value], np.float64)
        elif isinstance(value, list):
            value = tuple(np.array(v) if isinstance(v, list) else v for v in value)
        values[name] = value
    return kind(**values)


def _optional(kind: type) -> set[str]:
    """Entries with a default, which a file from before they came does not have."""
    return {
        entry.name
        for entry in fields(kind)
        if (entry.default, entry.default_factory) != (MISSING, MISSING)
    }


def read_model(text: str, schema: int, kind: type) -> Any:
    """Read a model of this class from a JSON object with its entries and no others."""
    names = {entry.name for entry in fields(kind)}
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SmpcoreError(f"The model is not valid JSON: {error}.") from None
    if not isinstance(content, dict) or content.pop("schema", None) != schema:
        raise SmpcoreError(
            f"schema should be {schema}; save the model again with this version."
        )
    if differing := (names - _optional(kind) - set(content)) | (set(content) - names):
        raise SmpcoreError(
            "The model should have exactly the entries "
            f"{sorted(names)}; differing: {sorted(differing)}."
        )
    try:
        return kind(**{name: _read_value(name, content[name]) for name in content})
    except SmpcoreError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise SmpcoreError(f"The model has a wrong entry: {error}.") from None
