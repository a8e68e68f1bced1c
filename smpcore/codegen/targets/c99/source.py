"""C99 (and C++) source of a model, in floats or in integers: no heap, no library.

The tables go through two macros, because a plain ``const`` table of an AVR lies in its
scarce RAM: ``MDL_CONST`` puts it into flash there, ``MDL_READ_...`` fetches it. In
integers nothing overflows for any input, and every sum is written so that no
intermediate value depends on the size of an ``int``.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from smpcore.codegen.constants import has_tables
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import c_float, check_prefix
from smpcore.codegen.program import (
    Operation,
    SparseCode,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.quant_inputs import container_ends
from smpcore.codegen.targets.c99.answer import (
    RowCode,
    margin_declaration,
    margin_functions,
    predict_function,
    scores_function,
    value_function,
)
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned
from smpcore.codegen.targets.c99.frame import (
    CASTS_END,
    FLOAT_RULES,
    FLOAT_RULES_END,
    check_size,
    head,
    header,
    label_declaration,
    label_function,
    preamble,
    unit_note,
)
from smpcore.codegen.targets.c99.inputs import inputs_source
from smpcore.codegen.targets.c99.linear import linear_code
from smpcore.codegen.targets.c99.probability import (
    probability_declaration,
    probability_function,
    probability_tables,
)
from smpcore.codegen.targets.c99.quantise import quantise_source
from smpcore.codegen.targets.c99.similarities import similarity_code
from smpcore.codegen.targets.c99.sparse_code import sparse_code


def emit_c99(model: Any, prefix: str = "mdl") -> dict[str, bytes]:
    """Write the header and the source files of a model.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        In 32-bit floats, or in integers.
    prefix : str, default "mdl"
        Name of the model: begins every name in the files, and theirs.

    Returns
    -------
    dict of str to bytes
        ``<prefix>.h``, ``<prefix>.c`` and ``<prefix>_inputs.c``, ASCII; of integers
        ``<prefix>_quantise.c`` as well, which turns numbers in the user's units into
        the integers of the model.

    Raises
    ------
    ExportError
        If the prefix is no identifier, or the model exceeds what the format holds.
    """
    check_prefix(prefix)
    source = model.source
    check_size(source.inputs, model.n_outputs)
    tables = model.tables() if has_tables(model) else {}
    c = Source(model, prefix, tables | probability_tables(model))
    files = {
        f"{prefix}.c": _source(c),
        f"{prefix}.h": _header(c, source.inputs),
        f"{prefix}_inputs.c": inputs_source(model, prefix),
    }
    if model.is_integer:
        files[f"{prefix}_quantise.c"] = quantise_source(model, prefix)
    first = head(model, prefix)
    ends = {name: CASTS_END for name in files if name.endswith(".c")}
    for name, text in files.items():
        if FLOAT_RULES in text:
            ends[name] += FLOAT_RULES_END
    whole = ((name, first + text + ends.get(name, "")) for name, text in files.items())
    return {name: text.encode("ascii") for name, text in whole}


@singledispatch
def _code(operation: Operation, before: RowCode | None, c: Source) -> RowCode | None:
    """How a public function comes to the scores; by the last of some operations."""
    return None  # part of the code of the operation behind it


@_code.register
def _(operation: WeightedInputs, before: RowCode | None, c: Source) -> RowCode:
    return linear_code(operation, c)


@_code.register
def _(operation: WeightedSums, before: RowCode | None, c: Source) -> RowCode:
    return similarity_code(operation, c)


@_code.register
def _(operation: SparseCode, before: RowCode, c: Source) -> RowCode:
    return sparse_code(operation, before, c)


def _header(c: Source, entries: tuple[CompiledInput, ...]) -> str:
    model, m = c.model, c.m
    missing = "None may be missing."
    if any(entry.missing is not None for entry in entries):
        missing = "NAN: missing, counts as a typical training value."
    about = f"""
/* Inputs in the units of the table, with the range of the training rows.
 * {missing} */
"""
    if model.is_integer:
        ends = " and ".join(map(str, container_ends(model.width)))
        about = f"""\
#define {m}_LARGEST {model.largest} /* no score is larger in size, for any inputs */

