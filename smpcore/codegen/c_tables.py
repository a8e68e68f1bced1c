"""Constant tables of generated C: their types, their text, and how they are read."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from smpcore.codegen.names import c_float

#: How an AVR reads its flash.
_READ = {
    "float32": "pgm_read_float(p)",
    "uint8": "pgm_read_byte(p)",
    "uint16": "pgm_read_word(p)",
    "uint32": "pgm_read_dword(p)",
    "int8": "((int8_t)pgm_read_byte(p))",
    "int16": "((int16_t)pgm_read_word(p))",
    "int32": "((int32_t)pgm_read_dword(p))",
}

Tables = Mapping[str, np.ndarray]


def unsigned(largest: int) -> str:
    """Smallest unsigned C type that holds a number."""
    return f"{np.min_scalar_type(largest)}_t"


def c_type(table: np.ndarray) -> str:
    """C type of a table's entries."""
    return "float" if table.dtype.kind == "f" else f"{table.dtype}_t"


def readers(prefix: str, tables: Tables) -> tuple[str, str]:
    """Macros that read an entry: from an AVR's flash, and from anywhere else."""
    m = prefix.upper()
    kinds = {_word(t): _READ[t.dtype.name] for t in tables.values()}
    flash = [f"#define {m}_READ_{word}(p) {read}" for word, read in kinds.items()]
    plain = [f"#define {m}_READ_{word}(p) (*(p))" for word in kinds]
    return "\n".join(flash), "\n".join(plain)


def fetch(prefix: str, tables: Tables, name: str, place: str) -> str:
    """Read one entry of a table."""
    return fetch_at(prefix, tables, name, f"&{prefix}_{name}[{place}]")


def fetch_at(prefix: str, tables: Tables, name: str, pointer: str) -> str:
    """Read the entry of a table that a pointer leads to."""
    return f"{prefix.upper()}_READ_{_word(tables[name])}({pointer})"


def table(compiled: Any, prefix: str, name: str, values: np.ndarray) -> str:
    """One constant array; each row of a table, or the terms of a row, begin a line.

    The model says with ``start`` which terms belong to a row.
    """
    write, per_line = (c_float, 5) if values.dtype.kind == "f" else (str, 16)
    n = values.size
    if values.ndim > 1:
        ends = range(values.shape[1], n + 1, values.shape[1])
    else:
        ends = compiled.start[1:] if n == len(compiled.weight) else [n]
    flat = values.ravel()
    lines = [
        ", ".join(map(write, flat[i : min(i + per_line, end)]))
        for start, end in itertools.pairwise([0, *ends])
        for i in range(start, end, per_line)
    ]
    size = f"{prefix}_{name}[{n}] {prefix.upper()}_CONST"
    head = f"static const {c_type(values)} {size} = {{"
    if len(lines) == 1 and len(head) + len(lines[0]) < 80:
        return f"{head}{lines[0]}}};\n"
    return head + "\n    " + ",\n    ".join(lines) + "};\n"


def _word(table: np.ndarray) -> str:
    kind = {"f": "FLOAT", "u": "U", "i": "I"}[table.dtype.kind]
    return kind if kind == "FLOAT" else f"{kind}{8 * table.itemsize}"
