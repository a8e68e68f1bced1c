r"""Reader: what is proved of the scores of a program in integers.

**Linear rows do not overflow, for every pattern of input bits.** With u = w / per_unit
the weight of a count, W = round(u / step) and one common step for all rows: the largest
weights that keep, for every row,

    sum over inputs of max|W_f| 2^(width - 1) + |bias| <= 2^(accumulator - 1) - 1

(a category counts once, with its largest weight). So neither a score nor a partial sum
overflows, in any order. Against the real-valued model,

    |step * score_j + shift - real_j| <= eps_j
    eps_j = sum of |u| r + sum of |step W - u| |q| + |step bias - real bias|,

where r is 1/2 count, 0 where the integer is the number itself.

**Similarities do not overflow either.** As 0 <= factor < 2^15, |origin| < 2^30 and
|c| <= 2^15, |c factor + origin| < 2^31. t never falls as c grows: it lies between its
values at the ends of the container. The farther end is put in for each anchor and
feature, and the grid is only as fine as keeps the largest such d_i <= 2^32 - 1.
`fixed_point` stays below 2^32. With s_i < 2^15 the weights keep

    sum over i of |W_ij| 2^15 + |bias_j| <= 2^31 - 1     for each row, in any order.

**How far scores are from the real ones.** With g whole numbers per unit, let t' be the
real feature clipped to the grid and A' = A / g + zero. |t / g + zero - t'| <= E with

    E = slope r + (1/2 + |(c factor + origin) / 2^places - 1/2 - exact|) / g

where r is the rounding of the input (half a count; none if the integer is the number
itself). So the exponent is off from u' = sum of (t' - A')^2 by at most

    e_i = sum of 2 |t' - A'| E + E^2       (laplacian: sum of E)

and s_i from 2^-u' by at most 2^-u' (2^(e_i + exponent error of `fixed_point`) - 1) +
error of `fixed_point`. What the rounded parameters change at a row (anchors, weights,
clips) is not bounded but computed there: both sides of it are real numbers that are
known.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from smpcore.codegen.bounds import bounded
from smpcore.codegen.fixed_point import ONE
from smpcore.codegen.grid import feature_lines
from smpcore.codegen.program import (
    Features,
    FixedPointFeatures,
    FixedPointSimilarities,
    Operation,
    Similarities,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.rounding import Rows, largest, rows_over_counts
from smpcore.codegen.run import terms


def integer_bounds(quant: Any, rows: np.ndarray) -> np.ndarray:
    """How far each integer score can be from the float64 model's, at most."""
    bounds = _from_rounding(quant.operations[0], quant, rows)
    # Of the float32 numbers that were rounded here, and of this sum itself.
    from_float = quant.source.row_bounds(rows)
    if quant.relative:
        from_float = np.column_stack([0 * from_float[:, 0], from_float.sum(axis=1)])
    return bounds + from_float


def largest_score(quant: Any) -> int:
    """No score and no partial sum is larger in size, for any bits of the inputs."""
    return int(row_reach(quant).max())


def row_reach(quant: Any) -> np.ndarray:
    """What each row cannot pass; of linear rows attained by some bits."""
    if sums := quant.find(WeightedSums):
        return np.abs(sums.mixing()).sum(axis=0) * ONE + np.abs(sums.bias)
    first = quant.operations[0]
    whole = Rows(first.row, first.input, first.level, first.weight, first.bias)
    return largest(whole, first.weight, first.bias, 2.0 ** (quant.width - 1))


@singledispatch
def _from_rounding(first: Operation, quant: Any, rows: np.ndarray) -> np.ndarray:
    """Bounds of what rounding to integers changes, by the first operation."""
    raise NotImplementedError(type(first).__name__)


