"""What every C file of a model has: its frame, the names of inputs, the labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from smpcore.codegen.identity import interface_id, library_version, model_id
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.json_text import SCHEMA
from smpcore.codegen.names import c_string
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned
from smpcore.errors import ExportError

#: Most inputs, and most levels of a category: an AVR's enum has 16 bits.
MAX_INPUTS = 2**15 - 1
MAX_CLASSES = 2**16

#: What keeps every score equal to the emulator's, and the compiler strict.
FLAGS = "-std=c99 -pedantic -Wall -Wextra -ffp-contract=off"
LICENCE = "/* SPDX-License-Identifier: 0BSD. This generated code is yours. */"

#: Every file is C, also for a C++ compiler, whose own casts C does not know; and a NaN
#: is told by being unequal to itself.
CASTS = """\
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wfloat-equal"
#ifdef __cplusplus
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif
#endif
"""

#: Last lines of such a file: another one may stand behind it in one unit.
CASTS_END = """
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
"""

#: For a file that computes with floats. Parts of -ffast-math that older compilers do
#: not tell of are taken back.
FLOAT_RULES = """\
#if (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) \
    || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error "compile without -ffast-math: a NaN means missing, and sums keep their order"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 \\
    && __FLT_EVAL_METHOD__ != 16 /* 16: only half precision is computed as float */
#error "compile so that FLT_EVAL_METHOD is 0, on x86 with -msse2 -mfpmath=sse"
#endif
#if defined(__clang__)
#pragma float_control(precise, on, push)
#elif defined(__GNUC__)
#pragma GCC push_options
#if __GNUC__ < 12
#pragma GCC optimize("no-associative-math,no-reciprocal-math")
#endif
#endif
#if !defined(__GNUC__) || defined(__clang__) /* no product and sum in one rounding */
#pragma STDC FP_CONTRACT OFF
#elif defined(__FP_FAST_FMAF)
#pragma GCC optimize("fp-contract=off")
#endif
"""

#: Last lines of such a file.
FLOAT_RULES_END = """
#if defined(__clang__)
#pragma float_control(pop)
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
"""


#: Up to so many inputs have a bit each in one number.
MAX_MASK = 32


def head(model: Any, prefix: str) -> str:
    """First lines of every file: licence, which model it is, what it gives away."""
    about = f"Model {prefix}, ID {model_id(model)}, {model.number}"
    text = f"{LICENCE}\n/* {about}, format {SCHEMA}. */\n"
    if rows := model.n_training_rows:
        text += f"/* Contains {rows} training rows (support vectors). */\n"
    return text


def check_size(entries: Sequence[CompiledInput], n_outputs: int) -> None:
    """Refuse a model that the format cannot hold."""
    sizes = {
        "inputs": (len(entries), MAX_INPUTS),
        "levels of a category": (max(len(e.levels) for e in entries), MAX_INPUTS),
        "classes": (n_outputs, MAX_CLASSES),
    }
    for what, (size, most) in sizes.items():
        if size > most:
            raise ExportError(
                f"The model has {size} {what}, but generated C holds at most {most}; "
                "fit a smaller model."
            )


def header(
    c: Source,
    entries: Sequence[CompiledInput],
    note: Callable[[int, CompiledInput], str],
    before: str,
    after: str,
) -> str:
    """A header file: guard, names of inputs and levels, and what stands around them."""
    m = c.m
    inputs = _enum(
        (f"{m}_IN_{entry.identifier.upper()}", place, note(place, entry))
        for place, entry in enumerate(entries)
    )
    levels = "".join(
        f"\n/* Values of {m}_IN_{entry.identifier.upper()}. */\n"
        + _enum(
            (f"{m}_IS_{word.upper()}", place, "")
            for place, word in enumerate(entry.level_identifiers)
        )
        for entry in entries
        if entry.levels
    )
    interface = f"0x{interface_id(c.model)}UL"
    return f"""\
