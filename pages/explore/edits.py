"""Points and series by hand; the table becomes the visitor's own."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from pages.explore.canvas import UNEXPECTED, Message
from pages.state import lesson_run, session, state_file, table_store, undo
from pages.state.choice import MINE, Choice
from pages.state.context import Context, resolve
from pages.state.session import Live, Slot
from pages.ui.elements import moving, problems_shown
from pages.ui.text import escape_markdown, short_label
from pages.work import cache
from smpcore import Dataset, SmpcoreError, figures
from smpcore.datasets import Split, plain_number, with_series

#: Points that a spray makes at each place, and places in one message at most.
SPRAYED, MOST_PLACES = 4, 200
#: Training points that a regression needs.
LEAST_ROWS = 3
#: What an edit changes, in words.
STEPS = {
    "add": "the added point",
    "spray": "the sprayed points",
    "outliers": "the two outliers",
    "move": "the move",
    "erase": "the erased points",
}
#: The series that is drawn, by table and row; the key of one that is to be added.
SERIES = Slot[np.ndarray]("drawn_series")
_ADDED = Slot[tuple[str, int]]("series_wanted")
GONE = "The point to change is no longer there."


def is_editable(data: cache.Parts, view: figures.View | None = None) -> bool:
    """Whether points can be drawn: two plain numbers, and what they are of."""
    # A drawn point was not followed, and stands for no other rows.
    if data.dataset.follow_up is not None or data.dataset.weights is not None:
        return False
    numbers = [entry.kind == "number" for entry in data.preparation.inputs]
    # Of a forbidden feature a drawn point would have no value.
    few = data.dataset.n_samples <= state_file.EDITABLE_ROWS
    few = few and not data.dataset.forbidden
    if data.dataset.task == "regression" and numbers == [True]:
        return few
    flat = view is None or not view.of_target
    return flat and numbers == [True, True] and few


def edited(choice: Choice, message: Message, live: Live) -> Choice:
    """Apply an edit."""
    op = message.op
    gesture = op, message.row if op == "move" else None
    goes_on = op in ("move", "erase", "spray") and live.gesture == gesture
    live.gesture = None
    if op == "undo":
        return undo.back(choice, live)
    data = resolve(choice).data
    dataset, division = _changed(data, message, goes_on)
    # A drag or a sweep is one step to undo, however many messages it took.
    choice = with_table(choice, dataset, division, live, "" if goes_on else STEPS[op])
    live.gesture = gesture if message.dragging else None
    return choice


def with_table(
    choice: Choice, dataset: Dataset, division: Split, live: Live, step: str
) -> Choice:
    """Make an edited table the visitor's; the step is named for Undo, if it is one."""
    data = resolve(choice).data
    drawn = choice.data == MINE and table_store.is_drawing(choice.token)
    if step:
        points = (data.dataset, data.split) if drawn else None
        undo.push(live, undo.Step(step, choice, points, data.dataset.digest, True))
    # What is drawn on other data, or on an upload, leaves them and the upload alone.
    live.edited = table_store.keep(dataset, division, choice.token if drawn else "")
    return replace(table_store.show(choice, live.edited), data_values={})


def _changed(
    data: cache.Parts, message: Message, goes_on: bool
) -> tuple[Dataset, Split]:
    """Apply one message to the table; ``goes_on`` if it continues a gesture."""
    if not is_editable(data):
        raise SmpcoreError("Points can be edited in data with two numeric features.")
    X, y, division = data.X.copy(), data.y.copy(), data.split
    op, row = message.op, message.row
    upright = X.shape[1] == 1  # one feature: a point's height is its target
    if op == "erase":
        rows = _spared(_rows(data, message), data, goes_on)
        X, y = np.delete(X, rows, axis=0), np.delete(y, rows)
        for gone in rows[::-1]:
            division = division.without_row(gone)
    elif op == "move":
        xy = _coordinates(message.x, message.y)
        if not _is_row(row, y):
            raise SmpcoreError(GONE)
        X[row] = xy[: X.shape[1]]
        y[row] = xy[1] if upright else y[row]
    elif op in STEPS:
        points = _added(message, len(y), goes_on)
        answers = points[:, 1] if upright else [_answer(data, message)] * len(points)
        X, y = np.vstack([X, points[:, : X.shape[1]]]), np.append(y, answers)
        if len(y) > state_file.EDITABLE_ROWS:
            raise SmpcoreError(
                f"At most {state_file.EDITABLE_ROWS:,} points can be drawn."
            )
        rows = np.arange(len(data.y), len(y))
        if op == "spray":
            division = division.with_rows(rows)
        else:
            for new in rows:
                division = division.with_row(new)
    else:
        raise SmpcoreError(UNEXPECTED)
    return data.dataset.with_points(X, y), division


