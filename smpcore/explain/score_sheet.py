"""A risk score to print and to take along: tables, code of three languages, CSV."""

from __future__ import annotations

import json
import keyword
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from smpcore.codegen.names import KEYWORDS, c_string, identifier
from smpcore.datasets import as_csv
from smpcore.explain.risk_score import RiskScore
from smpcore.explain.score_lines import Line
from smpcore.model.calibration import chance
from smpcore.readouts import Section, number_text

#: Words of JavaScript that no argument may be.
_SCRIPT = (
    "arguments await eval export function in instanceof let null of package super "
    "typeof var void with yield Math Number"
).split()
_BY_HAND = (
    "Add the points of the lines that are true; the total gives the risk. A star marks "
    "lines that count as true where the value is missing."
)


def line_table(score: RiskScore) -> list[dict[str, Any]]:
    """The lines of a score as they are printed."""
    return [
        {
            "column": line.column.name,
            "value": line.value + (" *" if line.missing_holds else ""),
            "points": points,
        }
        for line, points in zip(score.lines, score.points, strict=True)
    ]


def risk_table(score: RiskScore) -> list[dict[str, Any]]:
    """The risk of each total as it is printed, with the training rows behind it."""
    label = score.classes[score.outcome]
    return [
        {
            "total": int(row.total),
            f"risk of {label}": chance(row.risk),
            "95 % interval": f"{chance(row.low)} to {chance(row.high)}",
            "training rows": f"{row.rows:g}",
            f"of them {label}": f"{row.events:g}",
        }
        for row in score.risk_frame().round({"rows": 1, "events": 1}).itertuples()
    ]


def _example(score: RiskScore) -> str:
    """How a row is scored: of medians and usual levels, no row of the data."""
    x = np.zeros(
        (1, max(line.column.first + line.column.width for line in score.lines))
    )
    words: dict[str, str] = {}
    for line in score.lines:
        column = line.column
        if column.kind == "number":
            x[0, column.first] = round(column.fill, column.decimals)
        elif column.name not in words and column.dropped < 0:
            place = column.feature_levels.index(line.level)
            x[0, column.first + place] = 1.0
        words[column.name] = f"{column.name} {column.text(x[0])}"
    pairs = zip(score.lines, score.points, strict=True)
    parts = [str(points * int(line.holds(x)[0])) for line, points in pairs]
    total = int(score.totals(x)[0])
    return (
        f"Example: {', '.join(words.values())}: {' + '.join(parts)} = {total} points, "
        f"risk {chance(float(score.risk(np.array([total]))[0]))}."
    )


def quality(score: RiskScore, title: str, part: tuple) -> str:
    """Accuracy, AUC and log-loss on the rows of a part."""
    X, y, *_, weights = part
    label = score.classes[score.outcome]
    truth, risk = y == label, score.risk(score.totals(X))
    right = np.average(score.predict(X) == y, weights=weights)
    loss = log_loss(truth, risk, sample_weight=weights, labels=[False, True])
    area = ""
    if 0 < truth.sum() < len(truth):
        area = f"AUC {roc_auc_score(truth, risk, sample_weight=weights):.3f}, "
    weighted = ", weighted for censoring" if weights is not None else ""
    return (
        f"{title}: accuracy {number_text(right)}, {area}log-loss {loss:.3f} "
        f"({len(y)} rows{weighted})."
    )


def search_words(score: RiskScore, complete: bool) -> str:
    """Loss, bound and gap, and what the pool has.

    Parameters
    ----------
    score : RiskScore
        What `risk_score` has chosen, or one of its pool.
    complete : bool
        Whether its pool is.

    Returns
    -------
    str
    """
    words = (
        f"Mean log-loss of the training rows {score.loss:.4f}, before calibration. "
        f"Proved: no score of as many lines and points is below {score.bound:.4f} "
        f"(gap {number_text(score.gap)})."
    )
    if any(score.n_left_out):
        lines, rows = score.n_left_out
        words += (
            f" That is of the lines and rows that were looked at: {lines:,} lines that "
            f"promise least and {rows:,} evenly spread rows were not."
        )
    if complete:
        return f"{words} The pool is complete: no other set of columns is as close."
    return f"{words} The pool may lack scores: the bound does not exclude others."


def calibration_words(score: RiskScore) -> str:
    """How the risks come from the points."""
    made = score.calibration
    if not made.n_rows:
        return "The risks are not calibrated: there were too few rows for folds."
    if (made.slope, made.offset) == (1.0, 0.0):
        return (
            "Risks are those of the score as it is: of the whole search in "
            f"cross-validation on {made.n_rows:.0f} training rows no calibration has a "
            "lower log-loss; 95 % intervals are Wald's for that line."
        )
    return (
        "Risks are calibrated by cross-validation of the whole search: slope "
        f"{made.slope:.2f}, offset {made.offset:.2f} on {made.n_rows:.0f} training "
        "rows; 95 % intervals are Wald's for that line."
    )


