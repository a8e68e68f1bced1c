"""C of a program's operations: how public functions come to the score of a row.

How a linear row of integers is written depends on what is small and fast: sparse with
indices, dense without, or, where there are few terms, as statements.
"""

from __future__ import annotations

import numpy as np

from smpcore.codegen.constants import features_differ, has_tables, is_dense
from smpcore.codegen.names import c_float
from smpcore.codegen.program import (
    Features,
    FixedPointFeatures,
    FixedPointSimilarities,
    Similarities,
    SparseCode,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.run import DEPENDENT, EQUAL, FLAT, GONE, LITTLE, most_steps
from smpcore.codegen.targets.c99.common import (
    RowCode,
    Source,
    behind,
    exp2_function,
    inverse_root_function,
    power_function,
    unsigned,
    value_steps,
)
from smpcore.codegen.templates import filled


def linear_code(rows: WeightedInputs, before: None, c: Source) -> RowCode:
    """How the public functions come to the score of a row."""
    if not has_tables(c.model):
        return _written_out_code(rows, c)
    function = _dense_row if is_dense(rows, c.model) else _sparse_row
    score = f"{c.prefix}_row(x, row)"
    return RowCode({"ROWS": rows.n_rows}, function(rows, c), score=score)


def _sparse_row(rows: WeightedInputs, c: Source) -> str:
    input, weight = c.fetch("input", "term"), c.fetch("weight", "term")
    words = {
        "what": "bias + weight * input + weight * input + ...",
        "row_counter": unsigned(rows.n_rows),
        "term": c.type("start"),
        "start": c.fetch("start", "row"),
        "end": c.fetch("start", "row + 1"),
        "bias": c.fetch("bias", "row"),
        "input": input,
        "weight": weight,
        "place": c.type("input"),
        **dict.fromkeys(("declare", "last"), ""),
    }
    if not c.model.is_integer:
        words["what"] = words["what"].replace("input", "value")
        words["what"] += ", summed in the order of the tables."
        words["value_steps"] = value_steps(c, "input", "term")
        words["steps"] = c.text("float term", words)
        return c.text("sparse row", words)
    level, value = "", f"x[{input}]"
    if "level" in c.tables:
        words |= {"level_type": c.type("level"), "level": c.fetch("level", "term")}
        level, value = c.text("level of a term", words), "value"
    words["steps"] = f"        {_add(c, value, weight)}"
    if _in_pairs(c):
        # On an AVR each product is added in the step after its own: as in pairs.
        words |= {"product": f"{value} * {weight}", "last": "    score += product;\n"}
        words["declare"] = "    int16_t product = 0;\n"
        words["steps"] = c.text("term behind", words)
    words["steps"] = level + words["steps"]
    return c.text("sparse row", words)


def _dense_row(rows: WeightedInputs, c: Source) -> str:
    weight, n = c.fetch_at("weight", "weight"), len(c.model.inputs)
    words = {"weight": weight, "add": _add(c, "*value", weight)}
    part, count, rest = "dense term", f"{c.m}_N", ""
    if _in_pairs(c):
        part, count = "dense pair", f"{c.m}_N / 2"
        rest = f"    {words['add']}" if n % 2 else ""
    words |= {
        "kind": c.type("weight"),
        "place": unsigned(c.tables["weight"].size),
        "bias": c.fetch("bias", "row"),
        "row_counter": unsigned(rows.n_rows),
        "input_counter": unsigned(n),
        "count": count,
        "steps": c.text(part, words),
        "rest": rest,
    }
    return c.text("dense row", words)


def _in_pairs(c: Source) -> bool:
    """Whether two products are summed in 16 bits first, which hold 2 * 127 * 128.

    Of one product alone avr-gcc makes a call for 32 bits, three times as slow.
    """
    return c.model.width == 8 and c.model.accumulator == 32


def _wide(c: Source) -> str:
    """What makes a product of 16 bits one of 32."""
    return "(int32_t)" if c.model.width == 16 else ""


def _add(c: Source, value: str, weight: str) -> str:
    """The step that adds a term to the score."""
    return f"score = ({c.score})(score + {_wide(c)}{value} * {weight});\n"


def _written_out_code(rows: WeightedInputs, c: Source) -> RowCode:
    if c.model.is_regression:
        steps = _written_out(rows, c, 0, "score")
        declare = f"    {c.score} score;\n"
        return RowCode({}, declare=declare, before=steps, score="score")
    names = [f"scores[{label}]" for label in range(c.model.n_outputs)]
    scores = {"steps": _best_of_class(rows, c, names, copies=True)}
    return RowCode(
        {},
        scores=c.text("written out scores", scores),
        predict=_written_out_predict(rows, c),
    )


def _written_out(rows: WeightedInputs, c: Source, row: int, target: str) -> str:
    """Lines that give a variable the score of a row, without tables."""
    long = "L" if c.model.accumulator == 32 else ""
    steps, changes = [f"{target} = {rows.bias[row]}{long};"], []
    for place, level, weight in rows.terms(row):
        if level < 0:
            sign = "-" if weight < 0 else "+"
            changes.append(f"{sign} {_wide(c)}x[{place}] * {abs(weight)}")
        else:
            steps.append(
                f"{target} = ({c.score})"
                f"({target} + (x[{place}] == {level} ? {weight}{long} : 0));"
            )
    size = 2 if _in_pairs(c) else 1
    for first in range(0, len(changes), size):
        change = " ".join(changes[first : first + size])
        change = f"+ (int16_t)({change.removeprefix('+ ')})" if size > 1 else change
        steps.append(f"{target} = ({c.score})({target} {change});")
    return "".join(f"    {step}\n" for step in steps)


def _best_of_class(
    rows: WeightedInputs, c: Source, names: list[str], copies: bool
) -> str:
    """Lines that give each class's variable the best score of its rows."""
    steps, seen = "", set()
    for row, label in enumerate(c.model.prototype_labels.tolist()):
        name, is_first = names[label], label not in seen
        target = name if is_first and not copies else "score"
        steps += _written_out(rows, c, row, target)
        if not is_first:
            steps += c.text("written out best", {"best": name})
        elif copies:
            steps += f"    {name} = score;\n"
        seen.add(label)
    return steps


def _written_out_predict(rows: WeightedInputs, c: Source) -> str:
    """The answer of rows in the order of their classes; empty if it takes an array.

    Of two classes scores within TIE of each other are equal.
    """
    if not c.model.tie:
        steps = _written_out(rows, c, 0, "best")
        for row, label in enumerate(c.model.prototype_labels.tolist()[1:], start=1):
            steps += _written_out(rows, c, row, "score")
            steps += c.text("written out better", {"label": label})
        return c.text("written out predict", {"steps": steps})
    if c.model.n_outputs > 2:
        return ""
    words = {
        "steps": _best_of_class(rows, c, ["first", "second"], copies=False),
        "more": ", score" if rows.n_rows > 2 else "",
        "behind": behind(c).format(best="second", other="first"),
    }
    return c.text("written out predict within tie", words)


#: Finish of a similarity -> expression for it.
_FINISHES = {
    "exp2": "{p}_exp2_minus(total)",
    "power": "{p}_power(total)",
    "none": "total",
    "ratio": "{p}_ratio(total, most)",
}


def similarity_code(sums: WeightedSums, before: None, c: Source) -> RowCode:
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
    finish = alike.kind.finish
    functions = []
    if alike.kind.normalise or finish == "ratio":
        functions.append(inverse_root_function(c))
    if alike.kind.is_exponential:
        functions.append(exp2_function(c))
    if finish == "power":
        functions.append(power_function(c, alike.degree))
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
    # A square of 8 bits is added in the next step, as products of linear rows are.
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


def sparse_code(code: SparseCode, rows: RowCode, c: Source) -> RowCode:
    """How the public functions come to the score of an output."""
    limit, functions = code.limit, rows.functions
    root = inverse_root_function(c)
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
    words = {
        "name": c.prefix,
        "M": c.m,
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
        "output": c.type("target"),
        "term": c.type("until"),
        "until": c.fetch("until", "own"),
        "until_before": c.fetch("until", "own - 1"),
        "target": c.fetch("target", "term"),
        "vote": c.fetch("vote", "term"),
        "fallback": code.fallback,
        "unrepresented": c_float(np.float32(code.unrepresented)),
    }
    return filled("c99/sparse_code.c.in", words)
