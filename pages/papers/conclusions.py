"""What papers conclude, in their words, and what the numbers here say."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.ui.elements import table, table_popover
from pages.ui.text import message
from pages.work import paper_runs
from smpcore import figures
from smpcore.papers import (
    EXPERIMENTS,
    VERDICTS,
    Experiment,
    conclusions_table,
    differences,
    first_line,
)

#: Names of the columns that are shown.
_COLUMNS = {
    "paper": "Paper",
    "verdict": "Verdict",
    "here": "Here",
    "printed": "In its numbers",
    "claim": "The paper says",
    "where": "Where",
    "reading": "Read as",
    "experiment": "Experiment",
}


def _shown(lines: pd.DataFrame, *without: str) -> None:
    lines = lines.drop(columns=[*without]).rename(columns=_COLUMNS)
    table(lines.loc[:, (lines != "").any()])


def of_all_papers() -> None:
    """The main conclusions of all papers, with what became of them."""
    lines = paper_runs.from_tables(conclusions_table, EXPERIMENTS)
    if lines.empty:
        return
    holds, in_part, fails = ((lines["verdict"] == one).sum() for one in VERDICTS)
    st.markdown(
        f"**Of {len(lines)} conclusions of five papers {holds} hold, {in_part} hold in "
        f"part and {fails} do not hold here**"
    )
    _shown(lines, "reading")
    st.caption(
        "Holds: in every comparison, or as often as in the paper's own numbers. In "
        "part: in half of them or more. The page What holds of five papers of the "
        "Guide has the same to quote."
    )


def of_one(experiment: Experiment) -> None:
    """What the paper concludes from a table or figure, and whether that holds."""
    first = paper_runs.from_tables(first_line, EXPERIMENTS, experiment.name)
    message(st.markdown, first)
    lines = paper_runs.from_tables(conclusions_table, [experiment], False)
    if not lines.empty:
        _shown(lines, "paper", "experiment")


def forest(experiments: Sequence[Experiment]) -> None:
    """Measured minus printed means of a paper's tables, and how they are decided."""
    tables = [one for one in experiments if one.ranked or one.beside]
    rows, decided = paper_runs.from_tables(differences, tables)
    if rows.empty:
        if any(one.paper != "all" for one in experiments):
            st.caption(
                "No number of this paper can be set beside ours: its tables are lost "
                "in the text at hand. Its conclusions are tested on other data."
            )
        return
    st.plotly_chart(
        figures.mean_differences(rows),
        key="papers_forest",
        alt="Measured minus printed means with 90 % intervals; the table has them",
    )
    message(st.caption, " ".join(decided))
    table_popover(rows)
