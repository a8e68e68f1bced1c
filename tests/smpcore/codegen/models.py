"""Models that take every branch of the emitters, in groups that one program holds."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from smpcore.codegen import NUMBERS, compile_model, quantise
from smpcore.codegen.probability import calibrated
from smpcore.codegen.program import SIMILARITIES
from smpcore.model import Calibration
from smpcore.similarity import Similarity
from tests.smpcore.codegen.kernel_models import coded_model, random_kernel_model
from tests.smpcore.codegen.random_models import (
    mixed_linear,
    mixed_table,
    one_value,
    random_linear,
)

#: Of two classes a sigmoid, and a curve with a jump.
SIGMOID = Calibration(9, 1.5, np.array([0.0, 0.4]))
SOFTMAX = Calibration(9, 1.5, np.linspace(-2.0, 2.0, 5))
_KNOTS = np.array([-2.0, -0.5, 0.5, 2.0]), np.array([0.02, 0.3, 0.6, 0.97])
CURVES = Calibration(9, 1.0, np.zeros(2), (_KNOTS, _KNOTS))


def far_from_0(model: Any, by: float = 1e5) -> Any:
    """The same model of columns that lie far from 0, so that they need an offset."""
    return replace(
        model, **{n: getattr(model, n) + by for n in ("low", "high", "center")}
    )


def linear_code(*sizes: int, **changes: Any) -> Any:
    """A code of linear prototypes, as given kernels lead to."""
    model = coded_model("cosine", *sizes, **changes)
    model = replace(model, similarity=Similarity("linear"))
    return replace(model, gram=model.weights @ model.weights.T)


def mixed_kernel(kind: str) -> Any:
    """A similarity over the mixed table, compiled."""
    _, preparation = mixed_table()
    names, given = preparation.feature_names, preparation.inputs
    widths = [one.width for one in given]
    low = np.repeat([one.low for one in given], widths)
    high = np.repeat([one.high for one in given], widths)
    parts = {"low": low, "high": high, "center": (low + high) / 2}
    parts["scale"] = np.maximum((high - low) / 4, 0.1)
    model = random_kernel_model(
        kind, len(names), n_classes=2, feature_names=tuple(names), **parts
    )
    return compile_model(model, preparation)


def _linear() -> Iterator[tuple[str, Any]]:
    tiny = np.geomspace(1e-7, 1e7, 240).reshape(6, 40)
    scale = np.geomspace(1e-6, 1e6, 40)
    sizes = {
        "center": np.zeros(40),
        "scale": scale,
        "low": -2 * scale,
        "high": 2 * scale,
    }
    votes = np.random.default_rng(0).normal(size=(6, 3))
    yield "linear", random_linear()
    yield "one feature", random_linear(1, 2, 1)
    yield "32 features", random_linear(32)
    yield "offset", far_from_0(random_linear(4, density=1.0))
    yield "weights 1e-7 to 1e7", random_linear(40, anchors=tiny, **sizes)
    yield "300 features", random_linear(300, 2, 3, density=0.5)
    yield "256 classes", random_linear(3, 256, 1)
    yield "300 classes", random_linear(3, 300, 1)
    yield "sum", random_linear(pooling="sum", votes=votes)
    yield "two classes within a tie", random_linear(5, 2, tie=0.3, fallback=1)
    yield "three classes within a tie", random_linear(5, tie=0.3, fallback=2, band=1.0)
    yield "value", one_value(random_linear, 6)
    yield "fallback", random_linear(density=1.0, fallback=2)


def _similarities(kind: str) -> Iterator[tuple[str, Any]]:
    make = partial(random_kernel_model, kind)
    yield f"{kind} dense", make()
    yield f"{kind} sparse", make(density=0.2, n_anchors=20)
    yield f"{kind} offset", far_from_0(make())
    yield f"{kind} one of each", make(n_features=1, n_anchors=1, n_classes=2)
    yield f"{kind} 300 features", make(n_features=300, n_anchors=3)
    yield f"{kind} 300 anchors, 300 classes", make(2, 300, 300, 0.02)
    yield f"{kind} value", one_value(make, 6)
    yield f"{kind} code", coded_model(kind)
    preparation = mixed_table()[1]
    names = preparation.feature_names
    mixed = make(len(names), n_classes=2, feature_names=names)
    yield f"{kind} categories", compile_model(mixed, preparation)


def _others() -> Iterator[tuple[str, Any]]:
    for degree in (1, 2, 5):
        how = Similarity("poly", gamma=0.2, degree=degree, coef0=1.0)
        yield f"degree {degree}", replace(random_kernel_model("poly"), similarity=how)
    narrow = Similarity("rbf", gamma=5.0)
    yield "narrow", replace(random_kernel_model("rbf"), similarity=narrow)
    yield "code, linear", linear_code()
    yield "code of one", coded_model(n_prototypes=2, code_size=1, n_anchors=2)
    yield "code, wide", coded_model("rbf", 40, 12, n_anchors=30, n_features=20)
    yield "300 prototypes", coded_model("rbf", 300, 2, n_anchors=60)


def _whole() -> Iterator[tuple[str, Any]]:
    """Models that have integers too."""
    yield "mixed", mixed_linear(mixed_table()[1])
    yield "written out", random_linear(5, 2, 2, 0.8)
    yield "one row written out", random_linear(2, 2, 1)
    yield "value written out", one_value(random_linear, 6, density=0.3)
    yield "dense", random_linear(30, 3, 1, 1.0)
    yield "digits", random_linear(64, 10, 2, 0.6)
    yield "300 classes", random_linear(3, 300, 1)
    yield "within a tie", random_linear(30, 3, 1, 1.0, tie=0.3, band=1.0)
    yield "value", one_value(random_linear, 6)
    yield "value of many", one_value(random_linear, 6, n_features=40, density=1.0)
    parts = {"n_classes": 1, "votes": np.eye(2), "classes": np.array(["a", "b"])}
    yield "two rows", random_kernel_model("rbf", **parts)
    for kind in ("rbf", "laplacian"):
        yield kind, random_kernel_model(kind)
        yield f"{kind}, sparse", random_kernel_model(kind, 12, 20, 4, density=0.2)
        yield f"{kind}, categories", mixed_kernel(kind)
        yield f"{kind}, value", one_value(random_kernel_model, 6, kind=kind)


def _calibrated() -> Iterator[tuple[str, Any]]:
    linear = compile_model(random_linear(5, 2, 3, 0.8))
    kernel = compile_model(random_kernel_model(n_classes=2))
    for name, model in {
        "linear": linear,
        "int16": quantise(linear, 16),
        "int8": quantise(linear, 8, accumulator=16),
        "small int8": quantise(compile_model(random_linear(2, 2, 1)), 8),
        "kernel": kernel,
        "kernel int8": quantise(kernel, 8),
        "code": compile_model(coded_model(n_classes=2)),
    }.items():
        for what, calibration in (("sigmoid", SIGMOID), ("curves", CURVES)):
            yield f"{name}, {what}", calibrated(model, calibration)
    several = compile_model(random_linear(6, 5, 2))
    for name, model in {
        "floats": several,
        "kernel": compile_model(random_kernel_model(n_classes=5)),
        "int16": quantise(several, 16),
        "int8": quantise(several, 8, accumulator=16),
        "kernel int16": quantise(compile_model(random_kernel_model(n_classes=5)), 16),
    }.items():
        yield f"{name}, softmax", calibrated(model, SOFTMAX)


def _compiled(model: Any) -> Any:
    return model if hasattr(model, "operations") else compile_model(model)


@cache
def groups() -> dict[str, dict[str, Any]]:
    """Name of a group -> name -> compiled or quantised model."""
    found = {"linear": _linear(), "others": _others(), "calibrated": _calibrated()}
    for kind in SIMILARITIES:
        found[kind] = _similarities(kind)
    found = {
        group: {name: _compiled(model) for name, model in models}
        for group, models in found.items()
    }
    whole = {name: _compiled(model) for name, model in _whole()}
    for width in (8, 16):
        for part in range(2):
            names = list(whole)[part::2]
            found[f"int{width}, {part}"] = {n: quantise(whole[n], width) for n in names}
    return found


#: Names that are code of all kinds.
HOSTILE = [
    *('*/ #error "x', "??/", '<img src=x onerror="1">', '"""\n', "‮", "`; DROP"),
]


@cache
def every_kind() -> dict[tuple[str, str], Any]:
    """Kind and number format -> model."""
    texts = {"classes": np.array(HOSTILE[:3]), "feature_names": tuple(HOSTILE)}
    hostile = random_linear(**texts)
    compiled = {
        "linear": groups()["int16, 0"]["mixed"].source,
        "value": compile_model(one_value(random_linear, 6)),
        "sums": compile_model(random_kernel_model()),
        "hostile": compile_model(hostile, provenance={"data": {"name": HOSTILE[2]}}),
        "code": compile_model(coded_model()),
    }
    found = {
        (kind, number): quantise(model, width) if width else model
        for kind, model in compiled.items()
        for number, width in NUMBERS.items()
        if kind != "code" or not width
    }
    calibrated = groups()["calibrated"]
    found["calibrated", "float32"] = calibrated["linear, curves"]
    found["calibrated", "int16"] = calibrated["int16, curves"]
    found["calibrated", "int8"] = calibrated["int8, sigmoid"]
    return found
