"""A compiled model as JSON text, and back bit for bit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from smpcore.codegen.inputs import CompiledInput
from smpcore.errors import ExportError

#: Version of this text, and of all files that a model is exported as.
SCHEMA = 2

#: Entries that tell which model it is; its reader has no use for them.
IDENTITY = ("name", "id")

#: Entries at the end of the text; those of the forms stand before them.
_LAST = ("classes", "fallback", "band", "tie", "provenance")


def to_text(model: Any) -> str:
    """Write a `CompiledModel`."""
    return json.dumps(_content(model, ()), allow_nan=False)


def _content(model: Any, shared: tuple[str, ...]) -> dict[str, Any]:
    """Entries of a model, less those that it shares with the model around it."""
    content: dict[str, Any] = {"schema": SCHEMA, "arithmetic": model.ARITHMETIC}
    names = [entry.name for entry in fields(model) if entry.name not in shared]
    for name in sorted(names, key=_LAST.__contains__):
        value = getattr(model, name)
        if name in model.FLOATS:
            value = _digits(value)
        elif name in model.INTEGERS:
            value = value.tolist()
        elif name == "inputs":
            value = [asdict(one) for one in value]
        elif name == "mixed":
            value = _content(value, ("inputs",))
        content[name] = value
    return content


def from_text(text: str, forms: Mapping[str, type]) -> Any:
    """Read a model into the form that holds its similarity.

    Raises
    ------
    ExportError
        If the text is not such a model: which entry, and why.
    """
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ExportError(f"The model is not valid JSON: {error}.") from None
    return _read(content, forms)


def _read(content: Any, forms: Mapping[str, type]) -> Any:
    """Model of these entries."""
    if not isinstance(content, dict) or content.pop("schema", None) != SCHEMA:
        raise ExportError(f"schema should be {SCHEMA}; export the model again.")
    for told in ("arithmetic", *IDENTITY):
        content.pop(told, None)
    similarity = content.get("similarity", "linear")
    if not (isinstance(similarity, str) and similarity in forms):
        raise ExportError(
            f"similarity={similarity!r} should be one of {sorted(forms)}; compile the "
            "model again."
        )
    try:
        if content["classes"] is not None:
            content["classes"] = tuple(content["classes"])
        if "mixed" in content:
            given = {"inputs": content["inputs"]}
            content["mixed"] = _read({**content["mixed"], **given}, forms)
        content["inputs"] = tuple(_input(entry) for entry in content["inputs"])
        return forms[similarity](**content)
    except ExportError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        raise ExportError(f"The model has a wrong entry: {error}.") from None


def _digits(values: np.ndarray) -> Any:
    """Nine digits of each float32, in nested lists: they lose nothing."""
    if values.ndim > 1:
        return [_digits(row) for row in values]
    return [float(f"{value:.9g}") for value in values.tolist()]


def _input(entry: Mapping[str, Any]) -> CompiledInput:
    levels = {name: tuple(entry[name]) for name in ("levels", "level_identifiers")}
    return CompiledInput(**{**entry, **levels})
