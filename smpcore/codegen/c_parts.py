"""What every C file of a model has: its frame, the names of inputs, the labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from smpcore.codegen.c_tables import Tables, readers, unsigned
from smpcore.codegen.identity import model_id, number_format, source_of
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.json_text import SCHEMA
from smpcore.codegen.names import c_string
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


#: Up to so many inputs have a bit each in one number.
MAX_MASK = 32


def head(model: Any, prefix: str) -> str:
    """First lines of every file: licence, which model it is, what it gives away.

    Parameters
    ----------
    model : CompiledModel or QuantModel
    prefix : str

    Returns
    -------
    str
    """
    told = f"Model {prefix}, ID {model_id(model)}, {number_format(model)}"
    text = f"{LICENCE}\n/* {told}, format {SCHEMA}. */\n"
    if rows := model.n_training_rows:
        text += f"/* Contains {rows} training rows (support vectors). */\n"
    return text


def input_type(model: Any) -> str:
    """C type of an input."""
    return f"int{model.width}_t" if hasattr(model, "width") else "float"


def class_type(model: Any) -> str:
    """C type of a class index of a compiled or quantised model."""
    return unsigned(model.n_outputs - 1)


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
    model: Any,
    prefix: str,
    note: Callable[[int, CompiledInput], str],
    before: str,
    after: str,
) -> str:
    """A header file: guard, names of inputs and levels, and what stands around them.

    Parameters
    ----------
    model : CompiledModel or QuantModel
    prefix : str
    note : callable
        (place, entry) -> comment behind the name of an input.
    before, after : str
        Declarations before and behind the names.

    Returns
    -------
    str
    """
    m, entries = prefix.upper(), source_of(model).inputs
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
#ifndef {m}_H
#define {m}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#define {m}_NAME "{prefix}"
#define {m}_ID "{model_id(model)}" /* another one wherever an answer can differ */
#define {m}_FORMAT {SCHEMA} /* version of these files */

#define {m}_N {len(entries)} /* inputs */
{before}{inputs}{levels}
{after}
{check_declaration(model, prefix)}
#ifdef __cplusplus
}}
#endif

#endif
"""


def unit_note(unit: str) -> str:
    """A user's unit, behind a number in a comment: letters and signs of units only."""
    plain = re.sub(r"[^A-Za-z0-9 .%^/-]", "", unit).strip()
    return f" {plain}" if plain else ""


def _enum(entries: Iterable[tuple[str, int, str]]) -> str:
    entries = list(entries)
    lines = [
        f"    {name} = {value}{',' if value < len(entries) - 1 else ''}{note}"
        for name, value, note in entries
    ]
    return "enum {\n" + "\n".join(lines) + "\n};\n"


def preamble(
    prefix: str, tables: Tables, sizes: Mapping[str, int], rules: str = ""
) -> str:
    """Begin of a source file: includes, how tables are read, constants.

    Parameters
    ----------
    prefix : str
    tables : mapping of str to ndarray
    sizes : mapping of str to int
        Constants to define.
    rules : str
        Includes and conditions of its own.

    Returns
    -------
    str
    """
    m = prefix.upper()
    defines = "\n".join(f"#define {m}_{name} {n}" for name, n in sizes.items())
    flash, plain = readers(prefix, tables)
    return f"""\
#include "{prefix}.h"
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


def check_declaration(model: Any, prefix: str) -> str:
    """Declaration of the function that compares inputs with the training rows."""
    m, n = prefix.upper(), len(model.inputs)
    x = f"const {input_type(model)} x[{m}_N]"
    if n <= MAX_MASK:
        return f"""\
/* One bit for each input outside the range of the training rows, the lowest for the
 * first; 0: all are inside. It is in {prefix}_inputs.c, which may be left out. */
uint32_t {prefix}_check_inputs({x});
"""
    return f"""\
/* How many inputs are outside the range of the training rows, and a bit for each, that
 * of input k in outside[k / 8]. It is in {prefix}_inputs.c, which may be left out. */
{unsigned(n)} {prefix}_check_inputs({x}, uint8_t outside[({m}_N + 7) / 8]);
"""


def label_declaration(model: Any, prefix: str) -> str:
    """Declaration of the function that names a class."""
    return f"""\
/* Name of a class as UTF-8. On an AVR it lies in flash: read it with pgm_read_byte. */
const char *{prefix}_label({class_type(model)} index);
"""


def label_function(labels: Sequence[str], index: str, prefix: str) -> str:
    """The function that names a class, with its texts.

    Parameters
    ----------
    labels : sequence of str
        As users wrote them.
    index : str
        C type of a class index.
    prefix : str

    Returns
    -------
    str
    """
    texts = "".join(
        f"static const char {prefix}_label_{k}[] {prefix.upper()}_CONST ="
        f" {c_string(label)};\n"
        for k, label in enumerate(labels)
    )
    cases = "\n".join(
        f"    case {k}:\n        return {prefix}_label_{k};" for k in range(len(labels))
    )
    return f"""\
#ifndef {prefix.upper()}_NO_LABELS /* define it where flash is short */
{texts}static const char {prefix}_label_none[] {prefix.upper()}_CONST = "";

const char *{prefix}_label({index} index)
{{
    switch (index) {{
{cases}
    default:
        return {prefix}_label_none;
    }}
}}
#endif
"""


def margin_declaration(prefix: str, x: str, margin: str, not_sure: str) -> str:
    """Declarations of the margin, and of whether it lies outside the band.

    Parameters
    ----------
    prefix : str
    x : str
        Parameter that holds the inputs.
    margin : str
        C type of a margin.
    not_sure : str
        Largest margin that is "not sure"; empty where the model has no such band.

    Returns
    -------
    str
    """
    text = f"""\
/* How far the score of the best class is above the next. */
{margin} {prefix}_margin({x});
"""
    if not_sure:
        text += f"""
/* 1 where the margin is larger than this: the model is sure; 0 where it is not. */
#define {prefix.upper()}_NOT_SURE {not_sure}
uint8_t {prefix}_sure({x});
"""
    return text


def margin_functions(
    prefix: str, n_classes: int, x: str, score: str, margin: str, not_sure: str
) -> str:
    """The functions that `margin_declaration` declares.

    Parameters
    ----------
    prefix : str
    n_classes : int
    x : str
    score, margin : str
        C types of a score and of a margin.
    not_sure : str

    Returns
    -------
    str
    """
    m = prefix.upper()
    gap = "best - next"
    if margin != score:  # unsigned: the difference of two scores may need the sign bit
        gap = f"({margin})(({margin})best - ({margin})next)"
    more = ""
    if n_classes > 2:
        more = f"""\
    for (k = 2; k < {m}_CLASSES; ++k) {{
        if (scores[k] > best) {{
            next = best;
            best = scores[k];
        }} else if (scores[k] > next) {{
            next = scores[k];
        }}
    }}
"""
    counter = f"    {unsigned(n_classes)} k;\n" if more else ""
    text = f"""\
{margin} {prefix}_margin({x})
{{
    {score} scores[{m}_CLASSES];
    {score} best;
    {score} next;
{counter}
    {prefix}_scores(x, scores);
    best = scores[0] > scores[1] ? scores[0] : scores[1];
    next = scores[0] > scores[1] ? scores[1] : scores[0];
{more}    return {gap};
}}
"""
    if not_sure:
        text += f"""
uint8_t {prefix}_sure({x})
{{
    return {prefix}_margin(x) > {m}_NOT_SURE;
}}
"""
    return text
