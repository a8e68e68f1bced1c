"""C of `SparseCode`: the search for the code of an input, and its votes."""

from __future__ import annotations

import numpy as np

from smpcore.codegen.names import c_float
from smpcore.codegen.program import SparseCode, WeightedInputs
from smpcore.codegen.sparse_code import (
    DEPENDENT,
    EQUAL,
    FLAT,
    GONE,
    LITTLE,
    most_steps,
)
from smpcore.codegen.targets.c99.answer import RowCode
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned
from smpcore.codegen.targets.c99.functions import inverse_root_function


def sparse_code(code: SparseCode, rows: RowCode, c: Source) -> RowCode:
    """How the public functions come to the score of an output."""
    limit, functions = code.limit, rows.functions
    root = inverse_root_function(c.prefix)
    functions = functions if root in functions else root + functions
    fill = f"    {c.prefix}_rows(x, alike);\n"
    if c.model.find(WeightedInputs):
        fill = f"    for (j = 0; j < {c.m}_ROWS; ++j) {{\n"
        fill += f"        alike[j] = {c.prefix}_row(x, j);\n    }}\n"
    index, size = unsigned(code.n_prototypes), unsigned(limit)
    call = f"support, amount, size, ({c.type('target')})row"
    sizes = {"CODE": limit, "FACTOR": limit * (limit + 1) // 2}
    return RowCode(
        sizes={**rows.sizes, **sizes},
        functions=functions + "\n" + _functions(code, c, fill),
        declare=f"    {index} support[{c.m}_CODE];\n    float amount[{c.m}_CODE];\n"
        f"    {size} size;\n",
        before=f"    size = {c.prefix}_code(x, support, amount);\n",
        score=f"{c.prefix}_votes({call})",
        count="CLASSES",
    )


def _functions(code: SparseCode, c: Source, fill: str) -> str:
    """Functions for the Gram entry, the factor, the solution, the search, the votes."""
    limit, m = code.limit, code.n_prototypes
    names = {
        "p": c.prefix,
        "m": c.m,
        "index": unsigned(m),
        "size": unsigned(limit),
        "step": unsigned(most_steps(limit)),
        # Holds the product before it is halved; not a byte, which an int would widen.
        "place": unsigned(max(256, m * (m + 1))),
        "flat": c_float(FLAT),
        "equal": c_float(EQUAL),
        "dependent": c_float(DEPENDENT),
        "little": c_float(LITTLE),
        "gone": c_float(GONE),
        "steps": most_steps(limit),
        "gram": c.fetch("gram", "place + low"),
        "fill": fill,
        "votes": _votes(code, c),
    }
    text = _FUNCTIONS
    for name, word in names.items():
        text = text.replace(f"@{name}@", str(word))
    return text


def _votes(code: SparseCode, c: Source) -> str:
    """C function for the score of an output."""
    kind, term = c.type("target"), c.type("until")
    index, size = unsigned(code.n_prototypes), unsigned(code.limit)
    return f"""\
/* Votes of a code for one output; of none, a little for one class. */
static float {c.prefix}_votes(const {index} support[{c.m}_CODE],
    const float amount[{c.m}_CODE], {size} size, {kind} target)
{{
    float score = 0.0f;
    {size} r;

    for (r = 0; r < size; ++r) {{
        const {index} own = support[r];
        const {term} until = {c.fetch("until", "own")};
        {term} term = 0;

        if (own > 0) {{
            term = {c.fetch("until", "own - 1")};
        }}
        for (; term < until; ++term) {{
            if ({c.fetch("target", "term")} == target) {{
                score += {c.fetch("vote", "term")} * amount[r];
            }}
        }}
    }}
    if (size == 0 && target == {code.fallback}) {{
        score = {c_float(np.float32(code.unrepresented))};
    }}
    return score;
}}
"""


_FUNCTIONS = """\
/* Where a row of a triangle begins. */
static @place@ @p@_begin(@index@ row)
{
    const @place@ wide = row;

    return (@place@)(wide * (wide + 1U) / 2U);
}

/* Inner product of two prototypes. */
static float @p@_pair(@index@ one, @index@ other)
{
    const @index@ low = one < other ? one : other;
    const @place@ place = @p@_begin(one < other ? other : one);

    return @gram@;
}

/* Row `size` of the factor, for a prototype; the diagonal holds reciprocals. */
static float @p@_append(const @index@ support[@m@_CODE], @size@ size, @index@ chosen,
    float factor[@m@_FACTOR])
{
    float *const row = factor + @p@_begin(size);
    float pivot = @p@_pair(chosen, chosen);
    @size@ r;

    for (r = 0; r < size; ++r) {
        const float *const above = factor + @p@_begin(r);
        float rest = @p@_pair(chosen, support[r]);
        @size@ t;

        for (t = 0; t < r; ++t) {
            rest -= above[t] * row[t];
        }
        rest *= above[r];
        row[r] = rest;
        pivot -= rest * rest;
    }
    row[size] = @p@_inverse_root(pivot);
    return pivot;
}

/* Solve on the support; whether all weights are above 0. */
static uint8_t @p@_solve(const float alike[@m@_ROWS], const @index@ support[@m@_CODE],
    @size@ size, const float factor[@m@_FACTOR], float solved[@m@_CODE])
{
    uint8_t positive = 1;
    @size@ r;
    @size@ t;

    for (r = 0; r < size; ++r) {
        const float *const row = factor + @p@_begin(r);
        float rest = alike[support[r]];

        for (t = 0; t < r; ++t) {
            rest -= row[t] * solved[t];
        }
        solved[r] = rest * row[r];
    }
    for (r = size; r-- > 0;) {
        float rest = solved[r];

        for (t = (@size@)(r + 1); t < size; ++t) {
            rest -= factor[@p@_begin(t) + r] * solved[t];
        }
        solved[r] = rest * factor[@p@_begin(r) + r];
        if (!(solved[r] > 0.0f)) {
            positive = 0;
        }
    }
    return positive;
}

/* Go towards the solution until a weight is 0, and take it out; the new size. */
static @size@ @p@_drop(@index@ support[@m@_CODE], float amount[@m@_CODE], @size@ size,
    float factor[@m@_FACTOR], const float solved[@m@_CODE], uint8_t taken[@m@_ROWS])
{
    float share = 2.0f;
    float largest = 0.0f;
    @size@ first = 0;
    @size@ kept = 0;
    @size@ r;

    for (r = 0; r < size; ++r) {
        if (!(solved[r] > 0.0f)) {
            float own = 0.0f;

            if (amount[r] > solved[r]) {
                const float root = @p@_inverse_root(amount[r] - solved[r]);

                own = amount[r] * root * root;
            }
            if (own < share) {
                share = own;
                first = r;
            }
        }
    }
    for (r = 0; r < size; ++r) {
        amount[r] += share * (solved[r] - amount[r]);
        if (amount[r] > largest) {
            largest = amount[r];
        }
    }
    for (r = 0; r < size; ++r) {
        if (r == first || (!(solved[r] > 0.0f) && amount[r] <= @gone@ * largest)) {
            taken[support[r]] = 0;
        } else {
            support[kept] = support[r];
            amount[kept] = amount[r];
            (void)@p@_append(support, kept, support[kept], factor);
            ++kept;
        }
    }
    return kept;
}

/* Prototypes that reconstruct the input together, greedily; how many there are. */
static @size@ @p@_code(const float x[@m@_N], @index@ support[@m@_CODE],
    float amount[@m@_CODE])
{
    float alike[@m@_ROWS];
    float slopes[@m@_ROWS];
    uint8_t taken[@m@_ROWS];
    float factor[@m@_FACTOR];
    float solved[@m@_CODE];
    float value = 0.0f;
    float flat = 0.0f;
    float near;
    @size@ size = 0;
    @step@ step = 0;
    @index@ j;
    @size@ r;

@fill@    for (j = 0; j < @m@_ROWS; ++j) {
        const float most = alike[j] < 0.0f ? -alike[j] : alike[j];

        taken[j] = most != most; /* NaN */
        if (most > flat) {
            flat = most;
        }
    }
    near = flat * @equal@;
    flat *= @flat@;
    support[0] = 0; /* neither is read before it is set, but gcc warns of it */
    amount[0] = 0.0f;
    while (step < @steps@) {
        float lowest = -flat;
        float lower = 0.0f;
        @index@ chosen = 0;

        for (j = 0; j < @m@_ROWS; ++j) {
            if (!taken[j]) {
                float slope = -alike[j];

                for (r = 0; r < size; ++r) {
                    slope += amount[r] * @p@_pair(support[r], j);
                }
                slopes[j] = slope;
                if (slope < lowest) {
                    lowest = slope;
                }
            }
        }
        lowest += near; /* up to here slopes are equal */
        while (chosen < @m@_ROWS && (taken[chosen]
                || !(slopes[chosen] <= lowest && slopes[chosen] < -flat))) {
            ++chosen;
        }
        if (chosen == @m@_ROWS) {
            break;
        }
        taken[chosen] = 1;
        if (!(@p@_append(support, size, chosen, factor)
                > @dependent@ * @p@_pair(chosen, chosen))) {
            continue; /* it depends on the others */
        }
        support[size] = chosen;
        amount[size] = 0.0f;
        ++size;
        ++step;
        while (size > 0 && !@p@_solve(alike, support, size, factor, solved)) {
            size = @p@_drop(support, amount, size, factor, solved, taken);
        }
        for (r = 0; r < size; ++r) {
            amount[r] = solved[r] + 0.0f;
            lower += -0.5f * alike[support[r]] * amount[r];
        }
        if (size == @m@_CODE
            || !(value - lower > @little@ * (lower < 0.0f ? -lower : lower))) {
            break;
        }
        value = lower;
    }
    return size;
}

@votes@"""
