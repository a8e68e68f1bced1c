"""C of similarities: features, one similarity at a time, and the sums of each row."""

from __future__ import annotations

from smpcore.codegen.constants import features_differ
from smpcore.codegen.names import c_float
from smpcore.codegen.program import (
    Features,
    FixedPointFeatures,
    FixedPointSimilarities,
    Similarities,
    WeightedSums,
)
from smpcore.codegen.targets.c99.answer import RowCode
from smpcore.codegen.targets.c99.constant_tables import Source, lines, unsigned
from smpcore.codegen.targets.c99.functions import (
    exp2_function,
    inverse_root_function,
    power_function,
    ratio_function,
    value_steps,
)

#: Step of a similarity -> lines that add feature t[feature] and an anchor's entry.
_STEPS = {
    "square": (
        "const float apart = t[feature] - {anchor};",
        "",
        "total += apart * apart;",
    ),
    "absolute": (
        "const float apart = t[feature] - {anchor};",
        "",
        "total += apart < 0.0f ? -apart : apart;",
    ),
    "product": ("total += {anchor} * t[feature];",),
    "exp2": (
        "const float apart = t[feature] - {anchor};",
        "",
        "total += {share} * {p}_exp2_minus(apart * apart);",
    ),
    "overlap": (
        "const float other = {anchor};",
        "const uint8_t below = t[feature] < other;",
        "",
        "total += below ? t[feature] : other;",
        "most += below ? other : t[feature];",
    ),
}

#: Finish of a similarity -> expression for it.
_FINISHES = {
    "exp2": "{p}_exp2_minus(total)",
    "power": "{p}_power(total)",
    "none": "total",
    "ratio": "{p}_ratio(total, most)",
}


def similarity_code(sums: WeightedSums, c: Source) -> RowCode:
    """How the public functions come to the score of a row."""
    if c.model.is_integer:
        features = c.model.find(FixedPointFeatures)
        alike, more = c.model.find(FixedPointSimilarities), {"TOP": features.top}
        functions = [
            _integer_features_function(features, c),
            _fixed_point_function(alike, c),
            _integer_rows_function(alike, features, sums, c),
        ]
    else:
        features, more = c.model.find(Features), {}
        functions = _float_functions(features, sums, c)
    sizes = {
        "ROWS": sums.n_rows,
        "ANCHORS": sums.n_anchors,
        "FEATURES": features.n_features,
    }
    return RowCode(
        sizes=sizes | more,
        functions="\n".join(functions),
        declare=f"    {c.score} sums[{c.m}_ROWS];\n",
        before=f"    {c.prefix}_rows(x, sums);\n",
        score="sums[row]",
    )


def _float_functions(features: Features, sums: WeightedSums, c: Source) -> list[str]:
    alike = c.model.find(Similarities)
    _, finish, normalise, *_ = alike.kind
    if normalise or finish == "ratio":
        functions = [inverse_root_function(c.prefix)]
    elif alike.kind.is_exponential:
        functions = [exp2_function(c)]
    else:
        functions = [power_function(c.prefix, alike.degree)]
    if finish == "ratio":
        functions.append(ratio_function(c.prefix))
    if features_differ(c.model):
        functions.append(_features_function(features, c))
    functions.append(_similarity_function(alike, features, c))
    return [*functions, _rows_function(sums, c)]


def _features_function(features: Features, c: Source) -> str:
    feature, place, inputs = unsigned(features.n_features), "feature", ""
    if "input" in c.tables:
        place = "input"
        inputs = f"const {c.type('input')} input = {c.fetch('input', 'feature')};"
        inputs = lines([inputs], 2)
    value = "value"
    value += f" * {c.fetch('factor', 'feature')}" if "factor" in c.tables else ""
    value += f" + {c.fetch('move', 'feature')}" if "move" in c.tables else ""
    declare, add, unit = "", "", ""
    if features.normalise:
        declare, add, unit = _unit_steps(features, c)
    return f"""\
/* Inputs as the anchors have them. */
static void {c.prefix}_features({c.x}, float t[{c.m}_FEATURES])
{{
    {feature} feature;
{declare}
    for (feature = 0; feature < {c.m}_FEATURES; ++feature) {{
{inputs}        float value = x[{place}];
{value_steps(c, place, "feature")}\
        t[feature] = {value};
{add}    }}
{unit}}}
"""


def _unit_steps(features: Features, c: Source) -> tuple[str, str, str]:
    """Declarations, steps in the loop, and lines behind it that make length 1."""
    loop = f"for (feature = 0; feature < {c.m}_FEATURES; ++feature) {{"
    declare, steps, take, added = ["float square = 0.0f;"], [], [], ""
    if "mean" in features.normalise:
        declare = ["float sum = 0.0f;", *declare]
        steps = [f"sum *= {c_float(features.share)}; /* the mean */"]
        take = ["    t[feature] -= sum;"]
        added = lines(["sum += t[feature];"], 2)
    steps += [loop, *take, "    square += t[feature] * t[feature];", "}"]
    steps += [f"square = {c.prefix}_inverse_root(square);"]
    steps += [loop, "    t[feature] *= square;", "}"]
    return lines(declare, 1), added, lines(steps, 1)


