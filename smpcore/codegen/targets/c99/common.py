"""What every C file of a model has: names, types, tables, helpers, answer, frame."""

from __future__ import annotations

import itertools
import re
from collections import ChainMap
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from smpcore.codegen.constants import Tables
from smpcore.codegen.describe import SCHEMA
from smpcore.codegen.names import c_float, model_id
from smpcore.codegen.program import WeightedInputs, WeightedSums
from smpcore.codegen.templates import section, sections

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


def lines(steps: list[str], depth: int) -> str:
    """Indented lines of C."""
    return "".join(f"{'    ' * depth}{step}".rstrip() + "\n" for step in steps)


#: Up to so many inputs have a bit each in one number.
MAX_MASK = 32


class Source:
    """What every part of a C file is written from.

    ``m`` is the prefix of macros; ``number``, ``score`` and ``index`` are C types of an
    input, a score and a class index; ``x`` is the parameter that holds the inputs, and
    ``words`` is what the templates of every function have.
    """

    def __init__(self, model: Any, prefix: str, tables: Tables) -> None:
        self.model, self.prefix, self.tables = model, prefix, tables
        self.m, self.index = prefix.upper(), class_type(model)
        self.number, self.score = map(c_type, model.types)
        self.x = f"const {self.number} x[{self.m}_N]"
        self.words = {
            "name": prefix,
            "M": self.m,
            "x": self.x,
            "input": self.number,
            "number": self.number,
            "score": self.score,
            "index": self.index,
            "class_counter": unsigned(model.n_outputs),
            "row_counter": unsigned(model.n_rows),
            "input_counter": unsigned(len(model.inputs)),
            "integers": model.is_integer,
            "floats": not model.is_integer,
            "classes": not model.is_regression,
            "several": model.n_outputs > 2,
            "bits": len(model.inputs) <= MAX_MASK,
            getattr(model.probability, "kind", ""): True,
            **{f"has_{name}": True for name in tables},
        }

    def text(
        self, name: str, words: Mapping[str, Any] = _NONE, file: str = "functions"
    ) -> str:
        """Fill a section of a template of this folder.

        Besides all words there are of each table ``name[place]`` and ``name(pointer)``,
        which read an entry, ``name_type``, and ``has_name`` where there is one.
        """
        return section(f"c99/{file}.in", name, _Words(self, words))

    def type(self, name: str) -> str:
        """C type of a table's entries."""
        return c_type(self.tables[name].dtype)

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
        return "".join(self._array(*table) for table in self.tables.items())

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
        head = f"static const {c_type(values.dtype)} {size} = {{"
        if len(rows) == 1 and len(head) + len(rows[0]) < 80:
            return f"{head}{rows[0]}}};\n"
        return head + "\n    " + ",\n    ".join(rows) + "};\n"


class _Words(ChainMap[str, Any]):
    """Words of a text, and what its tables give, see `Source.text`."""

    def __init__(self, c: Source, words: Mapping[str, Any]) -> None:
        super().__init__({**c.words, **words})
        self._c = c

    def __missing__(self, word: str) -> str:
        if read := re.fullmatch(r"(\w+)\[(.+)\]", word):
            return self._c.fetch(read[1], read[2])
        if read := re.fullmatch(r"(\w+)\((.+)\)", word):
            return self._c.fetch_at(read[1], read[2])
        return self._c.type(word.removesuffix("_type"))


def c_type(kind: np.dtype) -> str:
    """C type of numbers of this type."""
    return "float" if kind.kind == "f" else f"{kind}_t"


def _word(table: np.ndarray) -> str:
    kind = {"f": "FLOAT", "u": "U", "i": "I"}[table.dtype.kind]
    return kind if kind == "FLOAT" else f"{kind}{8 * table.itemsize}"


#: What keeps every score equal to the emulator's, and the compiler strict.
FLAGS = "-std=c99 -pedantic -Wall -Wextra -ffp-contract=off"
LICENCE = "/* SPDX-License-Identifier: 0BSD. This generated code is yours. */"

_TEXTS = sections("c99/files.in")
#: Every file is C, also for a C++ compiler, whose own casts C does not know; and a NaN
#: is told by being unequal to itself. Another file may stand behind it in one unit.
CASTS, CASTS_END = _TEXTS["casts"], _TEXTS["casts end"]

#: For a file that computes with floats. Parts of -ffast-math that older compilers do
#: not tell of are taken back, and at its end given again.
FLOAT_RULES, FLOAT_RULES_END = _TEXTS["float rules"], _TEXTS["float rules end"]


def head(model: Any, prefix: str) -> str:
    """First lines of every file: licence, which model it is, what it gives away."""
    about = f"Model {prefix}, ID {model_id(model)}, {model.number}"
    text = f"{LICENCE}\n/* {about}, format {SCHEMA}. */\n"
    if rows := model.n_training_rows:
        text += f"/* Contains {rows} training rows (support vectors). */\n"
    return text


