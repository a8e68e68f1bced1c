"""Bundles of integer models: vectors, self-test, JSON, plain Python, README."""

import importlib.util
import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from smpcore import SMaLLClassifier, codegen, load_dataset
from smpcore.codegen import (
    CompiledModel,
    QuantModel,
    SensorRange,
    compile_model,
    quantise,
    sample,
)
from smpcore.codegen.json_text import schema
from smpcore.codegen.neighbours import neighbours
from smpcore.codegen.quant_inputs import container_ends
from smpcore.errors import ExportError
from tests.smpcore.codegen.programs import changed, part, spoiled
from tests.smpcore.codegen.toolchain import SANITIZE, STRICT, CommandFailed, run
from tests.smpcore.codegen.zips import bundle, readme, unpack

FILES = [
    "LICENSE",
    "Makefile",
    "README.md",
    "mdl.c",
    "mdl.h",
    "mdl.json",
    "mdl.schema.json",
    "mdl_board.c",
    "mdl_example.c",
    "mdl_inputs.c",
    "mdl_quantise.c",
    "mdl_selftest.c",
    "mdl_selftest.h",
    "mdl_selftest_quantise.c",
    "mdl_test_vectors.csv",
    "mdl_test_vectors.h",
]
TESTS = ["mdl_selftest.c", "mdl_selftest_quantise.c"]
SOURCES = ["mdl_example.c", *TESTS, "mdl.c", "mdl_quantise.c"]
HOSTILE = ['*/ #error "x', "??/", '<img src=x onerror="1">', '"""\n', "‮", "`; DROP"]


@pytest.fixture(scope="module", params=[8, 16])
def quant(request, mixed_model):
    """An integer model of a table with numbers, categories and missing values."""
    return quantise(mixed_model, request.param)


@pytest.fixture
def hostile(random_model):
    """An integer model whose names and labels are code of all kinds."""
    labels = np.array(HOSTILE[:3])
    names = tuple(HOSTILE)
    return quantise(
        compile_model(
            random_model(classes=labels, feature_names=names),
            provenance={"data": {"name": HOSTILE[2]}},
        ),
        8,
        {HOSTILE[0]: SensorRange(-5, 5, unit="|*/")},
    )


