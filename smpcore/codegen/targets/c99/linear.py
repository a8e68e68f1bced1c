"""C of `WeightedInputs`: with tables and a loop, or integers written out term by term.

How a row of integers is written depends on what is small and fast: sparse with indices,
dense without, or, where there are few terms, as statements.
"""

from __future__ import annotations

from smpcore.codegen.constants import has_tables, is_dense
from smpcore.codegen.program import WeightedInputs
from smpcore.codegen.targets.c99.answer import RowCode, behind
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned
from smpcore.codegen.targets.c99.functions import value_steps


def linear_code(rows: WeightedInputs, c: Source) -> RowCode:
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
    predict = ""
    if not c.model.tie:
        predict = _predict(rows, c)
    elif c.model.n_outputs == 2:
        predict = _predict_within_tie(rows, c)
    return RowCode({}, scores=_scores(rows, c), predict=predict)


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


def _predict_within_tie(rows: WeightedInputs, c: Source) -> str:
    """The answer of two classes where scores within TIE of each other are equal."""
    words = {
        "steps": _best_of_class(rows, c, ["first", "second"], copies=False),
        "more": ", score" if rows.n_rows > 2 else "",
        "behind": behind(c).format(best="second", other="first"),
    }
    return c.text("written out predict within tie", words)


def _predict(rows: WeightedInputs, c: Source) -> str:
    """The answer of rows in the order of their classes."""
    steps = _written_out(rows, c, 0, "best")
    for row, label in enumerate(c.model.prototype_labels.tolist()[1:], start=1):
        steps += _written_out(rows, c, row, "score")
        steps += c.text("written out better", {"label": label})
    return c.text("written out predict", {"steps": steps})


def _scores(rows: WeightedInputs, c: Source) -> str:
    names = [f"scores[{label}]" for label in range(c.model.n_outputs)]
    steps = _best_of_class(rows, c, names, copies=True)
    return c.text("written out scores", {"steps": steps})
