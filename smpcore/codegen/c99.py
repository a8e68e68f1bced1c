"""C99 (and C++) source of a `CompiledModel`: no heap, no library, float32 only.

The tables go through two macros, because a plain ``const`` table of an AVR lies in
its scarce RAM: ``MDL_CONST`` puts it into flash there, ``MDL_READ_...`` fetches it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

import numpy as np

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import c_float, c_string, check_prefix
from smpcore.errors import ExportError

#: Most inputs, and most levels of a category: an AVR's enum has 16 bits.
MAX_INPUTS = 2**15 - 1
MAX_CLASSES = 2**16

#: What keeps every score equal to the emulator's, and the compiler strict.
FLAGS = "-std=c99 -pedantic -Wall -Wextra -ffp-contract=off"
LICENCE = "/* SPDX-License-Identifier: 0BSD. This generated code is yours. */"

#: How an AVR reads its flash.
_READ = {
    "float32": "pgm_read_float",
    "uint8": "pgm_read_byte",
    "uint16": "pgm_read_word",
    "uint32": "pgm_read_dword",
}

Tables = Mapping[str, np.ndarray]


def emit_c99(compiled: CompiledModel, prefix: str = "mdl") -> dict[str, bytes]:
    """Write the header and the source file of a model.

    Parameters
    ----------
    compiled : CompiledModel
    prefix : str, default "mdl"
        Begins every name in the files.

    Returns
    -------
    dict of str to bytes
        ``model.h`` and ``model.c``, ASCII.

    Raises
    ------
    ExportError
        If the prefix is no identifier, or the model exceeds what the format holds.
    """
    check_prefix(prefix)
    _check_size(compiled)
    files = {"model.h": _header(compiled, prefix), "model.c": _source(compiled, prefix)}
    return {name: text.encode("ascii") for name, text in files.items()}


def class_type(compiled: CompiledModel) -> str:
    """C type of a class index."""
    return _unsigned(len(compiled.classes) - 1)


def _unsigned(largest: int) -> str:
    """Smallest unsigned type that holds a number."""
    return f"{np.min_scalar_type(largest)}_t"


def _check_size(compiled: CompiledModel) -> None:
    n_levels = max(len(entry.levels) for entry in compiled.inputs)
    sizes = {
        "inputs": (len(compiled.inputs), MAX_INPUTS),
        "levels of a category": (n_levels, MAX_INPUTS),
        "classes": (len(compiled.classes), MAX_CLASSES),
    }
    for what, (size, most) in sizes.items():
        if size > most:
            raise ExportError(
                f"The model has {size} {what}, but generated C holds at most {most}; "
                "fit a smaller model."
            )


def _header(compiled: CompiledModel, prefix: str) -> str:
    m, index = prefix.upper(), class_type(compiled)
    missing = (
        "NAN: missing, counts as the training median."
        if "missing" in compiled.tables()
        else "None may be missing."
    )
    inputs = _enum(
        (f"{m}_IN_{e.identifier.upper()}", place, _range_note(e, m))
        for place, e in enumerate(compiled.inputs)
    )
    levels = "".join(
        f"\n/* Values of {m}_IN_{entry.identifier.upper()}. */\n"
        + _enum(
            (f"{m}_IS_{word.upper()}", place, "")
            for place, word in enumerate(entry.level_identifiers)
        )
        for entry in compiled.inputs
        if entry.levels
    )
    return f"""\
{LICENCE}
#ifndef {m}_MODEL_H
#define {m}_MODEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#define {m}_N {len(compiled.inputs)} /* inputs */
#define {m}_CLASSES {len(compiled.classes)}

/* Inputs in the units of the table, with the range of the training rows.
 * {missing} */
{inputs}{levels}
/* Class index of one row of inputs; ties go to the lowest. */
{index} {prefix}_predict(const float x[{m}_N]);

/* Score of each class; the largest wins. */
void {prefix}_scores(const float x[{m}_N], float scores[{m}_CLASSES]);

/* Name of a class as UTF-8. On an AVR it lies in flash: read it with pgm_read_byte. */
const char *{prefix}_label({index} index);

#ifdef __cplusplus
}}
#endif

#endif
"""


def _enum(entries: Iterable[tuple[str, int, str]]) -> str:
    entries = list(entries)
    lines = [
        f"    {name} = {value}{',' if value < len(entries) - 1 else ''}{note}"
        for name, value, note in entries
    ]
    return "enum {\n" + "\n".join(lines) + "\n};\n"


def _range_note(entry: CompiledInput, m: str) -> str:
    if entry.levels:
        return f" /* {m}_IS_{entry.identifier.upper()}_..., or -1: unknown */"
    return f" /* {entry.low:.6g} to {entry.high:.6g} */"


def _source(compiled: CompiledModel, prefix: str) -> str:
    tables = compiled.tables()
    return "\n".join(
        [
            _preamble(compiled, prefix, tables),
            "".join(_table(compiled, prefix, n, t) for n, t in tables.items()),
            _row_function(compiled, prefix, tables),
            _api(compiled, prefix, tables),
            _label_function(compiled, prefix),
        ]
    )


def _preamble(compiled: CompiledModel, prefix: str, tables: Tables) -> str:
    m = prefix.upper()
    kinds = {_word(t): _READ[t.dtype.name] for t in tables.values()}
    flash = [f"#define {m}_READ_{word}(p) {read}(p)" for word, read in kinds.items()]
    plain = [f"#define {m}_READ_{word}(p) (*(p))" for word in kinds]
    return f"""\
{LICENCE}
#include "model.h"