def _similarity_function(alike: Similarities, features: Features, c: Source) -> str:
    anchor, feature = unsigned(len(alike.anchor)), unsigned(features.n_features)
    place = unsigned(alike.anchor.size)
    # Widened first: an AVR's int has 16 bits.
    first = "anchor" if place == anchor else f"({place})anchor"
    start = c.fetch("constant", "anchor") if "constant" in c.tables else "0.0f"
    entries = {"anchor": c.fetch("anchor", "place"), "p": c.prefix}
    if "share" in c.tables:
        entries["share"] = c.fetch("share", "feature")
    step, finish, *_ = alike.kind
    steps = [line.format(**entries) for line in _STEPS[step]]
    most = f"    float most = {start};\n" if step == "overlap" else ""
    return f"""\
/* How alike the features and an anchor are. */
static float {c.prefix}_similarity(const float t[{c.m}_FEATURES], {anchor} anchor)
{{
    {place} place = ({place})({first} * {c.m}_FEATURES);
    float total = {start};
{most}    {feature} feature;

    for (feature = 0; feature < {c.m}_FEATURES; ++feature) {{
{lines([*steps, "++place;"], 2)}\
    }}
    return {_FINISHES[finish].format(p=c.prefix)};
}}
"""


def _rows_function(sums: WeightedSums, c: Source) -> str:
    anchor, row = unsigned(sums.n_anchors), unsigned(sums.n_rows)
    term = unsigned(len(sums.weight))
    add = _adding_steps(sums, c, c.fetch("weight", "term"), "term")
    declare, prepare, t = "", "", "x"
    if features_differ(c.model):
        declare = f"    float t[{c.m}_FEATURES];\n"
        prepare, t = f"    {c.prefix}_features(x, t);\n", "t"
    return f"""\
/* bias + weight * similarity + weight * similarity + ... of each row. */
static void {c.prefix}_rows({c.x}, float sums[{c.m}_ROWS])
{{
{declare}    {anchor} anchor;
    {row} row;
    {term} term = 0;

{prepare}    for (row = 0; row < {c.m}_ROWS; ++row) {{
        /* + 0: compilers turn a loop that only copies into a call of memcpy. */
        sums[row] = {c.fetch("bias", "row")} + 0.0f;
    }}
    for (anchor = 0; anchor < {c.m}_ANCHORS; ++anchor) {{
        const float alike = {c.prefix}_similarity({t}, anchor);

{lines(add, 2)}\
    }}
}}
"""


def _adding_steps(sums: WeightedSums, c: Source, weight: str, place: str) -> list[str]:
    """Lines that add what a similarity gives to each row; `place` counts weights."""
    if sums.is_dense:
        return [
            f"for (row = {sums.first_row}; row < {c.m}_ROWS; ++row) {{",
            f"    sums[row] += {weight} * alike;",
            f"    ++{place};",
            "}",
        ]
    return [
        f"for (; term < {c.fetch('end', 'anchor')}; ++term) {{",
        f"    sums[{c.fetch('row', 'term')}] += {weight} * alike;",
        "}",
    ]


def _integer_features_function(features: FixedPointFeatures, c: Source) -> str:
    m, read = c.m, c.fetch
    place = read("input", "feature") if "input" in c.tables else "feature"
    count, value = c.number, f"x[{place}]"
    category, test = [], []
    if "level" in c.tables:
        level = f"const {c.type('level')} level = {read('level', 'feature')};"
        category, value = [level, f"{count} count = x[{place}];"], "count"
        test = [
            "if (level != 0) { /* a category: does it have this level? */",
            f"    count = count == ({count})(level - 1);",
            "}",
        ]
    places = (
        read("places", "feature") if "places" in c.tables else str(features.places[0])
    )
    steps = [
        *category,
        "int32_t t;",
        "",
        *test,
        f"t = (int32_t){value} * {read('factor', 'feature')}",
        f"    + {read('origin', 'feature')};",
        *_clipped(features, places, c),
    ]
    return f"""\
/* Inputs as the anchors have them. */
static void {c.prefix}_features(
    const {count} x[{m}_N], uint{c.model.width}_t features[{m}_FEATURES])
{{
    {unsigned(features.n_features)} feature;

    for (feature = 0; feature < {m}_FEATURES; ++feature) {{
{lines(steps, 2)}\
    }}
}}
"""


