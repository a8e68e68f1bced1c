"""Long work and many visitors: who computes when.

Three lines of waiting. *Live turns* are short (a preview while a slider moves): one
for every two cores at once, first come, first served, and a visitor has one message in
flight, so nobody is served twice while another waits. *Jobs* are long: they run in
threads, report progress and can be stopped. A fit that somebody waits for and a
*study* (a sweep, refits, a comparison) have lines of their own, each at most one
thread less than there are cores: a fit never waits behind a study. What a study
computes is done by processes beside this one, once they are there, or else by threads,
which give way to live turns (those of a comparison do not). The compiled kernels
release the GIL.
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

from smpcore import Dataset, engine

log = logging.getLogger(__name__)

N_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2

#: Live turns at once. Half of a turn is Python, which one thread does at a time: two
#: turns on two cores were a quarter slower together than one after the other.
N_LIVE = max(1, N_CORES // 2)
#: Between two of its pieces a job waits for live turns for so many times as long as
#: its last piece took: a full class leaves it a third of the time. Within these bounds.
GIVE_WAY_TIMES, GIVE_WAY_SECONDS = 2.0, (0.05, 1.0)

#: Who comes when so many wait already is in a crowd, which lasts for so long. Pages
#: look at what goes on so much less often then.
CROWD, CROWD_SECONDS, CROWDED_TIMES = 1, 5.0, 4

_own = threading.local()
_lock = threading.Lock()
#: Told when the last live turn has ended and nobody waits for one.
_idle = threading.Condition(_lock)
_waiting: deque[threading.Event] = deque()
_running = 0
_crowded_until = 0.0
_N_THREADS = max(1, N_CORES - 1)
_fits = ThreadPoolExecutor(_N_THREADS, thread_name_prefix="fit")
_studies = ThreadPoolExecutor(_N_THREADS, thread_name_prefix="study")


@contextmanager
def live_turn() -> Iterator[int]:
    """Wait for a turn of the live line; who has one has it.

    Also around a function that draws a part of a page: what takes long in Python stands
    in line anew for each part, and a slider waits for one part and not for all.

    Yields
    ------
    int
        How many others were waiting or computing on arrival.
    """
    global _running, _crowded_until
    if getattr(_own, "turn", False):
        yield 0
        return
    with _lock:
        ahead = len(_waiting) + _running
        if ahead >= N_LIVE + CROWD:
            _crowded_until = time.monotonic() + CROWD_SECONDS
        called = threading.Event()
        if _running < N_LIVE:
            _running += 1
            called.set()
        else:
            _waiting.append(called)
    called.wait()
    _own.turn = True
    try:
        yield ahead
    finally:
        _own.turn = False
        with _lock:
            if _waiting:  # to wake all of them would cost as much as a turn
                _waiting.popleft().set()
            else:
                _running -= 1
                _idle.notify_all()


def pace(seconds: float) -> float:
    """How long to wait until a page looks again at what goes on.

    Parameters
    ----------
    seconds : float
        As is usual.

    Returns
    -------
    float
        More of them while many move sliders: to draw a page anew takes as long as
        several of their pictures.
    """
    return seconds * (CROWDED_TIMES if time.monotonic() < _crowded_until else 1)


def give_way() -> None:
    """Let live turns go before the next piece of a job, for a moment at most.

    What a job does in Python, between compiled kernels, holds the GIL. The moment has
    an end, so that a full class slows jobs down and does not halt them.
    """
    least, most = GIVE_WAY_SECONDS
    now = time.monotonic()
    worked = now - getattr(_own, "rested", now)
    moment = min(max(GIVE_WAY_TIMES * worked, least), most)
    with _idle:
        _idle.wait_for(lambda: not _running, timeout=moment)
    _own.rested = time.monotonic()


class Job:
    """One piece of long work in a thread.

    Parameters
    ----------
    work : callable
        ``work(stop, progress)`` with a one-element int64 flag that asks it to stop
        and a one-element float64 array for its share done.
    study : Dataset, optional
        What is studied; such a job stands in the line of studies, and a cluster may
        do its tasks.

    Attributes
    ----------
    where : str
        On which machines a study runs, if that is worth saying.
    """

    def __init__(
        self,
        work: Callable[[np.ndarray, np.ndarray], Any],
        study: Dataset | None = None,
    ) -> None:
        self.where = ""
        self.stop_flag = np.zeros(1, dtype=np.int64)
        self.progress = np.zeros(1)
        self.started = time.monotonic()
        line = _fits if study is None else _studies
        self._future = line.submit(self._run, work, study)
        self._future.add_done_callback(self._told)

    def _run(
        self, work: Callable[[np.ndarray, np.ndarray], Any], study: Dataset | None
    ) -> Any:
        # What a visitor has uploaded stays on this machine.
        if study is not None and not study.private:
            self.where = engine().words
        return work(self.stop_flag, self.progress)

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

    def call_off(self) -> None:
        """Do not begin, or stop at the next step; nobody asks for the result."""
        self._future.cancel()
        self.stop()


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