def preamble(c: Source, sizes: Mapping[str, int], rules: str = "") -> str:
    """Begin of a source file: includes, how tables are read, constants."""
    defines = "\n".join(f"#define {c.m}_{name} {n}" for name, n in sizes.items())
    flash, memory = c.readers()
    words = {"casts": CASTS, "rules": rules, "defines": defines}
    return c.text("preamble", words | {"flash": flash, "memory": memory}, "files")


def value_steps(c: Source, place: str, term: str) -> str:
    """Lines that turn an input into the value of a term; none if it is the same."""
    steps = []
    if "missing" in c.tables:
        steps += [
            "if (value != value) { /* NaN: missing */",
            f"    value = {c.fetch('missing', place)};",
            "}",
        ]
    if "shift" in c.tables:
        steps.append(f"value += {c.fetch('shift', place)};")
    if "level" in c.tables:
        steps = [
            f"const {c.type('level')} level = {c.fetch('level', term)};",
            "",
            "if (level != 0) { /* a category: does it have this level? */",
            "    value = value == (float)(level - 1) ? 1.0f : 0.0f;",
            *(["} else {", *(f"    {step}" for step in steps)] if steps else []),
            "}",
        ]
    elif steps:
        steps = ["", *steps]
    return lines(steps, 2)


class RowCode(NamedTuple):
    """How the public functions come to the score of a row.

    Parameters
    ----------
    sizes : dict of str to int
        Constants to define.
    functions : str
        Static functions.
    declare, before : str
        Lines at the begin of a public function, and before its loop over the rows.
    score : str
        Expression for the score of the row ``row``.
    count : str
        Which of the sizes is the number of rows that compete.
    scores, predict : str
        The public functions of these names, where they need no loop or no array.
    """

    sizes: dict[str, int]
    functions: str = ""
    declare: str = ""
    before: str = ""
    score: str = ""
    count: str = "ROWS"
    scores: str = ""
    predict: str = ""


def behind(c: Source) -> str:
    """Whether ``{other}`` is more than TIE below ``{best}``; empty where TIE is 0.

    Integers as large as can be leave an addition no room.
    """
    model, tie, score = c.model, f"{c.m}_TIE", c.score
    if not model.tie:
        return ""
    if not model.is_integer or model.largest + model.tie < 2 ** (model.accumulator - 1):
        return f"{{other}} + {tie} < {{best}}"
    order = "{best} > {other} && " if model.n_outputs == 2 else ""
    return f"{order}{difference(score, '{best}', '{other}')} > (u{score}){tie}"


def difference(kind: str, best: str, other: str) -> str:
    """How far a score of a type of C is above another that is no larger.

    It may need the sign bit: that is turned round in both, so that nothing wraps.
    """
    top = f"{2 ** (int(kind.strip('int_')) - 1)}U"
    return f"(u{kind})(((u{kind}){best} ^ {top}) - ((u{kind}){other} ^ {top}))"


def answer_functions(c: Source, code: RowCode) -> list[str]:
    """The functions that give a value; or scores, class and margin."""
    words = {"declare": code.declare, "before": code.before, "expression": code.score}
    if c.model.is_regression:
        if "row" in code.score:
            only = "    const uint8_t row = 0; /* the only one */\n"
            words["declare"] = f"{only}{code.declare}\n"
        return [c.text("value", words)]
    model, lowest, gap = c.model, "-FLT_MAX", "best - next"
    several, fallback = model.n_outputs > 2, model.fallback
    if model.is_integer:
        lowest, fallback = f"-{2 ** (model.accumulator - 1) - 1}", 0
        gap = difference(c.score, "best", "next")
    # Rows of two classes come in their order; of several none on the way is left out.
    best, other = ("best", "scores[k]") if several else ("score", "best")
    far = behind(c).format(best=best, other=other)
    is_pair = far and not several
    words |= margin_words(c) | {
        "count": code.count,
        "lowest": lowest,
        "gap": gap,
        "behind": far,
        "fallback": fallback,
        "first": 0 if is_pair else fallback,
        "last": f"best > {lowest} ? winner : 1" if is_pair and fallback else "winner",
    }
    predict = "predict of scores" if far and several else "predict"
    return [
        code.scores or c.text("scores", words),
        code.predict or c.text(predict, words),
        c.text("margin", words),
    ]


def margin_words(c: Source) -> dict[str, str]:
    """Type of a margin; the largest that is "not sure", empty without such a band."""
    whole, band = c.model.is_integer, c.model.not_sure
    literal = f"{band}UL" if whole else c_float(band)
    # Unsigned: the difference of two scores may need the sign bit.
    margin = f"u{c.score}" if whole else c.score
    return {"margin": margin, "band": literal if band >= 0 else ""}
