"""Points by hand: added, moved, erased; the table becomes the visitor's own."""

from __future__ import annotations

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
    if message.get("op") == "undo":
        if not undo:
            raise SmpcoreError("There is nothing to undo.")
        dataset, division = undo.pop()
    else:
        dataset, division = _with_point(data, message)
        # A drag is one step to undo, however many positions it went through.
        moved = message["row"] if message["op"] == "move" else None
        if moved is None or live.get("moving") != moved:
            undo.append((data.dataset, data.split))
            del undo[:-50]
        live["moving"] = moved if message.get("dragging") else None
    token = private.keep(dataset, division, choice.token)
    live["edited"] = token
    return replace(choice, data=MINE, data_values={}, token=token)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else np.nan


def _with_point(
    data: cached.Parts, message: Mapping[str, Any]
) -> tuple[Dataset, Split]:
    if not is_editable(data):
        raise SmpcoreError("Points can be edited in data with two numeric features.")
    X, y, division = data.X.copy(), data.y.copy(), data.split
    op, row = message.get("op"), message.get("row")
    classes = np.unique(y)
    if op in ("move", "erase"):
        if not isinstance(row, int) or not 0 <= row < len(y):
            raise SmpcoreError("The point to change is no longer there.")
    if op in ("add", "move"):
        xy = np.array([_number(message.get(name)) for name in ("x", "y")])
        if not (np.abs(xy) <= FAR).all():
            raise SmpcoreError(f"A point needs two coordinates up to {FAR:g}.")
    if op == "move":
        X[row] = xy
    elif op == "add":
        label = message.get("label")
        if not isinstance(label, int) or not 0 <= label < len(classes):
            raise SmpcoreError("A new point needs one of the classes.")
        X, y = np.vstack([X, xy]), np.append(y, classes[label])
        division = division.with_row(len(y) - 1)
    elif op == "erase":
        X, y = np.delete(X, row, axis=0), np.delete(y, row)
        division = division.without_row(row)
    elif op != "move":
        raise SmpcoreError(UNEXPECTED)
    if len(np.unique(y[division.train])) < len(classes):
        raise SmpcoreError("This is the last training point of its class: it stays.")
    return data.dataset.with_points(X, y), division
