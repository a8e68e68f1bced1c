"""Features as whole numbers, so that whole distances stand for real ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from smpcore.codegen.fixed_point import HALVINGS, MOST_SCALE
from smpcore.codegen.names import shorten
from smpcore.codegen.program import Features, FixedPointFeatures, Similarities
from smpcore.codegen.quant_inputs import QuantInput, container_ends
from smpcore.codegen.run import whole_features
from smpcore.errors import ExportError

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

    features: FixedPointFeatures
    anchor: np.ndarray


def feature_lines(
    features: Features, inputs: Sequence[QuantInput], width: int
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
    features: Features,
    similarities: Similarities,
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
    features: Features,
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
    made = FixedPointFeatures(
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
    similarities: Similarities, lines: Lines
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
    features: Features,
    similarities: Similarities,
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
