"""How long sweeps take, and whether threads change them.

    python -m tests.bench.sweep

First breast cancer with SMaLL at k = 1 to 30; then four methods with ten points each on
digits, and all five with twelve points on a table of 30 features and two classes. Five
folds of the training rows. Times from the start of the sweep, in seconds;
machine code is loaded before.
"""

from __future__ import annotations

import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import pandas as pd
from sklearn.datasets import make_classification

from smpcore import METHODS, Dataset, load_dataset, split, sweep
from smpcore.evaluation import folds, method_path, sweep_table


def drawn() -> Dataset:
    """1250 rows of 30 features, of which a split leaves 750 to learn from."""
    X, y = make_classification(
        1250, 30, n_informative=10, n_redundant=5, random_state=0
    )
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(30)]).assign(kind=y)
    roles = {**dict.fromkeys(list(frame)[:-1], "feature"), "kind": "target"}
    return Dataset(name="1250 x 30", frame=frame, roles=roles, task="classification")


def timed(
    dataset: Dataset, methods: list[str], n_points: int, n_threads: int
) -> pd.DataFrame:
    """Sweep and print when the first point was known on all folds, and the last."""
    rows = split(dataset).train
    began, cpu = time.perf_counter(), time.process_time()
    split_rows = folds(dataset, rows)
    walks = [method_path(name, dataset, rows, n_points=n_points) for name in methods]
    found, first, seen = [], None, {}
    executor = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
    for row in sweep(dataset, split_rows, walks, executor=executor):
        found.append(row)
        point = row["method"], row["value"]
        seen[point] = seen.get(point, 0) + 1
        if first is None and seen[point] == len(split_rows):
            first = time.perf_counter() - began
    spent, used = time.perf_counter() - began, time.process_time() - cpu
    complete = sum(count == len(split_rows) for count in seen.values())
    words = f"{dataset.name}, {len(rows)} rows, {', '.join(methods)}: "
    words += f"{complete} points x {len(split_rows)} folds"
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
    for dataset, methods, n_points in (
        (load_dataset("breast_cancer"), ["smallk"], 30),
        (load_dataset("digits"), list(METHODS)[:4], 10),
        (drawn(), list(METHODS), 12),
    ):
        serial = timed(dataset, methods, n_points, 1)
        threads = timed(dataset, methods, n_points, max(2, cores))
        same = serial.drop(columns="seconds").equals(threads.drop(columns="seconds"))
        print(f"  the same table from threads: {'yes' if same else 'NO'}")
        each = threads.groupby("method")["seconds"].sum()
        told = ", ".join(f"{name} {seconds:.2f}" for name, seconds in each.items())
        print(f"  seconds of the fits: {told}")


if __name__ == "__main__":
    main()
