"""Reader: the constant tables of generated code, in the smallest types."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from smpcore.codegen import program
from smpcore.codegen.arithmetic import EXP2, TABLE

Tables = dict[str, np.ndarray]

#: Share of integer weights that are not zero from which rows are written whole.
_DENSE = 0.6

#: Up to so many integer terms, by bits of a score, are written out one by one: that is
#: faster on every chip, and on an AVR not larger than tables with a loop.
_WRITTEN_OUT = {16: 48, 32: 12}

#: The order in which tables stand in a file.
_ORDER = (
    *("bias", "anchor", "weight", "missing", "shift", "factor", "constant", "exp2"),
    *("origin", "halving", "owner", "start", "end", "row", "places", "input", "level"),
    *("move", "share", "gram", "vote", "target", "until"),
)


def smallest(values: np.ndarray) -> np.ndarray:
    """The same whole numbers, none of them negative, in the smallest unsigned type."""
    return values.astype(np.min_scalar_type(values.max(initial=0)))


def smallest_signed(values: np.ndarray) -> np.ndarray:
    """The same whole numbers in the smallest signed type; floats as they are."""
    if values.dtype.kind == "f":
        return values
    largest = int(np.abs(values).max(initial=0))
    return values.astype(np.min_scalar_type(-largest - 1))


def tables(model: Any) -> Tables:
    """The constants of generated code."""
    found = {} if model.is_integer else _of_inputs(model)
    for operation in model.operations:
        found |= _tables(operation, model)
    if not model.is_regression:
        found["owner"] = smallest(model.prototype_labels)
    return {name: found[name] for name in _ORDER if name in found}


def features_differ(model: Any) -> bool:
    """Whether any feature of a model in floats is not just the input itself."""
    features = model.find(program.Features)
    if features is None:
        return False
    differ = (features.level >= 0).any() or (features.factor != 1).any()
    differ = differ or features.is_moved or bool(features.normalise)
    return bool(differ or _of_inputs(model))


def is_dense(operation: program.WeightedInputs, model: Any) -> bool:
    """Whether rows are written whole: few zeros cost less than many indices."""
    n = operation.n_rows * len(model.inputs)
    numbers = bool((operation.level < 0).all())
    return model.is_integer and operation.n_terms > _DENSE * n and numbers


def has_tables(model: Any) -> bool:
    """Whether its numbers lie in tables, and not in the code."""
    few = model.is_integer and model.n_terms <= _WRITTEN_OUT[model.accumulator]
    return not (few and model.find(program.WeightedInputs))


def _of_inputs(model: Any) -> Tables:
    missing = [entry.missing for entry in model.inputs]
    # Added with the sign turned: a chip without floats in hardware then needs no
    # subtraction routine, and the bits are the same.
    shift = np.array([0.0 - entry.offset for entry in model.inputs], np.float32)
    found = {}
    if any(value is not None for value in missing):
        found["missing"] = np.array([v or 0.0 for v in missing], np.float32)
    return found | ({"shift": shift} if shift.any() else {})


def _bias(bias: np.ndarray, model: Any) -> np.ndarray:
    return bias.astype(f"int{model.accumulator}") if model.is_integer else bias


def _places(operation: Any, n_inputs: int) -> Tables:
    """Inputs and levels of features: none where they are the inputs in order."""
    found = {}
    if not np.array_equal(operation.input, np.arange(n_inputs)):
        found["input"] = smallest(operation.input)
    if (operation.level >= 0).any():
        found["level"] = smallest(operation.level + 1)
    return found


@singledispatch
def _tables(operation: program.Operation, model: Any) -> Tables:
    """Tables of one operation."""
    raise NotImplementedError(type(operation).__name__)


@_tables.register
def _(operation: program.WeightedInputs, model: Any) -> Tables:
    found = {"bias": _bias(operation.bias, model)}
    if is_dense(operation, model):
        weight = np.zeros((operation.n_rows, len(model.inputs)), dtype=np.int64)
        weight[operation.row, operation.input] = operation.weight
        return found | {"weight": smallest_signed(weight)}
    found["weight"] = smallest_signed(operation.weight)
    indices = {"start": operation.start, "input": operation.input}
    if (operation.level >= 0).any():
        indices["level"] = operation.level + 1
    return found | {name: smallest(values) for name, values in indices.items()}


@_tables.register
def _(operation: program.Features, model: Any) -> Tables:
    found = _places(operation, len(model.inputs))
    if (operation.factor != 1).any():
        found["factor"] = operation.factor
    return found | ({"move": operation.move} if operation.is_moved else {})


@_tables.register
def _(operation: program.Similarities, model: Any) -> Tables:
    found = {"anchor": operation.anchor}
    if operation.constant.any():
        found["constant"] = operation.constant
    if operation.kind.is_exponential:
        found["exp2"] = EXP2
    return found | ({} if operation.share is None else {"share": operation.share})


@_tables.register
def _(operation: program.WeightedSums, model: Any) -> Tables:
    weight = smallest_signed(operation.weight)
    found = {"bias": _bias(operation.bias, model), "weight": weight}
    if operation.is_dense:
        return found | {"weight": weight.reshape(operation.n_anchors, -1)}
    end, row = smallest(operation.start[1:]), smallest(operation.row)
    return found | {"end": end, "row": row}


@_tables.register
def _(operation: program.SparseCode, model: Any) -> Tables:
    of, target = np.nonzero(operation.votes)
    until = np.searchsorted(of, np.arange(operation.n_prototypes), side="right")
    return {
        "gram": operation.gram[np.tril_indices(operation.n_prototypes)],
        "vote": operation.votes[of, target],
        "target": smallest(target),
        "until": smallest(until),
    }


@_tables.register
def _(operation: program.FixedPointFeatures, model: Any) -> Tables:
    found = _places(operation, len(model.inputs))
    found["factor"] = smallest_signed(operation.factor)
    found["origin"] = smallest_signed(operation.origin)
    if np.ptp(operation.places):
        found["places"] = smallest(operation.places)
    return found


@_tables.register
def _(operation: program.FixedPointSimilarities, model: Any) -> Tables:
    anchor = operation.anchor.astype(f"uint{model.width}")
    return {"anchor": anchor, "halving": smallest(TABLE)}