def _module(folder):
    spec = importlib.util.spec_from_file_location("unpacked", folder / "mdl.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_vectors_try_every_kind_of_row(quant, mixed):
    real = quant.rows(mixed[0].frame)
    found = codegen.test_vectors(quant, real, n=64, source="mixed")
    kinds = {"real", "missing", "corner", "boundary", "random"}
    assert kinds <= set(found.kinds) <= {*kinds, "tie"}
    assert found.rows.dtype == f"int{quant.width}"
    assert len(found.rows) == len(np.unique(found.rows, axis=0)) == 64
    own = {row.tobytes() for row in quant.quantise(real)}
    rows, why = found.rows.astype(np.int64), np.array(found.kinds)
    assert all(row.tobytes() in own for row in rows[why == "real"])
    np.testing.assert_array_equal(found.scores, quant.scores(rows))
    assert (quant.margins(rows[why == "tie"]) == 0).all()
    tried = {tuple(row) for row in rows}
    least, most = (tuple(row) for row in (rows.min(axis=0), rows.max(axis=0)))
    number = [one.is_number for one in quant.inputs]
    assert {v for v, n in zip(least, number, strict=True) if n} == {
        container_ends(quant.width)[0]
    }
    assert {v for v, n in zip(most, number, strict=True) if n} == {
        container_ends(quant.width)[1]
    }
    assert tuple(quant.saturating_row) in tried


def test_boundary_rows_have_a_neighbour_with_another_label(quant):
    drawn = quant.quantise(sample(quant.source, 256))
    rows = np.array(neighbours(quant, drawn, 16)["boundary"])
    assert len(rows) == 32
    assert (np.abs(rows[::2] - rows[1::2]).sum(axis=1) == 1).all()
    assert (quant.winners(rows[::2]) != quant.winners(rows[1::2])).all()
    found = codegen.test_vectors(quant, n=64)
    near = np.array(found.kinds) == "boundary"
    assert near.sum() > 10 and set(found.winners[near]) == {0, 1}


def test_ties_are_found(fitted_iris):
    quant = quantise(fitted_iris, 8)
    found = codegen.test_vectors(quant)
    tied = found.rows[np.array(found.kinds) == "tie"]
    assert len(tied) > 3 and (quant.margins(tied.astype(np.int64)) == 0).all()


@pytest.fixture(scope="module")
def fitted_iris():
    """A linear model of iris, compiled."""
    dataset = load_dataset("iris")
    X = dataset.frame[dataset.feature_columns].to_numpy(np.float64)
    return compile_model(SMaLLClassifier().fit(X, dataset.y).model_)


def test_vectors_of_uploads_are_synthetic(quant, mixed):
    found = codegen.test_vectors(quant, source="patients")
    assert found.n_real == 0 and found.source == ""


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("seed", range(4))
def test_a_changed_number_changes_a_score(random_model, width, seed):
    compiled = compile_model(random_model(8, 3, 2, 0.6, seed=seed))
    quant = quantise(compiled, width)
    found = codegen.test_vectors(quant)
    rows, survivors = found.rows.astype(np.int64), []
    for name in ("weight", "bias"):
        for place in range(len(part(quant, name))):
            numbers = part(quant, name).copy()
            numbers[place] -= np.sign(numbers[place]) or 1  # towards 0: never too large
            other = changed(quant, **{name: numbers})
            if np.array_equal(other.scores(rows), found.scores):
                survivors.append((name, place))
    assert survivors == []


def test_a_bundle_is_complete_and_always_the_same(quant, tmp_path):
    vectors = codegen.test_vectors(quant)
    packed = bundle(quant, vectors)
    assert packed == bundle(quant, codegen.test_vectors(quant), name="mdl")
    assert unpack(packed, tmp_path) == FILES
    text = (tmp_path / "mdl.json").read_text()
    again = QuantModel.from_json(text)
    told = {"name": "mdl", "id": codegen.model_id(quant)}
    assert json.loads(text) == told | json.loads(again.to_json())
    jsonschema.validate(json.loads(text), schema(quant))
    assert bundle(again, vectors) == packed


def test_the_json_is_as_its_schema_says(quant, mixed_model, tmp_path):
    for model in (quant, mixed_model):
        told = schema(model)
        jsonschema.Draft202012Validator.check_schema(told)
        content = json.loads(model.to_json())
        jsonschema.validate(content, told)
        for name in told["required"]:
            less = {key: value for key, value in content.items() if key != name}
            with pytest.raises(jsonschema.ValidationError, match=name):
                jsonschema.validate(less, told)
        for entries in ({"bias": ["1"]}, {"operation": "Other"}, {"level": None}):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(json.loads(spoiled(content, **entries)), told)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"operation": "Other"}, "operation='Other' should be one of"),
        ({"schema": 7}, "schema should be 2"),
        ({"weight": "x"}, "wrong entry"),
        ({"more": 1}, "wrong entry"),
        ({"bias": [2**40, 0, 0, 0, 0, 0]}, "bits hold"),
        ({"input": [99] * 5}, "should have an input, a level"),
        ({"start": [1]}, "start should lead through all terms"),
        ({"source": {}}, "schema should be"),
    ],
)
def test_json_that_is_no_model_is_refused(mixed_model, change, told):
    content = json.loads(quantise(mixed_model, 8).to_json())
    with pytest.raises(ExportError, match=told):
        QuantModel.from_json(spoiled(content, **change))
    with pytest.raises(ExportError, match="not valid JSON"):
        QuantModel.from_json("{")


def test_a_model_in_floats_is_told_from_one_in_integers(mixed_model):
    with pytest.raises(ExportError, match=r"read by CompiledModel\.from_json"):
        QuantModel.from_json(mixed_model.to_json())
    assert CompiledModel.from_json(mixed_model.to_json()).n_rows == mixed_model.n_rows


