"""Files are read in processes of their own: what is in one holds up nobody else.

A file may take so much memory and so many seconds; one that needs more is refused.
There are two processes, and they go to the visitor who was served longest ago.
"""

from __future__ import annotations

import pickle
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import closing
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from pages.work.store import Store
from pages.work.visitors import browser, visitor
from smpcore import SmpcoreError
from smpcore.datasets import ProcessPool

#: Visitors of whom it is known when they were served last.
MOST_KNOWN = 1_000


class _Item(NamedTuple):
    owner: str
    future: Future
    work: Callable[[], Any]


class FairLine(Executor):
    """An executor that serves the waiting visitor who was served longest ago.

    Who was never served goes first, among them who came first. No visitor has two
    threads at once, so that a second thread is free for others while a first one is
    held by a long piece of work.
    """

    def __init__(
        self, n_threads: int, name: str, initializer: Callable[[], Any] = lambda: None
    ) -> None:
        self._n_threads, self._name, self._initializer = n_threads, name, initializer
        self._changed = threading.Condition()
        self._waiting: list[_Item] = []
        #: Who is served, and since when.
        self._running: dict[str, float] = {}
        #: When each visitor's last turn began.
        self._turns = Store(MOST_KNOWN)
        self._started = False
        self._local = threading.local()

    def start(self) -> None:
        """Start the threads, if they have not been started."""
        with self._changed:
            if self._started:
                return
            self._started = True
        for number in range(self._n_threads):
            name = f"{self._name} {number}"
            threading.Thread(target=self._serve, name=name, daemon=True).start()

    def submit(
        self, function: Callable[..., Any], /, *args: Any, owner: str = ""
    ) -> Future:
        """Have a function called when its turn has come."""
        self.start()
        owner = owner or browser() or visitor()
        item = _Item(owner, Future(), partial(function, *args))
        with self._changed:
            self._waiting.append(item)
            self._changed.notify_all()
        return item.future

    @property
    def owner(self) -> str:
        """Whose work the calling thread does."""
        return self._local.owner

    def is_in_the_way(self, owner: str) -> bool:
        """Whether others wait, and no piece of work has gone on for longer than this.

        So it is asked of one piece at a time to end: its thread takes the work of
        whoever waits before it is asked of another one.
        """
        with self._changed:
            longest = min(self._running, key=self._running.__getitem__, default=None)
            return owner == longest and bool(self._ready())

    def _ready(self) -> list[_Item]:
        """What may be begun, if a thread is free."""
        waiting = self._waiting = [i for i in self._waiting if not i.future.cancelled()]
        return [item for item in waiting if item.owner not in self._running]

    def _serve(self) -> None:
        self._initializer()
        while True:
            item = self._next()
            if item.future.set_running_or_notify_cancel():
                try:
                    item.future.set_result(item.work())
                except BaseException as error:
                    item.future.set_exception(error)
            del item  # with what was done, before a long wait

    def _next(self) -> _Item:
        """End the calling thread's turn, and wait for its next one."""
        with self._changed:
            if self._running.pop(getattr(self._local, "owner", ""), None) is not None:
                self._changed.notify_all()
            while not (ready := self._ready()):
                self._changed.wait()
            item = min(ready, key=lambda one: self._turns.get(one.owner) or 0)
            self._waiting.remove(item)
            self._running[item.owner] = now = time.monotonic()
            self._turns.put(item.owner, now)
            self._local.owner = item.owner
            return item


#: Files that are read at once, each in a process of its own.
N_READERS = 2
#: Seconds that a file may take, and that one may take while others wait for theirs.
#: The slowest takes 20 on a quiet machine.
PATIENCE, CROWDED_PATIENCE = 120.0, 20.0

_TOO_MUCH = (
    "Reading the file takes {}; take fewer rows or columns, save the table as Parquet, "
    "or try again later."
)
_ROOT = Path(__file__).parents[2]
_SCRIPT = "from pages.work.reader_process import serve; serve()"


class NotReadError(SmpcoreError):
    """A file was not read to its end: at another time it may be."""


class ReaderPool(ProcessPool):
    """Processes that read files: tables have no other form than pickled objects."""

    asks_again = False  # it is the file that has ended a process

    def __init__(self, most_idle: int) -> None:
        super().__init__([sys.executable, "-c", _SCRIPT], most_idle, cwd=_ROOT)

    def dump(self, request: Any, stdin: IO[bytes]) -> None:
        """Write a request."""
        pickle.dump(request, stdin, protocol=5)

    def load(self, stdout: IO[bytes]) -> Any:
        """Read a message."""
        return pickle.load(stdout)


READERS = ReaderPool(N_READERS)
#: Where files stand in line.
LINE = FairLine(N_READERS, "reader", READERS.warm)


def read(
    reader: Callable[..., Any],
    source: Path | BytesIO,
    *args: Any,
    owner: str = "",
    stop: np.ndarray | None = None,
    **options: Any,
) -> Any:
    """Call a function that reads a file, in a process for that, when its turn has
    come.
    """
    stop = np.zeros(1, np.int64) if stop is None else stop
    work = reading_of(reader, source, *args, **options)
    return LINE.submit(work, stop, np.zeros(1), owner=owner).result()


def reading_of(
    reader: Callable[..., Any], source: Path | BytesIO, *args: Any, **options: Any
) -> Callable[[np.ndarray, np.ndarray], Any]:
    """Work of a `Task` in `LINE`; its progress: the share of the time it may take."""
    return partial(_read, (reader, source, args, options))


def _read(request: tuple, stop: np.ndarray, progress: np.ndarray) -> Any:
    """Read a file, of whoever has the turn of the calling thread of the line."""
    reader, source, args, options = request
    content = source.getvalue() if isinstance(source, BytesIO) else source
    answer, started = None, time.monotonic()
    try:
        with closing(READERS.messages((reader, content, args, options))) as messages:
            for answer in messages:
                seconds = time.monotonic() - started
                progress[0] = seconds / PATIENCE
                if answer is None:
                    _require_patience(seconds, stop)
        if answer is None or answer.get("failed") == "memory":
            raise NotReadError(_TOO_MUCH.format("more memory than one may have"))
    except NotReadError:
        READERS.warm()  # for the next file
        raise
    if "failed" in answer:
        raise answer["failed"]
    return answer["done"]


def _require_patience(seconds: float, stop: np.ndarray) -> None:
    """Give a file up that takes too long, or is wanted no longer."""
    if stop[0]:
        raise NotReadError("Reading the file was cancelled.")
    if seconds > PATIENCE:
        raise NotReadError(_TOO_MUCH.format(f"longer than {PATIENCE:.0f} seconds"))
    if seconds > CROWDED_PATIENCE and LINE.is_in_the_way(LINE.owner):
        words = (
            f"longer than {CROWDED_PATIENCE:.0f} seconds, and others wait for theirs"
        )
        raise NotReadError(_TOO_MUCH.format(words))
