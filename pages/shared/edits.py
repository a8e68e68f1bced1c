"""Points by hand: added, moved, erased; the table becomes the visitor's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pages.shared import cached, private
from pages.shared.choice import MINE, Choice
from smpcore import Dataset, SmpcoreError, Split

#: Points can be edited in data of this size.
EDITABLE_ROWS = 3000
#: Points farther out than this are a mistake, not data.
FAR = 1e9
GONE = "The point to change is no longer there."
UNEXPECTED = "The page sent something unexpected; reload it."


def is_editable(data: cached.Parts) -> bool:
    """Whether points can be added and moved: two plain numbers and a class."""
    numbers = [entry.kind == "number" for entry in data.preparation.inputs]
    return numbers == [True, True] and data.dataset.n_samples <= EDITABLE_ROWS


def edited(choice: Choice, message: Mapping[str, Any], live: dict[str, Any]) -> Choice:
    """Apply an edit.

    Parameters
    ----------
    choice : Choice
    message : mapping
        ``op`` and what it needs (untrusted).
    live : dict
        The session's state of the figure: undo steps are kept in it.

    Returns
    -------
    Choice
    """
    data = choice.parts()
    undo = live.setdefault("undo", [])
    op, row = message.get("op"), message.get("row")
    gesture = op, row if op == "move" else None
    goes_on = op in ("move", "erase") and live.get("gesture") == gesture
    live["gesture"] = None
    if op == "undo":
        if not undo:
            raise SmpcoreError("There is nothing to undo.")
        before, dataset, division = undo.pop()
        if before.data != MINE:  # the first edit made a table of a generated set
            live["edited"] = None
            return replace(choice, data=before.data, data_values=before.data_values)
    else:
        dataset, division = _changed(data, message, goes_on)
        # A drag or a sweep is one step to undo, however many messages it took.
        if not goes_on:
            undo.append((choice, data.dataset, data.split))
            del undo[:-50]
        live["gesture"] = gesture if message.get("dragging") else None
    token = private.keep(dataset, division, choice.token)
    live["edited"] = token
    return replace(choice, data=MINE, data_values={}, token=token)


def _number(value: Any) -> float:
    try:
        return float(value) if isinstance(value, int | float) else np.nan
    except OverflowError:
        return np.nan


def _changed(
    data: cached.Parts, message: Mapping[str, Any], goes_on: bool
) -> tuple[Dataset, Split]:
    """Apply one message to the table; ``goes_on`` if it continues a gesture."""
    if not is_editable(data):
        raise SmpcoreError("Points can be edited in data with two numeric features.")
    X, y, division = data.X.copy(), data.y.copy(), data.split
    op, row = message.get("op"), message.get("row")
    classes = np.unique(y)
    if op == "erase":
        rows = _spared(_rows(data, message), data, goes_on)
        X, y = np.delete(X, rows, axis=0), np.delete(y, rows)
        for gone in rows[::-1]:
            division = division.without_row(gone)
    elif op in ("add", "move"):
        xy = np.array([_number(message.get(name)) for name in ("x", "y")])
        if not (np.abs(xy) <= FAR).all():
            raise SmpcoreError(f"A point needs two coordinates up to {FAR:g}.")
        if op == "move":
            if not _is_row(row, y):
                raise SmpcoreError(GONE)
            X[row] = xy
        else:
            label = message.get("label")
            if not isinstance(label, int) or not 0 <= label < len(classes):
                raise SmpcoreError("A new point needs one of the classes.")
            X, y = np.vstack([X, xy]), np.append(y, classes[label])
            division = division.with_row(len(y) - 1)
    else:
        raise SmpcoreError(UNEXPECTED)
    return data.dataset.with_points(X, y), division


def _is_row(row: Any, y: np.ndarray) -> bool:
    return type(row) is int and 0 <= row < len(y)


def _rows(data: cached.Parts, message: Mapping[str, Any]) -> np.ndarray:
    """Rows to erase, sorted: one by its number, or as many as places are listed.

    A sweep lists places, because rows get new numbers while it lasts: a message that
    repeats what is erased already is then right, and never takes another point. Of
    points at one place the last is taken first.
    """
    row, places = message.get("row"), message.get("places")
    if places is None:
        return np.array([row] if _is_row(row, data.y) else [], dtype=int)
    if not isinstance(places, list) or len(places) > EDITABLE_ROWS:
        raise SmpcoreError(UNEXPECTED)
    pairs = [place for place in places if isinstance(place, list) and len(place) == 2]
    wanted = Counter((_number(x), _number(y)) for x, y in pairs)
    rows = []
    # The browser knows single precision only.
    for number, place in reversed([*enumerate(data.X.astype(np.float32).tolist())]):
        if wanted[tuple(place)] > 0:
            wanted[tuple(place)] -= 1
            rows.append(number)
    return np.array(rows[::-1], dtype=int)


def _spared(rows: np.ndarray, data: cached.Parts, goes_on: bool) -> np.ndarray:
    """The rows to erase without the last training row of a class, which stays."""
    if len(rows) == 0 and not goes_on:
        raise SmpcoreError(GONE)
    train = data.split.train
    left = np.setdiff1d(train, rows)
    lost = np.setdiff1d(data.y[train], data.y[left])
    last = [train[data.y[train] == label][0] for label in lost]
    spared = np.setdiff1d(rows, last)
    if len(rows) and len(spared) == 0 and not goes_on:
        raise SmpcoreError("This is the last training point of its class: it stays.")
    return spared
