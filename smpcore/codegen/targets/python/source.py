"""A model as one file of plain Python, for a host or for MicroPython.

Floats of Python have 64 bits: a sum or product of two float32, rounded to float32, has
the bits of the emulator. Integers are exact.
"""

from __future__ import annotations

import inspect
from typing import Any

from smpcore.codegen.targets.python.literals import declared
from smpcore.codegen.targets.scripts import Language, constants_of_interval, script
from smpcore.datasets.cells import parse_cell

_PYTHON = Language("python/program.in", declared, "_".join)


def emit_plain_python(model: Any) -> str:
    """Write the model as Python without any library."""
    first, call = "input values", "_input_values(x)"
    if model.is_integer:
        first, call = "quantise", "x"
    more, texts, _ = script(model, _PYTHON, call)
    constants = {
        f"IN_{e.identifier.upper()}": k for k, e in enumerate(model.source.inputs)
    }
    constants |= constants_of_interval(model)
    constants |= more | {"LABELS": [_label(label) for label in model.labels]}
    # What stands in {{ }} is rounded to float32; not if it is whole.
    before, after = ("", "") if model.is_integer else ("_float32(", ")")
    texts = [
        text.replace("{{", before).replace("}}", after)
        for text in dict.fromkeys([_PYTHON.text(first), *texts])
    ]
    head = f"{_PYTHON.text('head')}\n\n{declared(constants)}"
    # Texts are read as the app reads them, by the same lines.
    cell = _PYTHON.text("cell", parse_cell=inspect.getsource(parse_cell))
    return "\n\n".join([head, cell, *texts])


def _label(label: str) -> str:
    """Text without lone surrogates, which no file can hold."""
    return label.encode("utf-8", "replace").decode()
