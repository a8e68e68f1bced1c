"""A series drawn by hand: its prediction follows, and it joins the training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from pages.state import lesson_run, session, state_file, table_store, undo, user_tables
from pages.state.choice import MINE
from pages.state.context import Context
from pages.ui.elements import problems_shown
from pages.ui.text import escape_markdown, short_label
from smpcore.datasets import plain_number, with_series

_SCRIPT = Path(__file__).parents[2] / "assets" / "series_pad.js"
_HTML = """<div><span></span><output aria-live="polite"></output>
<svg viewBox="0 0 600 160" preserveAspectRatio="none" tabindex="0" role="application">
<polyline fill="none"></polyline><path></path></svg></div>"""
_CSS = """
div { display: grid; grid-template-columns: 1fr auto; font: inherit;
  font-size: .875rem; color: var(--st-text-color); }
output { color: var(--st-primary-color); font-variant-numeric: tabular-nums; }
svg { grid-column: 1 / -1; width: 100%; height: 160px; touch-action: none;
  cursor: crosshair; border: 1px solid var(--st-border-color); overflow: visible; }
svg:focus-visible { outline: 2px solid var(--st-primary-color); }
polyline { stroke: var(--st-text-color); stroke-width: 2;
  vector-effect: non-scaling-stroke; }
path { stroke: var(--st-primary-color); stroke-width: 10; stroke-linecap: round;
  vector-effect: non-scaling-stroke; }
"""


@cache
def _component() -> Callable[..., Any]:
    js = _SCRIPT.read_text("utf-8")
    return st.components.v2.component("series_pad", html=_HTML, css=_CSS, js=js)


@st.fragment
def show() -> None:
    """A switch, and the pad below it; a lesson's open question hides both."""
    if lesson_run.hides_numbers():
        return
    with problems_shown():
        context = session.resolved()
        dataset = context.data.dataset
        if not dataset.channels or dataset.forbidden or context.choice.follow_up:
            return
        if st.toggle("Draw a series", key="draw_series"):
            _pad(context)


def _pad(context: Context) -> None:
    data = context.data
    places = st.columns(3)
    rows = np.sort(data.split.train)
    row = places[0].selectbox(
        "Begin with training row",
        rows.tolist(),
        format_func=lambda place: str(data.dataset.row_numbers(place)),
        key=f"series_row_{data.dataset.digest}",
    )
    channels = data.dataset.channels
    names = range(len(channels))
    channel = places[1].selectbox(
        "Channel", names, 0, lambda i: short_label(channels[i]), key="series_channel"
    )
    key = data.dataset.digest, row
    series = session.remembered(
        "drawn_series", key, lambda: data.X[row].reshape(len(channels), -1).copy()
    )
    _channel(context, series, channel, f"pad_{row}_{channel}")
    _prediction(context, series.ravel())
    label = data.y[row]
    if data.dataset.task == "classification":
        classes = data.dataset.classes.tolist()
        at = classes.index(label)
        label = places[2].selectbox("Class", classes, at, key=f"series_class_{row}")
    results = session.get().results
    st.button(
        "Add to the training rows",
        key="add_series",
        icon=":material/add:",
        on_click=results.update,
        kwargs={"series_wanted": key},
    )
    if results.pop("series_wanted", None) == key:
        _add(context, series.ravel(), label)
        st.rerun()


def _channel(context: Context, series: np.ndarray, channel: int, key: str) -> None:
    """One channel to be drawn; what is drawn changes the series."""
    X = context.data.of("train")[0].reshape(-1, *series.shape)[:, channel]
    margin = 0.2 * float(np.ptp(X)) or 1.0
    low, high = float(X.min()) - margin, float(X.max()) + margin

    def message() -> dict[str, Any]:
        return (st.session_state.get(key) or {}).get("move") or {}

    def moved() -> None:
        values = message().get("values")
        if isinstance(values, list) and len(values) == series.shape[1]:
            if all(type(value) in (int, float) for value in values):
                drawn = np.clip(np.array(values, dtype=np.float64), low, high)
                series[channel] = np.where(np.isfinite(drawn), drawn, series[channel])

    number = message().get("number")
    data = {
        "label": f"Channel {short_label(context.data.dataset.channels[channel])}",
        "values": series[channel].tolist(),
        "low": low,
        "high": high,
        "answered": number if type(number) is int else 0,
    }
    _component()(key=key, data=data, on_move_change=moved)


def _prediction(context: Context, x: np.ndarray) -> None:
    """What the canonical model predicts for the series."""
    fit = context.fit()
    if not fit.wait(0.0) or fit.was_stopped:
        st.caption("The model is still being fitted.")
        return
    model = context.with_threshold(fit.estimator).model_
    if model.classes is None:
        st.markdown(f"Prediction: **{plain_number(model.predict(x[None])[0])}**.")
        return
    scores = np.sort(model.scores(x[None])[0])
    answer = escape_markdown(short_label(model.predict(x[None])[0]))
    lead = plain_number(scores[-1] - scores[-2], 3)
    st.markdown(f"Prediction: **{answer}**. Lead over the runner-up: {lead}.")


def _add(context: Context, x: np.ndarray, label: Any) -> None:
    """Put the series under the training rows, as a drawn point joins others."""
    choice, data, live = context.choice, context.data, session.get().live
    dataset = with_series(data.dataset, x, label, state_file.EDITABLE_ROWS)
    drawn = choice.data == MINE and user_tables.is_drawing(choice.token)
    points = (data.dataset, data.split) if drawn else None
    step = undo.Step("the added series", choice, points, data.dataset.digest, True)
    undo.push(live, step)
    division = data.split.with_row(dataset.n_samples - 1)
    token = table_store.keep(dataset, division, choice.token if drawn else "")
    live.edited = token
    session.choose(replace(user_tables.show(choice, token), data_values={}))
