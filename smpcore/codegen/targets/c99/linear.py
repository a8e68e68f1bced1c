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
    if is_dense(rows, c.model):
        function = _dense_function(rows, c)
    else:
        function = _sparse_function(rows, c)
    score = f"{c.prefix}_row(x, row)"
    return RowCode({"ROWS": rows.n_rows}, function, score=score)


def _sparse_function(rows: WeightedInputs, c: Source) -> str:
    term, row = c.type("start"), unsigned(rows.n_rows)
    head = f"static {c.score} {c.prefix}_row({c.x}, {row} row)"
    input, weight = c.fetch("input", "term"), c.fetch("weight", "term")
    loop = f"for (term = {c.fetch('start', 'row')}; term < end; ++term)"
    declare, last = "", ""
    if c.model.is_integer:
        what = "bias + weight * input + weight * input + ..."
        steps = f"        {_add(rows, c, f'x[{input}]', weight)}"
        if _in_pairs(c):
            declare, last = "    int16_t product = 0;\n", "    score += product;\n"
            steps = _behind_on_avr(rows, f"x[{input}] * {weight}", steps)
        steps = _level_steps(c) + steps
    else:
        what = "bias + weight * value + weight * value + ..., summed in the order of "
        what += "the tables."
        steps = f"""\
        const {c.type("input")} input = {input};
        float value = x[input];
{value_steps(c, "input", "term")}\
        score += {weight} * value;
"""
    return f"""\
/* {what} */
{head}
{{
    const {term} end = {c.fetch("start", "row + 1")};
    {c.score} score = {c.fetch("bias", "row")};
{declare}    {term} term;

    {loop} {{
{steps}    }}
{last}    return score;
}}
"""


def _dense_function(rows: WeightedInputs, c: Source) -> str:
    n = len(c.model.inputs)
    place = unsigned(c.tables["weight"].size)
    head = f"static {c.score} {c.prefix}_row({c.x}, {unsigned(rows.n_rows)} row)"
    weight = f"{c.prefix}_weight[({place})(({place})row * {c.m}_N)]"
    read = c.fetch_at("weight", "weight")
    step = "++value;\n        ++weight;\n"
    term = f"        {_add(rows, c, '*value', read)}        {step}"
    count, rest = f"{c.m}_N", ""
    if _in_pairs(c):
        count = f"{c.m}_N / 2"
        term = f"""\
        int16_t pair = (int16_t)(*value * {read});
        {step}\
        pair = (int16_t)(pair + *value * {read});
        {step}\
        score += pair;
"""
        rest = f"    {_add(rows, c, '*value', read)}" if n % 2 else ""
    return f"""\
/* bias + weight * input + weight * input + ... */
{head}
{{
    const {c.type("weight")} *weight = &{weight};
    const {c.number} *value = x;
    {c.score} score = {c.fetch("bias", "row")};
    {unsigned(n)} k;

    for (k = {count}; k > 0; --k) {{
{term}    }}
{rest}    return score;
}}
"""


def _in_pairs(c: Source) -> bool:
    """Whether two products are summed in 16 bits first, which hold 2 * 127 * 128.

    Of one product alone avr-gcc makes a call for 32 bits, three times as slow.
    """
    return c.model.width == 8 and c.model.accumulator == 32


def _behind_on_avr(rows: WeightedInputs, product: str, steps: str) -> str:
    """Steps of a term; on an AVR each product is added in the step after its own.

    For the same reason as `_in_pairs`: other chips add a product in one instruction.
    """
    if (rows.level >= 0).any():
        product = f"value * {product.partition(' * ')[2]}"
    return f"""\
#ifdef __AVR__ /* one step behind: a product of 8 bits is then one instruction */
        score += product;
        product = (int16_t)({product});
#else
{steps}#endif
"""


def _wide(c: Source) -> str:
    """What makes a product of 16 bits one of 32."""
    return "(int32_t)" if c.model.width == 16 else ""


def _add(rows: WeightedInputs, c: Source, value: str, weight: str) -> str:
    """The step that adds a term to the score."""
    if (rows.level >= 0).any():
        value = "value"
    return f"score = ({c.score})(score + {_wide(c)}{value} * {weight});\n"


def _level_steps(c: Source) -> str:
    if "level" not in c.tables:
        return ""
    return f"""\
        const {c.type("level")} level = {c.fetch("level", "term")};
        {c.number} value = x[{c.fetch("input", "term")}];

        if (level != 0) {{ /* a category: does it have this level? */
            value = value == level - 1;
        }}
"""


def _written_out_code(rows: WeightedInputs, c: Source) -> RowCode:
    if c.model.is_regression:
        steps = _written_out(rows, c, 0, "score")
        declare = f"    {c.score} score;\n"
        return RowCode({}, declare=declare, before=steps, score="score")
    in_order = not c.model.tie or c.model.n_outputs == 2
    predict = ""
    if in_order:
        write = _predict_within_tie if c.model.tie else _predict
        predict = write(rows, c)
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


def _predict_within_tie(rows: WeightedInputs, c: Source) -> str:
    """The answer of two classes where scores within TIE of each other are equal."""
    steps, seen = "", set()
    for row, label in enumerate(c.model.prototype_labels.tolist()):
        name = ("first", "second")[label]
        if label not in seen:
            steps += _written_out(rows, c, row, name)
        else:
            steps += _written_out(rows, c, row, "score")
            steps += f"    if (score > {name}) {{\n        {name} = score;\n    }}\n"
        seen.add(label)
    score_too = ", score" if rows.n_rows > 2 else ""
    return f"""\
{c.index} {c.prefix}_predict({c.x})
{{
    {c.score} first, second{score_too};

{steps}    return {behind(c).format(best="second", other="first")};
}}
"""


def _predict(rows: WeightedInputs, c: Source) -> str:
    """The answer of rows in the order of their classes."""
    steps = _written_out(rows, c, 0, "best")
    for row, label in enumerate(c.model.prototype_labels.tolist()[1:], start=1):
        steps += f"""\
{_written_out(rows, c, row, "score")}    if (score > best) {{
        best = score;
        winner = {label};
    }}
"""
    return f"""\
{c.index} {c.prefix}_predict({c.x})
{{
    {c.score} best;
    {c.score} score;
    {c.index} winner = 0;

{steps}    return winner;
}}
"""


def _scores(rows: WeightedInputs, c: Source) -> str:
    each, seen = "", set()
    for row, label in enumerate(c.model.prototype_labels.tolist()):
        steps = _written_out(rows, c, row, "score")
        if label in seen:
            steps += f"    if (score > scores[{label}]) {{\n    "
        each += f"{steps}    scores[{label}] = score;\n"
        each += "    }\n" if label in seen else ""
        seen.add(label)
    return f"""\
void {c.prefix}_scores({c.x}, {c.score} scores[{c.m}_CLASSES])
{{
    {c.score} score;

{each}}}
"""
