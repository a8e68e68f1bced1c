"""A self-test in C: the model answers its test vectors, on any machine it runs on."""

from __future__ import annotations

import numpy as np

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.conversions import conversions
from smpcore.codegen.names import c_float
from smpcore.codegen.quantised import QuantModel
from smpcore.codegen.targets.c99.constant_tables import class_type, number_types
from smpcore.codegen.targets.c99.frame import CASTS, head
from smpcore.codegen.vectors import TestVectors


def selftest_files(
    model: CompiledModel | QuantModel, vectors: TestVectors, prefix: str
) -> dict[str, str]:
    """Write the vectors and the function that tries them."""
    try_one, what = _TRY_CLASS, "scores and class"
    if model.probability:
        try_one, what = _TRY_PROBABILITY, "scores, class and probability"
    if model.is_regression:
        try_one, what = _TRY_VALUE, "value"
    kind, score = number_types(model)
    words = {
        "@M@": prefix.upper(),
        "@p@": prefix,
        "@input@": kind,
        "@score@": score,
        "@index@": class_type(model),
        "@n@": str(len(vectors.rows)),
        "@what@": what,
        "@casts@": CASTS,
        "@head@": head(model, prefix),
        "@try@": try_one,
        "@math@": "#include <math.h>\n\n" if score == "float" else "",
        "@tables@": _tables(model, vectors),
        "@bytes@": _BYTES,
        "@flash@": _FLASH,
        "@conversion@": "",
    }
    files = {
        f"{prefix}_selftest.h": _HEADER,
        f"{prefix}_selftest.c": _SOURCE,
        f"{prefix}_test_vectors.h": _VECTORS,
    }
    if model.is_integer:
        n_rows, tables = _conversion_tables(model)
        words["@conversion@"] = _CONVERSION
        words |= {"@numbers@": tables, "@rows@": str(n_rows)}
        files[f"{prefix}_selftest_quantise.c"] = _QUANTISE
    # These hold words themselves.
    first = ("@try@", "@tables@", "@bytes@", "@flash@", "@conversion@", "@numbers@")
    for word in (*(word for word in first if word in words), *words):
        files = {name: text.replace(word, words[word]) for name, text in files.items()}
    return files


def _tables(model: CompiledModel | QuantModel, vectors: TestVectors) -> str:
    rows = [
        f"    /* {kind} */\n{_row(row)}"
        for row, kind in zip(vectors.rows, vectors.kinds, strict=True)
    ]
    size = "@M@_VECTORS][@M@_"
    tables = [_table("@input@", f"x[{size}N]", rows)]
    scores = [_row(row) for row in vectors.scores]
    if model.is_regression:
        return "\n".join([*tables, _table("@score@", "values[@M@_VECTORS][1]", scores)])
    tables.append(_table("@score@", f"scores[{size}CLASSES]", scores))
    winners = [f"    {_numbers(vectors.winners)}"]
    tables.append(_table(class_type(model), "class[@M@_VECTORS]", winners))
    if model.probability:
        shares = _numbers(model.probability.of_scores(vectors.scores))
        tables.append(_table("uint16_t", "probability[@M@_VECTORS]", [f"    {shares}"]))
    return "\n".join(tables)


def _conversion_tables(quant: QuantModel) -> tuple[int, str]:
    """How many rows of numbers there are, and they with their integers."""
    tried = conversions(quant)
    rows = [
        f"    /* {kind} */\n{_row(row)}"
        for row, kind in zip(tried.values, tried.kinds, strict=True)
    ]
    size = "@M@_CONVERSIONS][@M@_N]"
    numbers = _table("float", f"numbers[{size}", rows)
    integers = [_row(row) for row in tried.integers]
    return len(rows), f"{numbers}\n{_table('@input@', f'integers[{size}', integers)}"


def _table(kind: str, name: str, lines: list[str]) -> str:
    text = ",\n".join(lines)
    head = f"static const {kind} @p@_test_{name} @M@_VECTOR_CONST"
    return f"{head} = {{\n{text}}};\n"


def _row(values: np.ndarray) -> str:
    return f"    {{{_numbers(values)}}}"


def _numbers(values: np.ndarray) -> str:
    if values.dtype.kind == "f":
        words, per_line = [_float(value) for value in values], 5
    else:
        words, per_line = [str(value) for value in values.tolist()], 12
    lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
    return ",\n     ".join(lines)


def _float(value: np.floating) -> str:
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return "NAN" if np.isnan(value) else c_float(value)


