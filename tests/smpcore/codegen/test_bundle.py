import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import CompiledModel, compile_model
from smpcore.errors import ExportError
from tests.smpcore.codegen.programs import changed
from tests.smpcore.codegen.toolchain import STRICT, run, unnoticed
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
    "mdl_selftest.c",
    "mdl_selftest.h",
    "mdl_test_vectors.csv",
    "mdl_test_vectors.h",
]

#: What is compiled beside the model for its self-test.
HOST_C = ["mdl_example.c", "mdl_selftest.c"]


def _real_rows(mixed, compiled):
    return compiled.rows(mixed[0].frame)


def test_vectors_try_every_kind_of_row(mixed, mixed_model):
    real = _real_rows(mixed, mixed_model)
    found = codegen.test_vectors(mixed_model, real, source="mixed")
    kinds = {"real", "missing", "corner", "boundary", "tie", "random"}
    assert set(found.kinds) == kinds
    assert len(found.rows) == len(np.unique(found.rows, axis=0)) == 32
    assert found.n_real == 11
    own = {row.tobytes() for row in real.astype(np.float32)}
    for row, kind in zip(found.rows, found.kinds, strict=True):
        assert (row.tobytes() in own) or kind != "real"
    top = np.sort(found.scores, axis=1)[:, -2:]
    tied = np.array(found.kinds) == "tie"
    assert (top[tied, 0] == top[tied, 1]).all()
    near = np.array(found.kinds) == "boundary"
    assert (top[near, 1] - top[near, 0] < 1e-4).all()
    assert set(found.winners[near]) == {0, 1}


def test_vectors_are_synthetic_unless_real_rows_are_given(mixed, mixed_model):
    found = codegen.test_vectors(mixed_model, source="patients")
    assert found.n_real == 0
    assert found.source == ""
    own = {row.tobytes() for row in _real_rows(mixed, mixed_model).astype(np.float32)}
    assert not own & {row.tobytes() for row in found.rows}


def test_vectors_are_the_same_every_time(mixed_model):
    first, second = (codegen.test_vectors(mixed_model, seed=3) for _ in "ab")
    assert first.rows.tobytes() == second.rows.tobytes()
    other = codegen.test_vectors(mixed_model, seed=4)
    assert first.rows.tobytes() != other.rows.tobytes()


def test_vectors_end_where_no_other_rows_exist(mixed_model):
    first = mixed_model.inputs[1]
    few = changed(
        mixed_model,
        inputs=(first,),
        bias=[0.0, 0.5],
        prototype_labels=[0, 1],
        start=[0, 1, 2],
        input=[0, 0],
        level=[0, 1],
        weight=[1.0, 2.0],
    )
    found = codegen.test_vectors(few)
    assert sorted(found.rows[:, 0].tolist()) == [-1.0, 0.0, 1.0, 2.0]


@pytest.mark.parametrize("n", [0, 65])
def test_the_number_of_vectors_is_limited(mixed_model, n):
    with pytest.raises(ExportError, match=f"n={n} should be from 1 to 64"):
        codegen.test_vectors(mixed_model, n=n)


def test_a_bundle_is_complete_and_always_the_same(mixed_model, tmp_path):
    vectors = codegen.test_vectors(mixed_model)
    packed = bundle(mixed_model, vectors)
    assert packed == bundle(mixed_model, vectors, name="mdl")
    assert unpack(packed, tmp_path) == FILES
    model = CompiledModel.from_json((tmp_path / "mdl.json").read_text())
    assert bundle(model, vectors) == packed


@pytest.mark.parametrize("prefix", ["mdl", "iris_2"])
def test_the_self_test_of_a_bundle_runs(mixed_model, tool, tmp_path, prefix):
    vectors = codegen.test_vectors(mixed_model, n=64)
    unpack(bundle(mixed_model, vectors, prefix), tmp_path)
    said = run(tool("make"), "CC=" + tool("gcc"), cwd=tmp_path)
    assert b"selftest: 0 of 64 differ" in said


