"""Reader: the formula of a program, and its JSON text with a schema."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from smpcore.codegen.inputs import QuantInput
from smpcore.codegen.program import Operation


def arithmetic(model: Any) -> str:
    """The formula, for a reader of the JSON text."""
    number = "q" if model.is_integer else "v"
    steps = [operation.formula(number) for operation in model.operations]
    if model.is_integer:
        first = (
            "integers; q = round((x - zero) * per_unit), half away from 0, clamped to "
            "the container, of a category 1 or 0 for a level"
        )
        last = (
            "real score = step * score + shift; answer: lowest class within "
            "round(tie / step) of the largest score"
        )
    else:
        first = "float32; v = x - offset of a number, 1 or 0 for a category's level"
        last = "answer: lowest class within tie of the largest score"
    steps += ["score of a class = largest score of its rows"]
    return "; ".join([first, *steps, last, *_of_calibration(model)])


def _of_calibration(model: Any) -> list[str]:
    """The formula of a probability or an interval, where there is one."""
    if model.half_width is not None:
        return ["90 % interval: value - half_width to value + half_width"]
    if model.probability is None:
        return []
    place = "trunc((lead + below) * per_unit + 1/2)"
    if model.is_integer:
        place = "(lead + below) >> drop"
    lead, last = "score of class 1 - score of class 0", "probability of class 1"
    more = []
    if len(model.probability.offset):
        lead = "(score + offset of a class) - the largest of these"
        last = "e of a class"
        more = ["probability = (32768 e + sum / 2) // sum of all e, from 1 to 32767"]
    return [
        f"lead = {lead}, clipped to -below and above",
        f"place = {place}, in the last segment k that begins at or below it",
        f"{last} in 1/32768 = value_k + (slope_k * (place - begin_k) >> 15)",
        *more,
    ]


#: Version of this text, and of all files that a model is exported as.
SCHEMA = 2

#: Entries that tell which model it is.
IDENTITY = ("name", "id")

#: Entries of a model that only a calibrated one has.
_CALIBRATED = ("probability", "half_width")

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {int: "integer", float: "number", str: "string", bool: "boolean"}


def to_text(model: Any) -> str:
    """Write a model: what it computes first, and what it was rounded from last."""
    return json.dumps(_content(model), allow_nan=False)


def _content(model: Any) -> dict[str, Any]:
    content = {"schema": SCHEMA, "arithmetic": arithmetic(model)}
    if not model.is_integer:
        return content | _plain(model)
    content["zero_weights"] = model.zero_weights
    content |= _plain(model, ("source",))
    return content | {"source": _content(model.source)}


def _plain(value: Any, left_out: tuple[str, ...] = ()) -> Any:
    """Plain JSON of a value; an input in integers leaves what the source says."""
    if isinstance(value, np.ndarray):
        return _digits(value) if value.dtype == np.float32 else value.tolist()
    if is_dataclass(value):
        given = ("given", *left_out) if isinstance(value, QuantInput) else left_out
        names = [name for name in _entries(value) if name not in given]
        kind = type(value).__name__
        head = {"operation": kind} if isinstance(value, Operation) else {}
        return head | {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


def _entries(value: Any) -> list[str]:
    """Names of the fields of a dataclass that there is something to say of."""
    names = [field.name for field in fields(value)]
    return [n for n in names if n not in _CALIBRATED or getattr(value, n) is not None]


def _digits(values: np.ndarray) -> Any:
    """Nine digits of each float32, in nested lists: they lose nothing."""
    if values.ndim > 1:
        return [_digits(row) for row in values]
    return [float(f"{value:.9g}") for value in values.tolist()]


def schema(model: Any) -> dict[str, Any]:
    """Describe what `to_text` of a model writes."""
    arrays = {
        f"{kind}s": {
            "type": "array",
            "items": {"anyOf": [{"type": kind}, {"$ref": f"#/$defs/{kind}s"}]},
        }
        for kind in ("integer", "number")
    }
    described = _model(model)
    described["properties"] |= {name: {"type": "string"} for name in IDENTITY}
    return {"$schema": _DRAFT, **described, "$defs": arrays}


def _model(model: Any) -> dict[str, Any]:
    entries: dict[str, Any] = {"schema": {"const": SCHEMA}}
    entries["arithmetic"] = {"const": arithmetic(model)}
    if model.is_integer:
        entries["zero_weights"] = {"type": "object"}
    hints = get_type_hints(type(model))
    for name in _entries(model):
        entries[name] = _type(hints[name], ("given",))
    entries["prototype_labels"] = _array(model.prototype_labels)
    operations = [_written(operation) for operation in model.operations]
    n = len(operations)
    entries["operations"] = {"type": "array", "prefixItems": operations}
    entries["operations"] |= {"minItems": n, "maxItems": n}
    if model.is_integer:
        entries["source"] = _model(model.source)
    return _object(entries)


def _written(operation: Operation) -> dict[str, Any]:
    """Schema of an operation."""
    hints, name = get_type_hints(type(operation)), type(operation).__name__
    entries: dict[str, Any] = {"operation": {"const": name}}
    for field in fields(operation):
        value = getattr(operation, field.name)
        is_array = isinstance(value, np.ndarray)
        entries[field.name] = _array(value) if is_array else _type(hints[field.name])
    return _object(entries)


def _array(values: np.ndarray) -> dict[str, Any]:
    kind = "integers" if values.dtype.kind == "i" else "numbers"
    return {"$ref": f"#/$defs/{kind}"}


def _object(entries: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": entries,
        "required": list(entries),
        "additionalProperties": False,
    }


def _type(hint: Any, left_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """Schema of a value with this annotation."""
    origin, given = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint is type(None):
        return {"type": "null"}
    if origin is Literal:
        return {"enum": list(given)}
    if origin in (Union, types.UnionType):
        known = [one for one in given if one is not np.ndarray]
        return {"anyOf": [_type(one) for one in known]}
    if origin is tuple:
        return {"type": "array", "items": _type(given[0], left_out)}
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        names = [name.name for name in fields(hint) if name.name not in left_out]
        return _object({name: _type(hints[name]) for name in names})
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object"}
    return {}