_HEADER = """\
@head@#ifndef @M@_SELFTEST_H
#define @M@_SELFTEST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define @M@_VECTORS @n@

/* How many test vectors get another answer (@what@) than they should: 0 is good. */
uint8_t @p@_selftest(void);
@conversion@
#ifdef __cplusplus
}
#endif

#endif
"""

_CONVERSION = """
#define @M@_CONVERSIONS @rows@

/* How many rows of numbers @p@_quantise turns into other integers than it should. It is
 * in @p@_selftest_quantise.c; leave that out where @p@_quantise.c is left out. */
uint8_t @p@_selftest_quantise(void);
"""

_FLASH = """\
#ifdef __AVR__ /* the vectors stay in flash */
#include <avr/pgmspace.h>
#define @M@_VECTOR_CONST PROGMEM
#define @M@_VECTOR_BYTE(p) pgm_read_byte(p)
#else
#define @M@_VECTOR_CONST
#define @M@_VECTOR_BYTE(p) (*(p))
#endif
"""

_BYTES = """\
static void @p@_fetch(void *to, const void *from, size_t size)
{
    const uint8_t *source = (const uint8_t *)from;
    uint8_t *target = (uint8_t *)to;
    size_t i;

    for (i = 0; i < size; ++i) {
        target[i] = @M@_VECTOR_BYTE(source + i);
    }
}

static uint8_t @p@_differs(const void *found, const void *wanted, size_t size)
{
    const uint8_t *one = (const uint8_t *)found;
    const uint8_t *other = (const uint8_t *)wanted;
    size_t i;

    for (i = 0; i < size; ++i) {
        if (one[i] != @M@_VECTOR_BYTE(other + i)) {
            return 1;
        }
    }
    return 0;
}

"""

_VECTORS = """\
@head@#ifndef @M@_TEST_VECTORS_H
#define @M@_TEST_VECTORS_H

@math@#include "@p@.h"
#include "@p@_selftest.h"

@flash@
/* Inputs, and what the emulator answers, bit for bit. */
@tables@
#endif
"""

_SOURCE = """\
@head@#include <stddef.h>

#include "@p@.h"
#include "@p@_selftest.h"
#include "@p@_test_vectors.h"

@casts@
@bytes@@try@
uint8_t @p@_selftest(void)
{
    @input@ x[@M@_N];
    uint8_t count = 0;
    uint8_t v;

    for (v = 0; v < @M@_VECTORS; ++v) {
        @p@_fetch(x, @p@_test_x[v], sizeof x);
        if (@p@_wrong(x, v)) {
            ++count;
        }
    }
    return count;
}
"""

_TRY_CLASS = """\
static uint8_t @p@_wrong(const @input@ x[@M@_N], uint8_t v)
{
    @score@ scores[@M@_CLASSES];
    @index@ wanted;

    @p@_fetch(&wanted, &@p@_test_class[v], sizeof wanted);
    @p@_scores(x, scores);
    return @p@_predict(x) != wanted
        || @p@_differs(scores, @p@_test_scores[v], sizeof scores);
}
"""

_TRY_PROBABILITY = _TRY_CLASS.replace(
    "_CLASSES];\n", "_CLASSES];\n    const uint16_t share = @p@_probability(x);\n", 1
).replace(
    "sizeof scores);",
    "sizeof scores)\n"
    "        || @p@_differs(&share, &@p@_test_probability[v], sizeof share);",
)

_TRY_VALUE = """\
static uint8_t @p@_wrong(const @input@ x[@M@_N], uint8_t v)
{
    const @score@ value = @p@_predict(x);

    return @p@_differs(&value, @p@_test_values[v], sizeof value);
}
"""

_QUANTISE = """\
@head@#include <math.h>
#include <stddef.h>

#include "@p@.h"
#include "@p@_selftest.h"

@casts@
@flash@
/* Numbers in the units of the table, and the integers that they become, bit for bit. */
@numbers@
@bytes@uint8_t @p@_selftest_quantise(void)
{
    float values[@M@_N];
    @input@ x[@M@_N];
    uint8_t count = 0;
    uint8_t v;

    for (v = 0; v < @M@_CONVERSIONS; ++v) {
        @p@_fetch(values, @p@_test_numbers[v], sizeof values);
        @p@_quantise(values, x);
        if (@p@_differs(x, @p@_test_integers[v], sizeof x)) {
            ++count;
        }
    }
    return count;
}
"""
