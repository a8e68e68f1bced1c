"""From a program in floats to one in integers, so that nothing can overflow."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np

from smpcore.codegen import program, rounding
from smpcore.codegen.arithmetic import FixedPointExp2
from smpcore.codegen.inputs import QuantInput, SensorRange, quant_inputs, with_units
from smpcore.codegen.lower import stored_terms
from smpcore.codegen.model import CompiledModel, QuantModel
from smpcore.codegen.vectors import discriminating_inputs
from smpcore.errors import ExportError

WIDTHS = (8, 16)

#: Whole numbers are taken as they are if that moves scores less than so much of what
#: they span, or hardly more than if they were multiplied.
_HARMLESS = 2.0**-10
_HARDLY_MORE = 1.25

#: Bits -> how much finer grids are tried than the one that clips nothing. 8 bits are so
#: few that a wide feature may be clipped for the sake of all others.
_ZOOMS = {8: (1.0, 2**0.5, 2.0), 16: (1.0,)}

#: Grids are compared on about twice so many rows at most.
_MOST_ROWS = 100


def quantise(
    compiled: CompiledModel,
    width: int = 16,
    ranges: Mapping[str, SensorRange] | None = None,
    accumulator: int | None = None,
) -> QuantModel:
    """Round a compiled model to integers.

    Parameters
    ----------
    compiled : CompiledModel
        Model in 32-bit floats, from `compile_model`.
    width : {8, 16}, default 16
        Bits of an input.
    ranges : mapping of str to SensorRange, optional
        Name of a column -> what it can measure. All others: the training range and a
        quarter more.
    accumulator : {16, 32}, optional
        Bits of all sums. Default: 16 where that costs no more precision than rounding
        the inputs does.

    Returns
    -------
    QuantModel

    Raises
    ------
    ExportError
        If a range is none, or the model has no integer form.
    """
    if width not in WIDTHS:
        raise ExportError(f"width={width!r} should be 8 or 16 bits.")
    if compiled.find(program.SparseCode):
        raise ExportError(
            "This model looks for a sparse code of each input, and rounding can change "
            "which prototypes are in it: no bound holds for integers; export it as "
            "32-bit floats."
        )
    if accumulator not in (None, 16, 32):
        raise ExportError(f"accumulator={accumulator!r} should be 16 or 32 bits.")
    ranges = ranges or {}
    compiled = replace(compiled, inputs=with_units(compiled.inputs, ranges))
    unscaled, multiplied = (
        quant_inputs(compiled.inputs, width, ranges, way) for way in (False, True)
    )
    if alike := compiled.find(program.Similarities):
        _check_similarity(alike.similarity, accumulator)
        return _similarities(compiled, unscaled, width)
    best, loss = _rounded_linear(compiled, multiplied, width, accumulator)
    if unscaled != multiplied:
        with suppress(ExportError):
            other, more = _rounded_linear(compiled, unscaled, width, accumulator)
            best = other if more <= max(_HARDLY_MORE * loss, _HARMLESS) else best
    return best


def _rounded_linear(
    compiled: CompiledModel,
    inputs: tuple[QuantInput, ...],
    width: int,
    accumulator: int | None,
) -> tuple[QuantModel, float]:
    """The model over these inputs, and how much of what its scores span can be off."""
    exact = rounding.rows_over_counts(compiled, inputs)
    if accumulator is None:
        accumulator = _enough(exact, inputs, width)
    step, whole = rounding.rounded(exact, width, accumulator)
    spans = [one.per_unit * (one.high - one.low) for one in inputs]
    spans = np.where(exact.level < 0, np.array(spans)[exact.place], 1.0)
    span = np.bincount(exact.row, np.abs(exact.weight) * spans)
    lost = np.add(*_lost(exact, inputs, width, step * whole.weight))
    kept = whole.weight != 0
    rows = program.WeightedInputs(
        bias=whole.bias,
        start=np.searchsorted(exact.row[kept], np.arange(len(whole.bias) + 1)),
        input=exact.place[kept],
        level=exact.level[kept],
        weight=whole.weight[kept],
    )
    made = QuantModel(
        operations=(rows,),
        prototype_labels=compiled.prototype_labels,
        source=compiled,
        inputs=inputs,
        width=width,
        accumulator=accumulator,
        step=step,
        shift=exact.shift,
        relative=exact.relative,
    )
    return made, float(lost.max() / span.max())


def _enough(exact: rounding.Rows, inputs: tuple[QuantInput, ...], width: int) -> int:
    """16 bits where rounding weights costs no more than rounding inputs does."""
    if width > 8:
        return 32
    try:
        step, whole = rounding.rounded(exact, width, 16)
    except ExportError:
        return 32
    from_weights, from_inputs = _lost(exact, inputs, width, step * whole.weight)
    return 16 if (from_weights <= from_inputs).all() else 32


def _lost(
    exact: rounding.Rows, inputs: tuple[QuantInput, ...], width: int, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How far rounding weights, and inputs, moves each row inside the ranges."""
    ends = [
        one.quantise(np.array([one.low, one.high]), width) if one.is_number else 1.0
        for one in inputs
    ]
    counts = np.array([np.abs(counts).max() for counts in ends])[exact.place]
    halves = np.array([0.0 if one.exact else 0.5 for one in inputs])[exact.place]
    n_rows = len(exact.bias)
    from_weights = np.bincount(
        exact.row, np.abs(weight - exact.weight) * counts, n_rows
    )
    return from_weights, np.bincount(exact.row, np.abs(exact.weight) * halves, n_rows)