@pytest.mark.parametrize("prefix", ["mdl", "iris_2"])
def test_the_self_test_of_a_bundle_runs(quant, tool, tmp_path, prefix):
    unpack(bundle(quant, codegen.test_vectors(quant, n=64), prefix), tmp_path)
    said = run(tool("make"), "CC=" + tool("gcc"), cwd=tmp_path)
    assert b"selftest: 0 of 64 differ" in said


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_self_test_is_strict_c_without_undefined_behaviour(
    quant, tool, tmp_path, compiler
):
    unpack(bundle(quant, codegen.test_vectors(quant, n=64)), tmp_path)
    run(tool(compiler), *STRICT, *SANITIZE, "-o", "host", *SOURCES, cwd=tmp_path)
    said = run(tmp_path / "host")
    assert b"selftest: 0 of 64 differ" in said
    assert b"conversion: 0 of 21 differ" in said


@pytest.mark.parametrize(
    ("target", "compiler"),
    [
        ("avr", "avr-gcc"),
        ("cortex-m0", "arm-none-eabi-gcc"),
        ("cortex-m4f", "arm-none-eabi-gcc"),
    ],
)
def test_the_chips_of_the_makefile_compile(quant, tool, tmp_path, target, compiler):
    tool(compiler)
    unpack(bundle(quant, codegen.test_vectors(quant)), tmp_path)
    assert b"text" in run(tool("make"), target, cwd=tmp_path)


def test_the_self_test_counts_what_is_wrong(quant, tool, tmp_path):
    unpack(bundle(quant, codegen.test_vectors(quant)), tmp_path)
    header = tmp_path / "mdl_test_vectors.h"
    text = header.read_text()
    scores = text.index("mdl_test_scores")
    place = text.index("{", text.index("{", scores) + 1) + 1
    header.write_text(f"{text[:place]}1 + {text[place:]}")
    run(tool("gcc"), "-o", "host", *SOURCES, cwd=tmp_path)
    with pytest.raises(CommandFailed, match="selftest: 1 of 32 differ"):
        run(tmp_path / "host")


def test_the_conversion_may_be_left_out(quant, tool, tmp_path):
    unpack(bundle(quant, codegen.test_vectors(quant)), tmp_path)
    (tmp_path / "main.c").write_text(
        '#include "mdl_selftest.h"\nint main(void) { return mdl_selftest(); }\n'
    )
    files = ["main.c", "mdl_selftest.c", "mdl.c", "-o", "alone"]
    run(tool("gcc"), *STRICT, *files, cwd=tmp_path)
    run(tmp_path / "alone")
    assert b"quantise" not in run(tool("nm"), "alone", cwd=tmp_path)


_AVR = """
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include "mdl_selftest.h"
static void tell(char letter)
{
    loop_until_bit_is_set(UCSR0A, UDRE0);
    UDR0 = (uint8_t)letter;
}
int main(void)
{
    UCSR0B = _BV(TXEN0);
    tell('=');
    tell((char)('0' + mdl_selftest()));
    tell((char)('0' + CONVERSIONS));
    tell('\\n');
    cli();
    sleep_mode();
    return 0;
}
"""


@pytest.mark.parametrize("floats", [False, True])
def test_the_self_test_runs_on_a_chip(quant, tool, tmp_path, floats):
    model = quant.source if floats else quant
    unpack(bundle(model, codegen.test_vectors(model)), tmp_path)
    (tmp_path / "main.c").write_text(_AVR)
    flags = ["-std=gnu99", "-Os", "-mmcu=atmega328p", "-ffp-contract=off"]
    files = ["main.c", "mdl_selftest.c", "mdl.c", "-o", "chip.elf"]
    if floats:
        flags.append("-DCONVERSIONS=0")
    else:
        flags.append("-DCONVERSIONS=mdl_selftest_quantise()")
        files += ["mdl_selftest_quantise.c", "mdl_quantise.c"]
    run(tool("avr-gcc"), *flags, *files, cwd=tmp_path)
    command = f"{tool('simavr')} -m atmega328p chip.elf 2>&1"
    assert "=00" in run("sh", "-c", command, cwd=tmp_path).decode()


