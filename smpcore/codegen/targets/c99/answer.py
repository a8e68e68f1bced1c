"""The C functions that score the classes, choose one of them, and give the margin."""

from __future__ import annotations

from typing import NamedTuple

from smpcore.codegen.names import c_float
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned


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
    scores, predict : str
        The public functions of these names, where they need no loop or no array.
    """

    sizes: dict[str, int]
    functions: str = ""
    declare: str = ""
    before: str = ""
    score: str = ""
    count: str = "ROWS"
    scores: str = ""
    predict: str = ""


def behind(c: Source) -> str:
    """Whether ``{other}`` is more than TIE below ``{best}``; empty where TIE is 0.

    Integers as large as can be leave an addition no room.
    """
    model, tie, score = c.model, f"{c.m}_TIE", c.score
    if not model.tie:
        return ""
    if not model.is_integer or model.largest + model.tie < 2 ** (model.accumulator - 1):
        return f"{{other}} + {tie} < {{best}}"
    lead = f"(u{score})((u{score}){{best}} - (u{score}){{other}})"
    order = " && {best} > {other}" if model.n_outputs == 2 else ""
    return f"{lead} > (u{score}){tie}{order}"


def _lowest(c: Source) -> str:
    """A score that is below or equal to every other."""
    if c.model.is_integer:
        return f"-{2 ** (c.model.accumulator - 1) - 1}"
    return "-FLT_MAX"


def value_function(c: Source, code: RowCode) -> str:
    """The function that gives the value of a regression."""
    declare = code.declare
    if "row" in code.score:
        declare = f"    const uint8_t row = 0; /* the only one */\n{declare}\n"
    return f"""\
{c.score} {c.prefix}_predict({c.x})
{{
{declare}{code.before}    return {code.score};
}}
"""


def scores_function(c: Source, code: RowCode) -> str:
    """The function that gives each class the score of the best of its rows."""
    m = c.m
    return f"""\
void {c.prefix}_scores({c.x}, {c.score} scores[{m}_CLASSES])
{{
    {unsigned(c.model.n_outputs)} k;
    {unsigned(c.model.n_rows)} row;
{code.declare}
{code.before}    for (k = 0; k < {m}_CLASSES; ++k) {{
        scores[k] = {_lowest(c)};
    }}
    for (row = 0; row < {m}_{code.count}; ++row) {{
        const {c.score} score = {code.score};
        const {c.index} own = {c.fetch("owner", "row")};
        if (score > scores[own]) {{
            scores[own] = score;
        }}
    }}
}}
"""


def predict_function(c: Source, code: RowCode) -> str:
    """The function that gives the lowest class within the constant TIE of the best."""
    far, fallback = behind(c), 0 if c.model.is_integer else c.model.fallback
    if far and c.model.n_outputs > 2:
        return _predict_of_scores(c, far, fallback)
    label = c.fetch("owner", "row")
    better, last, first = (
        f"""\
        if (score > best) {{
            best = score;
            winner = {label};
        }}
""",
        "winner",
        fallback,
    )
    if far:  # rows come in the order of their classes
        lead, first = far.format(best="score", other="best"), 0
        if fallback:
            last = f"best > {_lowest(c)} ? winner : 1"
        better = f"""\
        if ({label} == 0) {{
            if (score > best) {{
                best = score;
            }}
        }} else if ({lead}) {{
            winner = 1;
        }}
"""
    return f"""\
{c.index} {c.prefix}_predict({c.x})
{{
    {c.score} best = {_lowest(c)};
    {c.index} winner = {first};
    {unsigned(c.model.n_rows)} row;
{code.declare}
{code.before}    for (row = 0; row < {c.m}_{code.count}; ++row) {{
        const {c.score} score = {code.score};
{better}    }}
    return {last};
}}
"""


def _predict_of_scores(c: Source, far: str, fallback: int) -> str:
    """`predict_function` by an array of scores: no class on the way may be left out."""
    m, without = c.m, ""
    if fallback:
        without = f"""\
    if (!(best > {_lowest(c)})) {{
        return {fallback};
    }}
"""
    return f"""\
{c.index} {c.prefix}_predict({c.x})
{{
    {c.score} scores[{m}_CLASSES];
    {c.score} best;
    {unsigned(c.model.n_outputs)} k;

    {c.prefix}_scores(x, scores);
    best = scores[0];
    for (k = 1; k < {m}_CLASSES; ++k) {{
        if (scores[k] > best) {{
            best = scores[k];
        }}
    }}
{without}    k = 0;
    while (k < {m}_CLASSES - 1 && {far.format(best="best", other="scores[k]")}) {{
        ++k;
    }}
    return ({c.index})k;
}}
"""


def not_sure(c: Source) -> str:
    """Largest margin that is "not sure"; empty where the model has no such band."""
    if c.model.is_integer:
        return "" if c.model.not_sure < 0 else f"{c.model.not_sure}UL"
    return c_float(c.model.band) if c.model.band else ""


def _margin_type(c: Source) -> str:
    """Of integers unsigned: the difference of two scores may need the sign bit."""
    return f"u{c.score}" if c.model.is_integer else c.score


def margin_declaration(c: Source) -> str:
    """Declarations of the margin, and of whether it lies outside the band."""
    text = f"""\
/* How far the score of the best class is above the next. */
{_margin_type(c)} {c.prefix}_margin({c.x});
"""
    if band := not_sure(c):
        text += f"""
/* 1 where the margin is larger than this: the model is sure; 0 where it is not. */
#define {c.m}_NOT_SURE {band}
uint8_t {c.prefix}_sure({c.x});
"""
    return text


def margin_functions(c: Source) -> str:
    """The functions that `margin_declaration` declares."""
    m, margin, n_classes = c.m, _margin_type(c), c.model.n_outputs
    gap = "best - next"
    if c.model.is_integer:
        gap = f"({margin})(({margin})best - ({margin})next)"
    more = ""
    if n_classes > 2:
        more = f"""\
    for (k = 2; k < {m}_CLASSES; ++k) {{
        if (scores[k] > best) {{
            next = best;
            best = scores[k];
        }} else if (scores[k] > next) {{
            next = scores[k];
        }}
    }}
"""
    counter = f"    {unsigned(n_classes)} k;\n" if more else ""
    text = f"""\
{margin} {c.prefix}_margin({c.x})
{{
    {c.score} scores[{m}_CLASSES];
    {c.score} best;
    {c.score} next;
{counter}
    {c.prefix}_scores(x, scores);
    best = scores[0] > scores[1] ? scores[0] : scores[1];
    next = scores[0] > scores[1] ? scores[1] : scores[0];
{more}    return {gap};
}}
"""
    if not_sure(c):
        text += f"""
uint8_t {c.prefix}_sure({c.x})
{{
    return {c.prefix}_margin(x) > {m}_NOT_SURE;
}}
"""
    return text
