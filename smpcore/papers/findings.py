"""What holds of the papers' conclusions: a table, a first line, and a summary."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from smpcore.methods import METHODS
from smpcore.papers.comparison.ranks import compared, mean_ranks
from smpcore.papers.conclusions import NOT_TESTED, Finding, finding_of
from smpcore.papers.experiment import Experiment, by_name
from smpcore.papers.table import TableOf
from smpcore.papers.verdicts import (
    RELATIVE_MARGIN,
    relative_differences,
    verdicts,
)

#: Model that ours are set beside.
_BESIDE = "RBF-SVM"


def _of(held: float, n: int) -> str:
    """How many of how many, or nothing."""
    return f"{held:.3g} of {n}" if n else ""


def conclusions_table(
    experiments: Sequence[Experiment], table_of: TableOf, main: bool = True
) -> pd.DataFrame:
    """What papers conclude, and how often it holds.

    Parameters
    ----------
    experiments : sequence of Experiment
        In the order of the rows.
    table_of : callable
        ``table_of(experiment)`` gives its numbers.
    main : bool
        Leave out what is not in the summary of all papers.

    Returns
    -------
    DataFrame
        A row for each sentence with the columns ``paper, verdict, here, printed, claim,
        where, reading, experiment``; here and printed say in how many comparisons it
        holds in the numbers that are measured here and in those of the paper.
    """
    rows = []
    for one in experiments:
        lines = [line for line in one.conclusions if line.is_main or not main]
        numbers = table_of(one) if lines else None
        for line in lines:
            finding: Finding = finding_of(line, numbers)
            rows.append(
                {
                    "paper": METHODS[one.paper].title.split(":")[0],
                    "verdict": finding.verdict,
                    "here": _of(finding.held, finding.n),
                    "printed": _of(finding.printed_held, finding.printed_n),
                    "claim": f"“{line.words}”",
                    "where": line.where,
                    "reading": line.reading,
                    "experiment": one.name,
                }
            )
    return pd.DataFrame(rows)


def lead(experiment: Experiment, table: pd.DataFrame) -> str:
    """Say whether the paper's method leads its table, as it does in print.

    Parameters
    ----------
    experiment : Experiment
        One whose models are ranked and compared with the paper's own.
    table : DataFrame
        Its numbers.

    Returns
    -------
    str
        Empty if there is no such lead to look for.
    """
    check = experiment.checks.get("lead")
    if not experiment.ranked or check is None:
        return ""
    (line,) = experiment.conclusions
    finding, of = finding_of(line, table), experiment.ranked
    if finding.verdict == NOT_TESTED:
        return ""
    here = mean_ranks(table, of)
    printed = mean_ranks(table.assign(measured=table["reported"]), of)
    is_first = here.mean.index[0] == check.model
    return (
        f"The lead is {'' if is_first else 'not '}found: {check.model} is not below "
        f"any other model on {_of(finding.held, finding.n)} data sets (printed: "
        f"{_of(finding.printed_held, finding.printed_n)}), and its mean rank is "
        f"{here.mean[check.model]:.2f} of {len(here.mean)} (printed: "
        f"{printed.mean[check.model]:.2f}; critical difference {here.critical:.2f})."
    )


def _instead(experiments: Sequence[Experiment], table_of: TableOf, model: str) -> str:
    """Say what is found in place of a lead: size, at which accuracy."""
    one = next(one for one in experiments if one.sizes)
    numbers = table_of(one)
    means = compared(one, numbers).means
    score, size = one.ranked, one.sizes[0]
    parts = (
        f"{name} {means.loc[name, score]:.3f} with {means.loc[name, size]:,.0f} {size}"
        for name in (model, _BESIDE)
    )
    n = numbers["data"].nunique()
    return (
        f"Found instead: small models. In nested cross-validation on {n} tables the "
        f"mean {score} is {' and '.join(parts)} ({one.name})."
    )


def _other_protocols(
    experiments: Sequence[Experiment], table_of: TableOf, one: Experiment
) -> str:
    """Say how often the same sentence holds under other protocols."""
    words = {line.words for line in one.conclusions}
    parts = [
        f"{line.reading}: {_of(finding.held, finding.n)} ({other.name})"
        for other in experiments
        for line in other.conclusions
        if line.words in words and other.name != one.name
        for finding in [finding_of(line, table_of(other))]
    ]
    return f"Tried, too: {'; '.join(parts)}." if parts else ""


def first_line(experiments: Sequence[Experiment], table_of: TableOf, name: str) -> str:
    """Say first of a table of accuracies what it is printed for, and what is found.

    Parameters
    ----------
    experiments : sequence of Experiment
        Those of all papers.
    table_of : callable
        ``table_of(experiment)`` gives its numbers.
    name : str
        Of the experiment whose first line it is.

    Returns
    -------
    str
        Empty where no model leads.
    """
    one = by_name(experiments, name)
    text = lead(one, table_of(one))
    if not text:
        return ""
    more = _other_protocols(experiments, table_of, one)
    size = _instead(experiments, table_of, one.checks["lead"].model)
    return " ".join(part for part in (text, more, size) if part)


def differences(
    experiments: Sequence[Experiment], table_of: TableOf
) -> tuple[pd.DataFrame, list[str]]:
    """Differences of measured and printed means, of several experiments.

    Parameters
    ----------
    experiments : sequence of Experiment
        Those of one paper, say.
    table_of : callable
        ``table_of(experiment)`` gives its numbers.

    Returns
    -------
    rows : DataFrame
        As of `verdicts`, or of `relative_differences` where the paper's data are not
        here, with the column ``experiment``.
    summaries : list of str
        What is decided in each.
    """
    parts, decided = [pd.DataFrame()], []
    for one in experiments:
        result = verdicts(table_of(one))
        rows, text = result.rows, result.summary
        if one.beside:
            rows = relative_differences(table_of(one), one.beside)
            others = ((rows["low"] > 0) | (rows["high"] < 0)).sum()
            text = (
                f"Of {len(rows)} differences to {one.beside}, in percent of its "
                f"numbers and on other data than the paper's, {others} are not the "
                f"printed ones (90 % interval; margin {RELATIVE_MARGIN:g} %)."
            )
        if len(rows):
            parts.append(rows.assign(experiment=one.name))
            decided.append(f"{one.name}: {text}")
    return pd.concat(parts), decided


_ABOUT = """# What holds of five papers on small prototype classifiers

