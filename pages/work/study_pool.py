"""Processes beside this one that compute studies.

Threads of one process take turns with everything that is not a compiled kernel, and
much of a study is not: scikit-learn's baselines, k-means starts, scores, sizes. These
processes load the package once, work at a low priority, and go with their parent.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import warnings
from concurrent.futures import Executor, wait

from joblib.externals.loky import ProcessPoolExecutor

from pages.work import jobs
from smpcore import METHODS, Dataset, engine

log = logging.getLogger(__name__)

#: Each takes some 350 MB.
N_WORKERS = min(4, max(1, jobs.N_CORES - 1))
#: Who moves a slider goes first; but work goes on where all cores are busy (POSIX).
NICENESS = 5
#: Seconds that a pool has to begin something. One that has not is not warm yet, or busy
#: with what hears no Stop: a first sweep has no more than two seconds.
PATIENCE = 0.5
#: Seconds between two looks whether the parent is there.
LOOK = 2.0

_lock = threading.Lock()
_pool: ProcessPoolExecutor | None = None


def start() -> None:
    """Start the processes; each takes some seconds until it is warm."""
    global _pool
    with _lock:
        if _pool is None and N_WORKERS:
            # loky's processes do not import the main module: under Streamlit that is
            # the app, and a second one would begin in each of them.
            one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            pool = ProcessPoolExecutor(N_WORKERS, initializer=begin, env=one_thread)
            try:
                pool.submit(os.getpid)
            except OSError as error:  # no room for one more process
                log.warning("no processes for studies: %s", error)
                return
            _pool = pool


def end() -> None:
    """End the processes, whatever they are at."""
    global _pool
    with _lock:
        pool, _pool = _pool, None
    if pool is not None:
        pool.shutdown(wait=True, kill_workers=True)


def executor_for(dataset: Dataset) -> Executor | None:
    """Choose who computes a study: the cluster, these processes, or who asks.

    Parameters
    ----------
    dataset : Dataset
        What is studied. What a visitor has uploaded stays on this machine.

    Returns
    -------
    Executor or None
        None: the thread that asks is to do it.
    """
    if not dataset.private and (cluster := engine().executor):
        return cluster
    pool = _pool
    return pool if pool is not None and _answers(pool) else None


def _answers(pool: ProcessPoolExecutor) -> bool:
    """Whether a pool begins something soon; one that is lost is replaced."""
    global _pool
    try:
        probe = pool.submit(os.getpid)
        if not wait([probe], PATIENCE).done:
            return False
        probe.result()
    except Exception as error:
        log.warning("the processes for studies are lost: %r", error)
        with _lock:
            if _pool is pool:
                _pool = None
        start()
        return False
    return True


def begin() -> None:
    """Make a process ready for studies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    warnings.simplefilter("ignore")  # how each fit ended is in its result
    for method in METHODS.values():
        method.warm_up()


def _end_with_parent() -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(0)
