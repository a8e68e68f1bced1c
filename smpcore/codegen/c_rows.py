"""C functions that compute the score of each row, one way for each form of model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from smpcore.codegen.c_codes import coder_functions
from smpcore.codegen.c_features import (
    bits_function,
    features_function,
    inverse_root_function,
    lines,
    value_steps,
)
from smpcore.codegen.c_tables import Tables, c_type, fetch, unsigned
from smpcore.codegen.coded_rows import CodedRows
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.exponentials import CUTOFF, EXP2
from smpcore.codegen.feature_sums import FeatureSums, OverlapSums
from smpcore.codegen.linear_rows import LinearRows
from smpcore.codegen.names import c_float
from smpcore.codegen.similarity_sums import SimilaritySums
from smpcore.codegen.unit_sums import UnitSums


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
    """

    sizes: dict[str, int]
    functions: str
    declare: str
    before: str
    score: str
    count: str = "ROWS"


def row_code(compiled: CompiledModel, prefix: str, tables: Tables) -> RowCode:
    """Write the part of the source that depends on the form of a model.

    Parameters
    ----------
    compiled : CompiledModel
    prefix : str
    tables : mapping of str to ndarray
        ``compiled.tables()``.

    Returns
    -------
    RowCode
    """
    return _WRITERS[type(compiled)](compiled, prefix, tables)


def _linear(compiled: LinearRows, prefix: str, tables: Tables) -> RowCode:
    return RowCode(
        sizes={"ROWS": compiled.n_rows},
        functions=_row_function(compiled, prefix, tables),
        declare="",
        before="",
        score=f"{prefix}_row(x, row)",
    )


def _row_function(compiled: LinearRows, prefix: str, tables: Tables) -> str:
    read = partial(fetch, prefix, tables)
    term, row = c_type(tables["start"]), unsigned(compiled.n_rows)
    return f"""\
/* bias + weight * value + weight * value + ..., summed in the order of the tables. */
static float {prefix}_row(const float x[{prefix.upper()}_N], {row} row)
{{
    const {term} end = {read("start", "row + 1")};
    float score = {read("bias", "row")};
    {term} term;

    for (term = {read("start", "row")}; term < end; ++term) {{
        const {c_type(tables["input"])} input = {read("input", "term")};
        float value = x[input];
{value_steps(prefix, tables, "input", "term")}\
        score += {read("weight", "term")} * value;
    }}
    return score;
}}
"""


def _sums(compiled: SimilaritySums, prefix: str, tables: Tables) -> RowCode:
    m = prefix.upper()
    functions = [_similarity_function, _rows_function]
    if compiled.features_differ:
        functions.insert(0, features_function)
    if isinstance(compiled, OverlapSums):
        functions.insert(0, _ratio_function)
    functions.insert(0, _first_function(compiled))
    return RowCode(
        sizes={
            "ROWS": compiled.n_rows,
            "ANCHORS": compiled.n_anchors,
            "FEATURES": compiled.n_features,
        },
        functions="\n".join(write(compiled, prefix, tables) for write in functions),
        declare=f"    float sums[{m}_ROWS];\n",
        before=f"    {prefix}_rows(x, sums);\n",
        score="sums[row]",
    )


def _first_function(compiled: SimilaritySums) -> Callable[..., str]:
    """What the other functions call."""
    if isinstance(compiled, UnitSums | OverlapSums):
        return lambda compiled, prefix, tables: inverse_root_function(prefix)
    return _exp2_function if compiled.kernel.is_exponential else _power_function


def _exp2_function(compiled: SimilaritySums, prefix: str, tables: Tables) -> str:
    read = partial(fetch, prefix, tables)
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


def _similarity_function(compiled: SimilaritySums, prefix: str, tables: Tables) -> str:
    m, read = prefix.upper(), partial(fetch, prefix, tables)
    anchor, feature = unsigned(compiled.n_anchors), unsigned(compiled.n_features)
    place = unsigned(compiled.anchor.size)
    # Widened first: an AVR's int has 16 bits.
    first = "anchor" if place == anchor else f"({place})anchor"
    start = read("constant", "anchor") if "constant" in tables else "0.0f"
    step = [
        line.format(
            value="t[feature]",
            anchor=read("anchor", "place"),
            share=read("share", "feature") if "share" in tables else "",
            exp2=f"{prefix}_exp2_minus",
        )
        for line in compiled.kernel.C_STEP
    ]
    answer, most = "total", ""
    if isinstance(compiled, OverlapSums):
        most = f"    float most = {start};\n"
        answer = f"{prefix}_ratio(total, most)"
    elif not isinstance(compiled, UnitSums | FeatureSums):
        finish = "exp2_minus" if compiled.kernel.is_exponential else "power"
        answer = f"{prefix}_{finish}(total)"
    return f"""\
/* How alike the features and an anchor are. */
static float {prefix}_similarity(const float t[{m}_FEATURES], {anchor} anchor)
{{
    {place} place = ({place})({first} * {m}_FEATURES);
    float total = {start};
{most}    {feature} feature;

    for (feature = 0; feature < {m}_FEATURES; ++feature) {{
{lines([*step, "++place;"], 2)}\
    }}
    return {answer};
}}
"""


