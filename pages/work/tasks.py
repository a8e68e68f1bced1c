"""Work that lasts: a fit, a sweep, a comparison, refits, a download, a measurement.

However many visitors start a task, it runs once, and ends when nobody is left who wants
it. A fit that somebody waits for and a *study* (a sweep, refits, a comparison, what a
model takes on chips) have lines of their own, each at most one thread less than there
are cores: a fit never waits behind a study. A fit that may be quick begins at once, and
stands in line if it is not. Studies of a large table have a third line, in which
visitors take turns, so that small ones never wait behind them.
What a study computes is done by processes beside this one, once they are there, or else
by threads. What goes through all rows of a large file stands in a line that takes
whatever cores are idle; a download in one more.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from functools import cache
from typing import Any

import numpy as np

from pages.work.fair_line import FairLine
from pages.work.reader_process import NICENESS
from pages.work.slots import N_CORES
from pages.work.visitors import is_here, visitor
from smpcore import Dataset, SmpcoreError
from smpcore.evaluation import engine

log = logging.getLogger(__name__)


def _step_back() -> None:
    if sys.platform == "linux":  # whose threads have priorities of their own
        this = os.PRIO_PROCESS, threading.get_native_id()
        os.setpriority(*this, os.getpriority(*this) + NICENESS)


_N_THREADS = max(1, N_CORES - 1)
FITS = ThreadPoolExecutor(_N_THREADS, thread_name_prefix="fit")
#: Where fits that may be quick begin.
QUICK = ThreadPoolExecutor(8, thread_name_prefix="quick fit")
#: Visitors take turns; a study has processes enough for all cores.
STUDIES = FairLine(_N_THREADS, "study")
#: Studies of tables that have more numbers than this.
LARGE_STUDIES, LARGE_VALUES = FairLine(_N_THREADS, "large study"), 500_000
FILES = ThreadPoolExecutor(1, thread_name_prefix="file", initializer=_step_back)
DOWNLOADS = ThreadPoolExecutor(4, thread_name_prefix="download")
#: An idle thread of a line begins within this time, on a busy machine too.
PLACE_SECONDS = 0.05
#: Running tasks are looked through this often for tabs that were closed; a tab that
#: was closed twice in a row has left (a connection may be lost for a moment).
LOOK_SECONDS = 5.0

#: Weakly: a task ends with the data set that it works on.
_watched: weakref.WeakSet[Task] = weakref.WeakSet()
_watch_lock = threading.Lock()


class Task:
    """A piece of work with owners, begun at once."""

    def __init__(
        self,
        work: Callable[[np.ndarray, np.ndarray], Any],
        study: Dataset | None = None,
        line: Executor | None = None,
    ) -> None:
        self._work, self._study = work, study
        self._line = line or (FITS if study is None else _line_of(study))
        self._lock = threading.Lock()
        self._owners: set[object] = set()
        self._left: set[object] = set()
        self._future: Future | None = None
        self.start()

    def start(self, owner: object = None) -> None:
        """Want it: begin anew, unless it is under way."""
        owner = visitor() if owner is None else owner
        with self._lock:
            self._left.discard(owner)
            self._owners.add(owner)
            if not (self.done or self.stop_flag[0]):
                return
            self.started = time.monotonic()
            self._begin()
        _watch(self)

    def _begin(self) -> None:
        self.where = self.problem = self.message = ""
        self.stop_flag = np.zeros(1, dtype=np.int64)
        self.progress = np.zeros(1)
        self._future = self._line.submit(self._run, self.stop_flag, self.progress)
        self._future.add_done_callback(self._ended)

    def requeue(self) -> None:
        """Go on in the line of fits if it has a place now; else begin anew there."""
        self._line, under_way, has_place = FITS, self._future, threading.Event()

        def hold() -> None:
            has_place.set()
            wait_for([under_way])

        place = FITS.submit(hold)
        if has_place.wait(PLACE_SECONDS) or not place.cancel():
            return
        with self._lock:
            if not (self.done or self.was_left):
                self.stop_flag[0] = 1
                self._begin()

    def join(self, owner: object = None) -> None:
        """Want it too until it is done; who left it has to start it."""
        owner = visitor() if owner is None else owner
        if owner not in self._left and (self.was_left or not self.done):
            self.start(owner)

    def leave(self, owner: object = None) -> None:
        """Want it no longer; the last owner who leaves ends it."""
        owner = visitor() if owner is None else owner
        self._left.add(owner)
        self.lose(owner)

    def lose(self, owner: object) -> None:
        """Go on without an owner, or end; one who comes back joins it again."""
        with self._lock:
            self._owners.discard(owner)
            if not self._owners:
                self._stop()

    def end(self) -> None:
        """Stop it, whoever wants it: what it works on is to be forgotten."""
        with self._lock:
            self._left |= self._owners
            self._owners.clear()
            self._stop()

    def _stop(self) -> None:
        if not self.done:
            self.stop_flag[0] = 1
            if self._future.cancel():
                self.problem = "Stopped before it began."

    def _run(self, stop: np.ndarray, progress: np.ndarray) -> Any:
        problem, result = "", None
        try:
            # What a visitor has uploaded stays on this machine.
            if self._study is not None and not self._study.private:
                self.where = engine().words
            result = self._work(stop, progress)
        except SmpcoreError as error:
            problem = str(error)
        except Exception:
            log.exception("a task failed")
            problem = "Internal error; see the server log."
        if stop is self.stop_flag:  # else it was begun anew meanwhile
            self.problem = problem
        return result

    def _ended(self, _: Future) -> None:
        log.info("a task took %.1f s", time.monotonic() - self.started)

    @property
    def owners(self) -> frozenset[object]:
        """Who wants it: browser tabs, as a rule."""
        with self._lock:
            return frozenset(self._owners)

    @property
    def done(self) -> bool:
        """Whether nothing more may come."""
        return self._future is None or self._future.done()

    @property
    def running(self) -> bool:
        """Whether something may still come to this visitor.

        Who left it to others waits no longer; what everybody left has yet to end.
        """
        return not self.done and (self.was_left or visitor() in self._owners)

    @property
    def was_left(self) -> bool:
        """Whether nobody wanted it any more before it had ended."""
        return bool(self.stop_flag[0])

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.started

    def wait(self, seconds: float) -> bool:
        """Wait that long at most; whether it is done now."""
        # A line hears later that a task was cancelled.
        return self.done or bool(wait_for([self._future], timeout=seconds).done)

    def ready(self, seconds: float) -> bool:
        """Wait that long at most; whether its result is there, and wanted still."""
        return self.wait(seconds) and not self.was_left

    def want(self) -> None:
        """Wait for it with others; begin anew if nobody waited for it any more."""
        if not self.ready(0.0):
            self.start()

    def result(self) -> Any:
        """What the work returned."""
        if not self.done:
            wait_for([self._future])
        if self.problem:
            raise SmpcoreError(self.problem)
        return self._future.result()


def end_all() -> None:
    """Stop all tasks, whoever wants them: the server ends."""
    with _watch_lock:
        begun = list(_watched)
    for task in begun:
        task.end()


def counts() -> dict[str, int]:
    """How many tasks wait in their lines, and how many run."""
    with _watch_lock:
        futures = [task._future for task in _watched if not task.done]
    running = sum(future.running() for future in futures)
    return {"waiting": len(futures) - running, "running": running}


def _line_of(study: Dataset) -> Executor:
    return LARGE_STUDIES if study.frame.size > LARGE_VALUES else STUDIES


def _watch(task: Task) -> None:
    """Look from now on whether anybody is left who wants it."""
    with _watch_lock:
        _watched.add(task)
        _begin_to_look()


@cache
def _begin_to_look() -> None:
    threading.Thread(target=_look, name="tasks", daemon=True).start()


def _look() -> None:
    suspected: set[tuple[int, object]] = set()
    while True:
        time.sleep(LOOK_SECONDS)
        with _watch_lock:
            _watched.difference_update([task for task in _watched if task.done])
        suspected = _let_go(suspected)


def _let_go(suspected: set[tuple[int, object]]) -> set[tuple[int, object]]:
    """Let tabs leave that were gone the last time and still are; who is gone now."""
    gone = set()
    for task in list(_watched):
        for owner in task.owners:
            if not is_here(owner):
                gone.add((id(task), owner))
                if (id(task), owner) in suspected:
                    log.info("a tab was closed: its task is left")
                    task.lose(owner)
    return gone
