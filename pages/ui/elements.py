"""Elements that several pages draw alike: messages, tables, charts, work, downloads."""

from __future__ import annotations

import json
import logging
import math
import mimetypes
import secrets
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import session
from pages.state.session import OutgoingFile, Slot
from pages.ui.text import escape_markdown, message
from pages.work.tasks import Task
from smpcore import SmpcoreError, figures
from smpcore.live import Context, help_of
from smpcore.readouts import Section

ASSETS = Path(__file__).parents[2] / "assets"


@cache
def component(name: str) -> Callable[..., Any]:
    """Streamlit's component of ``assets/<name>.js``."""
    beside = {ending: ASSETS / f"{name}.{ending}" for ending in ("html", "css", "js")}
    texts = {k: path.read_text("utf-8") for k, path in beside.items() if path.exists()}
    return st.components.v2.component(name, **texts)


def moving(
    name: str, key: str, data: dict[str, Any], on_value: Callable[[Any], None]
) -> None:
    """Mount a component that sends numbered values while it moves (untrusted)."""

    def sent() -> dict[str, Any]:
        message = st.session_state.get(key, {}).get("move")
        return message if isinstance(message, dict) else {}

    number = sent().get("number")
    data |= {"answered": number if type(number) is int else 0}
    component(name)(
        key=key, data=data, on_move_change=lambda: on_value(sent().get("value"))
    )


#: Significant digits of numbers in tables: as a rule, and of large ones at most.
_DIGITS, _MOST_DIGITS = 4, 15


@contextmanager
def problems_shown(
    show: Callable[[str], Any] = st.info, stop: bool = False
) -> Iterator[None]:
    """Show an SmpcoreError where it is raised; ``stop``: nothing follows it."""
    try:
        yield
    except SmpcoreError as problem:
        show(escape_markdown(str(problem)))
        if stop:
            st.stop()


def trained_on(context: Context, more: str = "") -> None:
    """Say which method a page's model is of, and which data."""
    name = escape_markdown(context.data.dataset.name)
    st.caption(f"{context.method.title}, trained on {name}.{more}")


def want_dialog(name: str) -> None:
    """Ask for a dialog, until `close_dialog`.

    A page that runs anew, as at the end of a fit, closes one that it does not draw.
    """
    session.get().dialog = name


def is_dialog_wanted(name: str) -> bool:
    """Whether this dialog is to be shown."""
    return session.get().dialog == name


def close_dialog() -> None:
    """Show no dialog any more."""
    session.get().dialog = ""


def table(rows: Any, *, hide_index: bool = True, **options: Any) -> None:
    """Show a table whose numbers have four significant digits."""
    columns = number_columns(rows)
    options = {"placeholder": "–", "hide_index": hide_index} | options
    st.dataframe(rows, column_config=columns, **options)


def expander(title: str, key: str, icon: str) -> st.delta_generator.DeltaGenerator:
    """A part that opens; by its key it stays open when something above it comes."""
    return st.expander(title, key=key, icon=f":material/{icon}:")


def metric(label: str, value: Any, width: int | str) -> None:
    """A number with its label, which the glossary explains where it can."""
    st.metric(label, value, help=help_of(label), width=width)


def number_columns(rows: Any) -> dict[str, Any]:
    """How a table is shown by column: values stay exact, terms are explained."""
    columns = {}
    for name, column in pd.DataFrame(rows).items():
        if isinstance(name, str) and column.dtype.kind == "f":
            style = f"%.{_digits(column.to_numpy(float, na_value=np.nan))}g"
            number = st.column_config.NumberColumn(format=style, help=help_of(name))
            columns[name] = number
        elif help := help_of(name):
            columns[name] = st.column_config.Column(help=help)
    return columns


def _digits(values: np.ndarray) -> int:
    # However small a number is: Streamlit itself shows four places after its point.
    largest = np.abs(values[np.isfinite(values)]).max(initial=1.0)
    before_the_point = int(np.log10(max(largest, 1.0))) + 1
    return min(max(_DIGITS, before_the_point), _MOST_DIGITS)


def table_popover(*tables: Any, key: str) -> None:
    """The numbers of a chart, on request."""
    with st.popover("Show as a table", key=f"{key}_table"):
        for rows in tables:
            table(rows)


