"""Elements that several pages draw alike: messages, tables, charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import session
from pages.state.context import Context
from pages.ui.glossary import help_of
from pages.ui.text import escape_markdown
from smpcore import SmpcoreError, figures

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
    """Ask for a dialog; a flag outlives a run that begins anew."""
    session.get().dialog = name


def is_dialog_wanted(name: str) -> bool:
    """Whether this dialog is to be shown; it is asked for once."""
    visit = session.get()
    wanted = visit.dialog == name
    visit.dialog = "" if wanted else visit.dialog
    return wanted


def table(rows: Any, *, hide_index: bool = True, **options: Any) -> None:
    """Show a table whose numbers have four significant digits."""
    columns = number_columns(rows)
    options = {"placeholder": "–", "hide_index": hide_index} | options
    st.dataframe(rows, column_config=columns, **options)


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


def table_popover(*tables: Any) -> None:
    """The numbers of a chart, on request."""
    with st.popover("Show as a table"):
        for rows in tables:
            table(rows)


def signed_bars(
    values: np.ndarray,
    names: Sequence[str],
    title: str,
    of: str,
    *,
    key: str,
    alt: str,
    marked: Sequence[int] = (),
) -> None:
    """Bars of weights, the largest first, and all of them as a table."""
    figure = figures.signed_bars(values, names, title, marked, y_title=of)
    st.plotly_chart(figure, key=key, alt=alt)
    order = np.argsort(-np.abs(values), kind="stable")
    table_popover([{of: names[i], title: float(values[i])} for i in order])


def data_editor(
    name: str, widget: str, start: Callable[[], pd.DataFrame], **options: Any
) -> pd.DataFrame:
    """A table to edit; what it starts from stays the same while it is on the page."""
    results = session.get().results
    if widget not in st.session_state or results.get(name, ("",))[0] != widget:
        results[name] = widget, start()
    table = results[name][1]
    if callable(configure := options.get("column_config")):
        options["column_config"] = configure(table)
    return st.data_editor(table, key=widget, **{"placeholder": ""} | options)


def kept_table(name: str, key: str, start: pd.DataFrame, **options: Any) -> Any:
    """A table to edit that is still as edited after a visit to another page."""
    results = session.get().results
    known, edited = results.get(f"{name}.edited", ("", start))
    start = edited if known == key else start
    edited = data_editor(f"{name}.base", f"{name}.{key}", lambda: start, **options)
    results[f"{name}.edited"] = key, edited
    return edited
