"""Many visitors on few cores: live turns.

They are short (a preview while a slider moves): one for every two cores at once, first
come, first served, and a visitor has one message in flight, so nobody is served twice
while another waits. The compiled kernels release the GIL.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

N_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2

#: Live turns at once. Half of a turn is Python, which one thread does at a time: two
#: turns on two cores were a quarter slower together than one after the other.
N_LIVE = max(1, N_CORES // 2)
#: Who comes when so many wait already is in a crowd, which lasts for so long. Pages
#: look at what goes on so much less often then.
CROWD, CROWD_SECONDS, CROWDED_TIMES = 1, 5.0, 4

_thread = threading.local()
_lock = threading.Lock()
_waiting: deque[threading.Event] = deque()
_running = 0
_crowded_until = 0.0

_changed = threading.Condition()
#: Flags of the fits under way, and when they are due; when that is looked at next.
_due: dict[int, tuple[float, np.ndarray]] = {}
_looks_at = math.inf


@contextmanager
def interactive_slot() -> Iterator[int]:
    """Wait for a turn of the live line; who has one has it.

    Also around a function that draws a part of a page: what takes long in Python stands
    in line anew for each part, and a slider waits for one part and not for all.
    """
    global _running, _crowded_until
    if getattr(_thread, "turn", False):
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
    _thread.turn = True
    try:
        yield ahead
    finally:
        _thread.turn = False
        with _lock:
            if _waiting:  # to wake all of them would cost as much as a turn
                _waiting.popleft().set()
            else:
                _running -= 1


def counts() -> dict[str, int]:
    """How many wait for a turn, and how many have one."""
    return {"waiting": len(_waiting), "running": _running}


def poll_interval(seconds: float) -> float:
    """How long to wait until a page looks again at what goes on."""
    return seconds * (CROWDED_TIMES if time.monotonic() < _crowded_until else 1)


@contextmanager
def stopped_after(
    seconds: float, flag: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """Give a stop flag that rises by itself, or have this one do so."""
    flag = np.zeros(1, dtype=np.int64) if flag is None else flag
    if seconds <= 0.0:
        flag.fill(1)
    due = time.monotonic() + seconds
    with _changed:
        _due[id(flag)] = due, flag
        if due < _looks_at:
            _watch()
            _changed.notify()
    try:
        yield flag
    finally:
        del _due[id(flag)]


@cache
def _watch() -> None:
    """Begin to raise flags; a thread for each fit took a tenth of its time."""
    threading.Thread(target=_raise_flags, name="stop flags", daemon=True).start()


def _raise_flags() -> None:
    """Raise each flag when it is due.

    It sleeps until the flag is due that was the first when it looked last. Most fits
    have ended by then: to be woken by each would cost more than to look in vain.
    """
    global _looks_at
    with _changed:
        while True:
            now, _looks_at = time.monotonic(), math.inf
            for due, flag in list(_due.values()):  # fits end meanwhile
                if due <= now:
                    flag.fill(1)
                else:
                    _looks_at = min(_looks_at, due)
            _changed.wait(min(_looks_at - now, threading.TIMEOUT_MAX))
