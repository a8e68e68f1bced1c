"""Processes beside this one: what a study does in Python holds up nobody here.

Threads of one process take turns with everything that is not a compiled kernel, and
much of a sweep is not: scikit-learn's baselines, k-means starts, scores, sizes. A
helper loads this package once, does tasks at a low priority, and goes with its parent.
"""

from __future__ import annotations

import io
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

import numpy as np
from joblib import parallel_config

from smpcore.errors import SmpcoreError
from smpcore.methods import METHODS
from smpcore.threads import one_core

log = logging.getLogger(__name__)

_ROOT = Path(__file__).parents[2]
_SCRIPT = "from smpcore.evaluation.helpers import serve; serve()"
#: Who moves a slider goes first; but work goes on where all cores are busy (POSIX).
NICENESS = 5
#: Tasks that a helper has, so that none waits for the next one.
_AT_HAND = 2
#: Seconds between two looks at Stop.
_LOOK = 0.05
#: Seconds to wait for helpers that end what the last study has left. Most do it at
#: once; what hears no Stop may take minutes.
_PATIENCE = 0.5

#: A piece of work: ``function(shared, task)``, with a tuple for a task.
Work = Callable[[Any, tuple], Any]

_lock = threading.RLock()
#: All that were started, and of these the ones that nobody has.
_started: list[Helper] = []
_free: list[Helper] = []


def alone(task: tuple, work: Work, shared: Any) -> Any:
    """Do one task on one core, in this process.

    Parameters
    ----------
    task : tuple
    work : callable
        ``work(shared, task)``.
    shared : object

    Returns
    -------
    object
        What ``work`` returns.
    """
    with one_core, parallel_config("sequential"):
        return work(shared, task)


class Helper:
    """A process that does tasks, one after the other.

    Attributes
    ----------
    alive : bool
        Whether answers may still come.
    """

    def __init__(self) -> None:
        self.alive = True
        self._gate = threading.Lock()
        self._asked: deque[Future] = deque()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SCRIPT],
            cwd=_ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        threading.Thread(target=self._listen, daemon=True).start()
        self.ask("warm", None).add_done_callback(self._begin)

    def _begin(self, ready: Future) -> None:
        if ready.exception() is not None:
            self.end()
            return
        with _lock:
            _free.append(self)

    @property
    def n_asked(self) -> int:
        """Answers that have not come."""
        return len(self._asked)

    def ask(self, kind: str, content: Any) -> Future:
        """Send something that is answered."""
        answer: Future = Future()
        with self._gate:
            if not self.alive:
                answer.set_exception(_lost())
                return answer
            self._asked.append(answer)
        self._send(kind, content)
        return answer

    def stop(self) -> None:
        """End the tasks at hand soon; their answers come all the same."""
        self._send("stop", None)

    def end(self) -> None:
        """End the process."""
        self._process.kill()

    def _send(self, kind: str, content: Any) -> None:
        try:
            pickle.dump((kind, content), self._process.stdin, protocol=5)
            self._process.stdin.flush()
        except Exception as error:  # what was sent in part is not understood
            log.warning("a helper cannot be told: %r", error)
            self.end()

    def _listen(self) -> None:
        """Pass answers on; at the end, answer all that was asked."""
        try:
            while True:
                done, content = pickle.load(self._process.stdout)
                answer = self._asked.popleft()
                (answer.set_result if done else answer.set_exception)(content)
        except Exception as error:
            log.warning("a helper has ended: %r", error)
        finally:
            self.end()
            self._process.wait()
            with self._gate:
                self.alive = False
            for answer in self._asked:
                answer.set_exception(_lost())


def _lost() -> SmpcoreError:
    return SmpcoreError(
        "The process that computes studies was ended, maybe for want of memory: start "
        "again. What had come is kept."
    )


def start_helpers(number: int) -> None:
    """Have so many helpers; each takes some seconds until it is free to help.

    Parameters
    ----------
    number : int
    """
    with _lock:
        _started[:] = [helper for helper in _started if helper.alive]
        _free[:] = [helper for helper in _free if helper.alive]
        try:
            while len(_started) < number:
                _started.append(Helper())
        except OSError as error:  # no room for one more process
            log.warning("no more helpers: %s", error)


