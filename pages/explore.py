"""What does this method do? Drag, and watch regions, prototypes and numbers move."""

from pathlib import Path
from typing import Any

import streamlit as st

from pages.explore import live
from pages.explore.canvas import live_figure
from pages.state import session
from pages.state.context import resolve
from pages.ui import exports, lesson_bar, pin, readouts
from pages.ui.elements import download, problems_shown, table_popover
from pages.work import cache
from smpcore import METHODS, figures
from smpcore.datasets import plural


def _store_message() -> None:
    session.get().message = (st.session_state.get("live_figure") or {}).get("msg")


@st.fragment
def _figure() -> None:
    message, session.get().message = session.get().message, None
    above = st.container()  # of the lesson, whose task looks at what follows here
    live_figure(live.answer(message), key="live_figure", on_msg=_store_message)
    lesson_bar.show(above)
    _downloads()
    _story()


def _downloads() -> None:
    """The model on the screen, to take along; it is made when it is asked for."""
    released = session.released()
    # As wide as their words, below each other where there is no room.
    row = st.container(horizontal=True, vertical_alignment="center")
    refused, make = exports.offer(released)
    usual = "The fully converged model as C99 code with a self-test, in a zip file."
    download(
        "Download as C",
        make,
        "model.zip",
        key="explore_download",
        place=row,
        disabled=bool(refused),
        help=refused or usual,
    )
    pin.button(resolve(released), row)
    row.page_link("pages/export.py", label="More export options")
    _status(row)


def _status(row: Any) -> None:
    """What is true of the model on the screen beyond its figure."""
    if waiting := cache.start_up().waiting:
        row.caption(f"Still compiling: {', '.join(waiting)}.")
    context = session.resolved()
    if context.operating:
        row.caption(f"{context.operating} (set on Performance).")
    if times := context.times_opened:
        row.caption(f"Test set opened {plural(times, 'time')}.")


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


def _story() -> None:
    """What the method on the screen does; it follows the figure's picker."""
    method = METHODS[session.current().method]
    with st.expander("How it works", icon=":material/menu_book:"):
        st.markdown(f"**{method.title}**")
        st.markdown(Path(f"assets/methods/{method.key}.md").read_text("utf-8"))
        st.caption(method.reference)


_figure()


@st.fragment
def _solver() -> None:
    if st.toggle("Show convergence", key="show_convergence"):
        st.button("Recompute for the current model", key="refresh_convergence")
        with problems_shown():
            _convergence()


_solver()
