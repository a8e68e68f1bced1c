"""Values as literals of Python: nothing that a user typed leaves its literal."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.codegen.targets.scripts import Constants


def declared(constants: Constants) -> str:
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
