"""Reader: rows of inputs where a wrong number of a program shows in a score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from smpcore.codegen.float32 import to_float32
from smpcore.codegen.integer_bounds import row_reach
from smpcore.codegen.program import (
    LOWEST,
    Features,
    FixedPointFeatures,
    FixedPointSimilarities,
    Similarities,
    SparseCode,
    WeightedInputs,
)
from smpcore.codegen.quant_inputs import QuantInput, container_ends
from smpcore.codegen.run import whole_features
from smpcore.codegen.sparse_code import sparse_codes

#: Rows that are searched for codes with pairs not seen yet.
_BLENDS = 2000

# How far from an anchor, in the total of squares, a wrong digit shows best.
_NEAR = 0.7


def discriminating_inputs(model: Any, drawn: np.ndarray) -> Iterator[np.ndarray]:
    """Rows where a wrong number of the model shows, the best first."""
    if model.find(WeightedInputs) and not model.find(SparseCode):
        yield from _corners(model)
    elif model.is_integer:
        yield from _integers_among_anchors(model, drawn)
    elif code := model.find(SparseCode):
        yield from _pairs(model, code, drawn)
    else:
        yield from _among_anchors(model, drawn)


def untested_parameters(model: Any, rows: np.ndarray) -> str:
    """Numbers that these rows do not try, in a sentence; empty if none is known."""
    code = model.find(SparseCode)
    if code is None:
        return ""
    active = active_prototypes(model, rows)
    together = (active.T @ active)[np.tril_indices(code.n_prototypes)] > 0
    apart = len(together) - int(together.sum())
    if not apart:
        return ""
    return (
        f"Of the {len(together)} products of prototypes {apart} stand for pairs "
        "that no test vector has in one code; the self-test may not notice where "
        "these change."
    )


def _corners(model: Any) -> Iterator[np.ndarray]:
    """Ends of all ranges, and for each row the corner with its largest score."""
    low, high = _ends(model)
    yield low
    yield high
    if model.is_integer:
        yield saturating_row(model)
    rows = model.find(WeightedInputs)
    for row in range(rows.n_rows):
        corner = low.copy()
        for place, level, weight in rows.terms(row):
            if weight > 0:
                corner[place] = high[place] if level < 0 else level
        yield corner


def _ends(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value of each input; of a category its levels."""
    if not model.is_integer:
        spans = [(entry.low, entry.high) for entry in model.inputs]
    else:
        levels = [(0, len(one.given.levels) - 1) for one in model.inputs]
        numbers = container_ends(model.width)
        pairs = zip(model.inputs, levels, strict=True)
        spans = [numbers if one.is_number else span for one, span in pairs]
    low, high = np.array(spans).T
    return low, high


def _among_anchors(model: Any, drawn: np.ndarray) -> Iterator[np.ndarray]:
    """Where each row wins among its class's, and beside each anchor."""
    beside = _beside_anchors(model)
    tried = np.vstack([drawn, beside])
    scores, labels = model.row_scores(tried), model.prototype_labels
    for row, label in enumerate(labels):
        rivals = np.delete(scores, row, axis=1)[:, np.delete(labels, row) == label]
        lead = scores[:, row] - rivals.max(axis=1, initial=LOWEST)
        yield tried[lead.argmax()]
    yield from beside


def _beside_anchors(model: Any) -> np.ndarray:
    """A row of inputs a little off each anchor, shape (n_anchors, n_inputs)."""
    features, alike = model.find(Features), model.find(Similarities)
    anchor = alike.anchor
    rows = np.tile([entry.low for entry in model.inputs], (len(anchor), 1))
    best = np.full(rows.shape, -np.inf)
    sides = np.where(np.indices(anchor.shape).sum(axis=0) % 2, 1.0, -1.0)
    values = anchor + sides * _beside(alike.kind.step, features.n_features)
    if features.move is not None:
        values = values - features.move
    values = values / np.where(features.factor, features.factor, 1)
    for feature, (place, level) in enumerate(
        zip(features.input, features.level, strict=True)
    ):
        value = values[:, feature]
        if not features.factor[feature]:
            continue
        if level < 0:
            rows[:, place] = value + model.inputs[place].offset
            continue
        better = value > best[:, place]
        rows[better, place], best[better, place] = level, value[better]
    return rows


def _beside(step: str, n_features: int) -> float:
    """How far off an anchor, in each feature, its wrong digits show best."""
    if step == "exp2":  # each feature has a similarity of its own
        return float(np.sqrt(_NEAR))
    apart = float(np.sqrt(_NEAR / n_features))
    return apart**2 if step == "absolute" else apart


