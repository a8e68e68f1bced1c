"""How long sweeps take, and whether threads change them.

    python -m tests.bench.sweep

First breast cancer with SMaLL at k = 1 to 30; then four methods with ten points each on
digits. Five folds of the training rows. Times from the start of the sweep, in seconds;
machine code is loaded before.
"""

from __future__ import annotations

import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import pandas as pd

from smpcore import METHODS, load_dataset, split, sweep
from smpcore.evaluation import folds, method_path, sweep_table


def timed(key: str, methods: list[str], n_points: int, n_threads: int) -> pd.DataFrame:
    """Sweep and print when the first point was known on all folds, and the last."""
    dataset = load_dataset(key)
    rows = split(dataset).train
    began, cpu = time.perf_counter(), time.process_time()
    drawn = folds(dataset, rows)
    walks = [method_path(name, dataset, rows, n_points=n_points) for name in methods]
    found, first, seen = [], None, {}
    executor = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
    for row in sweep(dataset, drawn, walks, executor=executor):
        found.append(row)
        point = row["method"], row["value"]
        seen[point] = seen.get(point, 0) + 1
        if first is None and seen[point] == len(drawn):
            first = time.perf_counter() - began
    spent, used = time.perf_counter() - began, time.process_time() - cpu
    complete = sum(count == len(drawn) for count in seen.values())
    words = f"{key}, {', '.join(methods)}: {complete} points x {len(drawn)} folds"
    print(
        f"{words}, {n_threads} thread{'s' * (n_threads > 1)}: first point "
        f"{first:.2f} s, all {spent:.2f} s ({used:.2f} s of processor)"
    )
    return sweep_table(found, dataset.task)


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore", UserWarning)
    for method in METHODS.values():
        method.warm_up()
    cores = joblib.cpu_count()
    for key, methods, n_points in (
        ("breast_cancer", ["smallk"], 30),
        ("digits", list(METHODS)[:4], 10),
    ):
        serial = timed(key, methods, n_points, 1)
        threads = timed(key, methods, n_points, max(2, cores))
        same = serial.drop(columns="seconds").equals(threads.drop(columns="seconds"))
        print(f"  the same table from threads: {'yes' if same else 'NO'}")
        each = threads.groupby("method")["seconds"].sum()
        told = ", ".join(f"{name} {seconds:.2f}" for name, seconds in each.items())
        print(f"  seconds of the fits: {told}")


if __name__ == "__main__":
    main()
