"""A line in which visitors take turns, for what would hold others up for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, NamedTuple

from pages.work.visitors import browser, visitor

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
        self._turns: dict[str, float] = {}
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
        """Whose work the calling thread does; empty of a thread of another line."""
        return getattr(self._local, "owner", "")

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
        for item in [item for item in self._waiting if item.future.cancelled()]:
            self._waiting.remove(item)
            item.future.set_running_or_notify_cancel()  # whoever waits for it
        return [item for item in self._waiting if item.owner not in self._running]

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
            if self._running.pop(self.owner, None) is not None:
                self._changed.notify_all()
            while not (ready := self._ready()):
                self._changed.wait()
            item = min(ready, key=lambda one: self._turns.get(one.owner, 0.0))
            self._waiting.remove(item)
            self._running[item.owner] = now = time.monotonic()
            self._turns = {**self._turns, item.owner: now}
            while len(self._turns) > MOST_KNOWN:  # the one served longest ago
                del self._turns[min(self._turns, key=self._turns.__getitem__)]
            self._local.owner = item.owner
            return item
