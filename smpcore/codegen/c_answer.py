"""The C functions that score the classes and choose one of them."""

from __future__ import annotations

from typing import NamedTuple

from smpcore.codegen.c_tables import unsigned


class Answer(NamedTuple):
    """What the functions that score and choose classes are written from.

    Attributes
    ----------
    prefix : str
    index : str
        C type of a class index.
    n_classes : int
    x : str
        Parameter that holds the inputs.
    number : str
        C type of a score.
    lowest : str
        A score that is below or equal to every other.
    behind : str
        Expression for whether a score ``{other}`` is more than the constant TIE below
        ``{best}``; empty where that constant is 0.
    row, owner : str
        Of a row's number: its type, and the expression for its class.
    declare, before : str
        Declarations, and steps before the first row.
    score : str
        Expression for the score of the row ``row``.
    count : str
        Which of the sizes is the number of rows.
    fallback : int, default 0
        The class where no score is a number.
    """

    prefix: str
    index: str
    n_classes: int
    x: str
    number: str
    lowest: str
    behind: str
    row: str
    owner: str
    declare: str
    before: str
    score: str
    count: str
    fallback: int = 0


def scores_function(answer: Answer) -> str:
    """The function that gives each class the score of the best of its rows."""
    m = answer.prefix.upper()
    return f"""\
void {answer.prefix}_scores({answer.x}, {answer.number} scores[{m}_CLASSES])
{{
    {unsigned(answer.n_classes)} k;
    {answer.row} row;
{answer.declare}
{answer.before}    for (k = 0; k < {m}_CLASSES; ++k) {{
        scores[k] = {answer.lowest};
    }}
    for (row = 0; row < {m}_{answer.count}; ++row) {{
        const {answer.number} score = {answer.score};
        const {answer.index} own = {answer.owner};
        if (score > scores[own]) {{
            scores[own] = score;
        }}
    }}
}}
"""


def predict_function(answer: Answer) -> str:
    """The function that gives the lowest class within the constant TIE of the best.

    Two classes, and any number where TIE is 0, need no array of scores.
    """
    if answer.behind and answer.n_classes > 2:
        return predict_of_scores(answer)
    better, last, first = (
        f"""\
        if (score > best) {{
            best = score;
            winner = {answer.owner};
        }}
""",
        "winner",
        answer.fallback,
    )
    if answer.behind:  # rows come in the order of their classes
        lead, first = answer.behind.format(best="score", other="best"), 0
        if answer.fallback:
            last = f"best > {answer.lowest} ? winner : 1"
        better = f"""\
        if ({answer.owner} == 0) {{
            if (score > best) {{
                best = score;
            }}
        }} else if ({lead}) {{
            winner = 1;
        }}
"""
    return f"""\
{answer.index} {answer.prefix}_predict({answer.x})
{{
    {answer.number} best = {answer.lowest};
    {answer.index} winner = {first};
    {answer.row} row;
{answer.declare}
{answer.before}    for (row = 0; row < {answer.prefix.upper()}_{answer.count}; ++row) {{
        const {answer.number} score = {answer.score};
{better}    }}
    return {last};
}}
"""


def predict_of_scores(answer: Answer) -> str:
    """`predict_function` by an array of scores: no class on the way may be left out."""
    m = answer.prefix.upper()
    behind, fallback = answer.behind.format(best="best", other="scores[k]"), ""
    if answer.fallback:
        fallback = f"""\
    if (!(best > {answer.lowest})) {{
        return {answer.fallback};
    }}
"""
    return f"""\
{answer.index} {answer.prefix}_predict({answer.x})
{{
    {answer.number} scores[{m}_CLASSES];
    {answer.number} best;
    {unsigned(answer.n_classes)} k;

    {answer.prefix}_scores(x, scores);
    best = scores[0];
    for (k = 1; k < {m}_CLASSES; ++k) {{
        if (scores[k] > best) {{
            best = scores[k];
        }}
    }}
{fallback}    k = 0;
    while (k < {m}_CLASSES - 1 && {behind}) {{
        ++k;
    }}
    return ({answer.index})k;
}}
"""