#include <float.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "compile without -ffast-math: a NaN means missing, and sums keep their order"
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#ifdef __AVR__ /* tables stay in flash */
#include <avr/pgmspace.h>
#define {m}_CONST PROGMEM
{chr(10).join(flash)}
#else
#define {m}_CONST
{chr(10).join(plain)}
#endif

#define {m}_ROWS {compiled.n_rows}
"""


def _word(table: np.ndarray) -> str:
    return "FLOAT" if table.dtype.kind == "f" else f"U{8 * table.itemsize}"


def _c_type(table: np.ndarray) -> str:
    return "float" if table.dtype.kind == "f" else f"{table.dtype}_t"


def _table(compiled: CompiledModel, prefix: str, name: str, values: np.ndarray) -> str:
    """One constant array; in a table of terms each row begins a line."""
    write, per_line = (c_float, 5) if values.dtype.kind == "f" else (str, 16)
    ends = compiled.start[1:] if len(values) == compiled.n_terms else [len(values)]
    lines = [
        ", ".join(map(write, values[i : min(i + per_line, end)]))
        for start, end in itertools.pairwise([0, *ends])
        for i in range(start, end, per_line)
    ]
    size = f"{prefix}_{name}[{len(values)}] {prefix.upper()}_CONST"
    head = f"static const {_c_type(values)} {size} = {{"
    if len(lines) == 1 and len(head) + len(lines[0]) < 80:
        return f"{head}{lines[0]}}};\n"
    return head + "\n    " + ",\n    ".join(lines) + "};\n"


def _fetch(prefix: str, tables: Tables, name: str, place: str) -> str:
    """Read one entry of a table."""
    return f"{prefix.upper()}_READ_{_word(tables[name])}(&{prefix}_{name}[{place}])"


def _row_function(compiled: CompiledModel, prefix: str, tables: Tables) -> str:
    def fetch(name: str, place: str) -> str:
        return _fetch(prefix, tables, name, place)

    term, row = _c_type(tables["start"]), _unsigned(compiled.n_rows)
    return f"""\
/* bias + weight * value + weight * value + ..., summed in the order of the tables. */
static float {prefix}_row(const float x[{prefix.upper()}_N], {row} row)
{{
    const {term} end = {fetch("start", "row + 1")};
    float score = {fetch("bias", "row")};
    {term} term;

    for (term = {fetch("start", "row")}; term < end; ++term) {{
        const {_c_type(tables["input"])} input = {fetch("input", "term")};
        float value = x[input];
{_value_steps(prefix, tables)}\
        score += {fetch("weight", "term")} * value;
    }}
    return score;
}}
"""


def _value_steps(prefix: str, tables: Tables) -> str:
    """Lines that turn an input into the value of a term; none if it is the same."""
    steps = []
    if "missing" in tables:
        steps += [
            "if (value != value) { /* NaN: missing */",
            f"    value = {_fetch(prefix, tables, 'missing', 'input')};",
            "}",
        ]
    if "shift" in tables:
        steps.append(f"value += {_fetch(prefix, tables, 'shift', 'input')};")
    if "level" in tables:
        level = f"{_fetch(prefix, tables, 'level', 'term')}"
        steps = [
            f"const {_c_type(tables['level'])} level = {level};",
            "",
            "if (level != 0) { /* a category: does it have this level? */",
            "    value = value == (float)(level - 1) ? 1.0f : 0.0f;",
            *(["} else {", *(f"    {step}" for step in steps)] if steps else []),
            "}",
        ]
    elif steps:
        steps = ["", *steps]
    return "".join(f"        {step}".rstrip() + "\n" for step in steps)


def _api(compiled: CompiledModel, prefix: str, tables: Tables) -> str:
    m, index = prefix.upper(), class_type(compiled)
    row = _unsigned(compiled.n_rows)
    owner = _fetch(prefix, tables, "owner", "row")
    return f"""\
{index} {prefix}_predict(const float x[{m}_N])
{{
    float best = -FLT_MAX;
    {index} winner = {compiled.fallback};
    {row} row;

    for (row = 0; row < {m}_ROWS; ++row) {{
        const float score = {prefix}_row(x, row);
        if (score > best) {{
            best = score;
            winner = {owner};
        }}
    }}
    return winner;
}}

void {prefix}_scores(const float x[{m}_N], float scores[{m}_CLASSES])
{{
    {_unsigned(len(compiled.classes))} k;
    {row} row;

    for (k = 0; k < {m}_CLASSES; ++k) {{
        scores[k] = -FLT_MAX;
    }}
    for (row = 0; row < {m}_ROWS; ++row) {{
        const float score = {prefix}_row(x, row);
        const {_c_type(tables["owner"])} own = {owner};
        if (score > scores[own]) {{
            scores[own] = score;
        }}
    }}
}}
"""


def _label_function(compiled: CompiledModel, prefix: str) -> str:
    labels = "".join(
        f"static const char {prefix}_label_{k}[] {prefix.upper()}_CONST ="
        f" {c_string(label)};\n"
        for k, label in enumerate(compiled.labels)
    )
    cases = "\n".join(
        f"    case {k}:\n        return {prefix}_label_{k};"
        for k in range(len(compiled.classes))
    )
    return f"""\
{labels}static const char {prefix}_label_none[] {prefix.upper()}_CONST = "";

const char *{prefix}_label({class_type(compiled)} index)
{{
    switch (index) {{
{cases}
    default:
        return {prefix}_label_none;
    }}
}}
"""