def _coordinates(*values: float | tuple[float, float] | None) -> np.ndarray:
    """Numbers of a message that lie in the plane."""
    numbers = np.array(values, dtype=np.float64)  # None is no number
    if not (np.abs(numbers) <= state_file.FAR).all():
        raise SmpcoreError(f"A point needs two coordinates up to {state_file.FAR:g}.")
    return numbers


def _answer(data: cache.Parts, message: Message) -> Any:
    """Class or value of a new point."""
    if data.dataset.task == "regression":
        value = message.value
        if value is None or abs(value) > state_file.FAR:
            raise SmpcoreError(f"A new point needs a value up to {state_file.FAR:g}.")
        return value
    classes, label = np.unique(data.y), message.label
    if label is None or label >= len(classes):
        raise SmpcoreError("A new point needs one of the classes.")
    return classes[label]


def _added(message: Message, seed: int, goes_on: bool) -> np.ndarray:
    """Where new points are, (n_points, 2)."""
    if message.op == "add":
        return _coordinates(message.x, message.y)[None]
    if message.op == "outliers":
        x, y, dx = _coordinates(message.x, message.y, message.dx)
        return np.array([[x - dx, y], [x + dx, y]])
    places = message.places
    if places is None or len(places) > MOST_PLACES or not (places or goes_on):
        raise SmpcoreError(UNEXPECTED)
    middles = _coordinates(*places)
    radii = _coordinates(message.dx, message.dy)
    # Spread evenly over an ellipse around each place. The seed is the number of points
    # before: the same strokes give the same points.
    draw, shape = np.random.default_rng(seed), (len(places), SPRAYED)
    turn, far = 2 * np.pi * draw.random(shape), np.sqrt(draw.random(shape))
    around = np.stack([far * np.cos(turn), far * np.sin(turn)], axis=2)
    return (middles.reshape(-1, 1, 2) + radii * around).reshape(-1, 2)


def _is_row(row: int | None, y: np.ndarray) -> bool:
    return row is not None and row < len(y)


def _rows(data: cache.Parts, message: Message) -> np.ndarray:
    """Rows to erase, sorted: one by its number, or as many as places are listed.

    A sweep lists places, because rows get new numbers while it lasts: a message that
    repeats what is erased already is then right, and never takes another point. Of
    points at one place the last is taken first.
    """
    row, rows = message.row, []
    if message.places is None:
        return np.array([row] if _is_row(row, data.y) else [], dtype=int)
    wanted = Counter(message.places)
    xy = data.X if data.X.shape[1] == 2 else np.column_stack([data.X, data.y])
    # The browser has single precision only.
    for number, place in reversed([*enumerate(xy.astype(np.float32).tolist())]):
        if wanted[tuple(place)] > 0:
            wanted[tuple(place)] -= 1
            rows.append(number)
    return np.array(rows[::-1], dtype=int)


def _spared(rows: np.ndarray, data: cache.Parts, goes_on: bool) -> np.ndarray:
    """The rows to erase without those that must stay: a training row of each class,
    or of a regression two with different targets.
    """
    if len(rows) == 0 and not goes_on:
        raise SmpcoreError(GONE)
    train = data.split.train
    left = np.setdiff1d(train, rows)
    if data.dataset.task == "regression":
        enough = len(left) >= LEAST_ROWS and np.ptp(data.y[left]) > 0
        last = [] if enough else train
        words = f"The last {LEAST_ROWS} training points stay."
    else:
        lost = np.setdiff1d(data.y[train], data.y[left])
        last = [train[data.y[train] == label][0] for label in lost]
        words = "This is the last training point of its class: it stays."
    spared = np.setdiff1d(rows, last)
    if len(rows) and len(spared) == 0 and not goes_on:
        raise SmpcoreError(words)
    return spared


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
    dataset = with_series(data.dataset, x, label, state_file.EDITABLE_ROWS)
    division, live = data.split.with_row(dataset.n_samples - 1), session.get().live
    session.choose(with_table(choice, dataset, division, live, "the added series"))
