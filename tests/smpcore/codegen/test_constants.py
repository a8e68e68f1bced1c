"""A column that is constant in training is no input, whatever its size."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from smpcore import METHODS, Dataset, prepare
from smpcore.codegen import agreement, compile_model, quantise
from smpcore.codegen import test_vectors as vectors_of
from smpcore.codegen.lower import used_inputs
from smpcore.codegen.program import SIMILARITIES
from smpcore.errors import ExportError
from tests.smpcore.codegen.c_programs import assert_same_in_c, case
from tests.smpcore.codegen.kernel_models import coded_model, random_kernel_model
from tests.smpcore.codegen.random_models import random_linear
from tests.smpcore.codegen.zips import readme

SEGMENT = 9.0


def _table(constant):
    """Two classes, a constant between two columns, and one level for everything."""
    random = np.random.default_rng(0)
    y = random.choice(["a", "b"], 120)
    frame = pd.DataFrame(
        {
            "p": random.normal(size=120) + (y == "a"),
            "region | pixels": np.full(120, constant),
            "place": "here",
            "q": random.integers(0, 9, 120) + 4.0 * (y == "b"),
            "y": y,
        }
    )
    roles = dict.fromkeys(frame, "feature") | {"y": "target"}
    dataset = Dataset("constants", frame, roles, "classification")
    return dataset, prepare(dataset, np.arange(80))


@pytest.mark.parametrize("constant", [SEGMENT, 1e30])
@pytest.mark.parametrize("method", METHODS)
def test_it_is_no_input_of_any_method(method, constant):
    dataset, preparation = _table(constant)
    X = preparation.transform(dataset.frame)
    estimator = METHODS[method].estimator(METHODS[method].defaults())
    model = estimator.fit(X[:80], dataset.y[:80]).model_
    compiled = compile_model(model, preparation)
    assert {one.name for one in compiled.inputs} <= {"p", "q"}
    assert set(used_inputs(model, preparation)) <= {"p", "q"}
    found = agreement(compiled, model, dataset.frame, preparation)
    assert found.n_equal == found.n_rows and not found.n_broken
    left_0 = dataset.frame.assign(**{"region | pixels": 0.0})
    expected = model.predict(X)
    np.testing.assert_array_equal(compiled.predict_frame(left_0), expected)
    try:
        whole = quantise(compiled, 16)
    except ExportError as error:
        assert "32-bit floats" in str(error)
    else:
        assert (whole.predict_frame(left_0) == expected).mean() >= 0.99


def _with_constants(model, values):
    """The same model as if features 1 and 3 had been constant in training."""
    low, high = model.low.copy(), model.high.copy()
    low[[1, 3]] = high[[1, 3]] = values
    return replace(model, low=low, high=high)


MODELS = {
    "linear": lambda: random_linear(6),
    **{
        kind: lambda kind=kind: random_kernel_model(kind)
        for kind in sorted(SIMILARITIES)
    },
    "code": lambda: coded_model("rbf"),
}


def test_its_value_is_in_the_constants(tool):
    cases = [case(*_in_the_constants(name)) for name in MODELS]
    assert_same_in_c(cases, tool("gcc"))


def _in_the_constants(name):
    """A compiled model without the columns that never vary, and rows."""
    model = MODELS[name]()
    values = (0.7 * model.low + 0.3 * model.high)[[1, 3]]
    model = _with_constants(model, values)
    compiled = compile_model(model)
    n = model.n_features - 2
    assert len(compiled.inputs) == n
    told = compiled.provenance["constant_in_training"]
    assert told == dict(zip(["feature 1", "feature 3"], values, strict=True))
    random = np.random.default_rng(1)
    X = random.uniform(model.low, model.high, (400, model.n_features))
    found = agreement(compiled, model, X)
    assert found.n_broken == 0 and found.n_certified > 300
    assert found.n_unbounded == 0 or name == "code"
    assert type(compiled).from_json(compiled.to_json()).to_json() == compiled.to_json()
    text = readme(compiled, vectors_of(compiled))
    assert f"take in: feature 1 ({values[0]:.9g}), feature 3 (" in text
    return compiled, compiled.rows(X)


@pytest.mark.parametrize("name", ["linear", "rbf", "laplacian"])
def test_integers_have_its_value_as_well(name):
    model = MODELS[name]()
    model = _with_constants(model, (0.7 * model.low + 0.3 * model.high)[[1, 3]])
    quant = quantise(compile_model(model), 16)
    assert len(quant.inputs) == model.n_features - 2
    X = np.random.default_rng(1).uniform(model.low, model.high, (400, model.n_features))
    found = agreement(quant, model, X)
    assert found.n_broken == 0 and found.n_certified > 300


@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_nothing_is_proved_of_a_row_with_another_value(name):
    model = MODELS[name]()
    model = _with_constants(model, 0.0)
    X = np.random.default_rng(1).uniform(model.low, model.high, (50, model.n_features))
    X[:20, 3] = 1.0
    found = agreement(compile_model(model), model, X)
    assert found.n_unbounded == 20 and found.n_broken == 0
