"""Long work and many visitors: who computes when.

Two lines of waiting. *Live turns* are short (a preview while a slider moves): at
most one per core at once, first come, first served, and a visitor has one message in
flight, so nobody is served twice while another waits. *Jobs* are long: they run in
threads, at most one less than there are cores (the last core stays free for live
turns), report progress and can be stopped. The compiled kernels release the GIL.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from typing import Any

import numpy as np

log = logging.getLogger(__name__)

N_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2

_turn = threading.Condition()
_waiting: deque[object] = deque()
_running = 0
_pool = ThreadPoolExecutor(max(1, N_CORES - 1), thread_name_prefix="job")


@contextmanager
def live_turn() -> Iterator[int]:
    """Wait for a turn of the live line.

    Yields
    ------
    int
        How many others were waiting or computing on arrival.
    """
    global _running
    ticket = object()
    with _turn:
        ahead = len(_waiting) + _running
        _waiting.append(ticket)
        _turn.wait_for(lambda: _waiting[0] is ticket and _running < N_CORES)
        _waiting.popleft()
        _running += 1
        _turn.notify_all()
    try:
        yield ahead
    finally:
        with _turn:
            _running -= 1
            _turn.notify_all()


class Job:
    """One piece of long work in a thread.

    Parameters
    ----------
    work : callable
        ``work(stop, progress)`` with a one-element int64 flag that asks it to stop
        and a one-element float64 array for its share done.
    """

    def __init__(self, work: Callable[[np.ndarray, np.ndarray], Any]) -> None:
        self.stop_flag = np.zeros(1, dtype=np.int64)
        self.progress = np.zeros(1)
        self.started = time.monotonic()
        self._future = _pool.submit(work, self.stop_flag, self.progress)
        self._future.add_done_callback(self._told)

    def _told(self, _: object) -> None:
        log.info("a job took %.1f s", time.monotonic() - self.started)

    def wait(self, seconds: float) -> bool:
        """Wait that long at most; whether it is done now."""
        return bool(wait_for([self._future], timeout=seconds).done)

    def result(self) -> Any:
        """What the work returned; what it raised is raised again."""
        return self._future.result()

    def stop(self) -> None:
        """Ask the work to stop at its next step."""
        self.stop_flag[0] = 1


@contextmanager
def stopped_after(seconds: float) -> Iterator[np.ndarray]:
    """Give a stop flag that rises by itself.

    Yields
    ------
    ndarray of int64, shape (1,)
    """
    flag = np.zeros(1, dtype=np.int64)
    timer = threading.Timer(seconds, flag.fill, [1])
    timer.daemon = True
    timer.start()
    try:
        yield flag
    finally:
        timer.cancel()