def _power_function(compiled: SimilaritySums, prefix: str, tables: Tables) -> str:
    return f"""\
/* The base multiplied by itself. */
static float {prefix}_power(float base)
{{
    float power = base;
    {unsigned(compiled.degree)} k;

    for (k = 1; k < {compiled.degree}; ++k) {{
        power *= base;
    }}
    return power;
}}
"""


def _rows_function(compiled: SimilaritySums, prefix: str, tables: Tables) -> str:
    m, read = prefix.upper(), partial(fetch, prefix, tables)
    anchor, row = unsigned(compiled.n_anchors), unsigned(compiled.n_rows)
    term = unsigned(len(compiled.weight))
    if compiled.is_dense:
        add = [
            f"for (row = 0; row < {m}_ROWS; ++row) {{",
            f"    sums[row] += {read('weight', 'term')} * alike;",
            "    ++term;",
            "}",
        ]
    else:
        add = [
            f"for (; term < {read('end', 'anchor')}; ++term) {{",
            f"    sums[{read('row', 'term')}] += {read('weight', 'term')} * alike;",
            "}",
        ]
    declare, prepare, t = "", "", "x"
    if compiled.features_differ:
        declare = f"    float t[{m}_FEATURES];\n"
        prepare, t = f"    {prefix}_features(x, t);\n", "t"
    return f"""\
/* bias + weight * similarity + weight * similarity + ... of each row. */
static void {prefix}_rows(const float x[{m}_N], float sums[{m}_ROWS])
{{
{declare}    {anchor} anchor;
    {row} row;
    {term} term = 0;

{prepare}    for (row = 0; row < {m}_ROWS; ++row) {{
        /* + 0: compilers turn a loop that only copies into a call of memcpy. */
        sums[row] = {read("bias", "row")} + 0.0f;
    }}
    for (anchor = 0; anchor < {m}_ANCHORS; ++anchor) {{
        const float alike = {prefix}_similarity({t}, anchor);

{lines(add, 2)}\
    }}
}}
"""


def _ratio_function(compiled: SimilaritySums, prefix: str, tables: Tables) -> str:
    return f"""\
/* part / whole, without a division. */
static float {prefix}_ratio(float part, float whole)
{{
    const float root = {prefix}_inverse_root(whole);

    return part * root * root;
}}
"""


def _coded(compiled: CodedRows, prefix: str, tables: Tables) -> RowCode:
    m, limit = prefix.upper(), compiled.limit
    mixed = _WRITERS[type(compiled.mixed)](compiled.mixed, prefix, tables)
    root = inverse_root_function(prefix)
    functions = mixed.functions if root in mixed.functions else root + mixed.functions
    fill = f"    {prefix}_rows(x, alike);\n"
    if isinstance(compiled.mixed, LinearRows):
        fill = f"    for (j = 0; j < {m}_ROWS; ++j) {{\n"
        fill += f"        alike[j] = {prefix}_row(x, j);\n    }}\n"
    index, size = unsigned(compiled.n_prototypes), unsigned(limit)
    call = f"support, amount, size, ({c_type(tables['target'])})row"
    sizes = {"CODE": limit, "FACTOR": limit * (limit + 1) // 2}
    return RowCode(
        sizes={**mixed.sizes, **sizes},
        functions=functions + "\n" + coder_functions(compiled, prefix, tables, fill),
        declare=f"    {index} support[{m}_CODE];\n    float amount[{m}_CODE];\n"
        f"    {size} size;\n",
        before=f"    size = {prefix}_code(x, support, amount);\n",
        score=f"{prefix}_votes({call})",
        count="CLASSES",
    )


_WRITERS = {
    LinearRows: _linear,
    SimilaritySums: _sums,
    UnitSums: _sums,
    FeatureSums: _sums,
    OverlapSums: _sums,
    CodedRows: _coded,
}
