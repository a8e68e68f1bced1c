"""How the canonical fit on the screen converged, on request."""

from __future__ import annotations

import streamlit as st

from pages.state import lesson_run, session
from pages.ui import readouts
from pages.ui.elements import problems_shown, table_popover
from smpcore import figures


@st.fragment
def show() -> None:
    """A switch, and the chart below it; a lesson's open question hides both."""
    if lesson_run.hides_numbers():
        return
    if st.toggle("Show convergence", key="show_convergence"):
        st.button("Recompute for the current model", key="refresh_convergence")
        with problems_shown():
            _convergence()


def _convergence() -> None:
    fit = session.resolved().fit()
    if not fit.wait(0.0):
        st.info("The model is still being fitted.")
        return
    history = fit.estimator.history_
    st.plotly_chart(
        figures.convergence(history),
        key="convergence",
        alt="Objective and optimality gap against iterations",
    )
    st.caption(f"{readouts.convergence_summary(history)}.")
    table_popover({n: getattr(history, n) for n in ("iteration", "objective", "gap")})
