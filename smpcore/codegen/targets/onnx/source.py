"""A model of floats as an ONNX graph of core operators: raw rows in, answers out.

The steps are those of the emulator (`CompiledModel`), except that sums are taken in
whatever order a runtime likes: scores stay within the proved bound.
"""

from __future__ import annotations

import json
from functools import singledispatch
from typing import Any

import numpy as np

from smpcore.codegen.agreement import error_bound
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.float32 import CUTOFF, EXP2, LEAST, MOST
from smpcore.codegen.json_text import SCHEMA
from smpcore.codegen.package import Files, Package
from smpcore.codegen.program import (
    LOWEST,
    Features,
    Operation,
    Similarities,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.targets.onnx.graph import OPSET, Graph, whole_labels
from smpcore.errors import ExportError

#: 2^-k for each whole part that `exp2_minus` can have.
_POWERS = np.float32(2.0) ** -np.arange(127, dtype=np.float32)


def emit_onnx(model: CompiledModel, name: str = "mdl", number: str = "") -> bytes:
    """Write a model as an ONNX file."""
    graph, rows = Graph(), "input"
    for operation in model.operations:
        rows = _write(operation, graph, model, rows)
    if model.is_regression:
        outputs = {"value": graph.op("Squeeze", rows, _whole([1]))}
    else:
        outputs = _classes(graph, model, rows)
    return graph.written(model, name, outputs, _metadata(model, name, number))


def _metadata(model: CompiledModel, name: str, number: str) -> dict[str, str]:
    """What a program can read about the model: identity, inputs, classes."""
    inputs = [
        {"name": entry.name, "low": entry.low, "high": entry.high}
        | ({"levels": entry.levels} if entry.levels else {})
        for entry in model.inputs
    ]
    return {
        "name": name,
        "id": number,
        "format": str(SCHEMA),
        "inputs": json.dumps(inputs),
        "classes": json.dumps(model.labels),
    }


def _whole(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=np.int64)


def _values(graph: Graph, model: CompiledModel, places: list[tuple[int, int]]) -> str:
    """What the inputs count as (`run.input_values`), by pairs of input and level."""
    x = "input"
    missing = [np.nan if e.missing is None else e.missing for e in model.inputs]
    if not np.isnan(missing).all():
        x = graph.op("Where", graph.op("IsNaN", x), np.float32(missing), x)
    offset = np.float32([entry.offset for entry in model.inputs])
    if offset.any():
        x = graph.op("Sub", x, offset)
    if places == [(place, -1) for place in range(len(model.inputs))]:
        return x
    columns, levels = np.array(places).T
    x = graph.op("Gather", x, _whole(columns), axis=1)
    if (levels >= 0).any():
        is_level = graph.cast(graph.op("Equal", x, np.float32(levels)), "FLOAT")
        x = graph.op("Where", levels >= 0, is_level, x)
    return x


def _weighted(
    graph: Graph, values: str, n: int, terms: list[list[tuple[int, float]]], bias: Any
) -> str:
    """Sums of some of n values with weights, one for each list of terms.

    A value that a sum has no term for does not enter it, whatever it is: a product with
    a weight of 0 would turn an infinite one into a NaN.
    """
    most = max(map(len, terms))
    place = np.full((len(terms), most), n)
    weight = np.zeros(place.shape, np.float32)
    for row, own in enumerate(terms):
        for k, (column, number) in enumerate(own):
            place[row, k], weight[row, k] = column, number
    if all(len(own) == n for own in terms):
        table = np.zeros((n, len(terms)), np.float32)
        np.put_along_axis(table.T, place, weight, axis=1)
        total = graph.op("MatMul", values, table)
    else:
        padded = graph.op("Pad", values, _whole([0, 0, 0, 1]))
        chosen = graph.op("Gather", padded, _whole(place), axis=1)
        total = graph.op(
            "ReduceSum", graph.op("Mul", chosen, weight), _whole([2]), keepdims=0
        )
    return graph.op("Add", total, np.float32(bias))


@singledispatch
def _write(operation: Operation, graph: Graph, model: CompiledModel, values: str):
    """Name of what an operation gives, of the name of what it is given."""
    raise ExportError(
        "This model searches a sparse code for each input, which the operators of ONNX "
        "cannot express; export it as C."
    )


@_write.register
def _(operation: WeightedInputs, graph: Graph, model: CompiledModel, values: str):
    pairs = zip(operation.input.tolist(), operation.level.tolist(), strict=True)
    places = list(dict.fromkeys(sorted(pairs)))
    terms = [
        [(places.index((p, k)), w) for p, k, w in operation.terms(row)]
        for row in range(operation.n_rows)
    ]
    values = _values(graph, model, places)
    return _weighted(graph, values, len(places), terms, operation.bias)


@_write.register
def _(operation: Features, graph: Graph, model: CompiledModel, values: str):
    pairs = zip(operation.input.tolist(), operation.level.tolist(), strict=True)
    t = _values(graph, model, list(pairs))
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
def _(operation: Similarities, graph: Graph, model: CompiledModel, values: str):
    step, finish, *_ = operation.kind
    if step == "product":
        total = graph.op("MatMul", values, np.ascontiguousarray(operation.anchor.T))
        total = _with_constant(graph, operation, total)
        power = total
        for _ in range(operation.degree - 1):
            power = graph.op("Mul", power, total)
        return power
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
        alike = graph.op("Mul", _exp2_minus(graph, parts), operation.share)
        return _total(graph, operation, alike)
    return _exp2_minus(graph, _total(graph, operation, parts))


def _total(graph: Graph, operation: Similarities, parts: str) -> str:
    """Sum over the features of each anchor."""
    total = graph.op("ReduceSum", parts, _whole([2]), keepdims=0)
    return _with_constant(graph, operation, total)


def _with_constant(graph: Graph, operation: Similarities, total: str) -> str:
    constant = operation.constant
    return graph.op("Add", total, constant) if constant.any() else total


@_write.register
def _(operation: WeightedSums, graph: Graph, model: CompiledModel, values: str):
    terms: list[list[tuple[int, float]]] = [[] for _ in range(operation.n_rows)]
    for anchor, (rows, weights) in enumerate(operation.terms()):
        for row, weight in zip(rows, weights, strict=True):
            terms[row].append((anchor, weight))
    return _weighted(graph, values, operation.n_anchors, terms, operation.bias)


def _exp2_minus(graph: Graph, u: str) -> str:
    """`float32.exp2_minus`, operation by operation."""
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


def _inverse_root(graph: Graph, square: str) -> str:
    """1 / sqrt(square), 0 for a number that is too small (`float32.inverse_root`)."""
    above = graph.op("Greater", square, LEAST)
    usable = graph.op("And", above, graph.op("Less", square, MOST))
    safe = graph.op("Where", usable, square, np.float32(1))
    root = graph.op("Reciprocal", graph.op("Sqrt", safe))
    return graph.op("Where", usable, root, graph.op("Mul", square, np.float32(0)))


def _classes(graph: Graph, model: CompiledModel, rows: str) -> dict[str, str]:
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
    texts = [label.encode("utf-8", "replace").decode() for label in model.labels]
    labels = np.array(texts, dtype=object)
    if whole_labels(model):
        labels = _whole(model.classes)
    label = graph.op("Gather", labels, index)
    return {"scores": scores, "index": index, "label": label}


def onnx(package: Package) -> Files:
    """The ONNX file, and the model for programs."""
    file = emit_onnx(package.model, package.name, package.id)
    return package.documents | {f"{package.name}.onnx": file}


def words_of_onnx(package: Package) -> dict[str, str]:
    """Words of the example, and of the page about it."""
    outputs = "`scores`, `index` (of the class, see below) and `label`"
    words = {
        "answer": "scores",
        "first_output": "label",
        "wanted": "label, scores",
        "outputs": outputs,
    }
    if package.model.is_regression:
        words = dict.fromkeys(words, "value") | {"outputs": "`value`"}
    bound = error_bound(package.model, package.vectors.rows.astype(np.float64))
    room = 2 * float(bound[np.isfinite(bound)].max(initial=0.0))
    return package.words | words | {"room": f"{room:.3g}", "opset": str(OPSET)}
