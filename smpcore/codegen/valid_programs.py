"""Reader: what the parts of a program have to fulfil, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch

import numpy as np

from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.program import (
    Features,
    FixedPointFeatures,
    FixedPointSimilarities,
    Operation,
    Similarities,
    SparseCode,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.similarities import SIMILARITIES

#: A rule, and whether it holds.
Rule = tuple[str, bool]


def rules(
    operations: Sequence[Operation],
    inputs: Sequence[CompiledInput],
    n_rows: int,
    is_integer: bool,
) -> Iterator[Rule]:
    """Rules of each operation, given what comes before it."""
    n = len(inputs)
    for operation in operations:
        finite = all(np.isfinite(v).all() for v in operation.numbers.values())
        yield f"{', '.join(operation.numbers)} should be finite", finite
        kinds = {values.dtype.kind for values in operation.numbers.values()}
        same = kinds == {"i" if is_integer else "f"}
        yield f"{type(operation).__name__} should be in the program's numbers", same
        if isinstance(operation, Features | FixedPointFeatures | WeightedInputs):
            yield from _places_fit(operation, inputs)
        yield from _rules(operation, n)
        n = operation.n_values
    yield f"operations should give {n_rows} scores, one for each label", n == n_rows


def _places_fit(
    operation: Features | FixedPointFeatures | WeightedInputs,
    inputs: Sequence[CompiledInput],
) -> Iterator[Rule]:
    place, level = operation.input, operation.level
    is_rows = isinstance(operation, WeightedInputs)
    n = operation.n_terms if is_rows else operation.n_values
    yield (
        "each term should have an input, a level and a weight",
        len(place) == len(level) == n,
    )
    known = (place >= 0) & (place < len(inputs))
    yield "input should be an index of inputs", bool(known.all())
    n_levels = np.array([len(entry.levels) for entry in inputs])[place]
    fits = ((level >= 0) == (n_levels > 0)).all() and (level < n_levels).all()
    yield "level should be a level of its input, -1 for a number", bool(fits)


def _chained(start: np.ndarray, n: int, n_terms: int) -> bool:
    """Whether places lead through all terms, n times."""
    steps = len(start) == n + 1 and bool((np.diff(start) >= 0).all())
    return steps and start[0] == 0 and start[-1] == n_terms


@singledispatch
def _rules(operation: Operation, n: int) -> Iterator[Rule]:
    """Rules of one operation that is given n values."""
    raise NotImplementedError(type(operation).__name__)


@_rules.register
def _(operation: WeightedInputs, n: int) -> Iterator[Rule]:
    n_terms = len(operation.weight)
    chained = _chained(operation.start, operation.n_rows, n_terms)
    yield "start should lead through all terms", chained


@_rules.register
def _(operation: Features, n: int) -> Iterator[Rule]:
    factor, move = operation.factor, operation.move
    fits = move is None or len(move) == operation.n_features
    yield "move should have a number for each feature", fits
    # A feature of 0 times an input, and moved, never varies.
    least = (factor > 0) if move is None else (factor >= 0)
    yield "factor should be above 0", bool(least.all())
    places = operation.input[factor != 0]
    in_order = (operation.level >= 0).any() or np.array_equal(places, np.arange(n))
    yield "features that are numbers should be all inputs in order", bool(in_order)


@_rules.register
def _(operation: Similarities, n: int) -> Iterator[Rule]:
    known = operation.similarity in SIMILARITIES
    yield f"similarity should be one of {sorted(SIMILARITIES)}", known
    anchor, each = operation.anchor, operation.kind.step == "exp2"
    fits = anchor.ndim == 2 and anchor.shape[1] == n and len(anchor) > 0
    yield "anchor should be a table with a column for each factor", fits
    fits = operation.constant.shape == anchor.shape[:1]
    yield "constant should have a number for each anchor", fits
    share = operation.share
    fits = len(share) == n if each and share is not None else share is None and not each
    yield "share should have a number for each feature of an exponential each", fits
    whole = type(operation.degree) is int and operation.degree >= 1
    yield "degree should be a whole number from 1 on", whole


@_rules.register
def _(operation: WeightedSums, n: int) -> Iterator[Rule]:
    row, n_terms = operation.row, len(operation.weight)
    chained = _chained(operation.start, n, n_terms)
    yield "start should lead through all terms", chained
    fits = len(row) == n_terms and ((row >= 0) & (row < operation.n_rows)).all()
    fits = fits and all((np.diff(rows) > 0).all() for rows, _ in operation.terms())
    yield "row should be a row for each term, ascending within an anchor", bool(fits)


@_rules.register
def _(operation: SparseCode, n: int) -> Iterator[Rule]:
    gram, votes = operation.gram, operation.votes
    fits = gram.shape == (n, n) and np.array_equal(gram, gram.T)
    yield "gram should be symmetric, with a row for each prototype", bool(fits)
    fits = votes.ndim == 2 and len(votes) == len(gram) and bool(votes.any())
    yield "votes should have a number for each prototype and output", fits
    whole = type(operation.size) is int and operation.size >= 1
    yield "size should be a whole number from 1 on", whole
    known = 0 <= operation.fallback < votes.shape[1]
    yield "fallback should be an output of the votes", known


@_rules.register
def _(operation: FixedPointFeatures, n: int) -> Iterator[Rule]:
    each = operation.origin, operation.places, operation.feature, operation.zero
    fits = all(len(numbers) == operation.n_values for numbers in each)
    yield "origin, places, feature, zero should have a number for each factor", fits
    bounded = (0 <= operation.places).all() and (operation.places < 31).all()
    yield "places should be shifts of less than 31 bits", bool(bounded)


@_rules.register
def _(operation: FixedPointSimilarities, n: int) -> Iterator[Rule]:
    anchor = operation.anchor
    fits = anchor.ndim == 2 and anchor.shape[1] == n and len(anchor) > 0
    yield "anchor should be a table with a column for each factor", fits
    yield "power should be 1 or 2", operation.power in (1, 2)
