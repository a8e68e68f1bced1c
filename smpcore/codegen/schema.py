"""A JSON schema of a model's text, made from the record that holds the model."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from smpcore.codegen.json_text import IDENTITY, SCHEMA

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {int: "integer", float: "number", str: "string", bool: "boolean"}


def schema(model: Any) -> dict[str, Any]:
    """Describe what `to_json` of a model writes.

    Parameters
    ----------
    model : CompiledModel or QuantModel

    Returns
    -------
    dict
        JSON Schema, draft 2020-12.
    """
    arrays = {
        f"{kind}s": {
            "type": "array",
            "items": {"anyOf": [{"type": kind}, {"$ref": f"#/$defs/{kind}s"}]},
        }
        for kind in ("integer", "number")
    }
    told = _model(model)
    told["properties"] |= {name: {"type": "string"} for name in IDENTITY}
    return {"$schema": _DRAFT, **told, "$defs": arrays}


def _model(model: Any, shared: tuple[str, ...] = ()) -> dict[str, Any]:
    hints = get_type_hints(type(model))
    entries: dict[str, Any] = {"schema": {"const": SCHEMA}}
    entries["arithmetic"] = {"const": model.ARITHMETIC}
    if "source" in hints:
        entries["form"] = {"const": type(model).__name__}
        entries["zero_weights"] = {"type": "object"}
    for name in (entry.name for entry in fields(model) if entry.name not in shared):
        value = getattr(model, name)
        if name in model.INTEGERS:
            entries[name] = {"$ref": "#/$defs/integers"}
        elif isinstance(value, np.ndarray):
            entries[name] = {"$ref": "#/$defs/numbers"}
        elif hasattr(value, "ARITHMETIC"):
            entries[name] = _model(value, () if name == "source" else ("inputs",))
        else:
            entries[name] = _type(hints[name], ("given",))
    return _object(entries)


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
        return {"anyOf": [_type(one) for one in given]}
    if origin is tuple:
        return {"type": "array", "items": _type(given[0], left_out)}
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        names = [name.name for name in fields(hint) if name.name not in left_out]
        return _object({name: _type(hints[name]) for name in names})
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object"}
    return {}
