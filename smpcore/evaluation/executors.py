"""The tasks of a study on any executor: here, in threads, in processes, on a cluster.

An executor is what `concurrent.futures` calls so; Dask's is one, too. All of them give
futures, which `_results` waits for. A pool of threads shares its objects with this
process. Elsewhere what all tasks need is sent once: to a worker of a cluster as one
more future, which a worker that has lost it gets anew; to a process of this machine
with each task, pickled once and kept until another study comes. The stop flag is a
small file then that all processes have in their memory: compiled loops read it there.
"""

from __future__ import annotations

import io
import logging
import multiprocessing
import os
import pickle
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from smpcore.errors import SmpcoreError, cluster_in_words
from smpcore.evaluation.engine import LOADING
from smpcore.threads import Work, alone, one_core

log = logging.getLogger(__name__)

#: Seconds between two looks at Stop.
LOOK = 0.05
#: Tasks that wait in a pool beside one for each of its workers: so none of them is idle
#: while an answer is on its way, and the tasks of another study come next soon.
WAITING = 1
#: Tasks of a study that a cluster has at once.
ON_CLUSTER = 300
#: Said where processes or a cluster are lost: a sweep goes on from there.
KEPT = "What had come is kept."

#: Takes tasks, gives their results.
Run = Callable[[Iterable[tuple]], Iterator[Any]]


class _Line(NamedTuple):
    """How tasks come to an executor: `submit` one, and `most` at once.

    ``check()`` is called where nothing has come for long.
    """

    submit: Callable[[tuple], Future]
    most: int
    check: Callable[[], None] = lambda: None


@contextmanager
def running(
    work: Work,
    shared: Any,
    stop: np.ndarray,
    executor: Executor | None = None,
    *,
    ordered: bool = False,
) -> Iterator[Run]:
    """Run tasks beside each other."""
    one_by_one = _Line(partial(_done, partial(alone, work=work, shared=shared)), 1)
    most = getattr(executor, "_max_workers", 4) + WAITING
    if executor is None:
        yield partial(_results, one_by_one, stop, ordered)
    elif client := getattr(executor, "_client", None):  # no public name for it
        submit = partial(executor.submit, _do, _sent(client, work, shared), pure=False)
        line = _Line(submit, ON_CLUSTER, partial(_require_workers, client))
        yield partial(_on_cluster, line, stop, ordered)
    elif isinstance(executor, ThreadPoolExecutor):
        submit = partial(executor.submit, alone, work=work, shared=shared)
        with one_core:  # its threads may not be allowed to limit BLAS
            yield partial(_results, _Line(submit, most), stop, ordered)
    else:
        try:
            folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            flag = Path(folder.name) / "stop"
            raised = np.memmap(flag, np.int64, "w+", shape=1)
        except OSError as error:
            log.warning("a study runs in no process of its own: %s", error)
            yield partial(_results, one_by_one, stop, ordered)
            return
        with folder:
            content = io.BytesIO()
            _Pickler(content, stop).dump((work, shared))
            submit = partial(executor.submit, do_task, flag, content.getvalue())
            try:
                yield partial(_of_processes, _Line(submit, most), stop, ordered)
            finally:
                raised[0] = 1


def _done(function: Callable[[tuple], Any], task: tuple) -> Future:
    """What a function returns, or raises, as a future."""
    future: Future = Future()
    try:
        future.set_result(function(task))
    except Exception as error:
        future.set_exception(error)
    return future


def _results(
    line: _Line, stop: np.ndarray, ordered: bool, tasks: Iterable[tuple]
) -> Iterator[Any]:
    """What comes back, until Stop; what has come before Stop is given still."""
    left, ready = enumerate(tasks), SimpleQueue()
    futures: dict[int, Future] = {}
    done: dict[int, Future] = {}
    first, heard = 0, time.monotonic()
    try:
        while True:
            n_more = 0 if stop[0] else line.most - len(futures) - len(done)
            for place, task in islice(left, n_more):
                futures[place] = line.submit(task)
                futures[place].add_done_callback(lambda _, at=place: ready.put(at))
            if not futures:
                return
            try:
                place = ready.get(timeout=0 if stop[0] else LOOK)
            except Empty:
                if stop[0]:
                    return
                if time.monotonic() - heard > LOADING:
                    line.check()
                    heard = time.monotonic()
                continue
            done[place], heard = futures.pop(place), time.monotonic()
            while done and (not ordered or first in done):
                yield done.pop(first if ordered else place).result()
                first += 1
    finally:
        for future in futures.values():
            future.cancel()


def _of_processes(*of: Any) -> Iterator[Any]:
    """The same where a process may be ended."""
    try:
        yield from _results(*of)
    except BrokenExecutor as error:
        log.warning("a process of a study was ended: %s", error)
        raise SmpcoreError(
            "The process that computes studies was ended, maybe for want of memory: "
            f"start again. {KEPT}"
        ) from error


def _on_cluster(*of: Any) -> Iterator[Any]:
    """The same where the cluster may be lost."""
    with cluster_in_words(KEPT):
        yield from _results(*of)


def _sent(client: Any, work: Work, shared: Any) -> Any:
    """What all tasks need, as a future of the cluster."""
    from distributed.protocol.pickle import dumps, loads  # closures travel, too

    with cluster_in_words(KEPT):
        return client.submit(loads, dumps((work, shared)), pure=False)


def _do(shared: tuple[Work, Any], task: tuple) -> Any:
    return alone(task, *shared)


def _require_workers(client: Any) -> None:
    if not client.ncores():
        raise SmpcoreError(
            "The cluster has no workers any more: start some, then start again. " + KEPT
        )


class _Pickler(pickle.Pickler):
    """Leaves the stop flag out."""

    def __init__(self, file: io.BytesIO, stop: np.ndarray) -> None:
        super().__init__(file, protocol=5)
        self._stop = stop

    def persistent_id(self, value: Any) -> str | None:
        """Name what a process has itself."""
        return "stop" if value is self._stop else None


class _Unpickler(pickle.Unpickler):
    """Puts the flag of the file in."""

    def __init__(self, content: bytes, flag: np.ndarray) -> None:
        super().__init__(io.BytesIO(content))
        self._flag = flag

    def persistent_load(self, _: str) -> np.ndarray:
        """The flag."""
        return self._flag


#: The study that this process was at last: its flag's file, its work, what is shared.
_last: tuple[Path | None, Work | None, Any] = None, None, None


def do_task(flag: Path, content: bytes, task: tuple) -> Any:
    """Do a task of a study in a process of a pool."""
    global _last
    try:
        if _last[0] != flag:
            try:
                mapped = np.memmap(flag, np.int64, "r+", shape=1)
            except FileNotFoundError:  # the study was over before the task began
                return None
            stop = np.asarray(mapped)  # kernels are compiled for no other kind
            _last = flag, *_Unpickler(content, stop).load()
        return alone(task, *_last[1:])
    except Exception as error:
        if not isinstance(error, SmpcoreError):
            log.exception("a task failed")
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # it does not travel: what it says does
            raise RuntimeError(repr(error)) from None
        raise


def end_with_parent() -> None:
    """End this process of a pool when its parent ends, be it killed."""

    def wait() -> None:
        multiprocessing.parent_process().join()
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()