@contextmanager
def lent() -> Iterator[list[Helper]]:
    """Take half of the helpers that are free, one at least.

    Yields
    ------
    list of Helper
        Empty where none is free.
    """
    start_helpers(len(_started))  # in place of those that were lost
    until = time.monotonic() + _PATIENCE
    while _free and all(h.n_asked for h in _free) and time.monotonic() < until:
        time.sleep(0.005)
    with _lock:
        idle = [helper for helper in _free if not helper.n_asked]
        ours = idle[: (len(idle) + 1) // 2]
        _free[:] = [helper for helper in _free if helper not in ours]
    try:
        yield ours
    finally:
        for helper in ours:
            helper.stop()
            helper.ask("share", b"")
        with _lock:
            _free.extend(ours)


class Lent:
    """Helpers at one piece of work.

    Parameters
    ----------
    helpers : list of Helper
    work : callable
        ``work(shared, task)``, a function of a module.
    shared : object
        What all tasks need.
    stop : ndarray of int64, shape (1,)
        Wherever this is in ``shared``, the helper has a flag of its own.
    """

    def __init__(
        self, helpers: list[Helper], work: Work, shared: Any, stop: np.ndarray
    ) -> None:
        self._helpers, self._stop = helpers, stop
        content = io.BytesIO()
        _Pickler(content, stop).dump((work, shared))
        self._told = [h.ask("share", content.getvalue()) for h in helpers]

    def answers(self, tasks: Iterable[tuple]) -> Iterator[Any]:
        """What comes back, in the order of the tasks, until Stop."""
        if not all(map(self._came, self._told)):
            return
        left, asked = iter(tasks), deque()
        while True:
            while len(asked) < _AT_HAND * len(self._helpers) and not self._stop[0]:
                if (task := next(left, None)) is None:
                    break
                # What a helper has made for a chain of tasks is there for the next.
                helper = self._helpers[hash(task[0]) % len(self._helpers)]
                asked.append(helper.ask("do", task))
            if not asked or not self._came(asked[0]):
                return
            yield asked.popleft().result()

    def _came(self, answer: Future) -> bool:
        """Wait for an answer; whether it is there, or Stop came first."""
        while not answer.done():
            if self._stop[0]:
                for helper in self._helpers:
                    helper.stop()
                return False
            wait([answer], timeout=_LOOK)
        answer.result()
        return True


class _Pickler(pickle.Pickler):
    """Leaves the stop flag out."""

    def __init__(self, file: BinaryIO, stop: np.ndarray) -> None:
        super().__init__(file, protocol=5)
        self._stop = stop

    def persistent_id(self, value: Any) -> str | None:
        """Name what the helper has itself."""
        return "stop" if value is self._stop else None


class _Unpickler(pickle.Unpickler):
    """Puts the helper's own stop flag in."""

    def __init__(self, file: BinaryIO, stop: np.ndarray) -> None:
        super().__init__(file)
        self._stop = stop

    def persistent_load(self, _: str) -> np.ndarray:
        """The flag."""
        return self._stop


def serve() -> None:
    """Do what comes through the standard input; a helper's whole life."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    warnings.simplefilter("ignore")  # how each fit ended is in its result
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints goes to the parent's log
    inbox: SimpleQueue[tuple[str, Any, np.ndarray]] = SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, inbox)).start()
    work: Work | None = None
    shared: Any = None
    while True:
        kind, content, stop = inbox.get()
        try:
            found = None
            if kind == "warm":
                for method in METHODS.values():
                    method.warm_up()
            elif kind == "do":
                found = alone(content, work, shared)
            else:
                work = shared = None
                if content:
                    work, shared = _Unpickler(io.BytesIO(content), stop).load()
            answer = pickle.dumps((True, found), protocol=5)
        except Exception as error:
            if not isinstance(error, SmpcoreError):
                log.exception("a task failed")
            answer = pickle.dumps((False, _sendable(error)), protocol=5)
        answers.write(answer)
        answers.flush()


def _receive(source: BinaryIO, inbox: SimpleQueue) -> None:
    """Queue what comes; hear Stop at once; end with the parent."""
    stop = np.zeros(1, dtype=np.int64)
    try:
        while True:
            kind, content = pickle.load(source)
            if kind == "stop":
                stop[0] = 1
                continue
            if kind == "share":
                stop = np.zeros(1, dtype=np.int64)
            inbox.put((kind, content, stop))
    finally:
        os._exit(0)


def _sendable(error: Exception) -> Exception:
    """The error, or what it says, where it does not travel."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(repr(error))
    return error
