"""What a cluster costs and gives: ``python -m tests.bench.cluster``.

A real scheduler and two worker processes on this machine, one thread each: overhead
of a task, sweeps of 200 short and of 200 longer fits on one thread here and on two
workers, their memory, and a table of a million rows on one worker. With the word
``fits`` (and ``--rows``): fits whose rows stay on workers, in `cluster_fits`.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import statistics
import time
import warnings
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np

from smpcore import METHODS, load_dataset, split, sweep
from smpcore.evaluation import engine, folds, method_path, sweep_table
from smpcore.evaluation.engine import VARIABLE
from smpcore.evaluation.executors import running
from tests.bench.cluster_fits import print_fits
from tests.clusters import Cluster

#: Data set, its methods and points of each; five folds: 200 fits each.
SWEEPS = {
    "breast_cancer": (("smp", "mprotsvm"), 20),
    "digits": (("smp", "mprotsvm", "smallk", "supersparse"), 10),
}
NEVER = np.zeros(1, dtype=np.int64)


def nothing(shared: Any, task: tuple) -> int:
    """A task that does nothing."""
    return task[0]


def fit(shared: tuple[np.ndarray, np.ndarray], task: tuple[str]) -> tuple[float, float]:
    """Seconds of a fit, and what it made the process's memory peak at, in MB."""
    X, y = shared
    method = METHODS[task[0]]
    method.warm_up()
    started = time.perf_counter()
    estimator = method.estimator(method.defaults("classification"))
    estimator.solve(estimator.problem(X, y))
    return time.perf_counter() - started, peak()


def peak() -> float:
    """Most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def memory() -> float:
    """Memory of this process now, in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def per_task(executor: Executor, n: int = 1000) -> float:
    """Milliseconds of a task that does nothing, median of five rounds."""
    times = []
    with running(nothing, None, NEVER, executor) as run:
        for _ in range(5):
            started = time.perf_counter()
            assert sum(1 for _ in run((i,) for i in range(n))) == n
            times.append(1e3 * (time.perf_counter() - started) / n)
    return statistics.median(times)


def swept(name: str, mode: str, **options: Any) -> tuple[float, float, Any]:
    """Seconds until the first fit and all fits of a sweep are there, and its table."""
    dataset = load_dataset(name)
    rows = split(dataset).train
    keys, n_points = SWEEPS[name]
    walks = [method_path(key, dataset, rows, n_points=n_points) for key in keys]
    started, first, found = time.perf_counter(), 0.0, []
    for row in sweep(dataset, folds(dataset, rows), walks, mode=mode, **options):
        first = first or time.perf_counter() - started
        found.append(row)
    table = sweep_table(found, dataset.task).drop(columns="seconds")
    return first, time.perf_counter() - started, table


def large() -> tuple[np.ndarray, np.ndarray]:
    """A million rows of twenty features, two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 20))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=len(X))
    return X, np.where(score > 0, "yes", "no")


def _sweeps(client: Any) -> None:
    for name, mode in itertools.product(SWEEPS, ("warm", "cold")):
        ratios, one, two = [], [], []
        for _ in range(3):  # in turns: the machine's speed drifts
            here = swept(name, mode)
            there = swept(name, mode, executor=client.get_executor())
            one.append(here[1])
            two.append(there[1])
            ratios.append(here[1] / there[1])
            assert here[2].equals(there[2])
        n = len(here[2])
        print(
            f"{name}, {n} fits, {mode}: one thread here "
            f"{statistics.median(one):.2f} s ({1e3 * statistics.median(one) / n:.0f} "
            f"ms a fit), two workers {statistics.median(two):.2f} s (first fit "
            f"{there[0]:.2f} s), {statistics.median(ratios):.2f}x; the same table"
        )
    told = ", ".join(f"{value:.0f}" for value in client.run(memory).values())
    print(f"memory of the workers afterwards: {told} MB")


def main() -> None:
    """Print all, or only the fits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", nargs="?", choices=["fits"])
    parser.add_argument("--rows", type=int, default=2_000_000)
    asked = parser.parse_args()
    if asked.table:
        print_fits(asked.rows)
        return
    warnings.simplefilter("ignore", UserWarning)
    cluster = Cluster(2)
    os.environ[VARIABLE] = cluster.address
    try:
        started = time.perf_counter()
        found = engine()
        print(f"{found.words} Checked in {time.perf_counter() - started:.1f} s")
        client = found.client
        for method in METHODS.values():
            method.warm_up()
        told = ", ".join(f"{value:.0f}" for value in client.run(memory).values())
        print(f"memory of the workers with the package loaded: {told} MB")
        print(
            f"a task that does nothing: {per_task(ThreadPoolExecutor(2)):.2f} ms in "
            f"threads, {per_task(found.executor):.2f} ms on the cluster"
        )
        _sweeps(client)
        cluster.workers[0].kill()
        X, y = large()
        started = time.perf_counter()
        with running(fit, (X, y), NEVER, found.executor) as run:
            print(
                f"{X.nbytes / 1e6:.0f} MB sent in {time.perf_counter() - started:.1f} s"
            )
            for key in ("smp", "supersparse"):
                ((seconds, most),) = run([(key,)])
                print(
                    f"1,000,000 x 20, {key}: {seconds:.1f} s, peak {most:.0f} MB of "
                    "the worker, everything counted"
                )
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
