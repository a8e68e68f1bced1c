"""What does this method do? Drag, and watch regions, prototypes and numbers move."""

from pathlib import Path

import streamlit as st

from pages.shared import cached, comparing, exports, links, live, tables
from pages.shared.canvas import live_figure
from smpcore import METHODS, SmpcoreError, figures


def _heard() -> None:
    state = st.session_state.get("live_figure") or {}
    st.session_state["message"] = state.get("msg")


@st.fragment
def _figure() -> None:
    message = st.session_state.pop("message", None)
    live_figure(live.answer(message), key="live_figure", on_msg=_heard)
    _downloads()
    _story()


def _downloads() -> None:
    """The model on the screen, to take along; it is made when it is asked for."""
    released = live.released()
    # As wide as their words, and below each other where there is no room.
    row = st.container(horizontal=True, vertical_alignment="center")
    refused, make = exports.offer(released)
    usual = "The canonical model of these settings as C99 with a self-test, in a zip."
    row.download_button(
        "Download as C",
        data=make,
        file_name="model.zip",
        mime="application/zip",
        icon=":material/download:",
        on_click="ignore",
        key="explore_download",
        disabled=bool(refused),
        help=refused or usual,
    )
    comparing.pin(released, row)
    row.page_link("pages/export.py", label="Sizes, agreement, Python")
    if waiting := cached.start_up().waiting:
        row.caption(f"Still being compiled: {', '.join(waiting)}.")
    choice = links.current()
    if choice.operating:
        row.caption(f"{choice.operating}, as set on Trade-off.")
    if choice.opened and (times := choice.times_opened):
        row.caption(f"Test set of these data opened: {times} time{'s' * (times > 1)}.")


def _convergence() -> None:
    choice = links.current()
    try:
        fit = cached.fit(choice.parts(), choice.method, choice.all_values)
    except SmpcoreError as error:
        st.info(tables.plain(str(error)))
        return
    if not fit.wait(0.0):
        st.info("The fit is still running.")
        return
    history = fit.estimator.history_
    st.plotly_chart(
        figures.convergence(history),
        key="convergence",
        alt="Objective and certified gap against iterations",
    )
    st.caption(f"{history.n_iter} iterations, {history.status_text}.")
    table = {
        "iteration": history.iteration,
        "objective": history.objective,
        "gap": history.gap,
    }
    with st.popover("As a table"):
        st.dataframe(table, hide_index=True, column_config=tables.numbers(table))


def _story() -> None:
    """What the method on the screen does; it follows the figure's picker."""
    method = METHODS[links.current().method]
    with st.expander("How it works", icon=":material/menu_book:"):
        st.markdown(f"**{method.title}**")
        st.markdown(Path(f"assets/methods/{method.key}.md").read_text("utf-8"))
        st.caption(method.reference)


_figure()


@st.fragment
def _solver() -> None:
    if st.toggle("Show how the solver converged", key="show_convergence"):
        st.button("Update to the model above", key="refresh_convergence")
        _convergence()


_solver()
