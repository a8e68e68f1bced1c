"""The C functions that score the classes, choose one of them, and give the margin."""

from __future__ import annotations

from typing import NamedTuple

from smpcore.codegen.names import c_float
from smpcore.codegen.targets.c99.constant_tables import Source


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
    order = "{best} > {other} && " if model.n_outputs == 2 else ""
    return f"{order}{difference(score, '{best}', '{other}')} > (u{score}){tie}"


def difference(kind: str, best: str, other: str) -> str:
    """How far a score of a type of C is above another that is no larger.

    It may need the sign bit: that is turned round in both, so that nothing wraps.
    """
    top = f"{2 ** (int(kind.strip('int_')) - 1)}U"
    return f"(u{kind})(((u{kind}){best} ^ {top}) - ((u{kind}){other} ^ {top}))"


def answer_functions(c: Source, code: RowCode) -> list[str]:
    """The functions that give a value; or scores, class and margin."""
    words = {"declare": code.declare, "before": code.before, "expression": code.score}
    if c.model.is_regression:
        if "row" in code.score:
            only = "    const uint8_t row = 0; /* the only one */\n"
            words["declare"] = f"{only}{code.declare}\n"
        return [c.text("value", words)]
    lowest = "-FLT_MAX"
    if c.model.is_integer:
        lowest = f"-{2 ** (c.model.accumulator - 1) - 1}"
    words |= {"count": code.count, "lowest": lowest}
    if "owner" in c.tables:
        words["label"] = c.fetch("owner", "row")
    scores = code.scores or c.text("scores", words)
    return [scores, code.predict or _predict(c, words), _margin(c)]


def _predict(c: Source, words: dict[str, str]) -> str:
    """The function that gives the lowest class within the constant TIE of the best."""
    far, fallback = behind(c), 0 if c.model.is_integer else c.model.fallback
    words = words | {"first": fallback, "last": "winner", "without": ""}
    if far and c.model.n_outputs > 2:  # no class on the way may be left out
        words["behind"] = far.format(best="best", other="scores[k]")
        if fallback:
            words["without"] = c.text("without a score", words)
        return c.text("predict of scores", words)
    if far:  # rows come in the order of their classes
        words |= {"behind": far.format(best="score", other="best"), "first": 0}
        if fallback:
            words["last"] = f"best > {words['lowest']} ? winner : 1"
    better = "better within tie" if far else "better"
    return c.text("predict", words | {"better": c.text(better, words)})


def margin_words(c: Source) -> dict[str, str]:
    """Type of a margin; the largest that is "not sure", empty without such a band."""
    if not c.model.is_integer:
        band = c_float(c.model.band) if c.model.band else ""
        return {"margin": c.score, "band": band}
    # Unsigned: the difference of two scores may need the sign bit.
    band = "" if c.model.not_sure < 0 else f"{c.model.not_sure}UL"
    return {"margin": f"u{c.score}", "band": band}


def _margin(c: Source) -> str:
    """How far the best class is above the next, and whether that is enough."""
    words = margin_words(c) | {"gap": "best - next", "counter": "", "others": ""}
    if c.model.is_integer:
        words["gap"] = difference(c.score, "best", "next")
    if c.model.n_outputs > 2:
        words["counter"] = f"    {c.words['class_counter']} k;\n"
        words["others"] = c.text("margin of others", words)
    return c.text("margin", words) + (c.text("sure") if words["band"] else "")
