"""Real numbers as integers: rows and features are rounded, and what that costs.

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
`FixedPointExp2` stays below 2^32. With s_i < 2^15 the weights keep

    sum over i of |W_ij| 2^15 + |bias_j| <= 2^31 - 1     for each row, in any order.

**How far scores are from the real ones.** With g whole numbers per unit, let t' be the
real feature clipped to the grid and A' = A / g + zero. |t / g + zero - t'| <= E with

    E = slope r + (1/2 + |(c factor + origin) / 2^places - 1/2 - exact|) / g

where r is the rounding of the input (half a count; none if the integer is the number
itself). So the exponent is off from u' = sum of (t' - A')^2 by at most

    e_i = sum of 2 |t' - A'| E + E^2       (laplacian: sum of E)

and s_i from 2^-u' by at most 2^-u' (2^(e_i + exponent error) - 1) + error, both of
`FixedPointExp2`. What the rounded parameters change at a row (anchors, weights, clips)
is not bounded but computed there: both sides of it are real numbers that are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from smpcore.codegen import program
from smpcore.codegen.arithmetic import HALVINGS, MOST_SCALE, ONE
from smpcore.codegen.bounds import bounded
from smpcore.codegen.inputs import QuantInput, container_ends
from smpcore.codegen.names import shorten
from smpcore.codegen.run import terms, whole_features
from smpcore.errors import ExportError

#: Steps tried between the smallest possible one and twice it.
STEPS = 32


@dataclass(frozen=True)
class Rows:
    """Real-valued rows over counts: what is rounded."""

    row: np.ndarray
    place: np.ndarray
    level: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    shift: float = 0.0
    relative: bool = False

    def reach(self, cap: float) -> np.ndarray:
        """Most that each row's score can reach in size, if no count exceeds a cap."""
        most = np.where(self.level < 0, cap, 1.0) * np.abs(self.weight)
        # At most one level of a category is there.
        per_input = np.zeros((len(self.bias), int(self.place.max(initial=0)) + 1))
        np.maximum.at(per_input, (self.row, self.place), most)
        return per_input.sum(axis=1) + np.abs(self.bias)


def rows_over_counts(source: Any, inputs: Sequence[QuantInput]) -> Rows:
    """A linear model in floats over the counts of its inputs."""
    (rows,) = source.operations
    place, level = rows.input, rows.level
    weight = rows.weight.astype(np.float64)
    zero, per_unit = np.array([(one.zero, one.per_unit) for one in inputs]).T
    offset = np.array([entry.offset for entry in source.inputs])
    number = level < 0
    at_zero = np.where(number, weight * (zero - offset)[place], 0.0)
    bias = rows.bias + np.bincount(rows.row, at_zero, rows.n_rows)
    weight = np.where(number, weight / per_unit[place], weight)
    found = Rows(rows.row, place, level, weight, bias)
    return found if source.is_regression else _centred(found)


def rows_over_similarities(operation: program.WeightedSums) -> Rows:
    """Sums of similarities as rows over similarities in Q.15."""
    table = operation.mixing().astype(np.float64) / 2.0**15
    anchor, row = np.nonzero(table)
    bias = operation.bias.astype(np.float64)
    return _centred(Rows(row, anchor, 0 * row - 1, table[anchor, row], bias))


def _centred(rows: Rows) -> Rows:
    """Rows less their mean bias; of two rows nothing and their difference."""
    bias = rows.bias
    if len(bias) != 2:
        shift = float(bias.mean())
        return replace(rows, bias=bias - shift, shift=shift)
    places = np.column_stack([rows.place, rows.level])
    both, of_term = np.unique(places, axis=0, return_inverse=True)
    signed = np.where(rows.row == 1, rows.weight, -rows.weight)
    total = np.bincount(of_term.ravel(), signed, len(both))
    kept = total != 0
    return Rows(
        np.ones(kept.sum(), dtype=np.int64),
        *both[kept].T,
        total[kept],
        np.array([0.0, bias[1] - bias[0]]),
        relative=True,
    )


