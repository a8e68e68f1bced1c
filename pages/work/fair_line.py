"""A line in which visitors take turns, for what would hold others up for long."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, NamedTuple

from pages.work import visitors

#: What visitors have taken counts so long.
SHARE_SECONDS = 60.0


class Client(NamedTuple):
    """A visitor, and the address that it comes from: it may have many cookies."""

    address: str
    name: str


def client() -> Client:
    """Whom the running script serves."""
    return Client(visitors.address(), visitors.owner())


class _Item(NamedTuple):
    owner: Client
    future: Future
    work: Callable[[], Any]


class FairLine(Executor):
    """An executor that serves whose address, and who, had its threads least lately.

    Among equals goes first who came first. No visitor has two threads at once, and no
    address all of several: one is free for others while long work holds the rest.
    """

    def __init__(
        self, n_threads: int, name: str, initializer: Callable[[], Any] = lambda: None
    ) -> None:
        self._n_threads, self._name, self._initializer = n_threads, name, initializer
        self._changed = threading.Condition()
        self._waiting: list[_Item] = []
        #: Who is served, and since when; who was, from when to when.
        self._running: dict[Client, float] = {}
        self._served: deque[tuple[Client, float, float]] = deque()
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
        self, function: Callable[..., Any], /, *args: Any, owner: Client | None = None
    ) -> Future:
        """Have a function called when its turn has come."""
        self.start()
        item = _Item(owner or client(), Future(), partial(function, *args))
        with self._changed:
            self._waiting.append(item)
            self._changed.notify_all()
        return item.future

    @property
    def owner(self) -> Client | None:
        """Whose work the calling thread does; None of a thread of another line."""
        return getattr(self._local, "owner", None)

    def is_in_the_way(self, owner: Client | None) -> bool:
        """Whether others wait, and nobody who is served has had more than this one.

        So it is asked of one piece at a time to end: its thread takes the work of
        whoever waits before it is asked of another one.
        """
        with self._changed:
            most = max(self._running, key=self._taken(), default=None)
            return owner == most and bool(self._of_others())

    def _taken(self) -> Callable[[Client], tuple[float, float]]:
        """How much an address, and who comes from there, has had in the last minute."""
        now, seconds = time.monotonic(), Counter()
        while self._served and self._served[0][2] < now - SHARE_SECONDS:
            self._served.popleft()
        running = ((owner, began, now) for owner, began in self._running.items())
        for owner, began, ended in (*self._served, *running):
            had = ended - max(began, now - SHARE_SECONDS)
            seconds[owner.address] += had
            seconds[owner] += had
        return lambda owner: (seconds[owner.address], seconds[owner])

    def _of_others(self) -> list[_Item]:
        """What waits, and is of nobody who is served now."""
        for item in [item for item in self._waiting if item.future.cancelled()]:
            self._waiting.remove(item)
            item.future.set_running_or_notify_cancel()  # whoever waits for it
        return [item for item in self._waiting if item.owner not in self._running]

    def _ready(self) -> list[_Item]:
        """What may be begun, if a thread is free."""
        running = Counter(owner.address for owner in self._running)
        most = max(1, self._n_threads - 1)
        others = self._of_others()
        return [item for item in others if running[item.owner.address] < most]

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
            if (began := self._running.pop(self.owner, None)) is not None:
                self._served.append((self.owner, began, time.monotonic()))
                self._changed.notify_all()
            while not (ready := self._ready()):
                self._changed.wait()
            taken = self._taken()
            item = min(ready, key=lambda one: taken(one.owner))
            self._waiting.remove(item)
            self._running[item.owner] = time.monotonic()
            self._local.owner = item.owner
            return item
