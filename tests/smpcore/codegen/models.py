"""Models without an estimator, in groups that one program holds, and their tables."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from smpcore import similarity
from smpcore.codegen import NUMBERS, SensorRange, compile_model, program, quantise
from smpcore.codegen.probability import calibrated
from smpcore.codegen.program import (
    SIMILARITIES,
    FixedPointFeatures,
    FixedPointSimilarities,
)
from smpcore.codegen.run import apply, distances
from smpcore.codegen.vectors import extreme_rows
from smpcore.datasets import Dataset, prepare
from smpcore.model import Calibration, PrototypeModel
from smpcore.similarity import Similarity


def _ends(random, n):
    """Scales and ranges of so many columns."""
    scale, center = np.exp(random.normal(size=n)), 3 * random.normal(size=n)
    ends = {"low": center - 2 * scale, "high": center + 2 * scale}
    return ends | {"scale": scale, "center": center}


def _classes(n):
    return np.array([f"class {k}" for k in range(n)])


def random_linear(
    n_features=6, n_classes=3, per_class=2, density=0.6, seed=0, **changes
):
    """A model with linear prototypes of random numbers."""
    random = np.random.default_rng(seed)
    n = n_classes * per_class
    anchors = random.normal(size=(n, n_features))
    anchors[random.random(anchors.shape) > density] = 0.0
    anchors[0, 0] = 1.0
    parts = _ends(random, n_features) | {"bias": random.normal(size=n)}
    parts |= {"anchors": anchors, "mixing": np.eye(n), "similarity": Similarity()}
    parts |= {"classes": _classes(n_classes), "kind_of_prototype": "direction"}
    parts["votes"] = np.repeat(np.eye(n_classes), per_class, axis=0)
    return kernel_model(**{**parts, **changes})


def one_value(make, m, seed=0, **changes):
    """The regression model that a maker of classifiers makes of m prototypes."""
    random = np.random.default_rng(seed)
    parts = {"pooling": "sum", "classes": None, "votes": random.normal(size=(m, 1))}
    return make(**{"intercept": np.array([40.0]), **parts, **changes})


def mixed_table():
    """A table of numbers and categories with missing values, and its preparation."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"size, cm": random.normal(170, 10, 60)})
    frame["sex"] = random.choice(["female", "male", None], 60)
    frame["stage"] = random.choice([1.0, 2.0, 3.5, np.nan], 60)
    frame["year"] = random.integers(1990, 2020, 60)
    frame["empty"] = None
    frame["y"] = random.choice(["a", "b"], 60)
    frame.loc[3, "size, cm"] = np.nan
    roles = dict.fromkeys(frame, "feature") | {"y": "target"}
    dataset = Dataset("mixed", frame, roles, "classification")
    dataset = dataset.with_roles(kinds={"stage": "category", "empty": "category"})
    return dataset, prepare(dataset, np.arange(40))


def _mixed_ends(preparation):
    """Lowest and highest value of each feature of the mixed table."""
    ends = [(given.low, given.high) for given in preparation.inputs]
    return np.repeat(ends, [given.width for given in preparation.inputs], axis=0).T


def mixed_linear(preparation, per_class=3, density=1.0):
    """A compiled model of the mixed table; the year needs an offset."""
    low, high = _mixed_ends(preparation)
    scaled = {"center": (low + high) / 2, "scale": (high - low) / 4}
    model = random_linear(preparation.n_features, 2, per_class, density, **scaled)
    return compile_model(model, preparation)


def kernel_model(anchors, mixing, similarity, **changes):
    """A model of anchors and mixing; one prototype per class unless told otherwise."""
    d, m = anchors.shape[1], mixing.shape[1]
    parts = {
        "center": np.zeros(d),
        "scale": np.ones(d),
        "low": np.full(d, -2.0),
        "high": np.full(d, 2.0),
        "bias": np.zeros(m),
        "pooling": "max",
        "votes": np.eye(m),
        "classes": _classes(m),
        "counts": np.ones(m, dtype=np.int64),
        "feature_names": tuple(f"feature {f}" for f in range(d)),
        "sample_shape": (d,),
        "kind_of_prototype": "real case",
    } | changes
    n_outputs = 1 if parts["classes"] is None else len(parts["classes"])
    parts = {"intercept": np.zeros(n_outputs)} | parts
    return PrototypeModel(
        anchors=anchors, mixing=mixing, similarity=similarity, **parts
    )