def _clipped(features: FixedPointFeatures, places: str, c: Source) -> list[str]:
    """Lines that shift and clip a feature: clipped first if 16 bits hold the rest."""
    end, kind = (
        (features.top + 1) << int(features.places[0]),
        f"(uint{c.model.width}_t)",
    )
    if "places" in c.tables or features.places[0] < 8 or end > 2**24:
        return [
            f"t = t < 0 ? 0 : t >> {places};",
            f"features[feature] = {kind}(t > {c.m}_TOP ? {c.m}_TOP : t);",
        ]
    return [
        f"t = t < 0 ? 0 : t < {end}L ? t : {end - 1}L;",
        f"features[feature] = {kind}((uint16_t)(t >> 8) >> {int(places) - 8});",
    ]


def _fixed_point_function(alike: FixedPointSimilarities, c: Source) -> str:
    exp2, read = alike.exp2, c.fetch
    # An AVR shifts bit by bit, but moves whole bytes.
    down = f">> {exp2.down}" if exp2.down <= 8 else f"<< {16 - exp2.down} >> 16"
    return f"""\
/* 2^-(distance / scale), 32768 is 1: halvings in 1/4096, a table and its chords. */
static int16_t {c.prefix}_fade(uint32_t distance)
{{
    const uint32_t coarse = distance >> {exp2.drop};
    uint16_t u;
    uint16_t high;
    uint16_t step;
    uint8_t k;

    if (coarse > {exp2.last}U) {{
        return 0;
    }}
    u = (uint16_t)(((uint32_t)(uint16_t)coarse * {exp2.gain}U + {exp2.half}UL)
        {down});
    k = (uint8_t)(u >> 7 & 31);
    high = {read("halving", "k")};
    step = (uint16_t)(high - {read("halving", "k + 1")});
    high = (uint16_t)(high - ((((uint32_t)step * (uint8_t)(u & 127) + 64) << 1) >> 8));
    k = (uint8_t)(u >> 12);
    return (int16_t)((uint16_t)(high + ((uint16_t)(1U << k) >> 1)) >> k);
}}
"""


def _integer_rows_function(
    alike: FixedPointSimilarities,
    features: FixedPointFeatures,
    sums: WeightedSums,
    c: Source,
) -> str:
    m, read = c.m, c.fetch
    kind = f"u{c.number}"
    anchor, feature = unsigned(sums.n_anchors), unsigned(features.n_features)
    row, term = unsigned(sums.n_rows), unsigned(len(sums.weight))
    start, apart, whole = _distance_steps(alike, c)
    declare, counter = "", f"    {term} term = 0;\n"
    place, weight = "term", read("weight", "term")
    if sums.is_dense:
        declare = f"    const {c.type('weight')} *weight = {c.prefix}_weight;\n"
        counter, place, weight = "", "weight", c.fetch_at("weight", "weight")
    add = _adding_steps(sums, c, f"(int32_t){weight}", place)
    return f"""\
/* bias + weight * similarity + weight * similarity + ... of each row. */
static void {c.prefix}_rows(const int{c.model.width}_t x[{m}_N], int32_t sums[{m}_ROWS])
{{
    {kind} features[{m}_FEATURES];
    const {kind} *entry = {c.prefix}_anchor;
{declare}    {anchor} anchor;
    {row} row;
{counter}
    {c.prefix}_features(x, features);
    for (row = 0; row < {m}_ROWS; ++row) {{
        /* + 0: compilers turn a loop that only copies into a call of memcpy. */
        sums[row] = {read("bias", "row")} + 0;
    }}
    for (anchor = 0; anchor < {m}_ANCHORS; ++anchor) {{
{start}        {feature} feature;
        int16_t alike;

        for (feature = 0; feature < {m}_FEATURES; ++feature) {{
            const {kind} t = features[feature];
            const {kind} a = {c.fetch_at("anchor", "entry")};
            const {kind} apart = ({kind})(t > a ? t - a : a - t);
{apart}            ++entry;
        }}
        alike = {c.prefix}_fade({whole});
{lines(add, 2)}\
    }}
}}
"""


def _distance_steps(alike: FixedPointSimilarities, c: Source) -> tuple[str, str, str]:
    """Declarations, the lines that add a feature, and the distance in the end."""
    start, whole = ["uint32_t distance = 0;"], "distance"
    if alike.power == 1:
        steps = ["", "distance += apart;"]
    elif c.model.width == 16:
        steps = ["", "distance += (uint32_t)apart * apart;"]
    else:  # a square is added in the next step: see `linear._later_steps`
        start.append("uint16_t square = 0;")
        whole = "distance + square"
        steps = [
            "",
            "distance += square;",
            "square = (uint16_t)((uint16_t)apart * apart);",
        ]
    return lines(start, 2), lines(steps, 3), whole
