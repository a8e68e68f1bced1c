"""C of a program's operations: how public functions come to the score of a row.

How a linear row of integers is written depends on what is small and fast: sparse with
indices, dense without, or, where there are few terms, as statements. No array lies
between similarities and sums: each similarity is added to its rows at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smpcore.codegen.arithmetic import GUESS
from smpcore.codegen.constants import features_differ, has_tables, is_dense
from smpcore.codegen.names import c_float
from smpcore.codegen.program import (
    Features,
    FixedPointFeatures,
    FixedPointSimilarities,
    Operation,
    Similarities,
    SparseCode,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.run import most_steps
from smpcore.codegen.targets.c99.common import (
    RowCode,
    Source,
    behind,
    unsigned,
    value_steps,
)
from smpcore.codegen.targets.scripts import CONSTANTS, EXP2, INVERSE_ROOT, functions_of

Words = dict[str, Any]


def row_code(c: Source) -> RowCode:
    """How the public functions come to the score of a row."""
    model, last = c.model, c.model.operations[-1]
    if not has_tables(model):
        return _written_out_code(last, c)
    rows = model.find(WeightedInputs) or model.find(WeightedSums)
    functions, sizes = "\n".join(_functions(c)), {"ROWS": rows.n_rows}
    if features := model.find(Features) or model.find(FixedPointFeatures):
        sizes |= {"ANCHORS": rows.n_anchors, "FEATURES": features.n_features}
        sizes |= {"TOP": features.top} if model.is_integer else {}
    if isinstance(last, SparseCode):
        sizes |= {"CODE": last.limit, "FACTOR": last.limit * (last.limit + 1) // 2}
        index, size = unsigned(last.n_prototypes), unsigned(last.limit)
        call = f"support, amount, size, ({c.type('target')})row"
        return RowCode(
            sizes,
            functions,
            declare=f"    {index} support[{c.m}_CODE];\n    float amount[{c.m}_CODE];\n"
            f"    {size} size;\n",
            before=f"    size = {c.prefix}_code(x, support, amount);\n",
            score=f"{c.prefix}_votes({call})",
            count="CLASSES",
        )
    if features is None:
        return RowCode(sizes, functions, score=f"{c.prefix}_row(x, row)")
    return RowCode(
        sizes,
        functions,
        declare=f"    {c.score} sums[{c.m}_ROWS];\n",
        before=f"    {c.prefix}_rows(x, sums);\n",
        score="sums[row]",
    )


def _functions(c: Source) -> list[str]:
    """The functions of the operations, from the texts of C for them."""
    constants, words = EXP2 | INVERSE_ROOT, {"guess": f"{GUESS:#x}"} | _bits(c)
    for operation in c.model.operations:
        constants |= CONSTANTS[type(operation)](operation)
        words |= _WORDS[type(operation)](operation, c)
    words = {n.lower(): _literal(v) for n, v in constants.items()} | words
    return functions_of(
        c.model, lambda name, **more: c.text(name, words | more, "program")
    )


def _literal(value: Any) -> Any:
    """A constant in C; arrays are tables, which texts read by their names."""
    return c_float(value) if isinstance(value, float | np.floating) else value


def _bits(c: Source) -> Words:
    """Functions that take the bits of a number as another: in C++ not by a union."""
    kinds = {"to": ("uint32_t", "float")}
    kinds |= dict.fromkeys(("from", "scale_of"), ("float", "uint32_t"))
    return {
        f"{word}_bits": c.text(
            "same bits", {"word": word, "to": to, "from": of}, "program"
        )
        for word, (to, of) in kinds.items()
    }


def _of_weighted_inputs(rows: WeightedInputs, c: Source) -> Words:
    has_level = "level" in c.tables
    is_whole, dense = c.model.is_integer, is_dense(rows, c.model)
    words = {
        "row_counter": unsigned(rows.n_rows),
        "linear": True,
        "dense": dense,
        "pairs": _in_pairs(c),
        "odd": len(c.model.inputs) % 2,
        "wide": _wide(c),
        "entry_counter": unsigned(c.tables["weight"].size),
    }
    if not is_whole:
        words["value_steps"] = value_steps(c, "input", "term")
    elif not dense:
        words["value"] = "value" if has_level else f"x[{c.fetch('input', 'term')}]"
    return words


def _in_pairs(c: Source) -> bool:
    """Whether two products are summed in 16 bits first, which hold 2 * 127 * 128.

    Of one product alone avr-gcc makes a call for 32 bits, three times as slow. Where
    each has an index of its own, a product is added in the step after its own.
    """
    return c.model.is_integer and c.model.width == 8 and c.model.accumulator == 32


def _wide(c: Source) -> str:
    """What makes a product of 16 bits one of 32."""
    return "(int32_t)" if c.model.is_integer and c.model.width == 16 else ""


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


def _of_features(features: Features, c: Source) -> Words:
    place = "input" if "input" in c.tables else "feature"
    has_factor, has_move = "factor" in c.tables, "move" in c.tables
    return {
        "feature_counter": unsigned(features.n_features),
        "differ": features_differ(c.model),
        "place": place,
        "value_steps": value_steps(c, place, "feature"),
        "times_factor": f" * {c.fetch('factor', 'feature')}" if has_factor else "",
        "plus_move": f" + {c.fetch('move', 'feature')}" if has_move else "",
    }


def _of_similarities(alike: Similarities, c: Source) -> Words:
    anchor, place = unsigned(len(alike.anchor)), unsigned(alike.anchor.size)
    has_constant = "constant" in c.tables
    return {
        "anchor_counter": anchor,
        "entry_counter": place,
        # Widened first: an AVR's int has 16 bits.
        "first": "anchor" if place == anchor else f"({place})anchor",
        "constant": c.fetch("constant", "anchor") if has_constant else "0.0f",
        "overlap": alike.kind.step == "overlap",
        "is_power": alike.kind.finish == "power",
        "is_ratio": alike.kind.finish == "ratio",
        "degree_counter": unsigned(alike.degree),
        "n_coefficients": len(EXP2["EXP2"]),
    }


def _of_weighted_sums(sums: WeightedSums, c: Source) -> Words:
    whole, differ = c.model.is_integer, features_differ(c.model)
    weight, counter = c.fetch("weight", "term"), "term"
    if whole and sums.is_dense:
        weight, counter = c.fetch_at("weight", "weight"), "weight"
    return {
        "anchor_counter": unsigned(sums.n_anchors),
        "row_counter": unsigned(sums.n_rows),
        "term_counter": unsigned(len(sums.weight)),
        "integers": whole,
        "dense": sums.is_dense,
        "prepares": whole or differ,
        "t": "features" if whole else "t" if differ else "x",
        "zero": "0" if whole else "0.0f",
        "weight": f"(int32_t){weight}" if whole else weight,
        "counter": counter,
        "counts_terms": counter == "term",
        "first_row": sums.first_row,
    }


def _of_fixed_point_features(features: FixedPointFeatures, c: Source) -> Words:
    words = {
        "feature_counter": unsigned(features.n_features),
        "place": c.fetch("input", "feature") if "input" in c.tables else "feature",
    }
    if "places" in c.tables:
        return words | {"places": c.fetch("places", "feature")}
    # Clipped before the shift where 16 bits hold what is left.
    places = int(features.places[0])
    limit = (features.top + 1) << places
    words |= {"places": places, "clipped_first": places >= 8 and limit <= 2**24}
    return words | {"limit": limit, "limit_less_1": limit - 1, "bits": places - 8}


def _of_fixed_point(alike: FixedPointSimilarities, c: Source) -> Words:
    down = alike.exp2.down
    return {
        # An AVR shifts bit by bit, but moves whole bytes.
        "down_steps": f">> {down}" if down <= 8 else f"<< {16 - down} >> 16",
        # A square of 8 bits is added in the next step, as products of linear rows are.
        "behind": alike.power == 2 and c.model.width == 8,
        "distance": c.text(f"power {alike.power}", file="program").rstrip(),
    }


def _of_sparse_code(code: SparseCode, c: Source) -> Words:
    m, limit = code.n_prototypes, code.limit
    return {
        "code_counter": unsigned(limit),
        "step_counter": unsigned(most_steps(limit)),
        # Holds the product before it is halved; not a byte, which an int would widen.
        "place_counter": unsigned(max(256, m * (m + 1))),
    }


#: Operation -> what its texts need besides its constants and tables.
_WORDS: dict[type[Operation], Callable[[Any, Source], Words]] = {
    WeightedInputs: _of_weighted_inputs,
    Features: _of_features,
    Similarities: _of_similarities,
    WeightedSums: _of_weighted_sums,
    SparseCode: _of_sparse_code,
    FixedPointFeatures: _of_fixed_point_features,
    FixedPointSimilarities: _of_fixed_point,
}
