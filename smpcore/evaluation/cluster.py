"""Tasks as futures of a Dask cluster.

Dask's own futures, and not its executor's: what all tasks need is one more future that
they depend on, so that a worker gets it once, and one that has lost it gets it anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError, cluster_in_words
from smpcore.evaluation.engine import LOADING
from smpcore.threads import Work, alone

#: Seconds between two looks at Stop.
LOOK = 0.1
#: Said where a cluster is lost: a sweep goes on from there.
KEPT = "What had come is kept."


def _do(task: tuple, shared: tuple[Work, Any]) -> Any:
    return alone(task, *shared)


def share(client: Any, work: Work, shared: Any) -> Any:
    """Send what all tasks of a study need, once."""
    from distributed.protocol.pickle import dumps, loads  # closures travel, too

    with cluster_in_words(KEPT):
        return client.submit(loads, dumps((work, shared)), pure=False)


def on_cluster(
    client: Any, common: Any, stop: np.ndarray, ordered: bool, tasks: Iterable[tuple]
) -> Iterator[Any]:
    """Do tasks of a study on the workers of a cluster, until Stop."""
    ready: SimpleQueue[Any] = SimpleQueue()
    futures: list[Any] = []
    try:
        with cluster_in_words(KEPT):
            futures = client.map(_do, list(tasks), shared=common, pure=False)
        for future in futures:
            future.add_done_callback(ready.put)
        left = {future.key: place for place, future in enumerate(futures)}
        pending: dict[int, Any] = {}
        first = 0
        while left and not stop[0]:
            future = _next(client, ready, stop)
            if future is None:
                return
            place = left.pop(future.key)
            pending[place] = _result(client, future)
            futures[place] = None  # it stays on its worker as long as its future
            while pending and (not ordered or first in pending):
                yield pending.pop(first if ordered else place)
                first += 1
    finally:
        with suppress(Exception):  # what broke before is what counts
            client.cancel([future for future in futures if future is not None])


def _result(client: Any, future: Any) -> Any:
    """The result of a future that was done; its worker may have died since."""
    while True:
        with cluster_in_words(KEPT):
            try:
                return future.result(timeout=LOADING)
            except TimeoutError:
                if future.done():  # the task's own
                    raise
                _require_workers(client)


def _require_workers(client: Any) -> None:
    if not client.ncores():
        raise SmpcoreError(
            "The cluster has no workers any more: start some, then start again. What "
            "had come is kept."
        )


def _next(client: Any, ready: SimpleQueue[Any], stop: np.ndarray) -> Any:
    """A future that is done; None after Stop."""
    looks = 0
    while not stop[0]:
        with suppress(Empty):
            return ready.get(timeout=LOOK)
        looks += 1
        if looks * LOOK < LOADING:
            continue
        looks = 0
        with cluster_in_words(KEPT):
            _require_workers(client)
    return None
