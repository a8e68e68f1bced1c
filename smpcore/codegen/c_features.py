"""C functions that turn inputs into features and terms."""

from __future__ import annotations

from functools import partial

from smpcore.codegen.c_tables import Tables, c_type, fetch, unsigned
from smpcore.codegen.names import c_float
from smpcore.codegen.roots import GUESS, LEAST, MOST, STEPS
from smpcore.codegen.similarity_sums import SimilaritySums
from smpcore.codegen.unit_sums import UnitSums


def value_steps(prefix: str, tables: Tables, place: str, term: str) -> str:
    """Lines that turn an input into the value of a term; none if it is the same."""
    steps = []
    if "missing" in tables:
        steps += [
            "if (value != value) { /* NaN: missing */",
            f"    value = {fetch(prefix, tables, 'missing', place)};",
            "}",
        ]
    if "shift" in tables:
        steps.append(f"value += {fetch(prefix, tables, 'shift', place)};")
    if "level" in tables:
        level = f"{fetch(prefix, tables, 'level', term)}"
        steps = [
            f"const {c_type(tables['level'])} level = {level};",
            "",
            "if (level != 0) { /* a category: does it have this level? */",
            "    value = value == (float)(level - 1) ? 1.0f : 0.0f;",
            *(["} else {", *(f"    {step}" for step in steps)] if steps else []),
            "}",
        ]
    elif steps:
        steps = ["", *steps]
    return lines(steps, 2)


def lines(steps: list[str], depth: int) -> str:
    """Indented lines of C."""
    return "".join(f"{'    ' * depth}{step}".rstrip() + "\n" for step in steps)


def features_function(compiled: SimilaritySums, prefix: str, tables: Tables) -> str:
    """C function that writes the features of a row of inputs."""
    m, read = prefix.upper(), partial(fetch, prefix, tables)
    feature, place, inputs = unsigned(compiled.n_features), "feature", ""
    if "input" in tables:
        place = "input"
        inputs = f"const {c_type(tables['input'])} input = {read('input', 'feature')};"
        inputs = lines([inputs], 2)
    value = "value"
    value += f" * {read('factor', 'feature')}" if "factor" in tables else ""
    value += f" + {read('move', 'feature')}" if "move" in tables else ""
    declare, add, unit = "", "", ""
    if isinstance(compiled, UnitSums):
        declare, add, unit = _unit_steps(compiled, prefix)
    return f"""\
/* Inputs as the anchors have them. */
static void {prefix}_features(const float x[{m}_N], float t[{m}_FEATURES])
{{
    {feature} feature;
{declare}
    for (feature = 0; feature < {m}_FEATURES; ++feature) {{
{inputs}        float value = x[{place}];
{value_steps(prefix, tables, place, "feature")}\
        t[feature] = {value};
{add}    }}
{unit}}}
"""


def _unit_steps(compiled: UnitSums, prefix: str) -> tuple[str, str, str]:
    """Declarations, steps in the loop, and lines behind it that make length 1."""
    loop = f"for (feature = 0; feature < {prefix.upper()}_FEATURES; ++feature) {{"
    declare, steps = ["float square = 0.0f;"], []
    take, add = [], ["sum += t[feature];"]
    if compiled.is_centred:
        declare = ["float sum = 0.0f;", *declare]
        steps = [f"sum *= {c_float(compiled.share)}; /* the mean */"]
        take = ["    t[feature] -= sum;"]
    steps += [loop, *take, "    square += t[feature] * t[feature];", "}"]
    steps += [f"square = {prefix}_inverse_root(square);"]
    steps += [loop, "    t[feature] *= square;", "}"]
    added = lines(add, 2) if compiled.is_centred else ""
    return lines(declare, 1), added, lines(steps, 1)


def bits_function(prefix: str, to: str, given: str, word: str) -> str:
    """C function that reads the bits of a number as one of another type.

    A union is C's way to do so, and undefined in C++.

    Parameters
    ----------
    prefix : str
    to, given : str
        C types.
    word : str
        Begins its name.

    Returns
    -------
    str
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
    """C function for 1 / sqrt, see `roots.inverse_root`."""
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