def _pairs(model: Any, code: SparseCode, drawn: np.ndarray) -> Iterator[np.ndarray]:
    """Rows whose codes hold pairs of prototypes together that no earlier one did."""
    m = code.n_prototypes
    alone = replace(
        model,
        operations=model.operations[:-1],
        prototype_labels=np.arange(m),
        classes=tuple(range(m)),
        fallback=0,
        probability=None,
    )
    others = list(discriminating_inputs(alone, drawn))
    pool = _blends(model, np.vstack([others, drawn]))
    active = active_prototypes(model, pool)
    seen = np.zeros(code.gram.shape, dtype=bool)
    waiting = iter(others)
    while True:
        new = np.einsum("ni,nj,ij->n", active, active, (~seen).astype(np.float32))
        best = int(new.argmax())
        if new[best] == 0:
            break
        seen |= np.outer(active[best], active[best]) > 0
        yield pool[best]
        if (row := next(waiting, None)) is not None:
            yield row
    yield from waiting


def active_prototypes(model: Any, rows: np.ndarray) -> np.ndarray:
    """Which prototypes are in the code of each row, 0 or 1."""
    code = model.find(SparseCode)
    codes = sparse_codes(code.gram, model.row_scores(rows, SparseCode), code.limit)
    active = np.zeros((len(codes.size), code.n_prototypes), dtype=np.float32)
    for r in range(code.limit):
        own = np.flatnonzero(codes.size > r)
        active[own, codes.support[own, r]] = 1.0
    return active


def _blends(model: Any, rows: np.ndarray) -> np.ndarray:
    """Rows, and rows between two of them."""
    random = np.random.default_rng(0)
    left, right = random.integers(len(rows), size=(2, _BLENDS))
    share = random.uniform(size=(_BLENDS, 1))
    blends = rows[left] + share * (rows[right] - rows[left])
    fixed = [entry.kind == "category" for entry in model.inputs]
    blends[:, fixed] = rows[left][:, fixed]
    whole = [entry.integer for entry in model.inputs]
    blends[:, whole] = np.round(blends[:, whole])
    return to_float32(np.vstack([rows, blends])).astype(np.float64)


def _integers_among_anchors(quant: Any, drawn: np.ndarray) -> Iterator[np.ndarray]:
    """Far from anchors, beside them, and where each row wins."""
    yield saturating_row(quant)
    least, most = container_ends(quant.width)
    numbers = np.array([one.is_number for one in quant.inputs])
    yield np.where(numbers, least, 0)
    yield np.where(numbers, most, 0)
    beside = list(discriminating_inputs(quant.source, quant.values(drawn)))
    yield from quant.quantise(np.array(beside))
    yield from extreme_rows(quant, farthest=True)


def saturating_row(quant: Any) -> np.ndarray:
    """Integers of the inputs that attain `largest`, or come as near as is known."""
    rows = quant.find(WeightedInputs)
    if rows is None:
        tried = np.vstack([extreme_rows(quant, far) for far in (True, False)])
        return tried[np.abs(quant.row_scores(tried)).max(axis=1).argmax()]
    row = int(row_reach(quant).argmax())
    least, most = container_ends(quant.width)
    sign = 1 if rows.bias[row] >= 0 else -1
    corner = np.array([-1 if one.given.levels else 0 for one in quant.inputs])
    best = np.zeros(len(quant.inputs), dtype=np.int64)
    for place, level, weight in rows.terms(row):
        if level < 0:
            corner[place] = most if sign * weight > 0 else least
        elif sign * weight > best[place]:
            best[place], corner[place] = sign * weight, level
    return corner


def extreme_rows(quant: Any, farthest: bool) -> np.ndarray:
    """Integers of the inputs farthest from each anchor, or nearest to it."""
    features, alike = quant.find(FixedPointFeatures), quant.find(FixedPointSimilarities)
    anchor, sign = alike.anchor, 1 if farthest else -1
    rows = np.zeros((len(anchor), len(quant.inputs)), dtype=np.int64)
    for place, one in enumerate(quant.inputs):
        own = np.flatnonzero(features.input == place)
        if not len(own):
            continue
        counts = _candidates(features, anchor, own[0], one, quant.width)
        level, taken = features.level[own], counts[:, :, None]
        taken = np.where(level < 0, taken, taken == level)
        numbers = features.factor[own], features.origin[own], features.places[own]
        t = whole_features(taken, *numbers, features.top)
        apart = (np.abs(t - anchor[:, own]) ** alike.power).sum(axis=2)
        best = (sign * apart).argmax(axis=0)
        rows[:, place] = np.take_along_axis(counts, best[None], axis=0)[0]
    return rows


def _candidates(
    features: FixedPointFeatures,
    anchor: np.ndarray,
    feature: int,
    one: QuantInput,
    width: int,
) -> np.ndarray:
    """Counts at the ends and beside each anchor; all levels of a category."""
    if not one.is_number:
        levels = np.arange(-1, len(one.given.levels))
        return np.repeat(levels[:, None], len(anchor), axis=1)
    least, most = container_ends(width)
    whole = (anchor[:, feature] << features.places[feature]) - features.origin[feature]
    below = whole // max(features.factor[feature], 1)
    counts = [np.full_like(below, least), np.full_like(below, most)]
    return np.clip([*counts, below, below + 1], least, most)
