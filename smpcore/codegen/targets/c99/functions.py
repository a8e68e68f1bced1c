"""C of what is not an operation: values of inputs, 2^-u, powers, reciprocal roots."""

from __future__ import annotations

from smpcore.codegen.float32 import CUTOFF, EXP2, GUESS, LEAST, MOST, STEPS
from smpcore.codegen.names import c_float
from smpcore.codegen.targets.c99.constant_tables import Source, lines, unsigned


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


def bits_function(prefix: str, to: str, given: str, word: str) -> str:
    """C function that reads the bits of a number as one of another type.

    A union is C's way to do so, and undefined in C++.
    """
    return f"""\
#ifdef __cplusplus
#include <string.h>
#endif
static {to} {prefix}_{word}_bits({given} value)
{{
#ifdef __cplusplus
    {to} same;

    memcpy(&same, &value, sizeof same);
    return same;
#else
    union {{
        {given} value;
        {to} same;
    }} both;

    both.value = value;
    return both.same;
#endif
}}
"""


def inverse_root_function(prefix: str) -> str:
    """C function for 1 / sqrt, see `float32.inverse_root`."""
    return f"""\
{bits_function(prefix, "uint32_t", "float", "to")}
{bits_function(prefix, "float", "uint32_t", "from")}
/* 1 / sqrt(square); 0 for what has no length. */
static float {prefix}_inverse_root(float square)
{{
    const float half = 0.5f * square;
    float root;
    uint8_t k;

    if (!(square > {c_float(LEAST)} && square < {c_float(MOST)})) {{
        return 0.0f * square; /* NaN where there is no number */
    }}
    root = {prefix}_from_bits({GUESS:#x}UL - ({prefix}_to_bits(square) >> 1));
    for (k = 0; k < {STEPS}; ++k) {{
        root = root * (1.5f - half * root * root);
    }}
    return root;
}}
"""


def exp2_function(c: Source) -> str:
    """C function for 2^-u, see `float32.exp2_minus`."""
    prefix, read = c.prefix, c.fetch
    return f"""\
{bits_function(prefix, "float", "uint32_t", "scale_of")}
/* 2 to the power of -u, u >= 0: polynomial of the rest, whole as exponent bits. */
static float {prefix}_exp2_minus(float u)
{{
    uint8_t whole;
    uint8_t k;
    float rest;
    float power;

    if (!(u < {c_float(CUTOFF)})) {{
        return u > 0.0f ? 0.0f : u; /* NaN stays NaN */
    }}
    whole = (uint8_t)(u + 0.5f);
    rest = u - (float)whole;
    power = {read("exp2", "0")};
    for (k = 1; k < {len(EXP2)}; ++k) {{
        power = power * rest + {read("exp2", "k")};
    }}
    return power * {prefix}_scale_of_bits((uint32_t)(127 - whole) << 23);
}}
"""


def power_function(prefix: str, degree: int) -> str:
    """C function for a power that is multiplied out."""
    return f"""\
/* The base multiplied by itself. */
static float {prefix}_power(float base)
{{
    float power = base;
    {unsigned(degree)} k;

    for (k = 1; k < {degree}; ++k) {{
        power *= base;
    }}
    return power;
}}
"""


def ratio_function(prefix: str) -> str:
    """C function for a ratio as a product with two reciprocal roots."""
    return f"""\
/* part / whole, without a division. */
static float {prefix}_ratio(float part, float whole)
{{
    const float root = {prefix}_inverse_root(whole);

    return part * root * root;
}}
"""