def _check_similarity(similarity: str, accumulator: int | None) -> None:
    """Refuse similarities without an integer form, and sums that are too narrow."""
    if not program.SIMILARITIES[similarity].power:
        raise ExportError(
            f"A {similarity} similarity has no integer form with a proved bound; "
            "export the model as 32-bit floats, or fit it with an rbf similarity."
        )
    if accumulator == 16:
        raise ExportError("Sums of similarities need 32 bits; choose accumulator=32.")


def _similarities(
    compiled: CompiledModel, inputs: tuple[QuantInput, ...], width: int
) -> QuantModel:
    parts = compiled.find(program.Features), compiled.find(program.Similarities)
    grids = [
        rounding.choose_grid(*parts, inputs, width, zoom) for zoom in _ZOOMS[width]
    ]
    rounding.check_steps(*parts, inputs, grids[-1].features.per_unit, width)
    tried = [_rounded_similarities(compiled, inputs, width, grid) for grid in grids]
    if len(tried) == 1:
        return tried[0]
    # Rows that the inputs can give, beside the anchors and half-way between them.
    none = np.empty((0, len(inputs)))
    beside = np.array(list(discriminating_inputs(compiled, none)))
    number = np.array([one.is_number for one in inputs])
    between = np.where(number, (beside + np.roll(beside, 1, axis=0)) / 2, beside)
    rows = np.vstack([beside, between])[:: -(-len(beside) // _MOST_ROWS)]
    rows = tried[0].values(tried[0].quantise(rows))
    return min(tried, key=lambda quant: quant.row_bounds(rows).mean())


def _rounded_similarities(
    compiled: CompiledModel,
    inputs: tuple[QuantInput, ...],
    width: int,
    grid: rounding.Grid,
) -> QuantModel:
    sums = compiled.find(program.WeightedSums)
    power = compiled.find(program.Similarities).kind.power
    exact = rounding.rows_over_similarities(sums)
    step, whole = rounding.rounded(exact, 16, 32)
    weight = np.zeros((sums.n_anchors, sums.n_rows), dtype=np.int64)
    weight[exact.place, exact.row] = whole.weight
    used, first = (weight != 0).any(axis=1), int(exact.relative)
    weight = weight[used, first:]
    anchor, row = stored_terms(weight)
    return QuantModel(
        operations=(
            grid.features,
            program.FixedPointSimilarities(
                anchor=grid.anchor[used],
                power=power,
                exp2=FixedPointExp2.of(grid.features.per_unit**power),
            ),
            program.WeightedSums(
                bias=whole.bias,
                start=np.searchsorted(anchor, np.arange(len(weight) + 1)),
                row=row + first,
                weight=weight[anchor, row],
                first_row=first,
            ),
        ),
        prototype_labels=compiled.prototype_labels,
        source=compiled,
        inputs=inputs,
        width=width,
        accumulator=32,
        step=step,
        shift=exact.shift,
        relative=exact.relative,
    )
