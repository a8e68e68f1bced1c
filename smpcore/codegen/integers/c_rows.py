"""C that computes the integer score of each row, one way for each form of model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from smpcore.codegen.c_parts import class_type
from smpcore.codegen.c_tables import Tables, c_type, fetch, fetch_at, unsigned
from smpcore.codegen.integers.c_sums import sums_functions
from smpcore.codegen.integers.linear import QuantLinear
from smpcore.codegen.integers.model import QuantModel
from smpcore.codegen.integers.sums import QuantSums

#: Up to so many terms, by bits of a score, are written out one by one: that is faster
#: on every chip, and on an AVR not larger than tables with a loop.
WRITTEN_OUT = {16: 48, 32: 12}


class IntegerCode(NamedTuple):
    """How the public functions come to the score of a row.

    Parameters
    ----------
    tables : mapping of str to ndarray
    sizes : mapping of str to int
        Constants to define.
    functions : str
        Static functions.
    declare, before : str
        Lines at the begin of a public function, and before its loop over the rows.
    score : str
        Expression for the score of the row ``row``.
    count : str
        Which of the sizes is the number of rows that compete.
    scores : str
        The public function ``scores``, where it needs no loop.
    predict : str
        The public function ``predict``, where it needs no array of scores.
    """

    tables: Tables
    sizes: Mapping[str, int]
    functions: str = ""
    declare: str = ""
    before: str = ""
    score: str = ""
    count: str = "ROWS"
    scores: str = ""
    predict: str = ""


def integer_code(quant: QuantModel, prefix: str) -> IntegerCode:
    """Write the part of the source that depends on the form of a model.

    Parameters
    ----------
    quant : QuantModel
    prefix : str

    Returns
    -------
    IntegerCode
    """
    return _WRITERS[type(quant)](quant, prefix)


def is_written_out(quant: QuantLinear) -> bool:
    """Whether its terms are code, and not tables with a loop."""
    return quant.n_terms <= WRITTEN_OUT[quant.accumulator]


def _linear(quant: QuantLinear, prefix: str) -> IntegerCode:
    if is_written_out(quant):
        if quant.is_regression:
            steps = _written_out(quant, 0, "score")
            declare = f"    int{quant.accumulator}_t score;\n"
            return IntegerCode({}, {}, declare=declare, before=steps, score="score")
        in_order = not quant.tie or quant.n_outputs == 2
        predict = _written_out_predict(quant, prefix) if in_order else ""
        scores = _written_out_scores(quant, prefix)
        return IntegerCode({}, {}, scores=scores, predict=predict)
    tables = quant.tables()
    return IntegerCode(
        tables,
        {"ROWS": quant.n_rows},
        functions=_row_function(quant, prefix, tables),
        score=f"{prefix}_row(x, row)",
    )


def _row_function(quant: QuantLinear, prefix: str, tables: Tables) -> str:
    m, read = prefix.upper(), partial(fetch, prefix, tables)
    row, score = unsigned(quant.n_rows), f"int{quant.accumulator}_t"
    head = f"static {score} {prefix}_row(const int{quant.width}_t x[{m}_N], {row} row)"
    if quant.is_dense:
        return _whole_row_function(quant, prefix, tables, head)
    term = c_type(tables["start"])
    declare = f"    const {term} end = {read('start', 'row + 1')};\n"
    counter = f"    {term} term;\n"
    loop = f"for (term = {read('start', 'row')}; term < end; ++term)"
    value = f"x[{read('input', 'term')}]"
    add = f"        {_add(quant, value, read('weight', 'term'))}"
    return f"""\
/* bias + weight * input + weight * input + ... */
{head}
{{
{declare}    {score} score = {read("bias", "row")};
{counter}
    {loop} {{
{_level_steps(quant, prefix, tables)}{add}    }}
    return score;
}}
"""


def _whole_row_function(
    quant: QuantLinear, prefix: str, tables: Tables, head: str
) -> str:
    m, n = prefix.upper(), len(quant.inputs)
    place, score = unsigned(tables["weight"].size), f"int{quant.accumulator}_t"
    weight = f"{prefix}_weight[({place})(({place})row * {m}_N)]"
    read = fetch_at(prefix, tables, "weight", "weight")
    step = "++value;\n        ++weight;\n"
    term = f"        {_add(quant, '*value', read)}        {step}"
    count, rest = f"{m}_N", ""
    if _in_pairs(quant):
        count = f"{m}_N / 2"
        term = f"""\
        int16_t pair = (int16_t)(*value * {read});
        {step}\
        pair = (int16_t)(pair + *value * {read});
        {step}\
        score += pair;
"""
        rest = f"    {_add(quant, '*value', read)}" if n % 2 else ""
    return f"""\
