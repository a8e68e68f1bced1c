"""A model as one file of plain Python, for a host or for MicroPython.

Floats of Python have 64 bits: a sum or product of two float32, rounded to float32, has
the bits of the emulator. Integers are exact.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

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
    constants |= more | {"LABELS": [_label(label) for label in model.labels]}
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


def _label(label: str) -> str:
    """Text without lone surrogates, which no file can hold."""
    return label.encode("utf-8", "replace").decode()


def _declared(constants: Constants) -> str:
    """Declare constants."""
    return "".join(f"{name} = {_literal(v)}\n" for name, v in constants.items())


def _literal(value: Any) -> str:
    if isinstance(value, np.float32):
        return f'_floats("{_words(value)[0]}")[0]  # {value:.9g}'
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        lines = _lines(_words(value))
        return "_floats(" + _inside([f'"{line}"' for line in lines]) + ")"
    if isinstance(value, np.ndarray | np.generic):
        value = value.ravel().tolist() if value.ndim else value.item()
    if isinstance(value, list):
        return "(" + _inside(_lines([f"{one!a}," for one in value])) + ")"
    return ascii(value)


def _words(values: np.ndarray | np.float32) -> list[str]:
    """Bits of floats: a board with 32-bit floats may read decimals inexactly."""
    return [f"{bits:08x}" for bits in np.atleast_1d(values).view(np.uint32).flat]


def _lines(words: list[str]) -> list[str]:
    """Words with a blank after each, in lines."""
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) > 76:
            lines.append("")
        lines[-1] += f"{word} "
    return lines


def _inside(lines: list[str]) -> str:
    """What stands between two brackets."""
    if len(lines) == 1 and len(lines[0]) < 60:
        return lines[0].rstrip()
    return "\n    " + "\n    ".join(line.rstrip() for line in lines) + "\n"


_PYTHON = Language("python/program.in", _declared, "_".join)