def signed_bars(
    values: np.ndarray,
    names: Sequence[str],
    title: str,
    noun: str,
    *,
    key: str,
    alt: str,
    marked: Sequence[int] = (),
) -> None:
    """Bars of weights, the largest first, and all of them as a table."""
    figure = figures.signed_bars(values, names, title, marked, y_title=noun)
    st.plotly_chart(figure, key=key, alt=alt)
    order = np.argsort(-np.abs(values), kind="stable")
    lines = [{noun: names[i], title: float(values[i])} for i in order]
    table_popover(lines, key=key)


def data_editor(
    slot: Slot[pd.DataFrame],
    widget: str,
    start: Callable[[], pd.DataFrame],
    **options: Any,
) -> pd.DataFrame:
    """A table to edit; what it starts from stays the same while it is on the page."""
    if widget not in st.session_state:
        slot.pop()
    table = slot.get_or_make(widget, start)
    if callable(configure := options.get("column_config")):
        options["column_config"] = configure(table)
    return st.data_editor(table, key=widget, **{"placeholder": ""} | options)


def persistent_data_editor(
    slot: Slot[pd.DataFrame], key: str, start: pd.DataFrame, **options: Any
) -> pd.DataFrame:
    """A table to edit that is still as edited after a visit to another page."""
    edited = slot.get(key)
    start = start if edited is None else edited
    base, widget = Slot[pd.DataFrame](f"{slot.name}.base"), f"{slot.name}.{key}"
    edited = data_editor(base, widget, lambda: start, **options)
    slot.put(key, edited)
    return edited


def noted(show: Callable[..., Any], slot: Slot[str], key: str) -> None:
    """Show what was noted about the table of this key, while it is still here."""
    if words := slot.get(key):
        message(show, words)


#: Running work is looked at this often.
POLL_SECONDS = 0.5
#: A page waits so long for its model, then shows how far its fit is.
FIT_SECONDS = 1.0


def visit_task(
    slot: Slot[Task], key: Hashable, work: Callable[..., Any], **options: Any
) -> Task:
    """The visit's task of this slot; one for another key is left and this one begun."""
    task = slot.get(key)
    if task is None:
        if older := slot.pop():
            older.leave()
        task = Task(work, **options)
        slot.put(key, task)
    return task


def study(
    slot: Slot[Task],
    about: Hashable,
    make: Callable[[], Task],
    show: Callable[[Any], None],
    *,
    words: str,
    intro: str = "",
    reached: Callable[[float], str] | None = None,
    place: Any = st,
    **button: Any,
) -> None:
    """A button that begins a task, how far that is, and what came of it.

    The slot has one task: who begins another one leaves it. What the page says before
    one was begun is the intro; ``reached`` says what its progress stands for.
    """
    task = slot.get(about)
    if task is not None and is_waiting(task, 0.0, words, reached=reached):
        return
    place.button(on_click=_begin_study, args=(slot, about, make), **button)
    if task is None:
        if intro:
            st.caption(intro)
        return
    with problems_shown(st.error):
        show(task.result())


def _begin_study(slot: Slot[Task], about: Hashable, make: Callable[[], Task]) -> None:
    if before := slot.last():
        before.leave()
    slot.put(about, make())


def progress_bar(share: float, text: str, button: str = "", **options: Any) -> None:
    """How far work is, and a button beside it."""
    left, right = st.columns([5, 1], vertical_alignment="center")
    if share < 1:
        left.progress(share, text)
    else:
        left.caption(f"{text}.")
    if button:
        right.button(button, width="stretch", **options)


def stop_all(tasks: Iterable[Task]) -> None:
    """Leave tasks; what is finished is kept."""
    for task in tasks:
        task.leave()


def start_all(tasks: Iterable[Task]) -> None:
    """Begin tasks anew."""
    for task in tasks:
        task.start()


@st.fragment(run_every=POLL_SECONDS)
def _show_progress(
    task: Task,
    words: str,
    stop: Callable[[], None] | None,
    reached: Callable[[float], str] | None = None,
) -> None:
    if task.wait(0.0):
        st.rerun()
    done = min(0.99, float(task.progress[0]))
    button = "Stop" if stop else ""
    text = f"{words}: {100 * done:.0f} %"
    progress_bar(done, text, button, key=f"stop {words}", on_click=stop)
    if reached:
        st.caption(reached(float(task.progress[0])))
    if task.where:
        st.caption(task.where)


