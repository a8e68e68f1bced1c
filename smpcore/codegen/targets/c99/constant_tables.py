"""Names, types and constant tables of generated C, and how the tables are read."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from smpcore.codegen.constants import Tables
from smpcore.codegen.names import c_float
from smpcore.codegen.program import WeightedInputs, WeightedSums
from smpcore.codegen.templates import section

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


_NONE: Mapping[str, Any] = {}


def unsigned(largest: int) -> str:
    """Smallest unsigned C type that holds a number."""
    return f"{np.min_scalar_type(largest)}_t"


def class_type(model: Any) -> str:
    """C type of a class index of a compiled or quantised model."""
    return unsigned(model.n_outputs - 1)


def number_types(model: Any) -> tuple[str, str]:
    """C types of an input and of a score of a compiled or quantised model."""
    if model.is_integer:
        return f"int{model.width}_t", f"int{model.accumulator}_t"
    return "float", "float"


def lines(steps: list[str], depth: int) -> str:
    """Indented lines of C."""
    return "".join(f"{'    ' * depth}{step}".rstrip() + "\n" for step in steps)


@dataclass(frozen=True, eq=False)
class Source:
    """What every part of a C file is written from."""

    model: Any
    prefix: str
    tables: Tables

    @property
    def m(self) -> str:
        """The prefix of macros."""
        return self.prefix.upper()

    @property
    def number(self) -> str:
        """C type of an input."""
        return number_types(self.model)[0]

    @property
    def score(self) -> str:
        """C type of a score."""
        return number_types(self.model)[1]

    @property
    def index(self) -> str:
        """C type of a class index."""
        return class_type(self.model)

    @property
    def x(self) -> str:
        """Parameter that holds the inputs."""
        return f"const {self.number} x[{self.m}_N]"

    @property
    def words(self) -> dict[str, str]:
        """What the templates of every function have."""
        return {
            "name": self.prefix,
            "M": self.m,
            "x": self.x,
            "number": self.number,
            "score": self.score,
            "index": self.index,
            "class_counter": unsigned(self.model.n_outputs),
            "row_counter": unsigned(self.model.n_rows),
        }

    def text(
        self, name: str, words: Mapping[str, Any] = _NONE, file: str = "functions"
    ) -> str:
        """Fill a section of a template of this folder."""
        return section(f"c99/{file}.in", name, {**self.words, **words})

    def type(self, name: str) -> str:
        """C type of a table's entries."""
        return _c_type(self.tables[name])

    def fetch(self, name: str, place: str) -> str:
        """Read one entry of a table."""
        return self.fetch_at(name, f"&{self.prefix}_{name}[{place}]")

    def fetch_at(self, name: str, pointer: str) -> str:
        """Read the entry of a table that a pointer leads to."""
        return f"{self.m}_READ_{_word(self.tables[name])}({pointer})"

    def readers(self) -> tuple[str, str]:
        """Macros that read an entry: from an AVR's flash, and from anywhere else."""
        kinds = {_word(t): _READ[t.dtype.name] for t in self.tables.values()}
        flash = [f"#define {self.m}_READ_{w}(p) {read}" for w, read in kinds.items()]
        memory = [f"#define {self.m}_READ_{word}(p) (*(p))" for word in kinds]
        return "\n".join(flash), "\n".join(memory)

    def arrays(self) -> str:
        """The constant arrays."""
        return "".join(self._array(name, table) for name, table in self.tables.items())

    def _array(self, name: str, values: np.ndarray) -> str:
        """One of them; each row of a table, or the terms of a row, begin a line."""
        write, per_line = (c_float, 5) if values.dtype.kind == "f" else (str, 16)
        n = values.size
        sparse = self.model.find(WeightedInputs) or self.model.find(WeightedSums)
        if values.ndim > 1:
            ends = range(values.shape[1], n + 1, values.shape[1])
        else:
            ends = sparse.start[1:] if n == len(sparse.weight) else [n]
        flat = values.ravel()
        rows = [
            ", ".join(map(write, flat[i : min(i + per_line, end)]))
            for start, end in itertools.pairwise([0, *ends])
            for i in range(start, end, per_line)
        ]
        size = f"{self.prefix}_{name}[{n}] {self.m}_CONST"
        head = f"static const {_c_type(values)} {size} = {{"
        if len(rows) == 1 and len(head) + len(rows[0]) < 80:
            return f"{head}{rows[0]}}};\n"
        return head + "\n    " + ",\n    ".join(rows) + "};\n"


def _c_type(table: np.ndarray) -> str:
    return "float" if table.dtype.kind == "f" else f"{table.dtype}_t"


def _word(table: np.ndarray) -> str:
    kind = {"f": "FLOAT", "u": "U", "i": "I"}[table.dtype.kind]
    return kind if kind == "FLOAT" else f"{kind}{8 * table.itemsize}"
