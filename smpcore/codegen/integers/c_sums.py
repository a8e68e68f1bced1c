"""C that adds up similarities in integers, the operations of `sums` and `fade`."""

from __future__ import annotations

from functools import partial

from smpcore.codegen.c_features import lines
from smpcore.codegen.c_tables import Tables, c_type, fetch, fetch_at, unsigned
from smpcore.codegen.integers.sums import QuantSums


def sums_functions(quant: QuantSums, prefix: str, tables: Tables) -> str:
    """The static functions; the last one writes the score of every row."""
    writers = _features_function, _fade_function, _rows_function
    return "\n".join(write(quant, prefix, tables) for write in writers)


def _features_function(quant: QuantSums, prefix: str, tables: Tables) -> str:
    m, read = prefix.upper(), partial(fetch, prefix, tables)
    place = read("input", "feature") if "input" in tables else "feature"
    count = f"int{quant.width}_t"
    category = []
    if "level" in tables:
        level = c_type(tables["level"])
        category = [
            f"const {level} level = {read('level', 'feature')};",
            f"{count} count = x[{place}];",
        ]
        test = [
            "if (level != 0) { /* a category: does it have this level? */",
            f"    count = count == ({count})(level - 1);",
            "}",
        ]
        value = "count"
    else:
        test, value = [], f"x[{place}]"
    places = read("places", "feature") if "places" in tables else str(quant.places[0])
    steps = [
        *category,
        "int32_t t;",
        "",
        *test,
        f"t = (int32_t){value} * {read('factor', 'feature')}",
        f"    + {read('origin', 'feature')};",
        f"t = t < 0 ? 0 : t >> {places};",
        f"features[feature] = (uint{quant.width}_t)(t > {m}_TOP ? {m}_TOP : t);",
    ]
    return f"""\
/* Inputs as the anchors have them. */
static void {prefix}_features(
    const {count} x[{m}_N], uint{quant.width}_t features[{m}_FEATURES])
{{
    {unsigned(quant.n_features)} feature;

    for (feature = 0; feature < {m}_FEATURES; ++feature) {{
{lines(steps, 2)}\
    }}
}}
"""


def _fade_function(quant: QuantSums, prefix: str, tables: Tables) -> str:
    fade, read = quant.fade, partial(fetch, prefix, tables)
    return f"""\
/* 2^-(distance / scale), 32768 is 1: halvings in 1/4096, a table and its chords. */
static int16_t {prefix}_fade(uint32_t distance)
{{
    const uint32_t coarse = distance >> {fade.drop};
    uint16_t u;
    uint16_t high;
    uint16_t step;
    uint8_t k;

    if (coarse > {fade.last}U) {{
        return 0;
    }}
    u = (uint16_t)(
        ((uint32_t)(uint16_t)coarse * {fade.gain}U + {fade.half}UL) >> {fade.down});
    k = (uint8_t)(u >> 7 & 31);
    high = {read("halving", "k")};
    step = (uint16_t)(high - {read("halving", "k + 1")});
    high = (uint16_t)(high - (((uint32_t)step * (uint8_t)(u & 127) + 64) >> 7));
    k = (uint8_t)(u >> 12);
    return (int16_t)((uint16_t)(high + ((uint16_t)(1U << k) >> 1)) >> k);
}}
"""


def _rows_function(quant: QuantSums, prefix: str, tables: Tables) -> str:
    m, read = prefix.upper(), partial(fetch, prefix, tables)
    kind, first = f"uint{quant.width}_t", quant.first_row
    anchor, feature = unsigned(quant.n_anchors), unsigned(quant.n_features)
    row, term = unsigned(quant.n_rows), unsigned(len(quant.weight))
    start, apart, whole = _distance_steps(quant)
    if quant.is_dense:
        counter = ""
        declare = f"    const {c_type(tables['weight'])} *weight = {prefix}_weight;\n"
        weight = fetch_at(prefix, tables, "weight", "weight")
        add = [
            f"for (row = {first}; row < {m}_ROWS; ++row) {{",
            f"    sums[row] += (int32_t){weight} * alike;",
            "    ++weight;",
            "}",
        ]
    else:
        declare, counter = "", f"    {term} term = 0;\n"
        weight = read("weight", "term")
        add = [
            f"for (; term < {read('end', 'anchor')}; ++term) {{",
            f"    sums[{read('row', 'term')}] += (int32_t){weight} * alike;",
            "}",
        ]
    return f"""\
/* bias + weight * similarity + weight * similarity + ... of each row. */
static void {prefix}_rows(const int{quant.width}_t x[{m}_N], int32_t sums[{m}_ROWS])
{{
    {kind} features[{m}_FEATURES];
    const {kind} *entry = {prefix}_anchor;
{declare}    {anchor} anchor;
    {row} row;
{counter}
    {prefix}_features(x, features);
    for (row = 0; row < {m}_ROWS; ++row) {{
        /* + 0: compilers turn a loop that only copies into a call of memcpy. */
        sums[row] = {read("bias", "row")} + 0;
    }}
    for (anchor = 0; anchor < {m}_ANCHORS; ++anchor) {{
{start}        {feature} feature;
        int16_t alike;

        for (feature = 0; feature < {m}_FEATURES; ++feature) {{
            const {kind} t = features[feature];
            const {kind} a = {fetch_at(prefix, tables, "anchor", "entry")};
            const {kind} apart = ({kind})(t > a ? t - a : a - t);
{apart}            ++entry;
        }}
        alike = {prefix}_fade({whole});
{lines(add, 2)}\
    }}
}}
"""


def _distance_steps(quant: QuantSums) -> tuple[str, str, str]:
    """Declarations, the lines that add a feature, and the distance in the end."""
    start, whole = ["uint32_t distance = 0;"], "distance"
    if quant.power == 1:
        steps = ["", "distance += apart;"]
    elif quant.width == 16:
        steps = ["", "distance += (uint32_t)apart * apart;"]
    else:  # in two parts: an 8-bit chip then multiplies in one instruction
        start.append("uint16_t low = 0;")
        whole = "distance + low"
        steps = [
            "const uint16_t square = (uint16_t)((uint16_t)apart * apart);",
            "",
            "low = (uint16_t)(low + square);",
            "if (low < square) { /* the carry */",
            "    distance += 65536UL;",
            "}",
        ]
    return lines(start, 2), lines(steps, 3), whole
