"""Fits of rows on a cluster: ``python -m tests.bench.cluster fits [--rows N]``.

A scheduler and 1, 2 and 4 worker processes on this machine, one thread each. A pass is
a map over the chunks for SMP's loss and gradient, and the sum here; a fit is all of
SMP's, from rows that lie on the workers to a certified model. The ideal is one worker's
time divided by the workers that have a core of their own.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

import numpy as np

from tests.clusters import Cluster

N_FEATURES, N_CHUNKS, N_PASSES = 20, 8, 7
WORKERS = 1, 2, 4
#: Chunks of the extrapolation to 1e9 rows and 100 workers.
CHUNKS = 400
#: The model of cost is fitted to all rows, and checked on these parts of them.
CHECKED = 0.25, 0.5
#: Relative gap at which a fit ends.
TOLERANCE = 1e-2


def cpu_seconds() -> float:
    """CPU time of this worker's process so far."""
    return time.process_time()


def nothing(*_: Any) -> int:
    """What a pass costs that does not look at its rows."""
    return 0


def transferred(dask_worker: Any) -> int:
    """Bytes that a worker has got from other workers so far."""
    return sum(log["total"] for log in dask_worker.transfer_incoming_log)


def one_chunk(number: int, n_rows: int) -> np.ndarray:
    """Rows of one chunk, drawn where they stay; the last column is the score."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(n_rows, N_FEATURES + 1))
    X[:, -1] = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, -1]
    return X


def table(n_rows: int) -> tuple[Any, Any]:
    """Rows in chunks and their classes, as Dask arrays that are drawn on workers."""
    import dask
    import dask.array as da

    size = n_rows // N_CHUNKS
    shape = size, N_FEATURES + 1
    drawn = [
        da.from_delayed(dask.delayed(one_chunk)(i, size), shape, np.float64)
        for i in range(N_CHUNKS)
    ]
    whole = da.concatenate(drawn)
    return whole[:, :-1], (whole[:, -1] > 0).astype(np.int64)


def measured(n_rows: int, n_workers: int) -> dict[str, float]:
    """Seconds, CPU seconds of workers and client, and bytes, of a pass."""
    import dask
    from distributed import Client, wait
    from distributed.protocol import serialize
    from distributed.utils import nbytes

    from smpcore import SMPClassifier
    from smpcore.methods.shared.dask_rows import blocks_of_rows, futures, map_chunks
    from smpcore.solvers.losses import Ties

    cluster = Cluster(n_workers)
    try:
        with Client(cluster.address) as client:
            X, y = dask.persist(*table(n_rows))
            wait([X, y])
            estimator = SMPClassifier(tol=TOLERANCE)
            estimator.fit(*table(N_CHUNKS * 1000))  # workers load what they need
            started = time.perf_counter()
            fitted = estimator.fit(X, y)
            whole = time.perf_counter() - started
            problem = SMPClassifier().problem(X, y)
            tied = problem.y_encoded, problem.assignment, problem.weights
            model = problem.prototype_labels, np.zeros(problem.n_prototypes)
            rows = blocks_of_rows(problem.X, Ties(*tied, *model, 0))
            W = np.zeros((problem.n_prototypes, problem.X.shape[1]))
            G, walls = np.empty_like(W), []
            rows.loss_and_gradient(W, 1.0, G)
            before = sum(client.run(cpu_seconds).values()), time.process_time()
            moved = sum(client.run(transferred).values())
            for _ in range(N_PASSES):
                started = time.perf_counter()
                rows.loss_and_gradient(W, 1.0, G)
                walls.append(time.perf_counter() - started)
            workers = sum(client.run(cpu_seconds).values()) - before[0]
            here = time.process_time() - before[1]
            before = sum(client.run(cpu_seconds).values())
            for _ in range(N_PASSES):
                map_chunks(nothing, futures(problem.X))
            idle = sum(client.run(cpu_seconds).values()) - before
            moved = sum(client.run(transferred).values()) - moved
            # Each chunk gets W and the model, and returns four numbers and G.
            sent = sum(map(nbytes, serialize(W)[1])) + sum(m.nbytes for m in model)
            back = sum(map(nbytes, serialize(G)[1])) + 4 * 8
    finally:
        cluster.close()
    return {
        "fit": whole,
        "gap": fitted.gap_,
        "seconds": statistics.median(walls),
        "workers": workers / N_PASSES,
        "client": here / N_PASSES,
        "idle": idle / N_PASSES,
        "bytes": N_CHUNKS * (sent + back) + moved / N_PASSES,
    }


def _line(n_rows: int, n_workers: int, of: dict[str, float], one: dict) -> str:
    cores = min(n_workers, os.cpu_count() or 1)
    whole, a_pass = (cores * of[key] / one[key] for key in ("fit", "seconds"))
    return (
        f"{n_rows:>11,} {n_workers:>7} {of['fit']:>7.1f} {whole:>9.2f} "
        f"{of['gap']:>8.1e} {of['seconds']:>9.3f} {a_pass:>9.2f} "
        f"{of['workers']:>11.3f} {of['client']:>10.4f} {of['bytes'] / 1e3:>9.1f}"
    )


def print_fits(n_rows: int) -> None:
    """Print the table of passes and the model of cost.

    Parameters
    ----------
    n_rows : int
    """
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f} before; {N_CHUNKS} chunks, median")
    print(
        "       rows workers   s fit  to ideal      gap  s a pass  to ideal "
        "CPU workers CPU client  KB moved"
    )
    found = {}
    for n_workers in WORKERS:
        found[n_workers] = measured(n_rows, n_workers)
        print(_line(n_rows, n_workers, found[n_workers], found[1]), flush=True)
    idle = found[1]["idle"]
    a_row = (found[1]["workers"] - idle) / n_rows
    print(
        f"one worker's CPU: {idle:.3f} s a pass without rows (measured) and "
        f"{1e9 * a_row:.1f} ns a row (from {n_rows:,} rows)"
    )
    for part in CHECKED:
        fewer = int(n_rows * part)
        real, model = measured(fewer, 1)["workers"], idle + fewer * a_row
        print(
            f"  {fewer:,} rows: the model {model:.3f} s, measured {real:.3f} s "
            f"({100 * (model / real - 1):+.0f} %)"
        )
    a_task = found[1]["client"] / N_CHUNKS
    moved = CHUNKS * found[1]["bytes"] / N_CHUNKS / 1e6
    compute = idle / N_CHUNKS * CHUNKS / 100 + 1e7 * a_row
    print(
        f"1e9 rows x {N_FEATURES}, 100 workers, {CHUNKS} chunks: {compute:.2f} s of "
        f"each worker and {CHUNKS * a_task:.2f} s of the client a pass, {moved:.2f} MB "
        "moved. Assumed: each worker has a core like this one, chunks stay where they "
        "are, messages cost the client as much as here; not in it: the scheduler's own "
        "time, the network's latency."
    )