@pytest.mark.parametrize(
    ("target", "compiler"),
    [
        ("avr", "avr-gcc"),
        ("cortex-m0", "arm-none-eabi-gcc"),
        ("cortex-m4f", "arm-none-eabi-gcc"),
    ],
)
def test_the_chips_of_the_makefile_compile(
    mixed_model, tool, tmp_path, target, compiler
):
    tool(compiler)
    unpack(bundle(mixed_model, codegen.test_vectors(mixed_model)), tmp_path)
    assert b"text" in run(tool("make"), target, cwd=tmp_path)


def test_the_examples_are_strict_c(mixed_model, tool, tmp_path):
    unpack(bundle(mixed_model, codegen.test_vectors(mixed_model)), tmp_path)
    for compiler in ("gcc", "clang"):
        command = [tool(compiler), *STRICT, "-o", "host", *HOST_C, "mdl.c"]
        run(*command, cwd=tmp_path)


def test_the_self_test_catches_what_is_wrong(random_model, tool, tmp_path):
    tool("gcc")
    compiled = compile_model(random_model(n_features=4, n_classes=2, density=0.7))
    unpack(bundle(compiled, codegen.test_vectors(compiled, n=64)), tmp_path)
    every, unseen = unnoticed(tmp_path, [*HOST_C, "mdl.c"])
    assert len(every) > 30
    assert unseen == []


def test_two_models_live_in_one_program(mixed_model, random_model, tool, tmp_path):
    other = compile_model(random_model())
    parts = {"one": mixed_model, "two": other}
    objects = []
    for prefix, compiled in parts.items():
        folder = tmp_path / prefix
        folder.mkdir()
        for name, content in codegen.emit_c99(compiled, prefix).items():
            (folder / name).write_bytes(content)
        run(tool("gcc"), "-c", f"{prefix}.c", "-o", f"../{prefix}.o", cwd=folder)
        objects.append(f"{prefix}.o")
    main = """
    #include "one/one.h"
    #include "two/two.h"
    int main(void)
    {
        float x[ONE_N] = {0}, y[TWO_N] = {0};
        return one_predict(x) < ONE_CLASSES && two_predict(y) < TWO_CLASSES ? 0 : 1;
    }
    """
    (tmp_path / "main.c").write_text(main)
    run(tool("gcc"), "-o", "both", "main.c", *objects, cwd=tmp_path)
    run(tmp_path / "both")


def test_the_readme_says_what_matters(mixed, random_model):
    _, preparation = mixed
    provenance = {
        "data": {"name": "a|b <img>", "digest": "abc"},
        "accuracy": {"test": "137 of 143"},
        "test set opened": 2,
    }
    model = random_model(
        preparation.n_features, 2, 2, 1.0, classes=np.array(["`ok`", "[not] ok"])
    )
    compiled = compile_model(model, preparation, provenance)
    real = codegen.test_vectors(compiled, _real_rows(mixed, compiled), source="mi_xed")
    text = readme(compiled, real)
    assert f"Test vectors: {real.n_real} real rows of mi\\_xed." in text
    assert r"| data, name | a\|b \<img\> |" in text
    assert "| accuracy in 64-bit floats, test | 137 of 143 |" in text
    assert "| test set opened | 2 |" in text
    assert r"| 0 | \`ok\` |" in text
    assert "| `MDL_IN_SIZE_CM` | size, cm | 1" in text
    assert (
        "`MDL_IS_SEX_FEMALE` female, `MDL_IS_SEX_MALE` male | no level (-1) |" in text
    )
    assert "whole numbers" in text
    synthetic = readme(compiled, codegen.test_vectors(compiled), "abc")
    assert "Test vectors: synthetic." in synthetic
    assert "ABC_IN_SIZE_CM" in synthetic
    assert "MDL" not in synthetic
