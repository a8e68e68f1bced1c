"""Verilog of a linear integer model: modules, and testbenches for them."""

from __future__ import annotations

import numpy as np

from smpcore.codegen.package import Files, Package
from smpcore.codegen.program import WeightedInputs
from smpcore.codegen.quantised import QuantModel
from smpcore.codegen.targets.verilog.modules import (
    LICENCE,
    MAX_PARALLEL_TERMS,
    constant,
    cycles,
    emit_verilog,
    index_bits,
)
from smpcore.codegen.templates import section
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
    body = _PARALLEL_TEST if parallel else _SERIAL_TEST
    wrong = "scores != expected[i]"
    if not quant.is_regression:
        wrong += " || answer != classes[i]"
    return f"{LICENCE}\n" + body.format(
        name=name,
        id=identity,
        n_vectors=n,
        n_inputs=len(quant.inputs),
        width=width,
        place_bits=index_bits(len(quant.inputs)),
        accumulator=quant.accumulator,
        n_classes=quant.n_outputs,
        class_bits=index_bits(quant.n_outputs),
        rows=rows,
        wrong=wrong,
        answer_port="" if quant.is_regression else ", .answer(answer)",
    )


def _bus(values: np.ndarray, bits: int) -> str:
    """Integers side by side, the first one lowest."""
    joined = ""
    for place, value in enumerate(values[::-1].tolist()):
        end = "\n            " if place % 8 == 7 else " "
        joined += constant(value, bits).replace("sh", "h") + "," + end
    return "{" + joined.rstrip(", \n") + "}"


_TEST_HEAD = """\
module {name}_tb;
    reg [{n_inputs}*{width}-1:0] x [0:{n_vectors}-1];
    reg [{n_classes}*{accumulator}-1:0] expected [0:{n_vectors}-1];
    reg [{class_bits}-1:0] classes [0:{n_vectors}-1];
    reg [{n_classes}*{accumulator}-1:0] scores;
    wire [{class_bits}-1:0] answer;
    integer i, k, wrong, clocks;
"""
_TEST_DATA = """\
    initial begin
{rows}
        wrong = 0;
        clocks = 0;
"""
_SERIAL_TEST = (
    _TEST_HEAD
    + """\
    reg clk = 0, write = 0, start = 0;
    reg [{place_bits}-1:0] place;
    reg signed [{width}-1:0] value;
    wire done, valid;
    wire [{class_bits}-1:0] of;
    wire signed [{accumulator}-1:0] score;
    always #5 clk = !clk;
    {name} model(
        .clk(clk), .write(write), .place(place), .value(value), .start(start),
        .done(done), .score_valid(valid), .score_class(of), .score(score){answer_port}
    );
    // A class has the largest score of its rows.
    always @(posedge clk) if (valid)
        if (score > $signed(scores[of*{accumulator} +: {accumulator}]))
            scores[of*{accumulator} +: {accumulator}] <= score;
"""
    + _TEST_DATA
    + """\
        for (i = 0; i < {n_vectors}; i = i + 1) begin
            write = 1;
            for (k = 0; k < {n_inputs}; k = k + 1) begin
                place = k;
                value = x[i][k*{width} +: {width}];
                @(negedge clk);
            end
            write = 0;
            scores = {{{n_classes}{{1'b1, {{({accumulator}-1){{1'b0}}}}}}}};
            start = 1;
            @(negedge clk) start = 0;
            clocks = 1;
            while (!done && clocks < 10000000) @(negedge clk) clocks = clocks + 1;
            if ({wrong}) wrong = wrong + 1;
        end
        $display("clocks: %0d", clocks);
        $display("{name} {id} selftest: %0d of {n_vectors} differ", wrong);
        $finish;
    end
endmodule
"""
)
_PARALLEL_TEST = (
    _TEST_HEAD
    + """\
    reg [{n_inputs}*{width}-1:0] row;
    wire [{n_classes}*{accumulator}-1:0] now;
    {name}_parallel model(.x(row), .scores(now){answer_port});
"""
    + _TEST_DATA
    + """\
        for (i = 0; i < {n_vectors}; i = i + 1) begin
            row = x[i];
            #10 scores = now;
            if ({wrong}) wrong = wrong + 1;
        end
        $display("{name} {id} selftest: %0d of {n_vectors} differ", wrong);
        $finish;
    end
endmodule
"""
)


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
        words["parallel"] = section("verilog/parts.in", "parallel", words)
    return words
