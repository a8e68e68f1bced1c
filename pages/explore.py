"""What does this method do? Drag, and watch regions, prototypes and numbers move."""

from typing import Any

import streamlit as st

from pages.explore import edits
from pages.state import lesson_files, lesson_run, session
from pages.state.host import resolve
from pages.ui import (
    exports,
    lesson_bar,
    lesson_page,
    live,
    navigation,
    qr,
    saved_page,
    tuner,
    workspace,
)
from pages.ui.canvas import figure_script, live_figure
from pages.ui.elements import download, expander
from pages.work import visitors, warmup
from smpcore import METHODS
from smpcore.datasets import plural


def _store_message() -> None:
    message = (st.session_state.get("live_figure") or {}).get("msg")
    session.get().message = message
    session.read_address()
    if isinstance(message, dict) and message.get("kind") == "tour":
        session.get().message = None  # the figure begins anew with the lesson
        lesson_bar.begin({"lesson": lesson_files.TOUR})
        st.rerun()
    if not visitors.runs_fragments():  # another page, or Back, has come meanwhile
        return
    sent = message if isinstance(message, dict) else {}  # it is untrusted
    if not sent.get("dragging") and sent.get("kind") not in live.BACKGROUND:
        st.rerun(["figure", "below"])


def _places() -> list[Any]:
    """Where a lesson's text goes, and the figure beside it."""
    if lesson_run.current() is None:
        return [st.container(), st.container()]
    return st.container(key="beside").columns([4, 9], gap="small")


@st.fragment(key="figure")
def _figure() -> None:
    message, session.get().message = session.get().message, None
    text, figure = _places()  # the lesson's task looks at what follows here
    with figure:
        live_figure(live.answer(message), key="live_figure", on_msg=_store_message)
    lesson_bar.show(text)
    if lesson_run.current():  # its steps change what may be shown
        _about_model()


@st.fragment(key="below")
def _below() -> None:
    """What stands still in a drag: it would take longer than the picture."""
    if not lesson_run.current():
        _about_model()


def _about_model() -> None:
    if not lesson_run.hides_numbers():
        _downloads()
    method = METHODS[session.current().method]
    with expander("How it works", "how", "menu_book"):
        st.markdown(f"**{method.title}**")
        st.markdown(method.story)
        st.caption(method.reference)


def _downloads() -> None:
    """The model on the screen, to take along; what is true of it beyond its figure."""
    released = session.released()
    row = st.container(horizontal=True, vertical_alignment="center")
    refused, make = exports.offer(released)
    usual = "The fully converged model as C99 code with a self-test, in a zip file."
    with row:
        download(
            "Download as C",
            make,
            "model.zip",
            key="explore_download",
            disabled=bool(refused),
            help=refused or usual,
        )
    model = resolve(released)
    workspace.pin_button(model, row)
    qr.button(row)
    run = lesson_run.current()
    with row:
        if run:
            lesson_page.offer(run)
        else:
            saved_page.offer(model)
    if not run:
        tuner.button(row)
        tuner.starts_button(row)
    row.page_link("pages/export.py", label="More export options")
    if warmup.waiting:
        row.caption(f"Still compiling: {', '.join(warmup.waiting)}.")
    context = session.resolved()
    with row:
        navigation.show_sample()
    if context.operating:
        row.caption(f"{context.operating} (set on Performance).")
    if times := context.times_opened:
        row.caption(f"Test set opened {plural(times, 'time')}.")


_figure()
figure_script()
_below()
edits.drawn_series()
