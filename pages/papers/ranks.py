"""Models of an experiment ranked over its data sets, and drawn against their sizes."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.state import widget_state
from pages.ui.elements import problems_shown, table_popover
from pages.ui.text import message
from smpcore import figures
from smpcore.papers import Comparison, Experiment, compared


def show(experiment: Experiment, table: pd.DataFrame) -> None:
    """Critical difference, accuracy against size, and what follows from them."""
    with problems_shown():
        found = compared(experiment, table)
        message(st.markdown, found.conclusion)
        names, ranks = list(found.ranks.mean.index), found.ranks
        st.plotly_chart(
            figures.critical_difference(
                names, list(ranks.mean), ranks.groups, ranks.critical
            ),
            key="papers_ranks",
            alt=f"Mean ranks by {experiment.ranked}: {', '.join(names)}",
        )
        if experiment.sizes:
            _against_size(experiment, found)
        table_popover(found.means.reset_index())


def _against_size(experiment: Experiment, found: Comparison) -> None:
    """Mean scores against a size that can be chosen."""
    score, of = experiment.ranked, (st, "Size", experiment.sizes, "papers_size")
    size = widget_state.choose_one(*of, buttons=True)
    st.plotly_chart(
        figures.accuracy_size(found.means, score, size, found.ours),
        key="papers_sizes",
        alt=f"Mean {score} against {size} of {len(found.means)} models; the table has "
        "both",
    )