Measured by this program, with solvers of its own; written by
`python -m smpcore.papers summary`. **Papers** has the numbers, and the commands that
measure them. A sentence of a paper *holds* if it does so in every comparison (data set,
and model where it is about several), or as often as in the paper's own numbers; *in
part*, if in half of them or more. What a paper leaves open is read as the second line
says. Printed: how often it holds in the numbers that the paper itself prints.
"""
_NUMBERS = """## Printed numbers

Means over the data sets of a table are *reproduced* if two one-sided tests find them
within a margin that was fixed before; they *differ* if another test, corrected for
their number, says so; else the paper's five divisions of the rows are too few to tell.
The placebo rate is how often printed means of other models would be called reproduced.
"""


def _block(row: pd.Series) -> str:
    """A sentence with its verdict, as an item of a list."""
    counts = f": {row['here']}" if row["here"] else ""
    printed = f", printed {row['printed']}" if row["printed"] else ""
    reading = f"\n  Read as: {row['reading']}." if row["reading"] else ""
    return (
        f"- {row['claim']} ({row['where']})\n  **{row['verdict']}**{counts}{printed} "
        f"(`{row['experiment']}`).{reading}"
    )


def summary(experiments: Sequence[Experiment], table_of: TableOf) -> str:
    """Say on two pages what holds of the papers, in Markdown.

    Parameters
    ----------
    experiments : sequence of Experiment
        Those of all papers.
    table_of : callable
        ``table_of(experiment)`` gives its numbers.

    Returns
    -------
    str
    """
    parts = [_ABOUT]
    for key, method in METHODS.items():
        chosen = [one for one in experiments if one.paper == key]
        parts.append(f"## {method.title.split(':')[0]}\n\n{method.reference}\n")
        lines = [first_line(experiments, table_of, one.name) for one in chosen]
        parts += [f"{line}\n" for line in lines if line]
        rows = conclusions_table(chosen, table_of)
        parts.append("\n".join(map(_block, rows.to_dict("records"))) + "\n")
    _, decided = differences(experiments, table_of)
    return "\n".join([*parts, _NUMBERS, *(f"- {one}" for one in decided)]) + "\n"
