"""Cells and cycles of the Verilog of our models: ``python -m tests.bench.verilog``.

For each data set the best linear candidate of few weights, chosen by cross-validation
on the training rows of one split, synthesised for an iCE40 by yosys (in nextpnr for an
hx8k where that is installed). The peer is conifer (boosted trees). It publishes cells
and latencies of other tasks and chips only, with the makers' tools (for instance 32
trees of depth 2 of an ATLAS trigger: 12 clocks at 200 MHz on a Virtex 7,
https://sioni.web.cern.ch/2024/06/03/conifer-applications), so that no row of this table
has a partner there: the trees' accuracies are in ``tests.bench.chip``.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from smpcore.chips.programs import run
from smpcore.codegen import QuantModel
from smpcore.codegen.targets.verilog.modules import cycles, emit_verilog
from smpcore.errors import ExportError, SmpcoreError
from tests.bench.chip_data import Rows, split_rows, tables
from tests.bench.chip_recipes import Candidate, accuracy, candidates

#: More weights than these are slow to synthesise.
MOST_WEIGHTS = 48
_CELLS = {"LUT4": "SB_LUT4", "carry": "SB_CARRY", "FF": "SB_DFF", "RAM": "SB_RAM40"}


def chosen(rows: Rows) -> QuantModel:
    """The best of few weights over the folds, fitted on the training rows."""
    n_classes = len(np.unique(rows.y))
    best, most = None, -1.0
    for candidate in candidates(n_classes, rows.X.shape[1], large=True):
        if candidate.family not in ("SMaLL", "SMP"):
            continue
        mean = _mean(candidate, rows)
        if mean > most:
            best, most = candidate, mean
    return best.quantised(rows, rows.train)


def _mean(candidate: Candidate, rows: Rows) -> float:
    """Accuracy over the folds; below all others where it has too many weights."""
    try:
        models = [candidate.quantised(rows, train) for train, _ in rows.folds]
    except SmpcoreError:
        return -1.0
    if max(quant.n_terms for quant in models) > MOST_WEIGHTS:
        return -1.0
    pairs = zip(models, rows.folds, strict=True)
    return float(np.mean([accuracy(quant, rows, held) for quant, (_, held) in pairs]))


def synthesised(file: Path) -> dict[str, Any]:
    """Cells of a module, and its highest clock where nextpnr is installed."""
    top, folder = file.stem, file.parent
    script = f"read_verilog {file.name}; synth_ice40 -top {top} -json {top}.json; stat"
    told = run("yosys", "-p", script, cwd=folder).decode()
    last = told[told.rindex("Number of cells") :]
    found = {
        name: sum(int(n) for n in re.findall(rf"{cell}\w* +(\d+)", last))
        for name, cell in _CELLS.items()
    }
    if shutil.which("nextpnr-ice40"):
        found["MHz"] = _highest_clock(folder, top)
    return found


def _highest_clock(folder: Path, top: str) -> float | None:
    """Megahertz after place and route; None without a clock or if it does not fit."""
    words = "--hx8k --package ct256 --pcf-allow-unconstrained --timing-allow-fail"
    options = [*words.split(), "--json", f"{top}.json", "--log", "placed.log", "-q"]
    try:
        run("nextpnr-ice40", *options, cwd=folder)
    except ExportError:  # more pins than the package has, for instance
        return None
    found = re.findall(
        r"Max frequency.*: ([\d.]+) MHz", (folder / "placed.log").read_text()
    )
    return float(found[-1]) if found else None


def lines(name: str, rows: Rows) -> list[dict[str, Any]]:
    """A line for each module of the chosen model."""
    quant, results = chosen(rows), []
    with tempfile.TemporaryDirectory() as folder:
        for file, text in emit_verilog(quant, "mdl").items():
            place = Path(folder) / file
            place.write_text(text)
            parallel = file.endswith("_parallel.v")
            entry = {
                "data": name,
                "accuracy %": round(100 * accuracy(quant, rows, rows.test), 1),
                "weights": quant.n_terms,
                "module": "parallel" if parallel else "serial",
                "clocks": 0 if parallel else cycles(quant),
            }
            results.append(entry | synthesised(place))
    return results


def main(names: list[str]) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    found = []
    for name, dataset in tables(names or ["iris", "wine", "breast_cancer"], []):
        found += lines(name, split_rows(dataset, 0))
    print(pd.DataFrame(found).to_string(index=False))
    print("One split. iCE40, yosys; MHz: nextpnr, hx8k. conifer: no common data set.")


if __name__ == "__main__":
    main(sys.argv[1:])