#ifndef {m}_H
#define {m}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#define {m}_NAME "{c.prefix}"
#define {m}_ID "{model_id(c.model)}" /* another one wherever an answer can differ */
#define {m}_FORMAT {SCHEMA} /* version of these files */
#define {m}_VERSION "{library_version()}" /* of smpcore, which wrote them */
#define {m}_INTERFACE {interface} /* of inputs and kind of answer */

/* A file that calls the model compiles only with one of the same inputs and kind of
 * answer if it has the line {m}_REQUIRE({SCHEMA}, {interface}); */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define {m}_REQUIRE(format, interface) \\
    static_assert((format) == {m}_FORMAT && (interface) == {m}_INTERFACE, \\
        "inputs or kind of answer of this model are others")
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define {m}_REQUIRE(format, interface) \\
    _Static_assert((format) == {m}_FORMAT && (interface) == {m}_INTERFACE, \\
        "inputs or kind of answer of this model are others")
#else
#define {m}_REQUIRE(format, interface) \\
    typedef char {c.prefix}_interface_differs[ \\
        (format) == {m}_FORMAT && (interface) == {m}_INTERFACE ? 1 : -1]
#endif

#define {m}_N {len(entries)} /* inputs */
{before}{inputs}{levels}
{after}
{_check_declaration(c)}
#ifdef __cplusplus
}}
#endif

#endif
"""


def unit_note(unit: str) -> str:
    """A user's unit, behind a number in a comment: letters and signs of units only."""
    printable = re.sub(r"[^A-Za-z0-9 .%^/-]", "", unit).strip()
    return f" {printable}" if printable else ""


def _enum(entries: Iterable[tuple[str, int, str]]) -> str:
    entries = list(entries)
    lines = [
        f"    {name} = {value}{',' if value < len(entries) - 1 else ''}{note}"
        for name, value, note in entries
    ]
    return "enum {\n" + "\n".join(lines) + "\n};\n"


def preamble(c: Source, sizes: Mapping[str, int], rules: str = "") -> str:
    """Begin of a source file: includes, how tables are read, constants."""
    m = c.m
    defines = "\n".join(f"#define {m}_{name} {n}" for name, n in sizes.items())
    flash, memory = c.readers()
    return f"""\
#include "{c.prefix}.h"
{CASTS}{rules}
#ifdef __AVR__ /* tables stay in flash */
#include <avr/pgmspace.h>
#define {m}_CONST PROGMEM
{flash}
#else
#define {m}_CONST
{memory}
#endif

{defines}
"""


def _check_declaration(c: Source) -> str:
    """Declaration of the function that compares inputs with the training rows."""
    n = len(c.model.inputs)
    if n <= MAX_MASK:
        return f"""\
/* One bit for each input outside the range of the training rows, the lowest for the
 * first; 0: all are inside. It is in {c.prefix}_inputs.c, which may be left out. */
uint32_t {c.prefix}_check_inputs({c.x});
"""
    return f"""\
/* How many inputs are outside the range of the training rows, and a bit for each, that
 * of input k in outside[k / 8]. It is in {c.prefix}_inputs.c, which may be left out. */
{unsigned(n)} {c.prefix}_check_inputs({c.x}, uint8_t outside[({c.m}_N + 7) / 8]);
"""


def label_declaration(c: Source) -> str:
    """Declaration of the function that names a class."""
    return f"""\
/* Name of a class as UTF-8. On an AVR it lies in flash: read it with pgm_read_byte. */
const char *{c.prefix}_label({c.index} index);
"""


def label_function(c: Source) -> str:
    """The function that names a class, with its texts as users wrote them."""
    prefix, labels = c.prefix, c.model.labels
    texts = "".join(
        f"static const char {prefix}_label_{k}[] {c.m}_CONST = {c_string(label)};\n"
        for k, label in enumerate(labels)
    )
    cases = "\n".join(
        f"    case {k}:\n        return {prefix}_label_{k};" for k in range(len(labels))
    )
    return f"""\
#ifndef {c.m}_NO_LABELS /* define it where flash is short */
{texts}static const char {prefix}_label_none[] {c.m}_CONST = "";

const char *{prefix}_label({c.index} index)
{{
    switch (index) {{
{cases}
    default:
        return {prefix}_label_none;
    }}
}}
#endif
"""
