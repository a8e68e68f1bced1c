"""Exported Python on MicroPython: the interpreter of boards, here as WebAssembly."""

import json

import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import compile_model, model_id, quantise, sample
from tests.smpcore.codegen.kernel_models import coded_model, random_kernel_model
from tests.smpcore.codegen.scripts import in_micropython
from tests.smpcore.codegen.test_regression import _one_value
from tests.smpcore.codegen.zips import bundle, unpack


@pytest.fixture(scope="module")
def micropython(tool):
    """See `in_micropython`."""
    return in_micropython(tool)


@pytest.mark.parametrize("kind", ["linear", "value", "sums"])
@pytest.mark.parametrize("width", [8, 16])
def test_micropython_gives_every_score(
    mixed_model, random_model, micropython, tmp_path, kind, width
):
    made = {
        "linear": lambda: mixed_model,
        "value": lambda: compile_model(_one_value(random_model, 6)),
        "sums": lambda: compile_model(random_kernel_model()),
    }
    quant = quantise(made[kind](), width)
    unpack(bundle(quant, codegen.test_vectors(quant), target="micropython"), tmp_path)
    (told,) = micropython(tmp_path, "mdl_selftest.py")
    assert told.startswith(f"mdl {model_id(quant)} format 2 selftest: 0 of")
    values = sample(quant.source, 50)
    values[::3] *= 3
    values[1::5, 0] = np.nan
    values[2::7, -1] = np.inf
    texts = [[str(value) for value in row] for row in values.tolist()]
    script = "import json, mdl\nfor row in json.loads(open('rows.json').read()):\n"
    script += "    print(json.dumps(mdl.quantise([float(v) for v in row])))\n"
    (tmp_path / "rows.json").write_text(json.dumps(texts))
    (tmp_path / "ask.py").write_text(script)
    found = [json.loads(line) for line in micropython(tmp_path, "ask.py")]
    np.testing.assert_array_equal(found, quant.quantise(values))


@pytest.mark.parametrize("kind", ["linear", "value", "sums", "code"])
def test_a_float_model_tests_itself(
    mixed_model, random_model, micropython, tmp_path, kind
):
    made = {
        "linear": lambda: mixed_model,
        "value": lambda: compile_model(_one_value(random_model, 6)),
        "sums": lambda: compile_model(random_kernel_model()),
        "code": lambda: compile_model(coded_model()),
    }
    model = made[kind]()
    unpack(bundle(model, codegen.test_vectors(model), target="micropython"), tmp_path)
    (told,) = micropython(tmp_path, "mdl_selftest.py")
    assert told == f"mdl {model_id(model)} format 2 selftest: 0 of 32 differ"
