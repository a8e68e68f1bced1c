"""Processes beside this one that compute studies, each study in its own.

Threads of one process take turns with everything that is not a compiled kernel, and
much of a study is not: scikit-learn's baselines, k-means starts, scores, sizes. The
processes branch off from one that has loaded and compiled everything, which takes some
milliseconds; what a visitor has uploaded goes with them when their study ends.
"""

from __future__ import annotations

import importlib
import logging
import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any

from pages.work import slots
from smpcore import Dataset
from smpcore.evaluation import end_with_parent, engine

log = logging.getLogger(__name__)

#: One core stays free for those who drag sliders.
N_WORKERS = min(4, max(1, slots.N_CORES - 1))
#: Who moves a slider goes first; but work goes on where all cores are busy (POSIX).
NICENESS = 5

#: Importing it loads and compiles everything that a study calls.
PRELOAD = "pages.work.forkserver_preload"

_branching = "forkserver" in multiprocessing.get_all_start_methods()
_context = multiprocessing.get_context("forkserver" if _branching else "spawn")
#: Whether processes branch off quickly.
_ready = False


def start() -> None:
    """Have the process that the others branch off from; it takes some seconds."""
    global _ready
    if not N_WORKERS:
        return
    if _branching:
        _context.set_forkserver_preload(["__main__", __name__, PRELOAD])
    try:
        with _pool(1) as pool:
            pool.submit(int).result()
        _ready = True
    except (OSError, BrokenExecutor) as error:  # no room for one more process
        log.warning("no processes for studies: %s", error)


class _Recording:
    """The context of processes, which keeps those that it has started."""

    def __init__(self) -> None:
        self.started: list[BaseProcess] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(_context, name)

    def Process(self, *args: Any, **options: Any) -> BaseProcess:
        """Make a process, as every context does."""
        self.started.append(_context.Process(*args, **options))
        return self.started[-1]


@contextmanager
def _pool(n_workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with their study, also those that hear no Stop."""
    recording = _Recording()
    pool = ProcessPoolExecutor(n_workers, recording, _begin)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in recording.started:
            process.kill()


def _begin() -> None:
    """Make a process ready for its study."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    end_with_parent()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    importlib.import_module(PRELOAD)  # it is there, where processes branch off


@contextmanager
def executor_for(dataset: Dataset) -> Iterator[Executor | None]:
    """Choose where a study runs: on the cluster, in processes of its own, or here."""
    if not dataset.private and (cluster := engine().executor):
        yield cluster
    elif not (_ready and N_WORKERS):
        yield None
    else:
        with _pool(N_WORKERS) as pool:
            yield pool