def rounded(exact: Rows, width: int, accumulator: int) -> tuple[float, Rows]:
    """Step and whole rows: of some steps near the least possible, the best."""
    limit, cap = 2 ** (accumulator - 1) - 1, 2.0 ** (width - 1)
    number = exact.level < 0
    heaviest = np.where(number, cap - 1, limit)
    least = max(
        float(exact.reach(cap).max() / limit),
        float((np.abs(exact.weight) / heaviest).max(initial=0.0)),
    )
    best, least_loss = None, np.inf
    for step in least * 2.0 ** (np.arange(STEPS) / STEPS):
        weight, bias = np.round(exact.weight / step), np.round(exact.bias / step)
        whole = replace(exact, weight=weight, bias=bias)
        lost = np.abs(step * weight - exact.weight) * np.where(number, cap, 1.0)
        loss = np.bincount(exact.row, lost, len(bias)).max()
        fits = (np.abs(weight) <= heaviest).all() and (whole.reach(cap) <= limit).all()
        if fits and weight.any() and loss < least_loss:
            best, least_loss = (float(step), whole), loss
    if best is None:
        raise ExportError(
            f"{accumulator} bits cannot hold sums of {len(exact.weight)} weights as "
            "uneven as those of this model; choose a wider number format."
        )
    step, whole = best
    numbers = {n: getattr(whole, n).astype(np.int64) for n in ("weight", "bias")}
    return step, replace(whole, **numbers)


#: Rounding may move a similarity by a twentieth or so, this many halvings, not more.
COARSE = 0.1

_LARGEST_TOTAL = 2**32 - 1
_LARGEST_FACTOR = 2**15 - 1
_LARGEST_ORIGIN = 2**30 - 1


class Lines(NamedTuple):
    """Features as straight lines of counts, ``slope * count + base``."""

    slope: np.ndarray
    base: np.ndarray
    low: np.ndarray
    high: np.ndarray
    least: np.ndarray
    most: np.ndarray


class Grid(NamedTuple):
    """Whole features and whole anchors."""

    features: program.FixedPointFeatures
    anchor: np.ndarray


def feature_lines(
    features: program.Features, inputs: Sequence[QuantInput], width: int
) -> Lines:
    """How each feature of a model follows from the count of its input."""
    rows = []
    columns = features.factor.tolist(), features.input, features.level
    for factor, place, level in zip(*columns, strict=True):
        one = inputs[place]
        if level >= 0:
            rows.append((factor, 0.0, 0.0, factor, 0, 1))
            continue
        slope = factor / float(one.per_unit)
        base = factor * (float(one.zero) - one.given.offset)
        counts = one.quantise(np.array([one.low, one.high]), width)
        low, high = (slope * counts + base).tolist()
        rows.append((slope, base, low, high, *container_ends(width)))
    *real, least, most = map(np.array, zip(*rows, strict=True))
    return Lines(*real, least, most)


def choose_grid(
    features: program.Features,
    similarities: program.Similarities,
    inputs: Sequence[QuantInput],
    width: int,
    zoom: float = 1.0,
) -> Grid:
    """Make whole numbers as fine as 32 bits of distance and the container allow."""
    lines = feature_lines(features, inputs, width)
    power = similarities.kind.power
    anchor, zero, span = _covered(similarities, lines)
    per_unit = min(
        zoom * (2**width - 1) / max(span.max(), 1e-30),
        MOST_SCALE ** (1 / power),
        _LARGEST_FACTOR / lines.slope.max(),
        _LARGEST_ORIGIN / 2 / np.abs(lines.base - zero).max(initial=1e-30),
    )
    while True:
        grid = _grid_of(features, lines, anchor, zero, span, per_unit, width)
        largest = largest_total(grid, lines, power)
        if largest <= _LARGEST_TOTAL:
            return grid
        per_unit *= (_LARGEST_TOTAL / largest) ** (1 / power) * (1 - 1e-3)


def largest_total(grid: Grid, lines: Lines, power: int) -> int:
    """Most that a distance to an anchor can be, for any bits of the inputs."""
    whole = grid.features
    numbers = whole.factor, whole.origin, whole.places, whole.top
    counts = (lines.least[whole.feature], lines.most[whole.feature])
    # t never falls as a count grows: the farther end is the farthest of all.
    reached = (whole_features(count, *numbers) for count in counts)
    apart = np.maximum(*(np.abs(t - grid.anchor) for t in reached))
    return int((apart**power).sum(axis=1).max())