def score_section(
    score: RiskScore, title: str, parts: Mapping[str, tuple] | None = None
) -> Section:
    """Write a risk score on one page.

    Parameters
    ----------
    score : RiskScore
        What `risk_score` has chosen, or one of its pool.
    title : str
        Heading of the page, also the name of the document.
    parts : mapping of str to tuple, optional
        Title of a part -> inputs, labels, clusters and weights of its rows.

    Returns
    -------
    Section
    """
    if not score.lines:
        return Section(title, ("No line lowers the loss: every row has one risk.",))
    rows = [quality(score, *pair) for pair in (parts or {}).items() if len(pair[1][1])]
    blocks = line_table(score), _BY_HAND, risk_table(score), _example(score)
    return Section(title, (*blocks, calibration_words(score), " ".join(rows)))


#: Function of each language, as a template of its parts.
_TEMPLATES = {
    "C": """\
/* Risk score. Numbers that are missing are NAN, categories that are missing "". */
#include <math.h>
#include <string.h>

int {name}_total({arguments})
{{
    int total = 0;
{lines}
    return total;
}}

double {name}_risk(int total)
{{
    return 1.0 / (1.0 + exp(-({offset!r} + {slope!r} * total)));
}}
""",
    "Python": """\
# Risk score. Numbers that are missing are NaN, categories that are missing "".

from math import exp, isnan


def {name}_total({arguments}):
    total = 0
{lines}
    return total


def {name}_risk(total):
    return 1.0 / (1.0 + exp(-({offset!r} + {slope!r} * total)))
""",
    "JavaScript": """\
// Risk score. Numbers that are missing are NaN, categories that are missing "".
export function {name}_total({arguments}) {{
  let total = 0;
{lines}
  return total;
}}

export function {name}_risk(total) {{
  return 1 / (1 + Math.exp(-({offset!r} + {slope!r} * total)));
}}
""",
}
#: Of each language: a line, whether a number is missing, whether a text is a level.
_LINES = {
    "C": ("    if ({0}) total += {1};", "isnan({0})", "strcmp({0}, {1}) == 0"),
    "Python": ("    if {0}:\n        total += {1}", "isnan({0})", "{0} == {1}"),
    "JavaScript": ("  if ({0}) total += {1};", "Number.isNaN({0})", "{0} === {1}"),
}
_ENDINGS = {"C": "c", "Python": "py", "JavaScript": "mjs", "CSV": "csv"}
_OR, _AND = {"Python": " or "}, {"Python": " and "}


def score_files() -> dict[str, str]:
    """Languages that a score can be written in, and the endings of their files.

    Returns
    -------
    dict of str to str
    """
    return dict(_ENDINGS)


def score_code(score: RiskScore, language: str, name: str = "score") -> str:
    """Write a score as two functions, of the columns and of the total.

    Parameters
    ----------
    score : RiskScore
        What `risk_score` has chosen, or one of its pool.
    language : str
        One of `score_files`; "CSV" is a spreadsheet of lines and risks.
    name : str
        How the names of the functions begin; an identifier.

    Returns
    -------
    str
        The content of a file.
    """
    if language == "CSV":
        return _csv(score)
    arguments = _arguments(score)
    template, _, _ = _LINES[language]
    lines = [
        template.format(_condition(line, arguments[line.column.name], language), points)
        for line, points in zip(score.lines, score.points, strict=True)
    ]
    kinds = {line.column.name: line.column.kind for line in score.lines}
    words = [
        ("double " if kinds[column] == "number" else "const char *") * (language == "C")
        + argument
        for column, argument in arguments.items()
    ]
    made = score.calibration
    return _TEMPLATES[language].format(
        name=name,
        arguments=", ".join(words) or ("void" if language == "C" else ""),
        lines="\n".join(lines),
        offset=float(made.offset + made.slope * score.intercept),
        slope=float(made.slope * score.scale),
    )


def _arguments(score: RiskScore) -> dict[str, str]:
    """Column -> name of its argument."""
    taken = {"total", "exp", "isnan", "strcmp", *keyword.kwlist, *KEYWORDS, *_SCRIPT}
    names: dict[str, str] = {}
    for column in score.columns:
        names[column] = identifier(column, taken)
    return names


def _c_text(text: str) -> str:
    """A text in a C expression: a very long one is an array."""
    written = c_string(text)
    return written if written[0] == '"' else f"(const char[]){written}"


def _condition(line: Line, argument: str, language: str) -> str:
    """When a line is true."""
    _, is_missing, is_level = _LINES[language]
    column, both = line.column, _AND.get(language, " && ")
    either = _OR.get(language, " || ")
    if column.kind == "number":
        words = f"{argument} {'<' if line.negated else '>='} {line.cut!r}"
        missing = is_missing.format(argument)
    else:
        written = _c_text if language == "C" else json.dumps
        # What is no level, or missing, makes no feature true: of two levels it counts
        # as the commoner.
        words = is_level.format(argument, written(column.levels[line.level]))
        missing = is_level.format(argument, written(""))
        if line.negated:
            words = f"not ({words})" if language == "Python" else f"!({words})"
    if line.missing_holds:
        return f"{words}{either}{missing}"
    no_value = f"not {missing}" if language == "Python" else f"!({missing})"
    return f"({words}){both}{no_value}"


def _csv(score: RiskScore) -> str:
    """Lines and risks, one below the other, for a spreadsheet."""
    risks = score.risk_frame().rename(columns={"events": "with the outcome"})
    tables = as_csv(score.to_frame()), as_csv(risks)
    return "\r\n".join(table.decode() for table in tables)
