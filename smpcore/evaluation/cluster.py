"""Tasks as futures of a Dask cluster, whose workers have what all of them need.

Dask's own futures, and not its executor's: a task that broke outside of Python, with
its worker, say, is done by another worker, and what all tasks share is sent once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.evaluation.engine import LOADING
from smpcore.threads import Work, alone

log = logging.getLogger(__name__)

#: Seconds between two looks at Stop.
LOOK = 0.1
#: How often tasks are sent anew without a result in between.
RETRIES = 3


@contextmanager
def _in_words(*but: type[Exception]) -> Iterator[None]:
    """Say what a cluster breaks with; what a task itself breaks with goes through."""
    try:
        yield
    except but:
        raise
    except ImportError as error:
        raise SmpcoreError(
            f"A worker of the cluster lacks a package of this program: {error}"
        ) from error
    except Exception as error:
        lost = isinstance(error, OSError | CancelledError)
        if not lost and not type(error).__module__.startswith("distributed"):
            raise
        log.warning("the cluster broke down: %r", error)
        raise SmpcoreError(
            "The cluster broke down while it worked: look at its scheduler and "
            "workers, then start again. What had come is kept."
        ) from error


class ClusterTasks:
    """Tasks of a study on the workers of a cluster.

    Parameters
    ----------
    client : dask.distributed.Client
    work : callable
        ``work(shared, task)``, a function of a module.
    shared : object
        What all tasks need.
    stop : ndarray of int64, shape (1,)
        After it becomes non-zero nothing more is waited for.
    ordered : bool
        Whether results come in the order of their tasks, or as they are ready.

    Raises
    ------
    SmpcoreError
        If the cluster is lost.
    """

    def __init__(
        self, client: Any, work: Work, shared: Any, stop: np.ndarray, ordered: bool
    ) -> None:
        self._client, self._work, self._shared = client, work, shared
        self._stop, self._ordered = stop, ordered
        with _in_words():
            self._send()

    def _send(self) -> None:
        how = {"broadcast": True, "hash": False, "timeout": LOADING}
        (self._common,) = self._client.scatter([self._shared], **how)

    def answers(self, tasks: Iterable[tuple]) -> Iterator[Any]:
        """What comes back, until Stop; what the cluster breaks with, in words."""
        left, found = dict(enumerate(tasks)), {}
        told = tries = 0
        while left and not self._stop[0]:
            before = len(left)
            try:
                for place, answer in self._round(left):
                    found[place] = answer
                    while found and (not self._ordered or told in found):
                        yield found.pop(told if self._ordered else place)
                        told += 1
            except CancelledError as error:
                # All workers that had the data are gone; others may be there.
                tries = tries + 1 if len(left) == before else 0
                log.warning("the cluster lost the data: %r", error)
                with _in_words():
                    if tries > RETRIES:
                        raise
                    self._send()

    def _round(self, left: dict[int, tuple]) -> Iterator[tuple[int, Any]]:
        """Have all that is left done; what has come is taken out of it."""
        client, ready = self._client, SimpleQueue()
        how = {"work": self._work, "shared": self._common, "pure": False}
        held = {}
        try:
            with _in_words():
                futures = client.map(alone, list(left.values()), **how)
            held = {f.key: (f, i) for f, i in zip(futures, left, strict=True)}
            for future in futures:
                future.add_done_callback(ready.put)
            del futures, future  # an answer stays on its worker as long as its future
            while held and not self._stop[0]:
                # All that are ready in one message: each takes some milliseconds.
                done = self._done(ready)
                with _in_words(CancelledError):
                    answers = client.gather(done)
                for key, answer in zip([f.key for f in done], answers, strict=True):
                    _, place = held.pop(key)
                    del left[place]
                    yield place, answer
        finally:
            with suppress(Exception):  # what broke before is what counts
                client.cancel([future for future, _ in held.values()])

    def _done(self, ready: SimpleQueue[Any]) -> list[Any]:
        """Futures that are done, once there are any; none after Stop."""
        idle, found = time.monotonic(), []
        while not (found or self._stop[0]):
            with suppress(Empty):
                found.append(ready.get(timeout=LOOK))
                while True:
                    found.append(ready.get_nowait())
            if not found and time.monotonic() - idle > LOADING:
                with _in_words():
                    if not self._client.ncores():
                        raise SmpcoreError(
                            "The cluster has no workers any more: start some, then "
                            "start again. What had come is kept."
                        )
                idle = time.monotonic()
        return found