def random_kernel_model(
    kind="rbf", n_features=5, n_anchors=7, n_classes=3, density=1.0, seed=0, **changes
):
    """Anchors and mixing of random numbers, two prototypes per class."""
    random = np.random.default_rng(seed)
    m = 2 * n_classes
    mixing = random.normal(size=(n_anchors, m))
    mixing[random.random(mixing.shape) > density] = 0.0
    if kind in ("features", "intersection") and density == 1 and n_anchors > 1:
        mixing -= mixing.mean(axis=0)  # alike everywhere: one class would always win
    mixing[0, 0] = 1.0
    parts = _ends(random, n_features) | {"bias": 0.1 * random.normal(size=m)}
    weights = np.arange(1, n_features + 1) / n_features**2
    how = {
        "rbf": {"gamma": 0.5 / n_features},
        "poly": {"gamma": 1 / n_features, "degree": 3, "coef0": 1.0},
        "laplacian": {"gamma": 2.0 / n_features},
        "features": {"weights": tuple(weights), "widths": (2.0,) * n_features},
    }
    parts |= {"similarity": Similarity(kind, **how.get(kind, {})), "mixing": mixing}
    parts |= {"votes": np.repeat(np.eye(n_classes), 2, axis=0)}
    parts |= {"classes": _classes(n_classes), **changes}
    parts["anchors"] = random.normal(size=(n_anchors, n_features))
    if kind == "intersection":  # of numbers that are not negative
        parts["anchors"] = np.abs(parts["anchors"]) + 0.5
        parts["center"] = parts["low"] - 0.5 * parts["scale"]
    return kernel_model(**parts)


def new_similarity(monkeypatch, name):
    """Let a similarity s, of -2 at least, be 2^-(2 + s): an end it never had."""
    known, fold = similarity.SIMILARITIES[name], program.fold

    def raised(*given):
        folded = fold(*given)
        return folded._replace(constant=folded.constant + 2)

    monkeypatch.setattr(program, "fold", raised)
    new = SIMILARITIES[name]._replace(finish="exp2")
    monkeypatch.setitem(SIMILARITIES, name, new)
    new = known._replace(values=lambda *given: np.exp2(-2 - known.values(*given)))
    monkeypatch.setitem(similarity.SIMILARITIES, name, new)


def few_anchors(kind):
    """One prototype per class, so that each can win."""
    mixing = np.random.default_rng(0).normal(size=(4, 3))
    parts = {"bias": np.zeros(3), "votes": np.eye(3), "counts": np.ones(3, np.int64)}
    return random_kernel_model(kind, 3, 4, 3, mixing=mixing, **parts)


def coded_model(kind="rbf", n_prototypes=6, code_size=3, seed=0, **changes):
    """Prototypes of unit length that reconstruct an input together."""
    random, each = np.random.default_rng(seed), np.arange(n_prototypes)
    parts = {"n_features": 4, "n_anchors": 9, "n_classes": 2, **changes}
    n_anchors, n_classes = parts["n_anchors"], parts["n_classes"]
    mixing = random.uniform(0.1, 1, size=(n_anchors, n_prototypes))
    mixing[random.random(mixing.shape) < 0.5] = 0.0
    mixing[each % n_anchors, each] = 1.0
    parts |= {"mixing": mixing, "bias": np.zeros(n_prototypes), "pooling": "sum"}
    parts |= {"counts": np.ones(n_prototypes, dtype=np.int64), "seed": seed}
    parts |= {"votes": np.eye(n_classes)[each % n_classes]}
    base = random_kernel_model(kind, **parts, kind_of_prototype="mix of real cases")
    alike = base.similarity.values(base.anchors, base.anchors)
    mixing = mixing / np.sqrt(np.einsum("ij,ik,kj->j", mixing, alike, mixing))
    gram = mixing.T @ alike @ mixing
    coded = {"mixing": mixing, "code_size": code_size, "gram": (gram + gram.T) / 2}
    return replace(base, **coded, fallback=1)


def part(model, name):
    """An entry of whichever operation has it."""
    return next(getattr(one, name) for one in model.operations if hasattr(one, name))


def changed(model, **entries):
    """The same model with other entries, in its operations or around them."""
    inside = {n for n in entries if any(hasattr(one, n) for one in model.operations)}
    operations = tuple(
        replace(one, **{n: entries[n] for n in inside if hasattr(one, n)})
        for one in model.operations
    )
    around = {name: entries[name] for name in entries.keys() - inside}
    return replace(model, **{"operations": operations} | around)


def whole_distances(quant, integers):
    """Distances of integer rows to each anchor."""
    features = apply(quant.find(FixedPointFeatures), integers)
    return distances(quant.find(FixedPointSimilarities), features)


def farthest_rows(quant):
    """Integer rows with the largest distance to each anchor."""
    return extreme_rows(quant, farthest=True)


_Draw = Callable[[np.random.Generator, int], np.ndarray]


def _flag(share: float) -> _Draw:
    return lambda random, n: (random.random(n) < share).astype(float)


def _count(low: int, high: int) -> _Draw:
    return lambda random, n: random.integers(low, high + 1, n).astype(float)


def _normal(middle: float, spread: float) -> _Draw:
    return lambda random, n: random.normal(middle, spread, n)


