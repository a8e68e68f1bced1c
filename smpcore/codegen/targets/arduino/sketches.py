"""A model as an Arduino library: its C, a sketch that answers rows, and a self-test.

The layout is that of the library specification 1.5 (revision 2.2).
"""

from __future__ import annotations

import re

from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import c_float
from smpcore.codegen.package import Files, Package
from smpcore.codegen.targets.c99.packaging import library, words_of_c
from smpcore.codegen.templates import chosen


def arduino(package: Package) -> Files:
    """Write sources, and the names in them that the IDE colours."""
    name = package.name
    keywords = _keywords(package.sources[f"{name}.h"], name)
    return library(package) | {"keywords.txt": keywords}


def words_of_sketches(package: Package) -> dict[str, str]:
    """Words of the sketches, and of the page about them."""
    entries = package.model.source.inputs
    words = words_of_c(package)
    words |= {
        "inputs": "\n".join(_input(entry, words["M"]) for entry in entries),
        "row": _wrapped([c_float(_middle(entry)).rstrip("f") for entry in entries]),
    }
    return chosen("arduino/parts.in", words, package.holds)


def _middle(entry: CompiledInput) -> float:
    """A value that is certainly in the range; of whole numbers a whole one."""
    if entry.levels:
        return 0.0
    middle = (entry.low + entry.high) / 2
    return float(int(middle)) if entry.integer else middle


def _input(entry: CompiledInput, m: str) -> str:
    name = entry.identifier
    told = f"{entry.low:.6g} to {entry.high:.6g}"
    if entry.levels:
        told = f"{m}_IS_{name.upper()}_..., 0 to {len(entry.levels) - 1}; -1: unknown"
    return f" *   {name}: {told}"


def _wrapped(words: list[str]) -> str:
    """Lines of a comment; whoever copies them joins them to one."""
    lines = [" ".join(words[i : i + 8]) for i in range(0, len(words), 8)]
    return "\n".join(f" *   {line}" for line in lines)


def _keywords(header: str, name: str) -> str:
    """Functions and constants of the header, as words that the IDE colours."""
    functions = re.findall(rf"\b({name}_\w+)\(", header)
    m = name.upper()
    constants = re.findall(rf"(?:#define |^    )({m}_\w+) ", header, re.MULTILINE)
    lines = [f"{word}\tKEYWORD2" for word in dict.fromkeys(functions)]
    lines += [f"{word}\tLITERAL1" for word in dict.fromkeys(constants)]
    return "\n".join(lines) + "\n"
