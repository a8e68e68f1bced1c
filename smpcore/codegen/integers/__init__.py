"""Models as integers: exact arithmetic with proved bounds, for the smallest chips."""

from __future__ import annotations

from collections.abc import Mapping

from smpcore.codegen.coded_rows import CodedRows
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.integers.inputs import WIDEN, QuantInput, SensorRange
from smpcore.codegen.integers.linear import QuantLinear, quantise_linear
from smpcore.codegen.integers.model import QuantModel
from smpcore.codegen.integers.round_sums import quantise_sums
from smpcore.codegen.integers.sums import QuantSums
from smpcore.codegen.linear_rows import LinearRows
from smpcore.codegen.similarity_sums import SimilaritySums
from smpcore.errors import ExportError

WIDTHS = (8, 16)

_QUANTISERS = {LinearRows: quantise_linear, SimilaritySums: quantise_sums}


def quantise(
    compiled: CompiledModel,
    width: int = 16,
    ranges: Mapping[str, SensorRange] | None = None,
    widen: float = WIDEN,
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
        Name of a column -> what it can measure. All others: the training range.
    widen : float, default 0.25
        Share by which the training range is made wider.
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
    rounding = _QUANTISERS.get(type(compiled))
    if rounding is None:
        raise ExportError(_no_integers(compiled))
    if accumulator not in (None, 16, 32):
        raise ExportError(f"accumulator={accumulator!r} should be 16 or 32 bits.")
    return rounding(compiled, width, ranges, widen, accumulator)


def _no_integers(compiled: CompiledModel) -> str:
    """Why a form has no integers, and what can be done."""
    if isinstance(compiled, CodedRows):
        return (
            "This model looks for a sparse code of each input, and rounding can change "
            "which prototypes are in it: no bound holds for integers; export it as "
            "32-bit floats."
        )
    return (
        f"A {compiled.similarity} similarity has no integer form with a proved bound; "
        "export the model as 32-bit floats, or fit it with an rbf similarity."
    )


__all__ = [
    "WIDTHS",
    "QuantInput",
    "QuantLinear",
    "QuantModel",
    "QuantSums",
    "SensorRange",
    "quantise",
]