#: Name of a table -> its seed, how its columns are drawn, and how many such there are.
TABLES: Mapping[str, tuple[int, list[tuple[_Draw, int]]]] = {
    "flags": (0, [(_flag(0.5), 16)]),
    "rare flags": (1, [(_flag(0.05), 8), (_flag(0.2), 8)]),
    "flags, floats": (2, [(_flag(0.4), 6), (_normal(0, 1), 6)]),
    "flags, 12-bit counter, floats": (
        3,
        [(_flag(0.3), 5), (_count(0, 4095), 1), (_normal(0, 1), 4)],
    ),
    "years, flags, floats": (
        7,
        [(_count(1990, 2020), 2), (_flag(0.3), 4), (_normal(20, 5), 3)],
    ),
}


def mixed_columns(name: str, n_rows: int = 800) -> Dataset:
    """Draw one of `TABLES`, with a target of three classes.

    The class is the highest of two sums of the standardized columns and 0; a bend of
    some columns and noise keep it from being separable.
    """
    seed, kinds = TABLES[name]
    random = np.random.default_rng([0, seed])
    X = np.column_stack([draw(random, n_rows) for draw, n in kinds for _ in range(n)])
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    size = scaled.shape[1], 2
    weights = random.choice([-1, 1], size) * random.uniform(0.3, 1.0, size)
    sums = scaled @ weights + 0.3 * random.normal(size=(n_rows, 2))
    sums[:, 1] += 0.5 * np.abs(scaled[:, 0])
    y = np.column_stack([sums, np.zeros(n_rows)]).argmax(axis=1)
    frame = pd.DataFrame(X, columns=[f"c{place}" for place in range(X.shape[1])])
    roles = dict.fromkeys(frame, "feature") | {"y": "target"}
    frame = frame.assign(y=np.array(["a", "b", "c"])[y])
    return Dataset(name, frame, roles, "classification")


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
    names, (low, high) = preparation.feature_names, _mixed_ends(preparation)
    parts = {"low": low, "high": high, "center": (low + high) / 2}
    parts |= {"scale": np.maximum((high - low) / 4, 0.1), "feature_names": tuple(names)}
    model = random_kernel_model(kind, len(names), n_classes=2, **parts)
    return compile_model(model, preparation)


def _linear() -> Iterator[tuple[str, Any]]:
    tiny = np.geomspace(1e-7, 1e7, 240).reshape(6, 40)
    scale = np.geomspace(1e-6, 1e6, 40)
    sizes = {"center": 0 * scale, "scale": scale, "low": -2 * scale, "high": 2 * scale}
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
    several = compile_model(random_linear(6, 5, 2))
    alike = compile_model(random_kernel_model(n_classes=5))
    for name, model in {
        "linear": linear,
        "int16": quantise(linear, 16),
        "int8": quantise(linear, 8, accumulator=16),
        "small int8": quantise(compile_model(random_linear(2, 2, 1)), 8),
        "kernel": kernel,
        "kernel int8": quantise(kernel, 8),
        "code": compile_model(coded_model(n_classes=2)),
    }.items():
        yield f"{name}, sigmoid", calibrated(model, SIGMOID)
        yield f"{name}, curves", calibrated(model, CURVES)
    features = partial(random_kernel_model, "features")
    for what, n, calibration in (("sigmoid", 2, SIGMOID), ("softmax", 5, SOFTMAX)):
        model = features(n_classes=n)
        model = compile_model(replace(model, mixing=30 * model.mixing))
        yield f"features, {what}", calibrated(model, calibration)
    yield "floats, softmax", calibrated(several, SOFTMAX)
    yield "kernel, softmax", calibrated(alike, SOFTMAX)
    yield "int16, softmax", calibrated(quantise(several, 16), SOFTMAX)
    small = quantise(several, 8, accumulator=16)
    yield "int8, softmax", calibrated(small, SOFTMAX)
    yield "kernel int16, softmax", calibrated(quantise(alike, 16), SOFTMAX)


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


@cache
def conversion_models() -> dict[str, Any]:
    """Name -> what makes an integer model of a width; their conversions differ."""
    mixed = groups()["int16, 0"]["mixed"].source
    first = mixed.inputs[0].name

    def scaled(exponent: int, offset: float = 0.0) -> Any:
        """A model whose inputs span 10^exponent around an offset."""
        model, by = random_linear(4, 2, 1, 1.0), 10.0**exponent
        parts = {k: getattr(model, k) * by for k in ("center", "scale", "low", "high")}
        return compile_model(far_from_0(replace(model, **parts), offset))

    made = {
        "mixed": (mixed, {}),
        "counts": (mixed, {first: SensorRange(-100, 100, integer=True)}),
        "adc": (mixed, {first: SensorRange(0, 1023, integer=True)}),
        "small": (scaled(-6), {}),
        "large": (scaled(6), {}),
        "far from 0": (scaled(0, 1e5), {}),
    }
    return {
        name: lambda width, compiled=compiled, ranges=ranges: quantise(
            compiled, width, ranges
        )
        for name, (compiled, ranges) in made.items()
    }
