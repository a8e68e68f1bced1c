"""Which change of one column would move a predicted number by so much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq

from smpcore.datasets import Input, Preparation
from smpcore.errors import SmpcoreError
from smpcore.explain.rounding import on_grid
from smpcore.model import PrototypeModel

#: Values of a number that are tried on each side before the crossing is located.
_TRIED = 64


def single_column_changes(
    model: PrototypeModel,
    preparation: Preparation,
    x: np.ndarray,
    amount: float,
    frozen: Sequence[int] | None = None,
) -> list[dict[str, Any]]:
    """Find for each column the nearest value that moves the prediction by an amount.

    All other columns stay. A number stays within the training range; from the value of
    the row outwards, the first one is given at which the prediction has moved so far.
    Of a model whose prediction is no straight line in the column this is located
    between 64 values on each side: a narrower bump can be missed. Of a category the
    level is given that moves the prediction least among those that move it so far.

    Parameters
    ----------
    model : PrototypeModel
        Regression whose prediction should move.
    preparation : Preparation
        Preparation that maps its features to table columns.
    x : ndarray of shape (n_features,), user's units
        The input to start from.
    amount : float
        How far the prediction should move, in units of the target; above 0.
    frozen : sequence of int, optional
        Features that stay as they are. By default those of the columns that cannot be
        changed (`Preparation.fixed_features`).

    Returns
    -------
    list of dict
        For each used column that can do it and may be changed, the smallest change in
        standard deviations first: ``column``, ``now``, ``raises it at`` and ``lowers
        it at`` as text, empty where no value within the training range does.

    Raises
    ------
    SmpcoreError
        If the model is a classifier, or `amount` is not above 0.
    """
    if model.classes is not None:
        raise SmpcoreError("A classifier predicts no number that could be moved.")
    if not (amount > 0 and np.isfinite(amount)):
        raise SmpcoreError(f"amount={amount:g} should be above 0.")
    lines, frozen = [], preparation.fixed_features if frozen is None else frozen
    for spec in preparation.inputs:
        if spec.first in frozen or not model.support[spec.features].any():
            continue
        search = _level if spec.kind == "category" else _number
        ways = [search(model, spec, x, sign * amount) for sign in (1, -1)]
        if any(ways):
            up, down = (way[1] if way else "" for way in ways)
            size = min(way[0] for way in ways if way)
            line = {"column": spec.name, "now": spec.text(x)}
            lines.append((size, line | {"raises it at": up, "lowers it at": down}))
    return [line for _, line in sorted(lines, key=lambda pair: pair[0])]


def _number(
    model: PrototypeModel, spec: Input, x: np.ndarray, amount: float
) -> tuple[float, str] | None:
    """Size of the change in standard deviations, and the new value as text."""
    place = spec.first
    start = model.predict(x[None])[0]

    def missing(values: np.ndarray) -> np.ndarray:
        rows = np.repeat(x[None], np.size(values), axis=0)
        rows[:, place] = values
        return (model.predict(rows) - start - amount) * np.sign(amount)

    crossings = list(_crossings(missing, float(x[place]), spec))
    if not crossings:
        return None
    value = min(crossings, key=lambda v: abs(v - x[place]))
    moved = x.copy()
    moved[place] = _past(missing, value, float(x[place]), spec)
    return abs(value - x[place]) / model.scale[place], spec.text(moved)


def _crossings(missing: Any, now: float, spec: Input) -> Iterator[float]:
    """The first value on each side at which nothing is missing any more."""
    start = float(np.clip(now, spec.low, spec.high))
    whole = spec.integer and now.is_integer()
    for limit in (spec.low, spec.high):
        values = np.linspace(start, limit, _TRIED + 1)
        if whole:
            values = np.unique(values.round())[:: 1 if limit > start else -1]
        there = np.flatnonzero(missing(values) >= 0)
        if not there.size:
            continue
        if there[0] == 0:  # the way back into the range is enough
            yield start
            continue
        before, after = values[there[0] - 1], values[there[0]]
        if whole:
            step = np.sign(after - before)
            values = np.arange(before + step, after + step, step)
            yield float(values[np.flatnonzero(missing(values) >= 0)[0]])
        else:
            yield float(brentq(lambda v: missing(np.array([v]))[0], before, after))


def _past(missing: Any, value: float, now: float, spec: Input) -> float:
    """The value rounded away from the row's to the column's digits, if that holds."""
    rounded = on_grid(value, value > now, spec.decimals, spec.low, spec.high)
    return rounded if missing(np.array([rounded]))[0] >= 0 else value


def _level(
    model: PrototypeModel, spec: Input, x: np.ndarray, amount: float
) -> tuple[float, str] | None:
    """The same for a category: the level with the least sufficient move."""
    rows = np.repeat(x[None], len(spec.levels), axis=0)
    rows[:, spec.features] = np.arange(len(spec.levels))[:, None] == np.array(
        spec.feature_levels
    )
    moved = (model.predict(rows) - model.predict(x[None])[0]) * np.sign(amount)
    enough = np.flatnonzero(moved >= abs(amount))
    if not enough.size:
        return None
    best = int(enough[moved[enough].argmin()])
    change = (rows[best] - x) / model.scale
    return float(np.linalg.norm(change)), spec.levels[best]
