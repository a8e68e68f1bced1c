"""Verilog of a linear integer model: modules, and testbenches for them."""

from __future__ import annotations

import numpy as np

from smpcore.codegen.package import Files, Package
from smpcore.codegen.program import WeightedInputs
from smpcore.codegen.quantised import QuantModel
from smpcore.codegen.targets.verilog.modules import (
    MAX_PARALLEL_TERMS,
    PARTS,
    constant,
    cycles,
    emit_verilog,
    index_bits,
)
from smpcore.codegen.templates import filled, section
from smpcore.codegen.vectors import TestVectors
from smpcore.errors import ExportError


def emit_testbench(
    quant: QuantModel,
    vectors: TestVectors,
    name: str,
    identity: str,
    parallel: bool = False,
) -> str:
    """Write a testbench that compares every score and every answer."""
    width, n = quant.width, len(vectors.rows)
    rows = "\n".join(
        f"        x[{i}] = {_bus(row, width)};\n"
        f"        expected[{i}] = {_bus(scores, quant.accumulator)};\n"
        f"        classes[{i}] = {winner};"
        for i, (row, scores, winner) in enumerate(
            zip(vectors.rows, vectors.scores, vectors.winners, strict=True)
        )
    )
    wrong = "scores != expected[i]"
    if not quant.is_regression:
        wrong += " || answer != classes[i]"
    words = {
        "name": name,
        "id": identity,
        "n_vectors": n,
        "n_inputs": len(quant.inputs),
        "width": width,
        "place_bits": index_bits(len(quant.inputs)),
        "accumulator": quant.accumulator,
        "n_classes": quant.n_outputs,
        "class_bits": index_bits(quant.n_outputs),
        "rows": rows,
        "wrong": wrong,
        "answer_port": "" if quant.is_regression else ", .answer(answer)",
    }
    return filled(f"verilog/{'parallel' if parallel else 'serial'}_tb.v.in", words)


def _bus(values: np.ndarray, bits: int) -> str:
    """Integers side by side, the first one lowest."""
    joined = ""
    for place, value in enumerate(values[::-1].tolist()):
        end = "\n            " if place % 8 == 7 else " "
        joined += constant(value, bits).replace("sh", "h") + "," + end
    return "{" + joined.rstrip(", \n") + "}"


def verilog(package: Package) -> Files:
    """Modules of a linear model in integers, and their testbenches."""
    model = package.model
    if model.find(WeightedInputs) is None:
        raise ExportError(
            "Verilog is for linear models only: SMP, SMaLL and the linear SVM; export "
            "this model as C."
        )
    files = emit_verilog(model, package.name)
    for file in sorted(files):
        parallel = "_parallel" in file
        bench = emit_testbench(
            model, package.vectors, package.name, package.id, parallel
        )
        files[file.replace(".v", "_tb.v")] = bench
    return {**package.documents, **files}


def words_of_verilog(package: Package) -> dict[str, str]:
    """Words of the page that tells how the modules are tried and used."""
    model = package.model
    answer = "`answer` has the index of the class, see below"
    if model.is_regression:
        answer = f"`score` has the value in steps of {model.step!r} above "
        answer += repr(model.shift)
    words = package.words | {
        "width": str(model.width),
        "score_width": str(model.accumulator),
        "cycles": str(cycles(model)),
        "answer": answer,
        "parallel": "",
    }
    if model.n_terms <= MAX_PARALLEL_TERMS:
        words["parallel"] = section(PARTS, "parallel", words)
    return words