def _same_in_python(quant, folder):
    module = _module(folder)
    values = sample(quant.source, 300)
    values[:40] *= 5
    values[40:60, 0] = np.nan
    values[60:80, -1], values[80:90, 0] = 1e30, np.inf
    found = [module.quantise(row) for row in values.tolist()]
    np.testing.assert_array_equal(found, quant.quantise(values))
    random = np.random.default_rng(0)
    least, most = container_ends(quant.width)
    rows = random.integers(least, most + 1, (300, len(quant.inputs)))
    rows[0] = quant.saturating_row
    told = [module.saturated(row) for row in rows.tolist()]
    np.testing.assert_array_equal(told, quant.saturated(rows))
    if quant.is_regression:
        found = [[module.predict(row)] for row in rows.tolist()]
        np.testing.assert_array_equal(found, quant.scores(rows))
        return
    found = [module.scores(row) for row in rows.tolist()]
    np.testing.assert_array_equal(found, quant.scores(rows))
    found = [module.predict(row) for row in rows.tolist()]
    np.testing.assert_array_equal(found, quant.winners(rows))
    found = [module.margin(row) for row in rows.tolist()]
    np.testing.assert_array_equal(found, quant.margins(rows))


def test_plain_python_gives_every_score(quant, tmp_path):
    unpack(bundle(quant, codegen.test_vectors(quant), target="python"), tmp_path)
    _same_in_python(quant, tmp_path)


def test_hostile_names_stay_data(hostile, tool, tmp_path):
    unpack(bundle(hostile, codegen.test_vectors(hostile)), tmp_path)
    unpack(bundle(hostile, codegen.test_vectors(hostile), target="python"), tmp_path)
    _same_in_python(hostile, tmp_path)
    module = _module(tmp_path)
    assert [module.label(k) for k in range(3)] == HOSTILE[:3]
    text = (tmp_path / "README.md").read_text()
    for sign in ("<img", "#error", '"""\n', "‮"):
        assert sign not in text.replace("\\#", "").replace("\\<", "")
    assert json.loads((tmp_path / "mdl.json").read_text())["source"]["classes"]
    run(tool("gcc"), *STRICT, "-o", "host", *SOURCES, cwd=tmp_path)
    assert b"selftest: 0 of" in run(tmp_path / "host")


def test_the_readme_says_what_matters(mixed_model):
    measured = {"rows": 143, "hits": 138, "interval_95": [0.92, 0.98]}
    measured |= {"same_as_float64": 141, "proved_the_same": 120, "saturated_rows": 3}
    provenance = {
        "as_exported": {"format": "int8", "parts": {"test": measured}},
        "test_set_opened": 2,
    }
    source = replace(mixed_model, provenance=provenance, band=0.5)
    given = {"size, cm": SensorRange(0, 300, unit="cm*")}
    quant = quantise(source, 8, given)
    text = readme(quant, codegen.test_vectors(quant), "abc")
    row = "| test | 143 | 138 | 0.92 to 0.98 |"
    assert f"{row} 141 | 120 | 3 |" in text
    assert "was opened 2 times" in text
    assert "| `ABC_IN_SIZE_CM` | size, cm | cm\\* | 0 to 300 | (value - 150) ×" in text
    assert f"at most {quant.not_sure} (`ABC_NOT_SURE`)" in text
    assert f"larger than {quant.largest:,} in size" in text
    more = codegen.conversion(quant, "Cortex-M0")
    assert f"| Cortex-M0 | {more.flash:,} bytes | {more.count:,} instr" in text
    assert "Whole-number inputs avoid it" in text
    assert (
        "`abc.c`, `abc.h` and `abc_quantise.c`" in text and "-ffp-contract=off" in text
    )
    assert "BLAKE2b" in text and "MDL" not in text
    plain = quantise(mixed_model, 8)
    without = readme(plain, codegen.test_vectors(plain))
    assert "Not sure" not in without and "How good" not in without