def _grid_of(
    features: program.Features,
    lines: Lines,
    anchor: np.ndarray,
    zero: np.ndarray,
    span: np.ndarray,
    per_unit: float,
    width: int,
) -> Grid:
    # A feature that never leaves its half count adds nothing to any distance.
    kept = np.flatnonzero(span * per_unit > 0.5)
    kept = kept if len(kept) else np.array([0])
    zero = zero[kept]
    top = min(int(np.ceil(span.max() * per_unit)), 2**width - 1)
    whole = np.clip(np.round(per_unit * (anchor[:, kept] - zero)), 0, top)
    slope = per_unit * lines.slope[kept]
    start = per_unit * (lines.base[kept] - zero) + 0.5  # a shift rounds down
    places = np.floor(
        np.minimum(
            np.log2(_LARGEST_FACTOR / slope),
            np.log2(_LARGEST_ORIGIN / np.maximum(np.abs(start), 1)),
        )
    )
    places = np.clip(places, 0, 30).astype(np.int64)
    counts = np.maximum(np.abs(lines.low - lines.base), np.abs(lines.high - lines.base))
    counts = (counts / lines.slope)[kept]
    # One shift for all is shorter, where it costs next to nothing.
    if (counts <= 0.25 * 2.0 ** (1 + places.min())).all():
        places = np.full_like(places, places.min())
    factor, origin = (
        np.round(n * 2.0**places).astype(np.int64) for n in (slope, start)
    )
    made = program.FixedPointFeatures(
        input=features.input[kept],
        level=features.level[kept],
        factor=factor,
        origin=origin,
        places=places,
        top=top,
        feature=kept,
        per_unit=float(per_unit),
        zero=zero,
    )
    return Grid(made, whole.astype(np.int64))


