"""Verilog-2005 of a linear integer model: one multiply-accumulate unit, or all at once.

The *serial* module holds the inputs in a small memory and does one term per clock:

    ROM -> input memory -> multiply, add -> score of a row -> comparison

Rows come in the order of their classes, so that the answer, the lowest class within
`TIE` of the largest score, needs no memory for scores: with two classes one register
keeps the largest score of class 0; with more classes and a tie above 0 the rows are
computed a second time, and the first that reaches the largest score less `TIE` wins.

The *parallel* module is combinational: every row is a sum written out.
"""

from __future__ import annotations

import numpy as np

from smpcore.codegen.model import QuantModel
from smpcore.codegen.package import Files, Package
from smpcore.codegen.program import WeightedInputs
from smpcore.codegen.templates import filled
from smpcore.codegen.vectors import TestVectors
from smpcore.errors import ExportError

#: Up to so many terms the parallel module is written as well.
MAX_PARALLEL_TERMS = 64


def emit_verilog(quant: QuantModel, name: str) -> dict[str, str]:
    """Write the modules of a model."""
    files = {f"{name}.v": _serial(quant, name)}
    if quant.n_terms <= MAX_PARALLEL_TERMS:
        files[f"{name}_parallel.v"] = _parallel(quant, name)
    return files


def cycles(quant: QuantModel) -> int:
    """Clocks that the serial module takes from ``start`` to ``done``."""
    one_pass = len(_steps(quant)) + _LATENCY
    return 2 * one_pass - 1 if quant.tie > 0 and quant.n_outputs > 2 else one_pass


#: Clocks from the last entry of the table to the answer, and of the start.
_LATENCY = 5


def index_bits(n: int) -> int:
    """Bits of an index below n, at least 1."""
    return max((n - 1).bit_length(), 1)


def constant(value: int, bits: int) -> str:
    """Signed literal in two's complement."""
    return f"{bits}'sh{int(value) & (2**bits - 1):x}"


def _steps(quant: QuantModel) -> list[tuple[int, int, int, bool]]:
    """Input, level, weight of each term, and whether it is the last of its row."""
    steps = []
    for row in range(quant.n_rows):
        terms = list(quant.operations[0].terms(row)) or [(0, -1, 0)]
        steps += [(*term, k == len(terms) - 1) for k, term in enumerate(terms)]
    return steps


def _case(name: str, bits: int, n: int, entries: list[str], signed: bool) -> str:
    """A function that holds a table."""
    kind = "signed " if signed else ""
    lines = "".join(
        f"            {index_bits(n)}'d{i}: {name} = {entry};\n"
        for i, entry in enumerate(entries)
    )
    return f"""\
    function {kind}[{bits - 1}:0] {name}(input [{index_bits(n) - 1}:0] index);
        case (index)
{lines}            default: {name} = {bits}'d0;
        endcase
    endfunction
"""


def _serial(quant: QuantModel, name: str) -> str:
    width, accumulator = quant.width, quant.accumulator
    n, n_classes = len(quant.inputs), quant.n_outputs
    steps, place_bits = _steps(quant), index_bits(n)
    weight_bits = 1 + max(abs(weight).bit_length() for _, _, weight, _ in steps)
    has_levels = any(level >= 0 for _, level, _, _ in steps)
    entries = []
    for place, level, weight, last in steps:
        category = f"1'b{int(level >= 0)}, {constant(max(level, 0), width)}, "
        fields = f"{category * has_levels}{place_bits}'d{place}, "
        entries.append(f"{{1'b{int(last)}, {fields}{constant(weight, weight_bits)}}}")
    place_end, top = weight_bits + place_bits, weight_bits + place_bits
    top += (width + 1) * has_levels
    class_bits, row_bits = index_bits(n_classes), index_bits(quant.n_rows)
    bias = [constant(value, accumulator) for value in quant.operations[0].bias.tolist()]
    classes = [f"{class_bits}'d{k}" for k in quant.prototype_labels.tolist()]
    tables = "\n".join(
        [
            _case("step", top + 1, len(steps), entries, signed=False),
            _case("bias", accumulator, quant.n_rows, bias, signed=True),
            _case("class_of", class_bits, quant.n_rows, classes, signed=False),
        ]
    )
    term = "value_read * weight"
    if has_levels:
        term = f"is_level ? (value_read == level ? weight : {weight_bits}'sd0) : {term}"
    words = {
        "name": name,
        "inputs": "\n".join(
            f"//   {k}: {one.given.identifier}" for k, one in enumerate(quant.inputs)
        ),
        "width": width,
        "top_place": place_bits - 1,
        "n_inputs": n,
        "accumulator": accumulator,
        "top_class": class_bits - 1,
        "top": top,
        "top_step": index_bits(len(steps)) - 1,
        "last_step": f"{index_bits(len(steps))}'d{len(steps) - 1}",
        "one_step": f"{index_bits(len(steps))}'d1",
        "top_row": row_bits - 1,
        "one_row": f"{row_bits}'d1",
        "last_row": f"{row_bits}'d{quant.n_rows - 1}",
        "place_field": f"entry[{place_end - 1}:{weight_bits}]",
        "top_weight": weight_bits - 1,
        "tables": tables,
        "has_levels": has_levels,
        "flag": top - 1,
        "place_end": place_end,
        "term": term,
        "lowest": constant(-(2 ** (accumulator - 1)), accumulator),
        "port": _port(quant, "reg"),
    }
    if not quant.is_regression:
        way = "two_classes" if n_classes == 2 else "second_pass"
        words |= {way if quant.tie else "untied": True}
        words["tie"] = constant(quant.tie, accumulator + 1)
    words["is_first_pass"] = " && !second" if "second_pass" in words else ""
    return filled("verilog/serial.v.in", words)


