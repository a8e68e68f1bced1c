"""Models of rbf and laplacian similarities rounded to integers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from smpcore.codegen.fold_sums import stored_terms
from smpcore.codegen.integers.fade import Fade
from smpcore.codegen.integers.grid import POWERS, Grid, check_steps, choose_grid
from smpcore.codegen.integers.inputs import (
    WIDEN,
    QuantInput,
    SensorRange,
    quant_inputs,
)
from smpcore.codegen.integers.rows import Rows, difference, rounded
from smpcore.codegen.integers.sums import QuantSums
from smpcore.codegen.similarity_sums import SimilaritySums
from smpcore.codegen.sizes import smallest_signed
from smpcore.errors import ExportError

#: Bits -> how much finer grids are tried than the one that clips nothing. 8 bits are so
#: few that a wide feature may be clipped for the sake of all others.
ZOOMS = {8: (1.0, 2**0.5, 2.0), 16: (1.0,)}

#: Grids are compared on about twice so many rows at most.
MOST_ROWS = 100


def quantise_sums(
    compiled: SimilaritySums,
    width: int,
    ranges: Mapping[str, SensorRange] | None = None,
    widen: float = WIDEN,
    accumulator: int | None = None,
) -> QuantSums:
    """Round a model of rbf or laplacian similarities to integers.

    Parameters
    ----------
    compiled : SimilaritySums
    width, ranges, widen, accumulator
        See `smpcore.codegen.quantise`.

    Returns
    -------
    QuantSums

    Raises
    ------
    ExportError
        If the similarity has no integer form, or rounding would change it much.
    """
    if compiled.similarity not in POWERS:
        raise ExportError(
            f"A {compiled.similarity} similarity has no integer form: its values grow "
            "beyond what 32 bits hold with a useful bound; export the model as 32-bit "
            "floats, or fit it with an rbf similarity."
        )
    if accumulator == 16:
        raise ExportError("Sums of similarities need 32 bits; choose accumulator=32.")
    inputs = quant_inputs(compiled, width, ranges, widen)
    grids = [choose_grid(compiled, inputs, width, zoom) for zoom in ZOOMS[width]]
    check_steps(compiled, inputs, grids[-1].per_unit, width)
    tried = [_rounded(compiled, inputs, width, grid) for grid in grids]
    if len(tried) == 1:
        return tried[0]
    rows = _rows_among_anchors(tried[0])
    return min(tried, key=lambda quant: quant.row_bounds(rows).mean())


def _rounded(
    compiled: SimilaritySums, inputs: tuple[QuantInput, ...], width: int, grid: Grid
) -> QuantSums:
    exact = _mixing(compiled)
    step, whole, bias = rounded(exact, 16, 32)
    weight = np.zeros((compiled.n_anchors, compiled.n_rows), dtype=np.int64)
    weight[exact.place, exact.row] = whole
    used = (weight != 0).any(axis=1)
    first = int(exact.relative)
    weight = weight[used, first:]
    anchor, row = stored_terms(weight, smallest_signed(weight).itemsize)
    parts = grid._asdict() | {"anchor": grid.anchor[used]}
    return QuantSums(
        source=compiled,
        inputs=inputs,
        width=width,
        accumulator=32,
        step=step,
        shift=exact.shift,
        relative=exact.relative,
        owner=compiled.owner,
        bias=bias,
        fade=Fade.of(grid.per_unit ** POWERS[compiled.similarity]),
        start=np.searchsorted(anchor, np.arange(len(weight) + 1)),
        term_row=row + first,
        weight=weight[anchor, row],
        **parts,
    )


def _rows_among_anchors(quant: QuantSums) -> np.ndarray:
    """Rows that the inputs can give, beside the anchors and half-way between them.

    Some of them, evenly, where there are many anchors.
    """
    none = np.empty((0, len(quant.inputs)))
    beside = np.array(list(quant.source.telling_rows(none)))
    number = np.array([one.is_number for one in quant.inputs])
    between = np.where(number, (beside + np.roll(beside, 1, axis=0)) / 2, beside)
    rows = np.vstack([beside, between])[:: -(-len(beside) // MOST_ROWS)]
    return quant.values(quant.quantise(rows))


def _mixing(compiled: SimilaritySums) -> Rows:
    """The mixing as rows over similarities in Q.15; two as their difference."""
    table = compiled.mixing().astype(np.float64) / 2.0**15
    anchor, row = np.nonzero(table)
    level = np.full(len(row), -1)
    parts = row, anchor, level, table[anchor, row]
    bias = compiled.bias.astype(np.float64)
    if compiled.n_rows == 2:
        return difference(*parts, bias)
    shift = float(bias.mean())
    return Rows(*parts, bias - shift, shift)