def _covered(
    similarities: program.Similarities, lines: Lines
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Anchors near enough to matter; begin and length of what each feature needs."""
    far = HALVINGS ** (1 / similarities.kind.power)
    anchor = similarities.anchor.astype(np.float64)
    anchor = np.clip(anchor, lines.low - far, lines.high + far)
    nearest, farthest = anchor.min(axis=0), anchor.max(axis=0)
    zero = np.minimum(nearest, np.maximum(lines.low, nearest - far))
    end = np.maximum(farthest, np.minimum(lines.high, farthest + far))
    return anchor, zero, end - zero


def check_steps(
    features: program.Features,
    similarities: program.Similarities,
    inputs: Sequence[QuantInput],
    per_unit: float,
    width: int,
) -> None:
    """Refuse a grid, or inputs, that are too coarse for the similarity."""
    lines = feature_lines(features, inputs, width)
    # Standard deviation of an exponent near 1 from one rounding, and from all of them.
    one = 2 / np.sqrt(12)
    many = np.sqrt(2.0) * one
    if similarities.kind.power == 1:
        one, many = one / 2, many / 2 * np.sqrt(features.n_features)
    rough = np.array([not entry.exact for entry in inputs])[features.input]
    step = one * np.where(rough, lines.slope, 0)
    remedy = "choose 16 bits" if width < 16 else "export the model as 32-bit floats"
    if (worst := step.max()) > COARSE:
        feature = step.argmax()
        reason = "has steps too coarse for this gamma"
        remedy += ", or give the input a narrower range"
    elif (worst := many / per_unit) > COARSE:
        feature = _covered(similarities, lines)[2].argmax()
        reason = "has a spread that is small beside its range"
    else:
        return
    name = shorten(inputs[features.input[feature]].given.name)
    raise ExportError(
        f"In {width} bits, input {name} {reason}: similarities would be wrong by about "
        f"{np.expm1(np.log(2) * min(worst, 1)):.0%}; {remedy}."
    )


def integer_bounds(quant: Any, rows: np.ndarray) -> np.ndarray:
    """How far each integer score can be from the float64 model's, at most."""
    is_linear = quant.find(program.WeightedInputs)
    bounds = (_rounded_rows if is_linear else _rounded_sums)(quant, rows)
    # Of the float32 numbers that were rounded here, and of this sum itself.
    from_float = quant.source.row_bounds(rows)
    if quant.relative:
        from_float = np.column_stack([0 * from_float[:, 0], from_float.sum(axis=1)])
    return bounds + from_float


def row_reach(quant: Any) -> np.ndarray:
    """What each row cannot pass; of linear rows attained by some bits."""
    if sums := quant.find(program.WeightedSums):
        return np.abs(sums.mixing()).sum(axis=0) * ONE + np.abs(sums.bias)
    (first,) = quant.operations
    whole = Rows(first.row, first.input, first.level, first.weight, first.bias)
    return whole.reach(2.0 ** (quant.width - 1))


def _input_rounding(quant: Any, rows: np.ndarray) -> np.ndarray:
    """How far the integer of each input is off, in counts."""
    pairs = zip(quant.inputs, rows.T, strict=True)
    return np.column_stack(
        [one.rounding(one.given.filled(x), quant.width) for one, x in pairs]
    )


def _rounded_rows(quant: Any, rows: np.ndarray) -> np.ndarray:
    """Bounds of what rounding changes in linear rows."""
    first, integers = quant.find(program.WeightedInputs), quant.quantise(rows)
    rounding = _input_rounding(quant, rows)
    exact = rows_over_counts(quant.source, quant.inputs)
    terms_of_rows = zip(first.row, first.input, first.level, strict=True)
    whole = dict(zip(terms_of_rows, first.weight.tolist(), strict=True))
    bounds = np.tile(np.abs(quant.step * first.bias - exact.bias), (len(rows), 1))
    columns = exact.row, exact.place, exact.level, exact.weight.tolist()
    for row, place, level, weight in zip(*columns, strict=True):
        q = integers[:, place]
        size = np.abs(q) if level < 0 else q == level
        off = abs(quant.step * whole.get((row, place, level), 0) - weight)
        bounds[:, row] += off * size + abs(weight) * rounding[:, place]
    return bounds * (1 + 1e-12)


def _rounded_sums(quant: Any, rows: np.ndarray) -> np.ndarray:
    """Bounds of what rounding changes in sums of similarities."""
    first = quant.find(program.FixedPointFeatures)
    source, sums = quant.source, quant.find(program.WeightedSums)
    power = quant.find(program.FixedPointSimilarities).power
    real = bounded(source, rows, until=program.Similarities).values.T
    anchors = source.find(program.Similarities).anchor.T.astype(np.float64)
    apart = np.zeros((len(rows), anchors.shape[1]))
    for t, anchor in zip(real, anchors, strict=True):
        apart += np.abs(t[:, None] - anchor) ** power
    mixed = source.find(program.WeightedSums)
    exact = np.exp2(-apart) @ mixed.mixing().astype(np.float64) + mixed.bias
    exact = exact - (exact[:, :1] if quant.relative else quant.shift)
    alike, error = _on_grid(first, quant, real[first.feature], rows)
    one = 2.0**15 * quant.step
    found = one * alike @ sums.mixing() + quant.step * sums.bias
    bounds = np.abs(found - exact) + one * error @ np.abs(sums.mixing())
    return bounds * (1 + 1e-9)


def _on_grid(
    first: program.FixedPointFeatures, quant: Any, real: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Similarities 2^-u', and how far those in integers can be off."""
    whole = quant.find(program.FixedPointSimilarities)
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


def _off_grid(
    first: program.FixedPointFeatures, quant: Any, rows: np.ndarray
) -> np.ndarray:
    """E_f of each row, shape (n_features, n)."""
    lines = feature_lines(
        quant.source.find(program.Features), quant.inputs, quant.width
    )
    slope, base = (line[first.feature, None] for line in (lines.slope, lines.base))
    count = terms(quant.quantise(rows), first.input, first.level).T
    scale, zero = 2.0 ** first.places[:, None], first.zero[:, None]
    whole = (first.factor[:, None] * count + first.origin[:, None]) / scale - 0.5
    exact = slope * count + base - zero
    wrong = (0.5 + np.abs(whole - first.per_unit * exact)) / first.per_unit
    wrong += slope * _input_rounding(quant, rows)[:, first.input].T
    # Both sides are clipped to the grid.
    return np.minimum(wrong, first.top / first.per_unit)
