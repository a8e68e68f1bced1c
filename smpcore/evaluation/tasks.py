"""The tasks of a study, one after the other or on an executor that the caller has.

An executor is what `concurrent.futures` calls so. A pool of threads shares its objects
with this process; a process of a pool gets one copy of what all tasks need (see
`Package`), and so does a worker of a Dask cluster (see `on_cluster`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.evaluation.cluster import on_cluster, share
from smpcore.evaluation.processes import Package, do_task
from smpcore.threads import Work, alone, one_core

log = logging.getLogger(__name__)

#: Seconds between two looks at Stop.
LOOK = 0.05
#: Tasks that wait in a pool beside one for each of its workers: so none of them is idle
#: while an answer is on its way, and the tasks of another study come next soon.
WAITING = 1

#: Takes tasks, gives their results.
Run = Callable[[Iterable[tuple]], Iterator[Any]]


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
    if executor is None:
        yield partial(_one_by_one, work=work, shared=shared, stop=stop)
    elif client := getattr(executor, "_client", None):  # no public name for it
        yield partial(on_cluster, client, share(client, work, shared), stop, ordered)
    elif isinstance(executor, ThreadPoolExecutor):
        submit = partial(executor.submit, alone, work=work, shared=shared)
        with one_core:  # its threads may not be allowed to limit BLAS
            yield partial(_answers, submit, _most(executor), stop, ordered)
    else:
        try:
            package = Package(work, shared, stop)
        except OSError as error:
            log.warning("a study runs in no process of its own: %s", error)
            yield partial(_one_by_one, work=work, shared=shared, stop=stop)
            return
        with package:
            submit = partial(executor.submit, do_task, package.flag, package.content)
            yield partial(_of_processes, submit, _most(executor), stop, ordered)


def _most(executor: Executor) -> int:
    """Tasks of one study that a pool has at once."""
    return getattr(executor, "_max_workers", 4) + WAITING


def _one_by_one(
    tasks: Iterable[tuple],
    work: Work,
    shared: Any,
    stop: np.ndarray,
) -> Iterator[Any]:
    for task in tasks:
        if stop[0]:
            return
        yield alone(task, work, shared)


def _answers(
    submit: Callable[[tuple], Future],
    most: int,
    stop: np.ndarray,
    ordered: bool,
    tasks: Iterable[tuple],
) -> Iterator[Any]:
    """What comes back, until Stop; what has come before Stop is given still."""
    left, futures = iter(tasks), []
    try:
        while True:
            if not stop[0]:
                futures += map(submit, islice(left, most - len(futures)))
            first = futures[:1] if ordered else futures
            if not first:
                return
            ready = wait(first, 0 if stop[0] else LOOK, FIRST_COMPLETED).done
            if stop[0] and not ready:
                return
            for future in [each for each in futures if each in ready]:
                futures.remove(future)
                yield future.result()
    finally:
        for future in futures:
            future.cancel()


def _of_processes(*of: Any) -> Iterator[Any]:
    """The same where what a task breaks with comes as its answer."""
    try:
        for answer, error in _answers(*of):
            if error is not None:
                raise error
            yield answer
    except BrokenExecutor as error:
        log.warning("a process of a study was ended: %s", error)
        raise SmpcoreError(
            "The process that computes studies was ended, maybe for want of memory: "
            "start again. What had come is kept."
        ) from error
