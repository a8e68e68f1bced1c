"""Verilog modules give every score and answer of the emulator, clock by clock."""

import dataclasses
import re

import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import compile_model, quantise, sample
from smpcore.codegen.targets.verilog.source import (
    MAX_PARALLEL_TERMS,
    cycles,
    emit_testbench,
    emit_verilog,
)
from smpcore.errors import ExportError
from tests.smpcore.codegen.c_programs import any_integers
from tests.smpcore.codegen.models import random_kernel_model
from tests.smpcore.codegen.toolchain import bundle, run

MODELS = {
    "two classes, one score": {"n_classes": 2, "per_class": 1},
    "two classes": {"n_classes": 2, "per_class": 3},
    "three classes": {"n_classes": 3},
    "a row without terms": {"n_classes": 3, "density": 0.1},
}


@pytest.fixture
def quant_of(random_model, mixed_model):
    one_row = {"pooling": "sum", "votes": np.ones((1, 1)), "classes": None}

    def make(name, width, tie=0.0):
        compiled = mixed_model
        if name == "regression":
            compiled = compile_model(random_model(6, 1, 1, **one_row))
        elif name != "categories":
            compiled = compile_model(random_model(**MODELS[name]))
        compiled = dataclasses.replace(compiled, tie=float(np.float32(tie)))
        return quantise(compiled, width)

    return make


def many_rows(quant, n=300):
    """Rows inside the ranges, rows of any bits, and the test vectors."""
    inside = quant.quantise(sample(quant.source, n))
    rows = [codegen.test_vectors(quant).rows, inside, any_integers(quant, n)]
    rows = np.vstack(rows).astype(np.int64)
    kinds = ("random",) * len(rows)
    return codegen.TestVectors(rows, quant.scores(rows), quant.winners(rows), kinds)


def simulate(tool, folder, files, bench):
    """What a testbench prints."""
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "bench.v").write_text(bench)
    run(tool("iverilog"), "-g2005", "-Wall", "-o", "sim", *files, "bench.v", cwd=folder)
    return run(tool("vvp"), "-n", "sim", cwd=folder).decode()


@pytest.mark.parametrize(("width", "tie"), [(8, 0.0), (8, 0.3), (16, 0.3)])
@pytest.mark.parametrize("name", [*MODELS, "categories", "regression"])
def test_every_score_and_answer_is_that_of_the_emulator(
    quant_of, tool, tmp_path, name, width, tie
):
    quant = quant_of(name, width, tie)
    rows, files = many_rows(quant), emit_verilog(quant, "mdl")
    assert set(files) == {"mdl.v", "mdl_parallel.v"}
    for file in files:
        bench = emit_testbench(quant, rows, "mdl", "0", parallel="parallel" in file)
        told = simulate(tool, tmp_path, {file: files[file]}, bench)
        assert f"selftest: 0 of {len(rows.rows)} differ" in told
        if "parallel" not in file:
            assert f"clocks: {cycles(quant)}\n" in told


@pytest.mark.parametrize("name", [*MODELS, "categories", "regression"])
def test_a_start_clears_every_register(quant_of, tool, tmp_path, name):
    """Whatever is in them: a bench starts the module in the middle of a run, too."""
    quant = quant_of(name, 8, 0.3)
    rows, text = codegen.test_vectors(quant), emit_verilog(quant, "mdl")["mdl.v"]
    other, n_registers = re.subn(r"(initial \w+ = 1'b)0;", r"\g<1>1;", text)
    assert n_registers > 4
    told = simulate(
        tool, tmp_path, {"mdl.v": other}, emit_testbench(quant, rows, "mdl", "0")
    )
    assert f"selftest: 0 of {len(rows.rows)} differ" in told


def test_a_wrong_weight_is_noticed(quant_of, tool, tmp_path):
    quant = quant_of("three classes", 8)
    text = emit_verilog(quant, "mdl")["mdl.v"]
    entry = re.search(r"3'd1, (\d+)'sh([0-9a-f]+)\}", text)
    bits, weight = entry[1], int(entry[2], 16)
    wrong = text.replace(entry[0], f"3'd1, {bits}'sh{weight ^ 1:x}}}", 1)
    assert wrong != text
    bench = emit_testbench(quant, codegen.test_vectors(quant), "mdl", "0")
    told = simulate(tool, tmp_path, {"mdl.v": wrong}, bench)
    assert "selftest: 0 of" not in told


def test_many_terms_have_the_serial_module_only(random_model):
    quant = quantise(compile_model(random_model(40, 4, 2)), 8)
    assert quant.n_terms > MAX_PARALLEL_TERMS
    assert set(emit_verilog(quant, "mdl")) == {"mdl.v"}


@pytest.mark.parametrize("name", ["three classes", "categories", "regression"])
def test_verilator_warns_of_nothing(quant_of, tool, tmp_path, name):
    for file, text in emit_verilog(quant_of(name, 16, 0.3), "mdl").items():
        (tmp_path / file).write_text(text)
        run(tool("verilator"), "--lint-only", "-Wall", file, cwd=tmp_path)


def test_it_can_be_synthesised_for_ice40(quant_of, tool, tmp_path):
    files = emit_verilog(quant_of("two classes, one score", 8), "mdl")
    for file, text in files.items():
        (tmp_path / file).write_text(text)
        script = f"read_verilog {file}; synth_ice40 -top {file[:-2]}; stat"
        told = run(tool("yosys"), "-p", script, cwd=tmp_path).decode()
        assert int(re.findall(r"SB_LUT4 +(\d+)", told)[-1]) < 1280  # of an hx1k


def test_other_forms_are_refused():
    quant = quantise(compile_model(random_kernel_model("rbf")), 16)
    with pytest.raises(ExportError, match="Verilog is for linear models only"):
        bundle(quant, codegen.test_vectors(quant), target="verilog")
