"""A model as an ONNX graph of core operators: raw rows in, answers out.

The steps are those of the emulator (`CompiledModel`), except that sums are taken in
whatever order a runtime likes: scores stay within the proved bound. Integers of linear
models are quantised and dequantised (QDQ) with a step of 1: their sums are exact.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from smpcore.codegen.agreement import error_bound
from smpcore.codegen.arithmetic import CUTOFF, EXP2, LEAST, MOST
from smpcore.codegen.constants import smallest_signed
from smpcore.codegen.describe import SCHEMA, arithmetic
from smpcore.codegen.inputs import container_ends
from smpcore.codegen.model import CompiledModel, QuantModel
from smpcore.codegen.names import without_surrogates
from smpcore.codegen.package import Files, Package
from smpcore.codegen.probability import ONE, SLOPE_BITS, ProbabilityTable
from smpcore.codegen.program import (
    LOWEST,
    Features,
    Operation,
    Similarities,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.targets.scripts import constants_of_interval
from smpcore.errors import ExportError

#: Version of the operators and of the file: what onnxruntime has taken since 1.18.
OPSET, IR_VERSION = 21, 10

#: What turns an integer of an input back into its number.
_SCALE = "per_unit", "zero"
#: 2^-k for each whole part that `exp2_minus` can have.
_POWERS = np.float32(2.0) ** -np.arange(127, dtype=np.float32)


class _Graph:
    """Nodes and constants as they are added; an array may stand for its constant."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError:
            raise ExportError(
                "ONNX files are written by the library onnx, which is not installed; "
                "install it with: pip install onnx"
            ) from None
        self.onnx, self.nodes, self.constants = onnx, [], []

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """Add an operator and return the name of its output."""
        names = [one if isinstance(one, str) else self._constant(one) for one in inputs]
        output = f"{kind.lower()}_{len(self.nodes)}"
        node = self.onnx.helper.make_node(kind, names, [output], **attributes)
        self.nodes.append(node)
        return output

    def _constant(self, value: Any) -> str:
        array = np.asarray(value)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def cast(self, value: str, kind: str) -> str:
        """Values of another type, by its name in ONNX."""
        return self.op("Cast", value, to=getattr(self.onnx.TensorProto, kind))

    def written(
        self,
        model: CompiledModel,
        name: str,
        outputs: dict[str, str],
        told: dict[str, str],
    ) -> bytes:
        """Bytes of the whole file."""
        make, kinds = self.onnx.helper, self.onnx.TensorProto
        for output, found in outputs.items():
            self.nodes.append(make.make_node("Identity", [found], [output]))
        types = {"index": (kinds.INT64, ["rows"]), "label": (kinds.STRING, ["rows"])}
        types |= {"value": (kinds.FLOAT, ["rows"])}
        shape = ["rows", model.n_outputs]
        types |= dict.fromkeys(("scores", "probabilities"), (kinds.FLOAT, shape))
        types["probability"] = types["value"]
        if _whole_labels(model):
            types["label"] = types["index"]
        given = make.make_tensor_value_info(
            "input", kinds.FLOAT, ["rows", len(model.inputs)]
        )
        answers = [make.make_tensor_value_info(n, *types[n]) for n in outputs]
        graph = make.make_graph(self.nodes, name, [given], answers, self.constants)
        file = make.make_model(
            graph,
            opset_imports=[make.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="Sparse Prototype Explorer",
            doc_string=arithmetic(model),
        )
        make.set_model_props(file, told)
        return file.SerializeToString(deterministic=True)


def emit_onnx(model: CompiledModel, name: str = "mdl", number: str = "") -> bytes:
    """Write a model as an ONNX file."""
    if model.is_integer and (
        not isinstance(model.operations[0], WeightedInputs) or model.largest >= 2**24
    ):
        raise ExportError(
            "ONNX files have integers of linear models only, whose sums 24 bits hold; "
            "choose float32."
        )
    graph, rows = _Graph(), "input"
    for operation in model.operations:
        rows = _write(operation, graph, model, rows)
    if model.is_regression:
        value = graph.op("Squeeze", rows, _whole([1]))
        if model.is_integer:
            scaled = graph.op("Mul", value, np.float32(model.step))
            value = graph.op("Add", scaled, np.float32(model.shift))
        outputs = {"value": value}
    else:
        outputs = _classes(graph, model, rows)
    if model.probability:
        shares = _shares(graph, model.probability, outputs["scores"])
        outputs[model.probability.kind] = shares
    return graph.written(model, name, outputs, _metadata(model, name, number))


def _metadata(model: CompiledModel, name: str, number: str) -> dict[str, str]:
    """What a program can read about the model: identity, inputs, classes."""
    inputs = [
        {"name": entry.name, "low": entry.low, "high": entry.high}
        | ({"levels": entry.levels} if entry.levels else {})
        for entry in model.source.inputs
    ]
    told = {
        "name": name,
        "id": number,
        "format": str(SCHEMA),
        "inputs": json.dumps(inputs),
        "classes": json.dumps(model.labels),
    }
    return told | {n: str(v) for n, v in constants_of_interval(model).items()}


def _whole(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=np.int64)


def _values(graph: _Graph, model: CompiledModel, places: np.ndarray) -> str:
    """What the inputs count as (`run.input_values`), by pairs of input and level."""
    x = _counts(graph, model) if model.is_integer else _numbers(graph, model)
    columns, levels = places.T
    if np.array_equal(columns, np.arange(len(model.inputs))) and (levels < 0).all():
        return x
    x = graph.op("Gather", x, _whole(columns), axis=1)
    if (levels >= 0).any():
        is_level = graph.cast(graph.op("Equal", x, np.float32(levels)), "FLOAT")
        x = graph.op("Where", levels >= 0, is_level, x)
    return x


def _numbers(graph: _Graph, model: CompiledModel) -> str:
    """Inputs of a model in floats."""
    x = "input"
    missing = [np.nan if e.missing is None else e.missing for e in model.inputs]
    if not np.isnan(missing).all():
        x = graph.op("Where", graph.op("IsNaN", x), np.float32(missing), x)
    offset = np.float32([entry.offset for entry in model.inputs])
    return graph.op("Sub", x, offset) if offset.any() else x


def _counts(graph: _Graph, model: QuantModel) -> str:
    """Integers of the inputs (`QuantInput.quantise`), which floats hold exactly."""
    zero = np.float32([one.zero for one in model.inputs])
    per_unit = np.float32([one.per_unit for one in model.inputs])
    scaled = graph.op("Mul", graph.op("Sub", "input", zero), per_unit)
    below = graph.op("Less", scaled, np.float32(0))
    half = graph.op("Where", below, np.float32(-0.5), np.float32(0.5))
    x = graph.op("Add", scaled, half)
    number = np.array([one.is_number for one in model.inputs])
    if not number.all():
        n_levels = np.float32([len(one.given.levels or ()) for one in model.inputs])
        inside = graph.op("GreaterOrEqual", "input", np.float32(0))
        known = graph.op("And", inside, graph.op("Less", "input", n_levels))
        level = graph.op("Where", known, "input", np.float32(-1))
        x = graph.op("Where", number, x, level)
    x = graph.op("Clip", x, *map(np.float32, container_ends(model.width)))
    missing = np.float32([one.missing for one in model.inputs])
    x = graph.op("Where", graph.op("IsNaN", x), missing, x)
    whole = graph.cast(graph.cast(x, "INT32"), "FLOAT")  # toward 0
    step = np.float32(1), np.zeros((), f"int{model.width}")
    return graph.op("DequantizeLinear", graph.op("QuantizeLinear", whole, *step), *step)


def _weighted(graph: _Graph, values: str, n: int, operation: Any, column: Any) -> str:
    """Rows of weights over n values, of which each term has one.

    A float that a sum has no term for does not enter it, whatever it is: a product with
    a weight of 0 would turn an infinite one into a NaN. Integers are finite.
    """
    counts = np.bincount(operation.row, minlength=operation.n_rows)
    is_whole = operation.weight.dtype.kind != "f"
    if is_whole or (counts == n).all():
        weights = np.zeros((n, len(counts)), operation.weight.dtype)
        weights[column, operation.row] = operation.weight
        if is_whole:
            whole = smallest_signed(weights)
            weights = graph.op("DequantizeLinear", whole, np.float32(1))
        sums = graph.op("MatMul", values, weights)
        return graph.op("Add", sums, np.float32(operation.bias))
    order = np.argsort(operation.row, kind="stable")
    at = np.arange(counts.max()) < counts[:, None]
    place, weight = np.full(at.shape, n), np.zeros(at.shape, np.float32)
    place[at], weight[at] = column[order], operation.weight[order]
    padded = graph.op("Pad", values, _whole([0, 0, 0, 1]))
    chosen = graph.op("Gather", padded, _whole(place), axis=1)
    products = graph.op("Mul", chosen, weight)
    total = graph.op("ReduceSum", products, _whole([2]), keepdims=0)
    return graph.op("Add", total, operation.bias)


@singledispatch
def _write(operation: Operation, graph: _Graph, model: CompiledModel, values: str):
    """Name of what an operation gives, of the name of what it is given."""
    raise ExportError(
        "This model searches a sparse code for each input, which the operators of ONNX "
        "cannot express; export it as C."
    )


@_write.register
def _(operation: WeightedInputs, graph: _Graph, model: CompiledModel, values: str):
    pairs = np.column_stack([operation.input, operation.level])
    places, column = np.unique(pairs, axis=0, return_inverse=True)
    values = _values(graph, model, places)
    return _weighted(graph, values, len(places), operation, column.ravel())


@_write.register
def _(operation: Features, graph: _Graph, model: CompiledModel, values: str):
    pairs = np.column_stack([operation.input, operation.level])
    t = _values(graph, model, pairs)
    if (operation.factor != 1).any():
        t = graph.op("Mul", t, operation.factor)
    if operation.is_moved:
        t = graph.op("Add", t, operation.move)
    if not operation.normalise:
        return t
    if "mean" in operation.normalise:
        total = graph.op("ReduceSum", t, _whole([1]))
        t = graph.op("Sub", t, graph.op("Mul", total, operation.share))
    square = graph.op("ReduceSum", graph.op("Mul", t, t), _whole([1]))
    return graph.op("Mul", t, _inverse_root(graph, square))


@_write.register
def _(operation: Similarities, graph: _Graph, model: CompiledModel, values: str):
    step, finish, *_ = operation.kind
    if step == "product":
        total = graph.op("MatMul", values, np.ascontiguousarray(operation.anchor.T))
        total = graph.op("Add", total, operation.constant)
        return _finished(graph, operation, total)
    t = graph.op("Unsqueeze", values, _whole([1]))  # beside those of each anchor
    if finish == "ratio":
        least, most = (
            _total(graph, operation, graph.op(kind, t, operation.anchor))
            for kind in ("Min", "Max")
        )
        root = _inverse_root(graph, most)
        return graph.op("Mul", graph.op("Mul", least, root), root)
    apart = graph.op("Sub", t, operation.anchor)
    if step == "absolute":
        parts = graph.op("Abs", apart)
    else:
        parts = graph.op("Mul", apart, apart)
    if step == "exp2":
        parts = graph.op("Mul", _exp2_minus(graph, parts), operation.share)
    return _finished(graph, operation, _total(graph, operation, parts))


def _finished(graph: _Graph, operation: Similarities, total: str) -> str:
    """Similarity of a total; not of a ratio."""
    if operation.kind.finish == "exp2":
        return _exp2_minus(graph, total)
    power = total
    for _ in range(operation.degree - 1):
        power = graph.op("Mul", power, total)
    return power


def _total(graph: _Graph, operation: Similarities, parts: str) -> str:
    """Sum over the features of each anchor."""
    total = graph.op("ReduceSum", parts, _whole([2]), keepdims=0)
    return graph.op("Add", total, operation.constant)


@_write.register
def _(operation: WeightedSums, graph: _Graph, model: CompiledModel, values: str):
    column = np.repeat(np.arange(operation.n_anchors), np.diff(operation.start))
    return _weighted(graph, values, operation.n_anchors, operation, column)


def _exp2_minus(graph: _Graph, u: str) -> str:
    """`arithmetic.exp2_minus`, operation by operation."""
    inside = graph.op("Less", u, CUTOFF)
    small = graph.op("Where", inside, u, np.float32(0))
    whole = graph.op("Floor", graph.op("Add", small, np.float32(0.5)))
    rest = graph.op("Sub", small, whole)
    power = graph.op("Add", graph.op("Mul", rest, EXP2[0]), EXP2[1])
    for coefficient in EXP2[2:]:
        power = graph.op("Add", graph.op("Mul", power, rest), coefficient)
    scale = graph.op("Gather", _POWERS, graph.cast(whole, "INT64"))
    outside = graph.op("Where", graph.op("IsNaN", u), u, np.float32(0))
    return graph.op("Where", inside, graph.op("Mul", power, scale), outside)


def _inverse_root(graph: _Graph, square: str) -> str:
    """`arithmetic.inverse_root`: 1 / sqrt(square), 0 for a number that is too small."""
    above = graph.op("Greater", square, LEAST)
    usable = graph.op("And", above, graph.op("Less", square, MOST))
    safe = graph.op("Where", usable, square, np.float32(1))
    root = graph.op("Reciprocal", graph.op("Sqrt", safe))
    return graph.op("Where", usable, root, graph.op("Mul", square, np.float32(0)))


def _classes(graph: _Graph, model: CompiledModel, rows: str) -> dict[str, str]:
    """Scores, class and label by the rules of `CompiledModel.scores` and `decide`."""
    spoken = graph.op("Greater", rows, LOWEST)  # a NaN is not
    scores = graph.op("Where", spoken, rows, LOWEST)
    counts = np.bincount(model.prototype_labels, minlength=model.n_outputs)
    if (counts > 1).any():
        first = np.searchsorted(model.prototype_labels, np.arange(model.n_outputs))
        # A class with fewer rows has its first one several times.
        place = np.arange(counts.max()) * (np.arange(counts.max()) < counts[:, None])
        chosen = graph.op("Gather", scores, _whole(first[:, None] + place), axis=1)
        scores = graph.op("ReduceMax", chosen, _whole([2]), keepdims=0)
    best = graph.op("ReduceMax", scores, _whole([1]))
    behind = graph.op("Less", graph.op("Add", scores, np.float32(model.tie)), best)
    within = graph.cast(graph.op("Not", behind), "INT32")
    index = graph.op("ArgMax", within, axis=1, keepdims=0)
    if model.fallback:
        known = graph.op("Squeeze", graph.op("Greater", best, LOWEST), _whole([1]))
        index = graph.op("Where", known, index, _whole(model.fallback))
    labels = np.array(list(map(without_surrogates, model.labels)), dtype=object)
    if _whole_labels(model):
        labels = _whole(model.classes)
    label = graph.op("Gather", labels, index)
    return {"scores": scores, "index": index, "label": label}


def _shares(graph: _Graph, table: ProbabilityTable, scores: str) -> str:
    """Probability of each class, of two that of class 1, as the table gives them."""
    one = _whole(ONE)
    if table.is_integer:
        scores = graph.cast(scores, "INT64")
    if len(table.offset):
        scores = graph.op("Add", scores, table.offset)
        lead = graph.op("Sub", scores, graph.op("ReduceMax", scores, _whole([1])))
    else:
        behind, ahead = (graph.op("Gather", scores, _whole(k), axis=1) for k in (0, 1))
        lead = graph.op("Sub", ahead, behind)
    if table.is_integer:
        lead = graph.op("Clip", lead, _whole(-table.below), _whole(table.above))
        shifted = graph.op("Add", lead, _whole(table.below))
        place = graph.op("Div", shifted, _whole(1 << table.drop))
    else:
        lead = graph.op("Where", graph.op("IsNaN", lead), np.float32(0), lead)
        lead = graph.op("Clip", lead, np.float32(-table.below), np.float32(table.above))
        scaled = graph.op("Mul", graph.op("Add", lead, table.below), table.per_unit)
        place = graph.cast(graph.op("Add", scaled, np.float32(0.5)), "INT64")
    begun = graph.op(
        "GreaterOrEqual", graph.op("Unsqueeze", place, _whole([-1])), table.begin
    )
    segments = graph.op(
        "ReduceSum", graph.cast(begun, "INT64"), _whole([-1]), keepdims=0
    )
    k = graph.op("Sub", segments, _whole(1))
    begin, value, slope = (
        graph.op("Gather", of_segment, k)
        for of_segment in (table.begin, table.value, table.slope)
    )
    rise = graph.op("Mul", slope, graph.op("Sub", place, begin))
    share = graph.op("Add", value, graph.op("Div", rise, _whole(1 << SLOPE_BITS)))
    if len(table.offset):
        total = graph.op("ReduceSum", share, _whole([1]))
        half = graph.op("Div", total, _whole(2))
        share = graph.op("Add", graph.op("Mul", share, one), half)
        share = graph.op("Clip", graph.op("Div", share, total), _whole(1), one - 1)
    return graph.op("Div", graph.cast(share, "FLOAT"), np.float32(ONE))


def _whole_labels(model: CompiledModel) -> bool:
    """Whether all classes are whole numbers."""
    return all(type(label) is int for label in model.classes or ())


def onnx(package: Package) -> Files:
    """The ONNX file, and the model for programs."""
    file = emit_onnx(package.model, package.name, package.id)
    return _askable(package).documents | {f"{package.name}.onnx": file}


def _askable(package: Package) -> Package:
    """With test vectors that numbers stand for: far from 0, floats pass over integers.

    Each integer becomes that of the 32-bit float that is nearest to what it stands for.
    """
    model, tried = package.model, package.vectors
    if not model.is_integer:
        return package
    units, zeros = (
        np.float32([getattr(one, name) for one in model.inputs]) for name in _SCALE
    )
    rows = model.quantise(tried.rows.astype(np.float32) / units + zeros)
    answers = {"scores": model.scores(rows), "winners": model.winners(rows)}
    rows = rows.astype(tried.rows.dtype)
    return replace(package, vectors=replace(tried, rows=rows, **answers))


def words_of_onnx(package: Package) -> dict[str, str]:
    """Words of the example, and of the page about it."""
    model, room, raw, real = package.model, 0.0, "", ""
    if model.is_integer:  # the table of test vectors has integers
        units, zeros = ([getattr(one, n) for one in model.inputs] for n in _SCALE)
        raw = f" / np.float32({units}) + np.float32({zeros})"
        if model.is_regression:
            real = f" * np.float32({model.step}) + np.float32({model.shift})"
    else:
        bound = error_bound(model, package.vectors.rows.astype(np.float64))
        room = 2 * float(bound[np.isfinite(bound)].max(initial=0.0))
    words = {"room": f"{room:.3g}", "opset": str(OPSET), "raw": raw, "real": real}
    return package.parts("onnx/parts.in") | words
