"""A model as one file of plain Python, for a host or for MicroPython.

Floats of Python have 64 bits: a sum or product of two float32, rounded to float32, has
the bits of the emulator. Integers are exact.
"""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

import numpy as np

from smpcore.codegen.names import without_surrogates
from smpcore.codegen.package import Files, Package
from smpcore.codegen.targets.scripts import (
    Constants,
    Language,
    constants_of_interval,
    script,
)
from smpcore.codegen.templates import filled
from smpcore.datasets.cells import parse_cell

#: What becomes words of the pages about a module, and of its self-test.
PYTHON_PARTS = "python/parts.in"


def python(package: Package) -> Files:
    """A module without any import but of the standard library, and its self-test."""
    name, words = package.name, package.parts(PYTHON_PARTS)
    identity = f'NAME = "{name}"\nID = "{package.id}"\nFORMAT = {words["format"]}\n'
    return {
        **package.documents,
        f"{name}.py": f"{emit_plain_python(package.model)}\n\n{identity}",
        f"{name}_selftest.py": filled("python/selftest.py.in", words),
    }


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
    constants |= more | {"LABELS": list(map(without_surrogates, model.labels))}
    # What stands in {{ }} is rounded to float32; not if it is whole.
    before, after = ("", "") if model.is_integer else ("_float32(", ")")
    texts = [
        text.replace("{{", before).replace("}}", after)
        for text in dict.fromkeys([_PYTHON.text(first), *texts])
    ]
    head = f"{_PYTHON.text('head')}\n\n{_declared(constants)}"
    # Texts are read as the app reads them, by the same lines.
    cell = _PYTHON.text("cell", parse_cell=inspect.getsource(parse_cell))
    return "\n\n".join([head, cell, *texts])


def _declared(constants: Constants) -> str:
    """Declare constants."""
    return "".join(f"{name} = {_literal(v)}\n" for name, v in constants.items())


def _literal(value: Any) -> str:
    if isinstance(value, np.float32):
        return f'_floats("{_bits(value)}")[0]  # {value:.9g}'
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return f'_floats("""{_wrapped(_bits(value))}""")'
    if isinstance(value, np.ndarray):
        return f"({_wrapped(''.join(f'{one}, ' for one in value.flat))})"
    if isinstance(value, list):
        return "(\n" + "".join(f"    {one!a},\n" for one in value) + ")"
    return ascii(value.item() if isinstance(value, np.generic) else value)


def _bits(values: np.ndarray | np.float32) -> str:
    """Bits of floats: a board with 32-bit floats may read decimals inexactly."""
    return " ".join(f"{n:08x}" for n in np.atleast_1d(values).view(np.uint32).flat)


def _wrapped(text: str) -> str:
    """Text between two brackets; a long one in lines of its own."""
    if len(text) < 60:
        return text.rstrip()
    return "\n" + textwrap.indent(textwrap.fill(text, 76), "    ") + "\n"


_PYTHON = Language("python/program.in", _declared, "_".join)
