"""An integer model as JSON text, together with the model it was rounded from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, get_type_hints

import numpy as np

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.integers.inputs import QuantInput
from smpcore.codegen.json_text import IDENTITY, SCHEMA
from smpcore.errors import ExportError


def to_text(model: Any) -> str:
    """Write a `QuantModel`."""
    form = type(model).__name__
    content = {"schema": SCHEMA, "form": form, "arithmetic": model.ARITHMETIC}
    content["zero_weights"] = model.zero_weights
    for entry in fields(model):
        value = getattr(model, entry.name)
        if entry.name == "source":
            continue  # the longest part comes last
        if entry.name == "inputs":
            value = [_written(one) for one in value]
        elif isinstance(value, np.ndarray):
            value = value.tolist()
        elif is_dataclass(value):
            value = asdict(value)
        content[entry.name] = value
    content["source"] = json.loads(model.source.to_json())
    return json.dumps(content, allow_nan=False)


def _written(one: QuantInput) -> dict[str, Any]:
    """An input without what stands in the source."""
    return {name: value for name, value in asdict(one).items() if name != "given"}


def _read(value: Any, form: type, name: str) -> Any:
    """An entry as the form wants it: an array, a record, or a plain value."""
    hint = get_type_hints(form).get(name)
    if hint is np.ndarray:
        return np.array(value)
    return hint(**value) if is_dataclass(hint) else value


def from_text(text: str, forms: Mapping[str, type]) -> Any:
    """Read a model into the form that it names.

    Raises
    ------
    ExportError
        If the text is not such a model: which entry, and why.
    """
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ExportError(f"The model is not valid JSON: {error}.") from None
    if not isinstance(content, dict) or content.pop("schema", None) != SCHEMA:
        raise ExportError(f"schema should be {SCHEMA}; export the model again.")
    for told in ("arithmetic", "zero_weights", *IDENTITY):
        content.pop(told, None)
    form = content.pop("form", None)
    if not (isinstance(form, str) and form in forms):
        raise ExportError(
            f"form={form!r} should be one of {sorted(forms)}; a model in floats is "
            "read by CompiledModel.from_json."
        )
    try:
        source = CompiledModel.from_json(json.dumps(content.pop("source")))
        pairs = zip(source.inputs, content.pop("inputs"), strict=True)
        inputs = tuple(QuantInput(given, **one) for given, one in pairs)
        read = {name: _read(v, forms[form], name) for name, v in content.items()}
        return forms[form](source=source, inputs=inputs, **read)
    except ExportError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        raise ExportError(f"The model has a wrong entry: {error}.") from None
