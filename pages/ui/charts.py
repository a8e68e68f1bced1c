"""Curves side by side with their tables, as pages about measured rows show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.elements import expander, table
from smpcore import evaluation, figures
from smpcore.datasets import plural
from smpcore.live import define

_SMOOTHED = (
    " Smoothed: logistic regression on the log-odds, with a restricted cubic spline "
    "from 50 rows of the rarer kind on, and Wald's 95 % interval at each point."
)
_NOT_SMOOTHED = (
    " No smoothed curve: these rows are too few for one, or parted without an error."
)


def side_by_side(
    figures: Sequence[tuple[str, Any, str, str]],
    subject: str,
    tables: Mapping[str, pd.DataFrame],
) -> None:
    """Show figures by title, with a term of the glossary and more words each."""
    columns = st.columns(max(2, len(figures)))
    for column, (title, figure, term, more) in zip(columns, figures, strict=False):
        alt = f"{title}{subject}"
        column.plotly_chart(figure, key=f"chart_{title}", alt=alt)
        column.caption(f"{alt}.{more}", help=define(term))
    with expander("Show as tables", "curves", "table"):
        for name, lines in tables.items():
            st.caption(f"{name}.")
            table(lines)


def of_probabilities(
    compared: Mapping[str, np.ndarray],
    y_encoded: np.ndarray,
    outcome: int,
    names: tuple[str, str],
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> None:
    """Reliability of probabilities, the first with its band; of two classes benefit.

    `names` say what the probability is of, and what a row is.
    """
    known = y_encoded >= 0
    truth, (subject, row) = y_encoded[known], names
    of_rows = [None if one is None else one[known] for one in (clusters, weights)]
    checked = {
        name: evaluation.event(shares[known], truth, outcome)
        for name, shares in compared.items()
    }
    bins, curves = (
        {name: measure(*one, *of_rows) for name, one in checked.items()}
        for measure in (evaluation.reliability, evaluation.calibration_curve)
    )
    first = next(iter(compared))
    figure = figures.reliability(bins, curves, subject)
    words = _SMOOTHED if len(curves[first]) else _NOT_SMOOTHED
    drawn = [("Reliability plot", figure, "Calibration", words)]
    tables = {f"Reliability, {name}": lines for name, lines in bins.items()}
    tables |= {f"Smoothed, {name}": one for name, one in curves.items() if len(one)}
    if compared[first].shape[1] == 2:
        curve = evaluation.decision_curve(*checked[first], *of_rows)
        tables["Decision curve"] = curve
        figure = figures.decision_curve(curve)
        drawn.append(("Decision curve", figure, "Decision curve", ""))
    subject = f", probability {subject}, {plural(len(truth), row)}"
    side_by_side(drawn, subject, tables)
