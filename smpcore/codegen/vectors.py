"""Rows that try a generated model where it is most likely to be wrong.

Those where a wrong number of a program shows in a score, neighbours with other answers,
and numbers that try how inputs become integers.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from smpcore.codegen.arithmetic import to_float32
from smpcore.codegen.inputs import CompiledInput, QuantInput, container_ends
from smpcore.codegen.model import CompiledModel, QuantModel
from smpcore.codegen.program import (
    LOWEST,
    Features,
    FixedPointFeatures,
    FixedPointSimilarities,
    Similarities,
    SparseCode,
    WeightedInputs,
)
from smpcore.codegen.rounding import row_reach
from smpcore.codegen.run import sparse_codes, whole_features
from smpcore.errors import ExportError

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
    spans = [(entry.low, entry.high) for entry in model.source.inputs]
    low, high = np.array(spans).T
    if not model.is_integer:
        return low, high
    numbers = [one.is_number for one in model.inputs]
    ends = zip(container_ends(model.width), (low, high), strict=True)
    return tuple(np.where(numbers, end, level).astype(np.int64) for end, level in ends)


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


#: Steps of an input that are tried around a boundary to find equal scores.
_BESIDE = 3
#: Rows tried around all boundaries together.
_TRIED = 4096
# A float32 has 24 bits; inputs near zero have a few more to walk.
_HALVINGS = 40


def neighbours(model: Any, drawn: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Rows beside each other with different labels, and rows with scores within `tie`.

    Integers are a count apart in one input, floats as near as floats are.
    """
    if model.is_regression:
        return {}
    whole = model.is_integer
    right = drawn.copy() if whole else to_float32(drawn)
    left = np.roll(right, 1, axis=0)
    fixed = [entry.kind == "category" for entry in model.source.inputs]
    right[:, fixed] = left[:, fixed]
    differ = np.flatnonzero(model.winners(left) != model.winners(right))[:MAX_VECTORS]
    left, right = left[differ], right[differ]
    start, ties, untied = model.winners(left), [], np.ones(len(left), dtype=bool)
    for _ in range(model.width + 1 if whole else _HALVINGS):
        middle = (left + right) // 2 if whole else left + (right - left) / 2
        same = (model.winners(middle) == start)[:, None]
        near = model.margins(middle) <= model.tie
        ties += list(middle[near & untied])
        untied &= whole | ~near  # the first tie of floats, of which there are many
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    if whole:
        left, right = _one_input_apart(model, left, right, start)
    pairs = np.stack([left, right], axis=1).reshape(-1, drawn.shape[1])
    if whole and len(pairs):
        ties += _ties_beside(model, pairs)
    return {"boundary": list(pairs), "tie": ties}