/* bias + weight * input + weight * input + ... */
{head}
{{
    const {c_type(tables["weight"])} *weight = &{weight};
    const int{quant.width}_t *value = x;
    {score} score = {fetch(prefix, tables, "bias", "row")};
    {unsigned(n)} k;

    for (k = {count}; k > 0; --k) {{
{term}    }}
{rest}    return score;
}}
"""


def _in_pairs(quant: QuantLinear) -> bool:
    """Whether two products are summed in 16 bits first, which hold 2 * 127 * 128.

    Of one product alone avr-gcc makes a call for 32 bits, three times as slow.
    """
    return quant.width == 8 and quant.accumulator == 32


def _add(quant: QuantLinear, value: str, weight: str) -> str:
    """The step that adds a term to the score."""
    kind = f"int{quant.accumulator}_t"
    wide = "(int32_t)" if quant.width == 16 else ""
    if (quant.term_level >= 0).any():
        value = "value"
    return f"score = ({kind})(score + {wide}{value} * {weight});\n"


def _level_steps(quant: QuantLinear, prefix: str, tables: Tables) -> str:
    if "level" not in tables:
        return ""
    read = partial(fetch, prefix, tables)
    kind = f"int{quant.width}_t"
    return f"""\
        const {c_type(tables["level"])} level = {read("level", "term")};
        {kind} value = x[{read("input", "term")}];

        if (level != 0) {{ /* a category: does it have this level? */
            value = value == level - 1;
        }}
"""


def _written_out(quant: QuantLinear, row: int, target: str) -> str:
    """Lines that give a variable the score of a row, without tables.

    A statement for each term: avr-gcc loads all inputs of a longer expression first,
    and pushes registers onto the stack for them.
    """
    wide = "(int32_t)" if quant.width == 16 else ""
    long = "L" if quant.accumulator == 32 else ""
    lines, changes = [f"{target} = {quant.bias[row]}{long};"], []
    for place, level, weight in quant.terms(row):
        if level < 0:
            sign = "-" if weight < 0 else "+"
            changes.append(f"{sign} {wide}x[{place}] * {abs(weight)}")
        else:
            lines.append(
                f"{target} = (int{quant.accumulator}_t)"
                f"({target} + (x[{place}] == {level} ? {weight}{long} : 0));"
            )
    size = 2 if _in_pairs(quant) else 1
    for first in range(0, len(changes), size):
        change = " ".join(changes[first : first + size])
        change = f"+ (int16_t)({change.removeprefix('+ ')})" if size > 1 else change
        lines.append(f"{target} = (int{quant.accumulator}_t)({target} {change});")
    return "".join(f"    {line}\n" for line in lines)


def behind(quant: QuantModel, prefix: str) -> str:
    """See `Answer`; scores as large as can be leave an addition no room."""
    tie, score = f"{prefix.upper()}_TIE", f"int{quant.accumulator}_t"
    if not quant.tie:
        return ""
    if quant.largest + quant.tie < 2 ** (quant.accumulator - 1):
        return f"{{other}} + {tie} < {{best}}"
    lead = f"(u{score})((u{score}){{best}} - (u{score}){{other}})"
    order = " && {best} > {other}" if quant.n_outputs == 2 else ""
    return f"{lead} > (u{score}){tie}{order}"


def _written_out_predict(quant: QuantLinear, prefix: str) -> str:
    """The answer of rows in the order of their classes."""
    score, index = f"int{quant.accumulator}_t", class_type(quant)
    head = f"{index} {prefix}_predict(const int{quant.width}_t x[{prefix.upper()}_N])"
    if least := behind(quant, prefix):
        lines, seen = "", set()
        for row, owner in enumerate(quant.owner.tolist()):
            name = ("first", "second")[owner]
            if owner not in seen:
                lines += _written_out(quant, row, name)
            else:
                lines += _written_out(quant, row, "score")
                lines += (
                    f"    if (score > {name}) {{\n        {name} = score;\n    }}\n"
                )
            seen.add(owner)
        score_too = ", score" if quant.n_rows > 2 else ""
        return f"""\
{head}
{{
    {score} first, second{score_too};

{lines}    return {least.format(best="second", other="first")};
}}
"""
    lines = _written_out(quant, 0, "best")
    for row, owner in enumerate(quant.owner.tolist()[1:], start=1):
        lines += f"""\
{_written_out(quant, row, "score")}    if (score > best) {{
        best = score;
        winner = {owner};
    }}
"""
    return f"""\
{head}
{{
    {score} best;
    {score} score;
    {index} winner = 0;

{lines}    return winner;
}}
"""


def _written_out_scores(quant: QuantLinear, prefix: str) -> str:
    m, score = prefix.upper(), f"int{quant.accumulator}_t"
    x = f"const int{quant.width}_t x[{m}_N]"
    each, seen = "", set()
    for row, owner in enumerate(quant.owner.tolist()):
        steps = _written_out(quant, row, "score")
        if owner in seen:
            steps += f"    if (score > scores[{owner}]) {{\n    "
        each += f"{steps}    scores[{owner}] = score;\n"
        each += "    }\n" if owner in seen else ""
        seen.add(owner)
    return f"""\
void {prefix}_scores({x}, {score} scores[{m}_CLASSES])
{{
    {score} score;

{each}}}
"""


def _sums(quant: QuantSums, prefix: str) -> IntegerCode:
    tables = quant.tables()
    return IntegerCode(
        tables,
        {
            "ROWS": quant.n_rows,
            "ANCHORS": quant.n_anchors,
            "FEATURES": quant.n_features,
            "TOP": quant.top,
        },
        functions=sums_functions(quant, prefix, tables),
        declare=f"    int32_t sums[{prefix.upper()}_ROWS];\n",
        before=f"    {prefix}_rows(x, sums);\n",
        score="sums[row]",
    )


_WRITERS = {QuantLinear: _linear, QuantSums: _sums}
