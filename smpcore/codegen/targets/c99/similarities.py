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
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned
from smpcore.codegen.targets.c99.functions import (
    exp2_function,
    inverse_root_function,
    power_function,
    value_steps,
)

#: Finish of a similarity -> expression for it.
_FINISHES = {
    "exp2": "{p}_exp2_minus(total)",
    "power": "{p}_power(total)",
    "none": "total",
    "ratio": "{p}_ratio(total, most)",
}


def similarity_code(sums: WeightedSums, c: Source) -> RowCode:
    """How the public functions come to the score of a row."""
    integers, more = c.model.find(FixedPointFeatures), {}
    if features := integers:
        functions, more = _integer_functions(features, sums, c), {"TOP": features.top}
    else:
        features = c.model.find(Features)
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


def _counters(n_features: int, sums: WeightedSums, c: Source) -> dict[str, str]:
    """Types that count the parts of the work."""
    return {
        "feature_counter": unsigned(n_features),
        "anchor_counter": unsigned(sums.n_anchors),
        "row_counter": unsigned(sums.n_rows),
        "term_counter": unsigned(len(sums.weight)),
        "bias": c.fetch("bias", "row"),
    }


def _float_functions(features: Features, sums: WeightedSums, c: Source) -> list[str]:
    alike = c.model.find(Similarities)
    _, finish, normalise, *_ = alike.kind
    if normalise or finish == "ratio":
        functions = [inverse_root_function(c)]
    elif alike.kind.is_exponential:
        functions = [exp2_function(c)]
    else:
        functions = [power_function(c, alike.degree)]
    if finish == "ratio":
        functions.append(c.text("ratio"))
    words = _counters(features.n_features, sums, c)
    words |= {"declare": "", "prepare": "", "t": "x"}
    if features_differ(c.model):
        functions.append(_features_function(features, words, c))
        words["declare"] = f"    float t[{c.m}_FEATURES];\n"
        words |= {"prepare": f"    {c.prefix}_features(x, t);\n", "t": "t"}
    words["add"] = _adding_steps(sums, c, c.fetch("weight", "term"), "term")
    similarity = _similarity_function(alike, words, c)
    return [*functions, similarity, c.text("rows", words)]


def _features_function(features: Features, words: dict[str, str], c: Source) -> str:
    place, inputs = "feature", ""
    if "input" in c.tables:
        place, read = "input", c.fetch("input", "feature")
        inputs = f"        const {c.type('input')} input = {read};\n"
    value = "value"
    value += f" * {c.fetch('factor', 'feature')}" if "factor" in c.tables else ""
    value += f" + {c.fetch('move', 'feature')}" if "move" in c.tables else ""
    words = words | {
        "inputs": inputs,
        "place": place,
        "value_steps": value_steps(c, place, "feature"),
        "value": value,
        **dict.fromkeys(("declare", "add", "unit", "less_mean"), ""),
    }
    if features.normalise:
        words["declare"], mean = "    float square = 0.0f;\n", ""
        if "mean" in features.normalise:
            words["declare"] = f"    float sum = 0.0f;\n{words['declare']}"
            mean = c.text("mean", {"share": c_float(features.share)})
            words["add"] = "        sum += t[feature];\n"
            words["less_mean"] = "        t[feature] -= sum;\n"
        words["unit"] = mean + c.text("unit", words)
    return c.text("features", words)


def _similarity_function(alike: Similarities, words: dict[str, str], c: Source) -> str:
    anchor, place = words["anchor_counter"], unsigned(alike.anchor.size)
    start = c.fetch("constant", "anchor") if "constant" in c.tables else "0.0f"
    entries = {"anchor": c.fetch("anchor", "place")}
    if "share" in c.tables:
        entries["share"] = c.fetch("share", "feature")
    step, finish, *_ = alike.kind
    more = {
        "entry_counter": place,
        # Widened first: an AVR's int has 16 bits.
        "first": "anchor" if place == anchor else f"({place})anchor",
        "start": start,
        "most": f"    float most = {start};\n" if step == "overlap" else "",
        "step": c.text(f"step {step}", entries),
        "finish": _FINISHES[finish].format(p=c.prefix),
    }
    return c.text("similarity", words | more)


def _adding_steps(sums: WeightedSums, c: Source, weight: str, place: str) -> str:
    """Lines that add what a similarity gives to each row; `place` counts weights."""
    words = {"weight": weight, "place": place, "first_row": sums.first_row}
    if sums.is_dense:
        return c.text("add dense", words)
    words |= {"end": c.fetch("end", "anchor"), "row": c.fetch("row", "term")}
    return c.text("add sparse", words)


def _integer_functions(
    features: FixedPointFeatures, sums: WeightedSums, c: Source
) -> list[str]:
    alike = c.model.find(FixedPointSimilarities)
    words = _counters(features.n_features, sums, c)
    words |= {"declare": "", "counter": f"    {words['term_counter']} term = 0;\n"}
    place, weight = "term", c.fetch("weight", "term")
    if sums.is_dense:
        place, weight, kind = "weight", c.fetch_at("weight", "weight"), c.type("weight")
        words |= {"declare": f"    const {kind} *weight = {c.prefix}_weight;\n"}
        words["counter"] = ""
    # A square of 8 bits is added in the next step, as products are in `linear`.
    is_behind = alike.power == 2 and c.model.width == 8
    step = "distance 1" if alike.power == 1 else f"distance 2 of {c.model.width} bits"
    words |= {
        "square": "        uint16_t square = 0;\n" if is_behind else "",
        "distance": "distance + square" if is_behind else "distance",
        "step": c.text(step),
        "entry": c.fetch_at("anchor", "entry"),
        "add": _adding_steps(sums, c, f"(int32_t){weight}", place),
    }
    rows = c.text("integer rows", words)
    return [_integer_features(features, words, c), _fade(alike, c), rows]


def _integer_features(
    features: FixedPointFeatures, words: dict[str, str], c: Source
) -> str:
    read, place = c.fetch, "feature"
    if "input" in c.tables:
        place = read("input", "feature")
    words = words | {"input": place, "value": f"x[{place}]"}
    words |= dict.fromkeys(("category", "test"), "")
    if "level" in c.tables:
        words |= {"level_type": c.type("level"), "level": read("level", "feature")}
        words |= {"category": c.text("category", words), "value": "count"}
        words["test"] = c.text("test category")
    words |= {"factor": read("factor", "feature"), "origin": read("origin", "feature")}
    words["clip"] = _clip(features, c)
    return c.text("integer features", words)


def _clip(features: FixedPointFeatures, c: Source) -> str:
    """Lines that shift and clip a feature: clipped first if 16 bits hold the rest."""
    if "places" in c.tables:
        return c.text("shift then clip", {"places": c.fetch("places", "feature")})
    places = int(features.places[0])
    end = (features.top + 1) << places
    if places < 8 or end > 2**24:
        return c.text("shift then clip", {"places": places})
    return c.text("clip then shift", {"end": end, "last": end - 1, "bits": places - 8})


def _fade(alike: FixedPointSimilarities, c: Source) -> str:
    """The function for 2^-u in fixed point."""
    exp2 = alike.exp2
    words = {
        **{name: getattr(exp2, name) for name in ("drop", "last", "gain", "half")},
        # An AVR shifts bit by bit, but moves whole bytes.
        "down": f">> {exp2.down}" if exp2.down <= 8 else f"<< {16 - exp2.down} >> 16",
        "halving": c.fetch("halving", "k"),
        "next": c.fetch("halving", "k + 1"),
    }
    return c.text("fade", words)
