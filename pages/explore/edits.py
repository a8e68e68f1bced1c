"""Series by hand; the table becomes the visitor's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from pages.state import lesson_run, session
from pages.state.app_figure import AppFigure
from pages.state.host import HOST
from pages.state.session import Slot
from pages.ui.elements import moving, problems_shown
from pages.ui.text import escape_markdown, short_label
from smpcore.datasets import plain_number, with_series
from smpcore.live import EDITABLE_ROWS, Context

#: The series that is drawn, by table and row; the key of one that is to be added.
SERIES = Slot[np.ndarray]("drawn_series")
_ADDED = Slot[tuple[str, int]]("series_wanted")


@st.fragment
def drawn_series() -> None:
    """A switch, and the pad below it; a lesson's open question hides both."""
    if lesson_run.hides_numbers():
        return
    with problems_shown():
        context = session.resolved()
        dataset = context.data.dataset
        if not dataset.channels or dataset.forbidden or dataset.weight:
            return
        if context.choice.follow_up:
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
    series = SERIES.get_or_make(
        key, lambda: data.X[row].reshape(len(channels), -1).copy()
    )
    _channel(context, series, channel, f"pad_{row}_{channel}")
    _prediction(context, series.ravel())
    label = data.y[row]
    if data.dataset.task == "classification":
        classes = data.dataset.classes.tolist()
        at = classes.index(label)
        label = places[2].selectbox("Class", classes, at, key=f"series_class_{row}")
    st.button(
        "Add to the training rows",
        key="add_series",
        icon=":material/add:",
        on_click=_ADDED.put,
        args=(None, key),
    )
    if _ADDED.pop() == key:
        _add(context, series.ravel(), label)
        st.rerun()


def _channel(context: Context, series: np.ndarray, channel: int, key: str) -> None:
    """One channel to be drawn; what is drawn changes the series."""
    X = context.data.of("train")[0].reshape(-1, *series.shape)[:, channel]
    margin = 0.2 * float(np.ptp(X)) or 1.0
    low, high = float(X.min()) - margin, float(X.max()) + margin

    def moved(values: Any) -> None:
        if isinstance(values, list) and len(values) == series.shape[1]:
            if all(type(value) in (int, float) for value in values):
                drawn = np.clip(np.array(values, dtype=np.float64), low, high)
                series[channel] = np.where(np.isfinite(drawn), drawn, series[channel])

    label = f"Channel {short_label(context.data.dataset.channels[channel])}"
    data = {"label": label, "value": series[channel].tolist(), "low": low, "high": high}
    moving("series_pad", key, data, moved)


def _prediction(context: Context, x: np.ndarray) -> None:
    """What the canonical model predicts for the series."""
    fit = context.fit()
    if not fit.ready(0.0) or fit.was_stopped:
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
    choice, data = context.choice, context.data
    dataset = with_series(data.dataset, x, label, EDITABLE_ROWS)
    division, live = data.split.with_row(dataset.n_samples - 1), session.get().live
    figure = AppFigure(HOST, live)
    session.choose(figure.with_table(choice, dataset, division, "the added series"))
