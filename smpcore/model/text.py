"""Entries of a model as JSON values, and back."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.model.calibration import Calibration
from smpcore.model.history import History
from smpcore.similarity import Similarity

_INTEGERS = {"counts"}
_TUPLES = {"feature_names", "sample_shape"}
_SCALARS = {"pooling", "kind_of_prototype", "fallback", "code_size", "band", "tie"}


def write_entries(model: Any, schema: int) -> str:
    """Write the entries of a model as a JSON object of this schema."""
    content = {"schema": schema}
    for entry in fields(model):
        content[entry.name] = json_value(getattr(model, entry.name))
    return json.dumps(content, allow_nan=False)


def json_value(value: Any) -> Any:
    """Turn arrays and records into lists and dicts."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Similarity):
        if value.function is not None:
            raise SmpcoreError("A model with a Python function cannot be saved.")
        return {k: v for k, v in asdict(value).items() if k != "function"}
    if isinstance(value, History):
        return {
            "iteration": value.iteration.tolist(),
            "objective": value.objective.tolist(),
            "gap": [g if np.isfinite(g) else None for g in value.gap.tolist()],
            "status": int(value.status),
            "n_iter": int(value.n_iter),
            "seconds": float(value.seconds),
        }
    if isinstance(value, Calibration):
        return value.as_dict()
    if isinstance(value, tuple):
        return list(value)
    return value


def typed(name: str, value: Any) -> Any:
    """Undo `plain` for one entry of the model."""
    if name == "similarity":
        return Similarity(
            **{k: tuple(v) if isinstance(v, list) else v for k, v in value.items()}
        )
    if name == "calibration":
        return None if value is None else Calibration.from_dict(value)
    if name == "history":
        gap = [np.nan if g is None else g for g in value["gap"]]
        arrays = {"iteration": value["iteration"], "objective": value["objective"]}
        return History(
            **{k: np.asarray(v, dtype=float) for k, v in arrays.items()},
            gap=np.asarray(gap, dtype=float),
            status=int(value["status"]),
            n_iter=int(value["n_iter"]),
            seconds=float(value["seconds"]),
        )
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


def read_entries(text: str, schema: int, names: set[str]) -> dict[str, Any]:
    """Read the entries of a model from a JSON object that has exactly these."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise SmpcoreError(f"The model is not valid JSON: {error}.") from None
    if not isinstance(content, dict) or content.pop("schema", None) != schema:
        raise SmpcoreError(
            f"schema should be {schema}; save the model again with this version."
        )
    content.setdefault("tie", 0.0)  # saved before models had one
    content.setdefault("calibration", None)  # likewise
    if set(content) != names:
        raise SmpcoreError(
            "The model should have exactly the entries "
            f"{sorted(names)}; differing: {sorted(set(content) ^ names)}."
        )
    try:
        return {name: typed(name, value) for name, value in content.items()}
    except SmpcoreError:
        raise
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise SmpcoreError(f"The model has a wrong entry: {error}.") from None
