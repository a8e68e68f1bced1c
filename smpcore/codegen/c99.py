"""C99 (and C++) source of a `CompiledModel`: no heap, no library, float32 only.

The tables go through two macros, because a plain ``const`` table of an AVR lies in
its scarce RAM: ``MDL_CONST`` puts it into flash there, ``MDL_READ_...`` fetches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from smpcore.codegen.c_rows import RowCode, row_code
from smpcore.codegen.c_tables import Tables, c_type, fetch, readers, table, unsigned
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import c_string, check_prefix
from smpcore.errors import ExportError

#: Most inputs, and most levels of a category: an AVR's enum has 16 bits.
MAX_INPUTS = 2**15 - 1
MAX_CLASSES = 2**16

#: What keeps every score equal to the emulator's, and the compiler strict.
FLAGS = "-std=c99 -pedantic -Wall -Wextra -ffp-contract=off"
LICENCE = "/* SPDX-License-Identifier: 0BSD. This generated code is yours. */"


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
    return unsigned(compiled.n_outputs - 1)


def _check_size(compiled: CompiledModel) -> None:
    n_levels = max(len(entry.levels) for entry in compiled.inputs)
    sizes = {
        "inputs": (len(compiled.inputs), MAX_INPUTS),
        "levels of a category": (n_levels, MAX_INPUTS),
        "classes": (compiled.n_outputs, MAX_CLASSES),
    }
    for what, (size, most) in sizes.items():
        if size > most:
            raise ExportError(
                f"The model has {size} {what}, but generated C holds at most {most}; "
                "fit a smaller model."
            )


def _header(compiled: CompiledModel, prefix: str) -> str:
    m = prefix.upper()
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
    rows = compiled.n_training_rows
    warning = (
        f"\n/* Contains {rows} training rows (support vectors). */" if rows else ""
    )
    return f"""\
{LICENCE}{warning}
#ifndef {m}_MODEL_H
#define {m}_MODEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#define {m}_N {len(compiled.inputs)} /* inputs */
{"" if compiled.is_regression else f"#define {m}_CLASSES {compiled.n_outputs}{chr(10)}"}
/* Inputs in the units of the table, with the range of the training rows.
 * {missing} */
{inputs}{levels}
{_prototypes(compiled, prefix)}
#ifdef __cplusplus
}}
#endif

#endif
"""


def _prototypes(compiled: CompiledModel, prefix: str) -> str:
    m, index = prefix.upper(), class_type(compiled)
    if compiled.is_regression:
        return f"""\
/* Value of one row of inputs. */
float {prefix}_predict(const float x[{m}_N]);
"""
    return f"""\
/* Class index of one row of inputs; ties go to the lowest. */
{index} {prefix}_predict(const float x[{m}_N]);

/* Score of each class; the largest wins. */
void {prefix}_scores(const float x[{m}_N], float scores[{m}_CLASSES]);

/* Name of a class as UTF-8. On an AVR it lies in flash: read it with pgm_read_byte. */
const char *{prefix}_label({index} index);
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
    rows = row_code(compiled, prefix, tables)
    parts = [
        _preamble(prefix, tables, rows.sizes),
        "".join(table(compiled, prefix, n, t) for n, t in tables.items()),
        rows.functions,
    ]
    if compiled.is_regression:
        return "\n".join([*parts, _value_function(prefix, rows)])
    api = _api(compiled, prefix, tables, rows)
    return "\n".join([*parts, api, _label_function(compiled, prefix)])


def _value_function(prefix: str, rows: RowCode) -> str:
    return f"""\
float {prefix}_predict(const float x[{prefix.upper()}_N])
{{
    const uint8_t row = 0; /* the only one */
{rows.declare}
{rows.before}    return {rows.score};
}}
"""


def _preamble(prefix: str, tables: Tables, sizes: Mapping[str, int]) -> str:
    m = prefix.upper()
    defines = "\n".join(f"#define {m}_{name} {n}" for name, n in sizes.items())
    flash, plain = readers(prefix, tables)
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
{flash}
#else
#define {m}_CONST
{plain}
#endif

{defines}
"""


def _api(compiled: CompiledModel, prefix: str, tables: Tables, rows: RowCode) -> str:
    m, index = prefix.upper(), class_type(compiled)
    row = unsigned(compiled.n_rows)
    owner = fetch(prefix, tables, "owner", "row")
    return f"""\
{index} {prefix}_predict(const float x[{m}_N])
{{
    float best = -FLT_MAX;
    {index} winner = {compiled.fallback};
    {row} row;
{rows.declare}
{rows.before}    for (row = 0; row < {m}_{rows.count}; ++row) {{
        const float score = {rows.score};
        if (score > best) {{
            best = score;
            winner = {owner};
        }}
    }}
    return winner;
}}

void {prefix}_scores(const float x[{m}_N], float scores[{m}_CLASSES])
{{
    {unsigned(compiled.n_outputs)} k;
    {row} row;
{rows.declare}
{rows.before}    for (k = 0; k < {m}_CLASSES; ++k) {{
        scores[k] = -FLT_MAX;
    }}
    for (row = 0; row < {m}_{rows.count}; ++row) {{
        const float score = {rows.score};
        const {c_type(tables["owner"])} own = {owner};
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
        for k in range(compiled.n_outputs)
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