def is_waiting(
    task: Task,
    seconds: float,
    words: str,
    *,
    stoppable: bool = True,
    reached: Callable[[float], str] | None = None,
) -> bool:
    """Whether a task is not done after so long; its progress is shown until it is.

    ``reached`` says what the progress stands for.
    """
    task.join()  # the tab may have lost its connection for a while
    if not stoppable and task.was_left:
        task.start()
    waiting = not task.wait(seconds)
    if waiting:
        _show_progress(task, words, task.leave if stoppable else None, reached)
    return waiting


def await_fit(context: Context) -> None:
    """Show how far the model of a page is, and end the page, until it is there."""
    fit = context.fit()
    fit.want()
    if not fit.ready(FIT_SECONDS):
        _show_progress(fit, "Fitting the model", fit.stop)
        st.stop()
    session.note_compared(context.table.name, "fitted", [context.key])


#: A file travels as one message, of which the server sends 100 MB at most.
MOST_BYTES = 95_000_000
log = logging.getLogger(__name__)


@st.fragment
def download(
    label: str,
    make: Callable[[], bytes | str],
    file_name: str,
    *,
    key: str,
    **options: Any,
) -> None:
    """A button that saves a file; the rest of the page does not run again.

    Streamlit's own button is not used: a callable that it is given runs without the
    visitor, nobody hears why it failed, and the file is gone before the browser has
    fetched it when other visitors' pages run meanwhile. Here the file stays on the page
    until the browser says that it has it, or another page is opened.
    """
    visit, icon = session.get(), ":material/download:"
    st.button(label, key=key, icon=icon, on_click=_want, args=(key,), **options)
    if visit.file.key != key:
        return
    try:
        if not visit.file.content:
            with st.spinner("Making the file"):
                number, content = secrets.token_hex(8), _as_bytes(make())
            kind = mimetypes.guess_type(file_name)[0] or "application/octet-stream"
            header = json.dumps({"id": number, "name": file_name, "type": kind})
            visit.file = OutgoingFile(key, number, header.encode() + b"\n" + content)
    except SmpcoreError as problem:
        visit.file = OutgoingFile()
        message(st.error, f"No file: {problem}")
    except Exception:
        # A bug: all of it in the log, a sentence to find it by for the visitor.
        visit.file = OutgoingFile()
        number = secrets.token_hex(3)
        log.exception("bug %s while making %s", number, key)
        st.error(f"No file: internal error (ID {number}). Tell it to the operator.")
    else:
        save, taken = component("save_file"), partial(_taken, key)
        save(key=f"{key}_file", data=visit.file.content, on_saved_change=taken)


def _want(key: str) -> None:
    # A run that is broken off draws no file: the next one knows that it is wanted.
    session.get().file = OutgoingFile(key)


def _taken(key: str) -> None:
    """Forget the file that the browser says it has."""
    visit, state = session.get(), st.session_state.get(f"{key}_file") or {}
    if visit.file.key == key and state.get("saved") == visit.file.number:
        visit.file = OutgoingFile()


def _as_bytes(content: bytes | str) -> bytes:
    """A file's content; a text may hold what is no character of Unicode."""
    if isinstance(content, str):
        content = content.encode("utf-8", "replace")
    if len(content) > MOST_BYTES:
        raise SmpcoreError(
            f"it has {len(content) / 1e6:.0f} MB, and {MOST_BYTES / 1e6:.0f} MB can be "
            "sent; choose fewer rows or columns, or another format."
        )
    return content


def show_section(section: Section) -> None:
    """Its paragraphs, tables and parts; the heading is the page's own."""
    for block in section.blocks:
        if isinstance(block, str):
            message(st.markdown, block)
        elif not isinstance(block, Section):
            if block:
                table(list(block), height="content")
        elif block.folded:
            with st.expander(escape_markdown(block.title), key=block.title):
                show_section(block)
        else:
            st.markdown(f"**{escape_markdown(block.title)}**")
            show_section(block)


def live_slider(
    label: str,
    slider_range: tuple[float, float, float],
    value: float,
    key: str,
    on_change: Callable[[float], None],
) -> None:
    """Draw the slider; in a fragment, which runs again while it moves."""
    low, high, step = slider_range

    def moved(sent: Any) -> None:
        if type(sent) in (int, float) and math.isfinite(sent):
            on_change(min(max(float(sent), low), high))

    data = {"label": label, "low": low, "high": high, "step": step, "value": value}
    moving("live_slider", key, data, moved)