def _ties_beside(quant: QuantModel, pairs: np.ndarray) -> list[np.ndarray]:
    """Rows with scores within `tie` a few counts beside those of pairs."""
    numbers = np.array([one.is_number for one in quant.inputs])
    near = np.repeat(pairs, -(-_TRIED // len(pairs)), axis=0)[:_TRIED]
    random = np.random.default_rng(0).integers(-_BESIDE, _BESIDE + 1, near.shape)
    moved = np.clip(near + random * numbers, *container_ends(quant.width))
    near = np.where(numbers, moved, near)
    return list(near[quant.margins(near) <= quant.tie])


def _one_input_apart(
    quant: QuantModel, left: np.ndarray, right: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs that differ in one input only: how many inputs of the right it takes."""
    n = left.shape[1]
    few, many = np.zeros(len(left), np.int64), np.full(len(left), n)
    for _ in range(n.bit_length()):
        half = (few + many) // 2
        same = quant.winners(_taken(left, right, half)) == start
        few, many = np.where(same, half, few), np.where(same, many, half)
    return _taken(left, right, few), _taken(left, right, few + 1)


def _taken(left: np.ndarray, right: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The first inputs of the right, the others of the left."""
    return np.where(np.arange(left.shape[1]) < count[:, None], right, left)


#: A bundle holds at most this many test vectors.
MAX_VECTORS = 64

#: Most bytes of their inputs: an AVR has 32 kB, and 32,767 bytes in one table.
MAX_BYTES = 2**14


@dataclass(frozen=True, eq=False)
class TestVectors:
    """Rows with the scores and labels that the emulator gives them.

    Parameters
    ----------
    rows : ndarray of shape (n, n_inputs), float32, int8 or int16
        Inputs of the model, as its C function takes them.
    scores : ndarray of shape (n, n_classes), float32, int16 or int32
        Score of each class that the C code must reproduce.
    winners : ndarray of shape (n,), int64
        Index of the class that the C code must answer.
    kinds : tuple of str
        Why each row is there: "real", "missing", "corner", "boundary", "tie" or
        "random".
    source : str
        Data set that the real rows come from.
    """

    rows: np.ndarray
    scores: np.ndarray
    winners: np.ndarray
    kinds: tuple[str, ...]
    source: str = ""

    @property
    def n_real(self) -> int:
        """Rows that stand in the user's table."""
        return self.kinds.count("real")


def sample(compiled: CompiledModel, n: int, seed: int = 0) -> np.ndarray:
    """Random rows inside the training range, as float32 numbers.

    Parameters
    ----------
    compiled : CompiledModel
        Model whose inputs and their ranges are drawn from.
    n : int
        Number of rows to draw.
    seed : int, default 0
        Seed of the random numbers; equal seeds give equal rows.

    Returns
    -------
    ndarray of shape (n, n_inputs), float64
        As `CompiledModel.rows` gives them; whole numbers where training had only such.
    """
    random = np.random.default_rng(seed)
    columns = []
    for entry in compiled.inputs:
        if entry.integer:
            low, high = np.floor([entry.low, entry.high])
            column = np.minimum(np.floor(random.uniform(low, high + 1, n)), high)
        else:
            column = random.uniform(entry.low, entry.high, n)
        columns.append(to_float32(column))
    return np.column_stack(columns).astype(np.float64)


def test_vectors(
    model: CompiledModel | QuantModel,
    rows: np.ndarray | None = None,
    n: int = 32,
    seed: int = 0,
    source: str = "",
) -> TestVectors:
    """Choose rows of every kind, and let the emulator answer them.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model whose emulator answers the rows.
    rows : ndarray of shape (n_rows, n_inputs), optional
        Real rows (`CompiledModel.rows`) that may be given away; up to a third of the
        vectors are taken from them, each class in turn. Default: synthetic rows only.
    n : int, default 32
        Number of vectors, 1 to 64; fewer come out where so many rows do not exist, or
        would take more than 16 kB on a chip.
    seed : int, default 0
        Seed of the random rows; equal seeds give equal vectors.
    source : str, optional
        Name of the data set of `rows`.

    Returns
    -------
    TestVectors
        Of an integer model in integers: what its C code gets and gives.

    Raises
    ------
    ExportError
        If `n` is out of its range.
    """
    if not 1 <= n <= MAX_VECTORS:
        raise ExportError(f"n={n} should be from 1 to {MAX_VECTORS}.")
    whole = model.is_integer
    compiled = model.source if whole else model
    n = min(n, most_rows(len(compiled.inputs), model.types[0].itemsize))
    raw = sample(compiled, max(256, n), seed)
    if whole:
        given, drawn = model.quantise, model.quantise(raw)
        # Rows drawn at random may all lie far from the prototypes, chosen ones do not.
        chosen = list(
            itertools.islice(discriminating_inputs(model, drawn), MAX_VECTORS)
        )
        near = neighbours(model, np.vstack([chosen, drawn]))
        # Rows inside the ranges, and between them rows of any bits.
        least, most = container_ends(model.width)
        random = drawn.copy()
        random[1::2] = np.random.default_rng(seed).integers(
            least, most + 1, random[1::2].shape
        )
    else:
        given, drawn = to_float32, raw
        near, random = neighbours(model, drawn), drawn
    real = [] if rows is None else _each_class(model, given(rows), -(-n // 3))
    groups = {
        "real": real,
        "missing": given(_missing(compiled.inputs, raw, categories_only=whole)),
        "corner": discriminating_inputs(model, drawn),
        **near,
        "random": random,
    }
    # Every prototype of an integer model has a corner: those come first.
    n_corners = n // 2 if whole else 0
    tried, why = _chosen(groups, n, n_corners, "int64" if whole else "float32")
    type_of_input, type_of_score = model.types
    return TestVectors(
        rows=tried.astype(type_of_input),
        scores=model.scores(tried).astype(type_of_score),
        winners=model.winners(tried),
        kinds=why,
        source=source if "real" in why else "",
    )


def most_rows(n_inputs: int, size: int) -> int:
    """Rows of inputs of so many bytes each that a chip has room for; at least one."""
    return max(1, MAX_BYTES // (n_inputs * size))


def _chosen(
    groups: dict[str, Iterable[np.ndarray]], n: int, n_corners: int, dtype: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Take the real rows, corners, then a new row of each group in turn; n in all."""
    seen: set[bytes] = set()
    streams = {kind: _unseen(rows, seen, dtype) for kind, rows in groups.items()}
    chosen: dict[str, list[np.ndarray]] = {kind: [] for kind in groups}
    chosen["real"] += streams.pop("real")
    chosen["corner"] += itertools.islice(streams["corner"], n_corners)
    waiting = deque(streams.items())
    while waiting and sum(map(len, chosen.values())) < n:
        kind, stream = waiting.popleft()
        if (row := next(stream, None)) is not None:
            chosen[kind].append(row)
            waiting.append((kind, stream))
    kinds = tuple(kind for kind, rows in chosen.items() for _ in rows)
    return np.array([row for rows in chosen.values() for row in rows]), kinds


def _unseen(
    rows: Iterable[np.ndarray], seen: set[bytes], dtype: str
) -> Iterator[np.ndarray]:
    for row in (np.asarray(given).astype(dtype) for given in rows):
        if row.tobytes() not in seen:
            seen.add(row.tobytes())
            yield row


def _each_class(
    compiled: CompiledModel | QuantModel, rows: np.ndarray, n: int
) -> list[np.ndarray]:
    """Up to n rows, the predicted classes in turn, each from its first row on."""
    if compiled.is_regression:
        order = np.argsort(compiled.scores(rows)[:, 0], kind="stable")
        places = np.linspace(0, len(rows) - 1, min(n, len(rows)))
        return list(rows[order[places.astype(np.int64)]])
    winners = compiled.winners(rows)
    rank = np.zeros(len(rows), dtype=np.int64)
    for winner in np.unique(winners):
        own = winners == winner
        rank[own] = np.arange(own.sum())
    return list(rows[np.lexsort((winners, rank))[:n]])


def _missing(
    inputs: Sequence[CompiledInput], drawn: np.ndarray, categories_only: bool
) -> np.ndarray:
    """Rows without any value, without one value, and with a level that is not there."""
    gone = np.array([np.nan if entry.kind == "number" else -1.0 for entry in inputs])
    may_miss = [
        entry.kind == "category" or entry.missing is not None for entry in inputs
    ]
    rows = [np.where(may_miss, gone, drawn[0])] if any(may_miss) else []
    if categories_only:
        may_miss = [entry.kind == "category" for entry in inputs]
    columns = np.flatnonzero(may_miss)[:MAX_VECTORS]
    for column in columns:
        values = [gone[column], len(inputs[column].levels)]
        for value in values[: 1 + bool(inputs[column].levels)]:
            rows.append(drawn[1].copy())
            rows[-1][column] = value
    return np.array(rows).reshape(-1, len(inputs))


_MOST = np.finfo(np.float32).max
#: Place of the largest float32 among all of them, the neighbour of 0 being 1.
_INFINITE = int(np.float32(np.inf).view(np.int32))


class CountConversion(NamedTuple):
    """Whole number to integer: ``first + ((count - low) * factor + add >> shift)``.

    It is at most `error` from the exact ``(count - zero) * per_unit`` for every whole
    number from `low` to `high`, of which `differ` are halves that
    `QuantInput.quantise` rounds otherwise: nearly always none.
    """

    low: int
    high: int
    first: int
    factor: int
    add: int
    shift: int
    error: float
    differ: int


def count_conversion(one: QuantInput, width: int) -> CountConversion | None:
    """Find it; None for what does not come as counts."""
    if not one.comes_as_counts:
        return None
    low, high = int(np.floor(one.low)), int(np.ceil(one.high))
    counts = np.arange(low, high + 1)
    wanted, steps = one.quantise(counts, width), counts - low
    # Every product, and its sum, stay below 2^32.
    shift = 31 - int(np.ceil(np.log2(1 + one.per_unit * len(counts))))
    shift = 0 if one.exact else shift
    for factor in (int(one.per_unit * 2.0**shift) + more for more in (1, 0)):
        # The least and the most that can be added for each number's integer.
        room = ((wanted - wanted[0]) << shift) - steps * factor
        least, most = max(int(room.max()), 0), int(room.min()) + (1 << shift) - 1
        if least <= most:
            break
    add = max((least + most) // 2, 0)
    made = wanted[0] + (steps * factor + add >> shift)
    error = np.abs((counts - float(one.zero)) * float(one.per_unit) - made).max()
    differ = int((made != wanted).sum())
    first = int(wanted[0])
    return CountConversion(low, high, first, factor, add, shift, float(error), differ)


@dataclass(frozen=True, eq=False)
class Conversions:
    """Rows of numbers with the integers that ``quantise`` makes of them."""

    values: np.ndarray
    integers: np.ndarray
    kinds: tuple[str, ...]


def conversions(quant: QuantModel) -> Conversions:
    """Choose numbers for each input: ends of its range, halves as two neighbouring
    floats, far outside, missing.
    """
    least, most = container_ends(quant.width)
    steps = {
        "low end of the integers": least + 1,
        "half below 0": 0,
        "half above 0": 1,
        "a half between": least // 2,
        "another half": most // 3,
        "high end of the integers": most,
    }
    kinds = (
        *("missing", "low end of the range", "high end of the range", "middle"),
        *("far below", "far above", "infinite, below", "infinite, above", "minus 0"),
        *(f"{name}, {side}" for name in steps for side in ("under it", "over it")),
    )
    over = np.array(list(steps.values()))
    columns = [
        _numbers(one, quant.width, over) if one.is_number else _levels(one)
        for one in quant.inputs
    ]
    # Half as many bytes as the test vectors: an AVR has room for both and the model.
    n = most_rows(len(columns), 2 * (np.float32().itemsize + quant.width // 8))
    values = np.column_stack(columns)[:n].astype(np.float32)
    integers = quant.quantise(values).astype(quant.types[0])
    return Conversions(values, integers, kinds[:n])


def _numbers(one: QuantInput, width: int, integers: np.ndarray) -> np.ndarray:
    over = np.array([_first_float(one, width, n) for n in integers.tolist()])
    pairs = np.column_stack([np.nextafter(over, np.float32(-np.inf)), over])
    ends_of_range = np.float32([one.low, one.high, one.zero])
    outside = np.float32([-_MOST, _MOST, -np.inf, np.inf, -0.0])
    return np.concatenate([[np.nan], ends_of_range, outside, pairs.ravel()])


def _first_float(one: QuantInput, width: int, integer: int) -> np.float32:
    """Smallest float32 number that becomes at least an integer."""
    places = range(-_INFINITE, _INFINITE)
    first = bisect_left(places, integer, key=lambda n: one.quantise(_float(n), width))
    return _float(first - _INFINITE)


def _float(place: int) -> np.float32:
    size = np.int32(abs(place)).view(np.float32)
    return -size if place < 0 else size


def _levels(one: QuantInput) -> np.ndarray:
    """Indices of levels, and as many numbers that are none as rows are left."""
    n = np.float32(len(one.given.levels))
    below = np.nextafter(n, np.float32(0))
    usual = [np.nan, 0, n - 1, n // 2, -_MOST, _MOST, -np.inf, np.inf, -0.0]
    odd = [-0.5, 0.5, -1, 1, below, n, n + 0.5, -1e-30, n - 0.5, n + 1, -0.999, 127]
    return np.array([*usual, *odd], np.float32)
