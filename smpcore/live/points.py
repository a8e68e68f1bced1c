"""Points by hand: what a message makes of a table and its parts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from smpcore import figures
from smpcore.datasets import Dataset, Split
from smpcore.errors import SmpcoreError
from smpcore.live.messages import UNEXPECTED, Message
from smpcore.live.parts import Parts

#: Points that can be drawn, at most, and how far from 0.
EDITABLE_ROWS, FAR = 3000, 1e9
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
GONE = "The point to change is no longer there."


def is_editable(data: Parts, view: figures.View | None = None) -> bool:
    """Whether points can be drawn: two plain numbers, and what they are of."""
    # A drawn point was not followed, and stands for no other rows.
    if data.dataset.follow_up is not None or data.dataset.weights is not None:
        return False
    numbers = [entry.kind == "number" for entry in data.preparation.inputs]
    # Of a forbidden feature a drawn point would have no value.
    few = data.dataset.n_samples <= EDITABLE_ROWS
    few = few and not data.dataset.forbidden
    if data.dataset.task == "regression" and numbers == [True]:
        return few
    flat = view is None or not view.of_target
    return flat and numbers == [True, True] and few


def changed(data: Parts, message: Message, goes_on: bool) -> tuple[Dataset, Split]:
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
        if len(y) > EDITABLE_ROWS:
            raise SmpcoreError(f"At most {EDITABLE_ROWS:,} points can be drawn.")
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
    if not (np.abs(numbers) <= FAR).all():
        raise SmpcoreError(f"A point needs two coordinates up to {FAR:g}.")
    return numbers


def _answer(data: Parts, message: Message) -> Any:
    """Class or value of a new point."""
    if data.dataset.task == "regression":
        value = message.value
        if value is None or abs(value) > FAR:
            raise SmpcoreError(f"A new point needs a value up to {FAR:g}.")
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


def _rows(data: Parts, message: Message) -> np.ndarray:
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


def _spared(rows: np.ndarray, data: Parts, goes_on: bool) -> np.ndarray:
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
