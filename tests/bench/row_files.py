"""Fits of rows that stay in a file: minutes, certificate and memory.

    python -m tests.bench.row_files [--rows N] [--only NAME ...] [--cores N]

Writes N x 50 numbers as float32 to a Parquet file in a temporary folder (20,000,000
rows take 4 GB), fits each family in a process of its own, at a tolerance of 1e-2, and
removes the folder. Memory is the highest `RssAnon` of /proc, read ten times a second:
what no file stands behind. The minutes of one pass over the file, and how fast memory
is copied, say what no fit can be faster than. Super-sparse learning knows no gap: where
the rows fit into memory, its objective is compared with that of the fit there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from joblib import parallel_config

from smpcore import (
    MultiPrototypeSVC,
    SMaLLClassifier,
    SMPClassifier,
    SuperSparseClassifier,
)
from smpcore.datasets.parquet_rows import ParquetRows
from smpcore.methods.shared.row_blocks import row_blocks
from smpcore.methods.shared.scaling import MOST_COPY_BYTES

N_FEATURES, GROUP = 50, 250_000
FEATURES = [f"x{i}" for i in range(N_FEATURES)]

FAMILIES = {
    "SMP": SMPClassifier(tol=1e-2),
    "SMaLL": SMaLLClassifier(k=5, tol=1e-2),
    "SVM": MultiPrototypeSVC(tol=1e-2),
    "super-sparse": SuperSparseClassifier(tol=1e-3),
}


def write(folder: Path, n_rows: int) -> None:
    """Two clouds of each of two classes, which overlap, and a column of labels."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(2, 2, N_FEATURES)) * 0.3
    numbers = [(name, pa.float32()) for name in FEATURES]
    schema = pa.schema([*numbers, ("label", pa.int8())])
    path = folder / "rows.parquet"
    with pq.ParquetWriter(path, schema, use_dictionary=False) as file:
        for first in range(0, n_rows, GROUP):
            n = min(GROUP, n_rows - first)
            y, cloud = random.integers(2, size=(2, n))
            X = random.standard_normal((n, N_FEATURES), dtype=np.float32)
            X += centres[y, cloud].astype(np.float32)
            columns = [*X.T.copy(), y.astype(np.int8)]
            file.write_table(pa.table(columns, schema=schema), GROUP)


def fit(folder: Path, name: str, in_memory: bool, cores: int) -> dict[str, Any]:
    """Fit one family in this process, to the file or to all its rows as one array."""
    rows = ParquetRows(folder / "rows.parquet", FEATURES)
    labels = pq.read_table(rows.path, columns=["label"])["label"].to_numpy()
    rows = np.asarray(rows) if in_memory else rows
    estimator = FAMILIES[name]
    began, spent = time.perf_counter(), time.process_time()
    with parallel_config("threading", n_jobs=cores):
        estimator.fit(rows, labels)
    return {
        "minutes": (time.perf_counter() - began) / 60,
        "cpu minutes": (time.process_time() - spent) / 60,
        "steps": estimator.n_iter_,
        "objective": estimator.objective_,
        "gap": certified(estimator),
        "ended": estimator.history_.status_text,
    }


def certified(estimator: Any) -> float:
    """Relative gap of the convex problem; SMaLL's is that of its relaxation."""
    relaxed = getattr(estimator, "relaxed_objective_", estimator.objective_)
    lowest = getattr(estimator, "bound_", estimator.objective_ - estimator.gap_)
    return (relaxed - lowest) / relaxed


def measured(folder: Path, name: str, *options: str) -> tuple[dict[str, Any], float]:
    """What a process of its own says of its fit, and its highest anonymous memory."""
    command = [sys.executable, "-m", "tests.bench.row_files"]
    child = subprocess.Popen(
        [*command, "--folder", str(folder), "--only", name, *options],
        stdout=subprocess.PIPE,
    )
    highest = 0
    while child.poll() is None:
        try:
            status = Path(f"/proc/{child.pid}/status").read_text()
        except OSError:
            break
        sizes = [line.split()[1] for line in status.splitlines() if "RssAnon" in line]
        highest = max([highest, *map(int, sizes)])
        time.sleep(0.1)
    answer = child.communicate()[0]
    return json.loads(answer.splitlines()[-1]), highest / 2**20


def copied() -> float:
    """Bytes per second, in GB, that one thread reads and writes: the best of five."""
    source, target = np.ones((2, 2**25))
    best = np.inf
    for _ in range(5):
        began = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - began)
    return 2 * source.nbytes / best / 1e9


def report(n_rows: int, names: list[str], cores: int) -> None:
    """Write the file, fit each family, and print a line for each."""
    print(f"copying memory, one thread: {copied():.1f} GB/s read and written")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, n_rows)
        rows = ParquetRows(folder / "rows.parquet", FEATURES)
        began = time.perf_counter()
        total = sum(block[:, 0].sum() for _, block in row_blocks(rows))
        pass_over = time.perf_counter() - began
        size = rows.path.stat().st_size / 1e9
        print(
            f"{n_rows:,} x {N_FEATURES}: {size:.2f} GB of Parquet, "
            f"{8e-9 * n_rows * N_FEATURES:.2f} GB as float64; one pass {pass_over:.1f} "
            f"s (mean {total / n_rows:.3f})",
            flush=True,
        )
        for name in names:
            values, memory = measured(folder, name, f"--cores={cores}")
            ended = values["ended"]
            print(
                f"{name:<12}{values['minutes']:7.2f} min ({values['cpu minutes']:.2f} "
                f"of CPU)  {values['steps']:>4} steps  objective "
                f"{values['objective']:.6f}  gap {values['gap']:.1e}  {ended}  "
                f"{memory:.2f} GiB "
                "anonymous",
                flush=True,
            )
            if np.isnan(values["gap"]) and 8 * n_rows * N_FEATURES <= MOST_COPY_BYTES:
                usual, memory = measured(folder, name, "--in-memory")
                apart = values["objective"] / usual["objective"] - 1.0
                print(
                    f"  in memory {usual['minutes']:.2f} min "
                    f"({usual['cpu minutes']:.2f} of CPU)  {usual['steps']} steps  "
                    f"objective {usual['objective']:.6f}, {apart:+.1e} from it; "
                    f"{memory:.2f} GiB anonymous",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--only", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--in-memory", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.folder:
        how = arguments.only[0], arguments.in_memory, arguments.cores
        print(json.dumps(fit(arguments.folder, *how)))
    else:
        report(arguments.rows, arguments.only, arguments.cores)