/* The integer of an input is (value - ZERO) * PER_UNIT, rounded; from MIN to MAX it is
 * inside the range. */
{_ranges(c)}
/* Inputs as integers, see {c.prefix}_quantise. {ends}: outside the range. */
"""
    classes = "" if model.is_regression else f"#define {m}_CLASSES {model.n_outputs}\n"
    return header(
        c,
        entries,
        lambda place, entry: _note(c, place, entry),
        classes + about,
        _declarations(c),
    )


def _ranges(c: Source) -> str:
    """Constants of each number: how it becomes an integer, and its range."""
    lines = []
    for one in c.model.inputs:
        names = ("ZERO", one.zero), ("PER_UNIT", one.per_unit)
        names += ("MIN", one.low), ("MAX", one.high)
        lines += [
            f"#define {c.m}_{what}_{one.given.identifier.upper()} {_constant(value)}\n"
            for what, value in names
            if one.is_number
        ]
    return "".join(lines)


def _constant(value: float) -> str:
    """A float that can stand in any expression."""
    text = c_float(value)
    return f"({text})" if text.startswith("-") else text


def _note(c: Source, place: int, entry: CompiledInput) -> str:
    """Comment behind the name of an input."""
    if entry.levels:
        return f" /* {c.m}_IS_{entry.identifier.upper()}_..., or -1: unknown */"
    if not c.model.is_integer:
        return f" /* {entry.low:.6g} to {entry.high:.6g}{unit_note(entry.unit)} */"
    one = c.model.inputs[place]
    trained = f"{entry.low:.6g} to {entry.high:.6g} in training{unit_note(entry.unit)}"
    exact = [f"{one.low:.6g} to {one.high:.6g}"] if one.exact else []
    return f" /* {', '.join([one.formula, *exact, trained])} */"


def _declarations(c: Source) -> str:
    model, m = c.model, c.m
    tie, unit, steps, conversion = c_float(np.float32(model.tie)), "", "", ""
    steps_of = ""
    relative = "; the largest wins."
    if model.is_integer:
        tie = f"{model.tie}{'L' if model.accumulator == 32 else ''}"
        steps = f", in steps of {model.step:.9g}"
        unit = f"{steps} above {model.shift:.9g}" if model.is_regression else ""
        relative = f"{', less that of class 0' if model.relative else ''}{steps}."
        count = unsigned(len(model.inputs))
        conversion = f"""
/* How many inputs lie at an end of the integers: outside the range, or just there. */
{count} {c.prefix}_saturated({c.x});

/* Integers of numbers in the units of the table; a category is its index. */
void {c.prefix}_quantise(const float values[{m}_N], {c.number} x[{m}_N]);
"""
        steps_of = f"#define {m}_STEP {c_float(model.step)}\n"
        if model.is_regression:
            steps_of += f"#define {m}_OFFSET {_constant(model.shift)}\n"
            conversion += f"""
/* An answer in the units of the table: answer * {m}_STEP + {m}_OFFSET. */
float {c.prefix}_value({c.score} answer);
"""
    if model.is_regression:
        return f"""\
/* Value of one row of inputs{unit}. */
{steps_of}{c.score} {c.prefix}_predict({c.x});
{probability_declaration(c)}{conversion}"""
    return f"""\
/* Class index of one row of inputs: the lowest whose score is at most {m}_TIE below
 * the largest. */
#define {m}_TIE {tie}
{c.index} {c.prefix}_predict({c.x});

/* Score of each class{relative} */
{steps_of}void {c.prefix}_scores({c.x}, {c.score} scores[{m}_CLASSES]);

{margin_declaration(c)}{probability_declaration(c)}{conversion}
{label_declaration(c)}"""


def _source(c: Source) -> str:
    code = None
    for operation in c.model.operations:
        code = _code(operation, code, c)
    rules = "" if c.model.is_integer else f"\n#include <float.h>\n\n{FLOAT_RULES}"
    parts = [preamble(c, code.sizes, rules), c.arrays(), code.functions]
    saturated = [_saturated_function(c)] if c.model.is_integer else []
    if c.model.is_regression:
        return "\n".join([*parts, value_function(c, code), *saturated])
    scores = code.scores or scores_function(c, code)
    predict = code.predict or predict_function(c, code)
    answer = [scores, predict, margin_functions(c)]
    answer += [text] if (text := probability_function(c)) else []
    return "\n".join([*parts, *answer, *saturated, label_function(c)])


def _saturated_function(c: Source) -> str:
    m, count = c.m, unsigned(len(c.model.inputs))
    least, most = container_ends(c.model.width)
    numbers = [place for place, one in enumerate(c.model.inputs) if one.is_number]
    if not numbers:
        return f"""\
{count} {c.prefix}_saturated({c.x})
{{
    (void)x; /* categories only */
    return 0;
}}
"""
    skip = ""
    if len(numbers) < len(c.model.inputs):
        categories = (
            f"k == {m}_IN_{one.given.identifier.upper()}"
            for one in c.model.inputs
            if not one.is_number
        )
        condition = " || ".join(categories)
        skip = f"        if ({condition}) {{\n            continue;\n        }}\n"
    return f"""\
{count} {c.prefix}_saturated({c.x})
{{
    {count} n = 0;
    {count} k;

    for (k = 0; k < {m}_N; ++k) {{
{skip}        if (x[k] == {least} || x[k] == {most}) {{
            ++n;
        }}
    }}
    return n;
}}
"""
