"""Targets, families and boards in one table: ``python -m tests.bench.targets``.

Every method at its defaults on iris, in each number format, answers its test vectors,
200 rows inside the ranges and 200 to 400 that should never come. A row of scores is
equal if every bit is that of the emulator, and the answer too; for ONNX, whose runtime
orders sums by itself, if every score is within the proved bound.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from smpcore import METHODS, load_dataset, prepare, split
from smpcore.chips import CHIPS, available, measure
from smpcore.codegen import NUMBERS, TestVectors, compile_model, error_bound, quantise
from smpcore.codegen.arithmetic import to_float32
from smpcore.codegen.program import WeightedInputs
from smpcore.codegen.targets.onnx.source import emit_onnx
from smpcore.codegen.targets.verilog.source import emit_testbench, emit_verilog
from smpcore.errors import ExportError
from tests.smpcore.codegen.c_programs import answers_in_c, case
from tests.smpcore.codegen.scripts import LANGUAGES, answers_of_script
from tests.smpcore.codegen.test_scripts import _rows
from tests.smpcore.codegen.toolchain import run, write_sources

#: Simulated chips take long: so many rows of all kinds.
_ON_CHIPS = 150


class Cell(NamedTuple):
    """What a model answered somewhere: equal rows of all, bytes, time if counted."""

    equal: int
    rows: int
    size: int
    count: str = ""


def _same(model: Any, rows: np.ndarray, scores: Any, winners: Any = None) -> int:
    """Rows with the scores of the emulator, and its answers where they are told."""
    expected = model.scores(rows).astype(np.float64)
    found = np.asarray(scores).reshape(expected.shape).astype(np.float64)
    none = np.isnan(found) & np.isnan(expected)
    signs = np.signbit(found) == np.signbit(expected)
    equal = (none | ((found == expected) & signs)).all(axis=1)
    if winners is not None:
        equal &= np.ravel(winners) == model.winners(rows)
    return int(equal.sum())


def _host(model: Any, rows: np.ndarray, folder: Path) -> Cell:
    (found,) = answers_in_c([case(model, rows)])
    winners = None if model.is_regression else found["predict"]
    write_sources(folder, model)
    flags = ["-std=c99", "-Os", "-ffp-contract=off"]
    run("gcc", *flags, "-c", "mdl.c", "-o", "mdl.o", cwd=folder)
    size = run("size", "mdl.o", cwd=folder).decode().split()
    return Cell(_same(model, rows, found["scores"], winners), len(rows), int(size[6]))


def _chip(chip: Any, model: Any, rows: np.ndarray, folder: Path) -> Cell:
    # In turns, so that rows of all kinds are among them.
    rows = rows[:: -(-len(rows) // _ON_CHIPS)]
    found = measure(model, rows, chip)
    equal = _same(model, rows, found.scores, found.winners)
    count = f"{int(found.counts.max()):,} {found.chip.counted}"
    return Cell(equal, len(rows), found.flash, count)


def _script(language: str, model: Any, rows: np.ndarray, folder: Path) -> Cell:
    emit, _, _ = LANGUAGES[language]
    rows = rows[::8] if language == "micropython" else rows
    tasks = [(model, rows, {"scores": model.n_outputs, "predict": 1})]
    (found,) = answers_of_script(language, tasks, shutil.which, folder)
    equal = _same(model, rows, found["scores"], found["predict"])
    return Cell(equal, len(rows), len(emit(model)))


def _onnx(model: Any, rows: np.ndarray, folder: Path) -> Cell:
    import onnxruntime

    content = emit_onnx(model)
    # Where a sum overflows there is no bound.
    rows = rows[np.isfinite(rows).all(axis=1)]
    rows = rows[np.isfinite(model.scores(rows)).all(axis=1)]
    session = onnxruntime.InferenceSession(content)
    (scores,) = session.run(["scores"], {"input": np.float32(rows)})
    with np.errstate(all="ignore"):
        bound = error_bound(model, rows)
        off = np.abs(scores.astype(np.float64) - model.scores(rows))
    near = (off <= 2 * bound) | ~np.isfinite(bound)
    return Cell(int(near.all(axis=1).sum()), len(rows), len(content))


def _icarus(model: Any, rows: np.ndarray, folder: Path) -> Cell:
    text = emit_verilog(model, "mdl")["mdl.v"]
    kinds = ("random",) * len(rows)
    vectors = TestVectors(rows, model.scores(rows), model.winners(rows), kinds)
    (folder / "mdl.v").write_text(text)
    (folder / "tb.v").write_text(emit_testbench(model, vectors, "mdl", "0"))
    run("iverilog", "-g2005", "-o", "sim", "mdl.v", "tb.v", cwd=folder)
    told = run("vvp", "-n", "sim", cwd=folder).decode()
    wrong, n = re.search(r"selftest: (\d+) of (\d+)", told).groups()
    clocks = re.search(r"clocks: (\d+)", told)[1]
    return Cell(int(n) - int(wrong), int(n), len(text), f"{clocks} clocks")


#: Target and where it runs -> what answers there.
PLACES: dict[str, Callable[[Any, np.ndarray, Path], Cell]] = {
    "C99, host": _host,
    **{f"C99, {chip.name}": partial(_chip, chip) for chip in CHIPS.values()},
    "JavaScript, node": partial(_script, "javascript"),
    "Python, CPython": partial(_script, "python"),
    "MicroPython, wasm": partial(_script, "micropython"),
    "Rust, rustc": partial(_script, "rust"),
    "ONNX, onnxruntime": _onnx,
    "Verilog, Icarus": _icarus,
}


def models(data: str) -> Iterator[tuple[str, str, Any]]:
    """Every method at its defaults on a data set, in each number format it has."""
    dataset = load_dataset(data)
    parts = split(dataset)
    preparation = prepare(dataset, parts.train)
    X = preparation.transform(dataset.frame)[parts.train]
    for key, method in METHODS.items():
        fitted = method.estimator(method.defaults()).fit(X, dataset.y[parts.train])
        compiled = compile_model(fitted.model_, preparation)
        for number, width in NUMBERS.items():
            try:
                yield key, number, quantise(compiled, width) if width else compiled
            except ExportError:
                continue  # said on the page


def _has(place: str, model: Any) -> bool:
    """Whether a target has such numbers and such a form."""
    if place == "Verilog, Icarus":
        return model.is_integer and isinstance(model.operations[-1], WeightedInputs)
    return place != "ONNX, onnxruntime" or not model.is_integer


def _cell(answer: Callable[..., Cell], model: Any, rows: np.ndarray) -> Cell | str:
    with tempfile.TemporaryDirectory() as folder:
        try:
            return answer(model, rows, Path(folder))
        except ExportError as error:
            return str(error)


def main(arguments: list[str] | None = None) -> None:
    """Print a line for each target, family and number format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="iris")
    parser.add_argument("--numbers", nargs="+", default=["float32", "int8"])
    asked = parser.parse_args(arguments)
    there = {f"C99, {chip.name}" for chip in available()}
    lines, refused = [], {}
    for family, number, model in models(asked.data):
        if number not in asked.numbers:
            continue
        rows = _rows(model)
        rows = rows if model.is_integer else to_float32(rows).astype(np.float64)
        for place, answer in PLACES.items():
            if place.removeprefix("C99, ") in CHIPS and place not in there:
                continue
            if not _has(place, model):
                continue
            cell = _cell(answer, model, rows)
            if isinstance(cell, str):
                refused[family, number, place] = cell
                continue
            equal = f"{cell.equal}/{cell.rows}"
            lines.append((family, number, place, equal, f"{cell.size:,}", cell.count))
    columns = ["family", "numbers", "target", "rows equal", "bytes", "per prediction"]
    print(pd.DataFrame(lines, columns=columns).to_string(index=False))
    for key, why in refused.items():
        print(f"{', '.join(key)}: {why}")
    print(
        "Bytes: C on chips: what the model adds to a program; on the host: its object "
        "file; else: the file. Time: the most of all rows tried."
    )


if __name__ == "__main__":
    main()
