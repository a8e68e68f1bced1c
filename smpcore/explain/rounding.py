"""A counterfactual's numbers rounded to the digits that their columns have."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np

from smpcore.datasets import Preparation
from smpcore.model import PrototypeModel

#: Digits beyond those of its column that a number may need to be past the border.
_MORE_DIGITS = 10
#: Changes up to this size, in standard deviations, are rounding of a solver.
_NOISE = 1e-10


def rounded(
    model: PrototypeModel,
    x: np.ndarray,
    moved: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
    preparation: Preparation,
) -> np.ndarray:
    """Changed numbers with the digits of their columns, past the border."""
    before, (low, high) = model.decide(model.scores(x[None]))[0], limits
    numbers = {i.first: i.decimals for i in preparation.inputs if i.kind == "number"}
    units, noise = np.ones(len(x)), _NOISE * model.scale
    for spec in preparation.inputs:
        units[spec.features] = 10.0**spec.decimals
    # What is off by a solver's rounding only would be rounded to a whole digit.
    for exact in (x, np.rint(moved * units) / units):
        moved = np.where(np.abs(moved - exact) > noise, moved, exact)
    places = [f for f in numbers if moved[f] != x[f]]
    up = moved > x

    def flips(row: np.ndarray) -> bool:
        return model.decide(model.scores(row[None]))[0] != before

    for more in range(_MORE_DIGITS):
        outer, inner = moved.copy(), moved.copy()
        for f in places:
            args = numbers[f] + more, low[f], high[f]
            outer[f] = on_grid(moved[f], up[f], *args)
            inner[f] = on_grid(moved[f], not up[f], *args)
        if flips(outer):
            break
    else:
        return moved
    inner = np.where(up, np.maximum(inner, x), np.minimum(inner, x))
    inner = np.where((inner < low) | (inner > high), outer, inner)
    # Where the other numbers go far enough, one stays on this side.
    for f in sorted(places, key=lambda f: -abs(outer[f] - moved[f]) / model.scale[f]):
        nearer = outer.copy()
        nearer[f] = inner[f]
        outer = nearer if flips(nearer) else outer
    return outer


def on_grid(value: float, up: bool, decimals: int, low: float, high: float) -> float:
    """The next number with so many digits, above or below, but within the ends."""
    number = _cut(value, up, decimals)
    if number > high:
        return _cut(high, False, decimals)
    return _cut(low, True, decimals) if number < low else number


def _cut(value: float, up: bool, decimals: int) -> float:
    """The next number with so many digits after the point, above or below."""
    if not abs(value) * 10.0**decimals < 2**53:  # a float has no more digits
        return value
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    exact = Decimal(repr(float(value)))  # 2.3 is 2.3, and not a little less
    return float(exact.quantize(Decimal(1).scaleb(-decimals), rounding))