def _port(quant: QuantModel, kind: str) -> str:
    """The port of the answer; a value has none."""
    if quant.is_regression:
        return ""
    return f",\n    output {kind} [{index_bits(quant.n_outputs) - 1}:0] answer"


def _parallel(quant: QuantModel, name: str) -> str:
    width, accumulator = quant.width, quant.accumulator
    n, n_classes, m = len(quant.inputs), quant.n_outputs, quant.n_rows
    sums = ""
    for row in range(m):
        terms = [constant(quant.operations[0].bias[row], accumulator)]
        for place, level, weight in quant.operations[0].terms(row):
            bits = 1 + int(abs(weight)).bit_length()
            value = f"$signed(x[{place * width} +: {width}])"
            if level < 0:
                terms.append(f"{value} * {constant(weight, bits)}")
            else:
                has = f"{value} == {constant(level, width)}"
                whole = constant(weight, accumulator)
                terms.append(f"({has} ? {whole} : {accumulator}'sd0)")
        joined = "\n        + ".join(terms)
        sums += f"    wire signed [{accumulator - 1}:0] row{row} =\n        {joined};\n"
    scores, largest = "", ""
    kind = f"    wire signed [{accumulator - 1}:0]"
    for k in range(n_classes):
        rows = [
            f"row{row}" for row in np.flatnonzero(quant.prototype_labels == k).tolist()
        ]
        scores += _running_largest(kind, rows, f"score{k}")
    names = [f"score{k}" for k in range(n_classes)]
    if not quant.is_regression:
        bits, tie = index_bits(n_classes), constant(quant.tie, accumulator + 1)
        choice = "".join(
            f"\n        score{k} >= least ? {bits}'d{k} :" for k in range(n_classes - 1)
        )
        largest = _running_largest(kind, names, "largest")
        largest += f"    wire signed [{accumulator}:0] least = largest - {tie};\n"
        largest += f"    assign answer ={choice} {bits}'d{n_classes - 1};\n"
    words = {
        "name": name,
        "top_input": n * width - 1,
        "top_score": n_classes * accumulator - 1,
        "port": _port(quant, "wire"),
        "sums": sums + scores + largest,
        "scores": ", ".join(reversed(names)),
    }
    return filled("verilog/parallel.v.in", words)


def _running_largest(kind: str, names: list[str], result: str) -> str:
    """Wires that hold the largest of the first two, three, ... signals."""
    lines, before = "", names[0]
    for place, name in enumerate(names[1:], start=1):
        now = f"{result}_{place}"
        lines += f"{kind} {now} = {name} > {before} ? {name} : {before};\n"
        before = now
    return f"{lines}{kind} {result} = {before};\n"


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
    words |= {"parallel": parallel, "serial": not parallel}
    return filled("verilog/testbench.v.in", words)


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
    return package.words | {
        "width": str(model.width),
        "score_width": str(model.accumulator),
        "cycles": str(cycles(model)),
        "answer": answer,
        "parallel": model.n_terms <= MAX_PARALLEL_TERMS,
    }
