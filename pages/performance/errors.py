"""Where a regression is wrong: predicted against actual, the worst rows first."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from pages.performance import cases
from pages.performance.rows import EvaluatedRows
from pages.state import widget_state
from pages.ui.quality import scored_part
from pages.ui.readouts import of_part
from pages.ui.text import message
from smpcore import figures
from smpcore.evaluation import RegressionScores


@st.fragment
def section(rows: EvaluatedRows) -> None:
    """Show each prediction beside the truth, and list the rows by their error."""
    answers = rows.scores[:, 0]
    scores = RegressionScores(rows.y, answers, rows.clusters)
    lines = of_part(rows.part, scores, rows.data)
    # The page begins with the first line of the validation rows.
    for line in lines[rows.part == scored_part(rows.data) :]:
        message(st.markdown, f"{line['name']} {line['value']}: {line['detail']}.")
    figure = figures.predicted_actual(rows.y, answers, rows.numbers)
    st.plotly_chart(
        figure,
        key="predicted_actual",
        on_select=partial(_clicked, rows),
        selection_mode="points",
        alt=f"Predicted against actual numbers of {len(answers)} {rows.title}; the "
        "table below has the same numbers",
    )
    st.caption("On the line a prediction is right. The rows below: worst first.")
    places = np.argsort(-scores.errors, kind="stable")
    error = answers - rows.y
    columns = {
        "error": error[places],
        "actual": rows.y[places],
        "predicted": answers[places],
    }
    cases.show(rows, places, columns)


def _clicked(rows: EvaluatedRows) -> None:
    picked = st.session_state["predicted_actual"].selection.points
    if picked and picked[0].get("customdata") in rows.numbers:
        widget_state.set_value("case", int(picked[0]["customdata"]))