@_from_rounding.register
def _(first: WeightedInputs, quant: Any, rows: np.ndarray) -> np.ndarray:
    source, integers = quant.source, quant.quantise(rows)
    rounding = np.column_stack(
        [
            one.rounding(one.given.filled(x), quant.width)
            for one, x in zip(quant.inputs, rows.T, strict=True)
        ]
    )
    exact = rows_over_counts(
        source.operations[0], source.inputs, quant.inputs, quant.is_regression
    )
    whole = {
        (row, place, level): int(weight)
        for row in range(first.n_rows)
        for place, level, weight in first.terms(row)
    }
    bounds = np.tile(np.abs(quant.step * first.bias - exact.bias), (len(rows), 1))
    for row, place, level, weight in exact.terms():
        q = integers[:, place]
        size = np.abs(q) if level < 0 else q == level
        off = abs(quant.step * whole.get((row, place, level), 0) - weight)
        bounds[:, row] += off * size + abs(weight) * rounding[:, place]
    return bounds * (1 + 1e-12)


@_from_rounding.register
def _(first: FixedPointFeatures, quant: Any, rows: np.ndarray) -> np.ndarray:
    source, sums = quant.source, quant.find(WeightedSums)
    power = quant.find(FixedPointSimilarities).power
    real = bounded(source, rows, until=Similarities).values.T
    anchors = source.find(Similarities).anchor.T.astype(np.float64)
    apart = np.zeros((len(rows), anchors.shape[1]))
    for t, anchor in zip(real, anchors, strict=True):
        apart += np.abs(t[:, None] - anchor) ** power
    mixed = source.find(WeightedSums)
    exact = np.exp2(-apart) @ mixed.mixing().astype(np.float64) + mixed.bias
    exact = exact - (exact[:, :1] if quant.relative else quant.shift)
    alike, error = _on_grid(first, quant, real[first.feature], rows)
    one = 2.0**15 * quant.step
    found = one * alike @ sums.mixing() + quant.step * sums.bias
    bounds = np.abs(found - exact) + one * error @ np.abs(sums.mixing())
    return bounds * (1 + 1e-9)


def _on_grid(
    first: FixedPointFeatures, quant: Any, real: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Similarities 2^-u', and how far those in integers can be off."""
    whole = quant.find(FixedPointSimilarities)
    reach = first.top / first.per_unit
    total = np.zeros((len(rows), len(whole.anchor)))
    off = np.full(total.shape, whole.exp2.exponent_error)
    wrong = _off_grid(first, quant, rows)
    for value, zero, each, anchor in zip(
        real, first.zero, wrong[:, :, None], whole.anchor.T, strict=True
    ):
        t = np.clip(value - zero, 0, reach)[:, None]
        apart = np.abs(t - anchor / first.per_unit)
        total += apart**whole.power
        off += each if whole.power == 1 else (2 * apart + each) * each
    alike = np.exp2(-total)
    with np.errstate(over="ignore", invalid="ignore"):
        grown = np.expm1(np.log(2) * np.minimum(off, 1000))
        error = alike * grown + whole.exp2.error
    return alike, np.minimum(error, 1)


def _off_grid(first: FixedPointFeatures, quant: Any, rows: np.ndarray) -> np.ndarray:
    """E_f of each row, shape (n_features, n)."""
    lines = feature_lines(quant.source.find(Features), quant.inputs, quant.width)
    slope, base = (line[first.feature, None] for line in (lines.slope, lines.base))
    count = terms(quant.quantise(rows), first.input, first.level).T
    scale, zero = 2.0 ** first.places[:, None], first.zero[:, None]
    whole = (first.factor[:, None] * count + first.origin[:, None]) / scale - 0.5
    exact = slope * count + base - zero
    wrong = (0.5 + np.abs(whole - first.per_unit * exact)) / first.per_unit
    for feature, (place, level) in enumerate(
        zip(first.input, first.level, strict=True)
    ):
        one, x = quant.inputs[place], rows[:, place]
        if level < 0:
            rounding = one.rounding(one.given.filled(x), quant.width)
            wrong[feature] += slope[feature, 0] * rounding
    # Both sides are clipped to the grid.
    return np.minimum(wrong, first.top / first.per_unit)
