"""What every C file of a model has: its frame, the names of inputs, the labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import c_string
from smpcore.codegen.targets.c99.tables import Source
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
#pragma GCC diagnostic ignored "-Wfloat-equal"
#ifdef __cplusplus
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif
#endif
"""

#: For a file that computes with floats.
FLOAT_RULES = """\
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "compile without -ffast-math: a NaN means missing, and sums keep their order"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 \\
    && __FLT_EVAL_METHOD__ != 16 /* 16: only half precision is computed as float */
#error "compile so that FLT_EVAL_METHOD is 0, on x86 with -msse2 -mfpmath=sse"
#endif
#if !defined(__GNUC__) || defined(__clang__) /* no product and sum in one rounding */
#pragma STDC FP_CONTRACT OFF
#elif defined(__FP_FAST_FMAF)
#pragma GCC optimize("fp-contract=off")
#endif
"""


def check_size(entries: Sequence[CompiledInput], n_outputs: int) -> None:
    """Refuse a model that the format cannot hold.

    Raises
    ------
    ExportError
        What there is too much of, and the most there can be.
    """
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
    prefix: str,
    entries: Sequence[CompiledInput],
    note: Callable[[int, CompiledInput], str],
    warning: str,
    before: str,
    after: str,
) -> str:
    """A header file: guard, names of inputs and levels, and what stands around them.

    Parameters
    ----------
    prefix : str
    entries : sequence of CompiledInput
    note : callable
        (place, entry) -> comment behind the name of an input.
    warning : str
        Comment behind the licence; may be empty.
    before, after : str
        Declarations before and behind the names.

    Returns
    -------
    str
    """
    m = prefix.upper()
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
    return f"""\
{LICENCE}{warning}
#ifndef {m}_MODEL_H
#define {m}_MODEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#define {m}_N {len(entries)} /* inputs */
{before}{inputs}{levels}
{after}
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


def preamble(c: Source, sizes: Mapping[str, int], rules: str = "") -> str:
    """Begin of a source file: includes, how tables are read, constants.

    Parameters
    ----------
    c : Source
    sizes : mapping of str to int
        Constants to define.
    rules : str
        Includes and conditions of its own.

    Returns
    -------
    str
    """
    m = c.m
    defines = "\n".join(f"#define {m}_{name} {n}" for name, n in sizes.items())
    flash, plain = c.readers()
    return f"""\
{LICENCE}
#include "model.h"
{CASTS}{rules}
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
