"""What is kept in memory for a time: values by key, each with owner, size and time."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache
from typing import Any
from weakref import WeakSet

from pages.work.reader_process import give_back
from pages.work.tasks import Task

#: What a visitor brings, and what is made from it, is kept so long after its last use.
KEEP_SECONDS = 30 * 60
#: Old values are looked for this often, whether or not anybody comes.
LOOK_SECONDS = 30.0

#: Stores that forget in time.
_timed: WeakSet[Store] = WeakSet()
#: Set when one of them let a value go, by a visitor's Delete too.
_has_let_go = threading.Event()


@dataclass(slots=True)
class _Entry:
    value: Any
    size: float
    used: float


class _Owned(OrderedDict[Hashable, _Entry]):
    """What one owner has, the least recently used first, and its size."""

    size = 0.0

    def take(self, key: Hashable) -> Any:
        """Remove a value."""
        entry = self.pop(key)
        self.size -= entry.size
        return entry.value


@dataclass(eq=False)
class Store:
    """Values by key. What has an owner is found by that owner only.

    Where there is no room, who keeps most loses what was not used for longest; work
    under way stays, so that who asks for it joins it.

    Parameters
    ----------
    most : float
        Size of all values together; each counts 1 if nothing else is said.
    most_owned : float
        Size of what one owner has.
    seconds : float
        How long a value is kept after its last use, whether or not anybody comes.
    size : callable
        The size of a value.
    dropped : callable
        Called with each value that is here no longer.
    """

    most: float = math.inf
    most_owned: float = math.inf
    seconds: float = math.inf
    size: Callable[[Any], float] = lambda _: 1
    dropped: Callable[[Any], Any] = lambda _: None

    def __post_init__(self) -> None:
        self._owned: dict[Hashable, _Owned] = {}
        self._changed = threading.Condition()
        #: Owner and key of what is being made.
        self._making: set[tuple[Hashable, Hashable]] = set()

    def get(self, key: Hashable, owner: Hashable = None) -> Any:
        """A value, which is used now; None if it is not here."""
        with self._changed:
            entry = self._used(self._owned.get(owner, {}), key)
        if entry is None and self.seconds < math.inf:
            self.sweep()
        return entry and entry.value

    def _used(self, owned: dict, key: Hashable) -> _Entry | None:
        now, entry = time.monotonic(), owned.get(key)
        if entry is None or entry.used + self.seconds < now:
            return None
        owned.move_to_end(key)
        entry.used = now
        return entry

    def put(self, key: Hashable, value: Any, owner: Hashable = None) -> None:
        """Keep a value in place of the one before."""
        with self._changed:
            gone = self._put(self._owned.setdefault(owner, _Owned()), key, value)
        self._let_go(gone)

    def get_or_make(
        self, key: Hashable, make: Callable[[], Any], owner: Hashable = None
    ) -> Any:
        """A value, made once also for those who ask at the same time.

        What was made while all of its owner was forgotten is not kept.
        """
        place = owner, key
        with self._changed:
            while place in self._making:
                self._changed.wait()
            owned = self._owned.setdefault(owner, _Owned())
            if (entry := self._used(owned, key)) is not None:
                return entry.value
            self._making.add(place)
        gone = []
        try:
            value = make()
            with self._changed:
                if self._owned.get(owner) is owned:
                    gone = self._put(owned, key, value)
        finally:
            with self._changed:
                self._making.remove(place)
                self._changed.notify_all()
        self._let_go(gone)
        return value

    def pop(self, key: Hashable, owner: Hashable = None) -> None:
        """Forget a value, if it is here."""
        with self._changed:
            owned = self._owned.get(owner, {})
            gone = [owned.take(key)] if key in owned else []
        self._let_go(gone)

    def forget(self, owner: Hashable) -> list[Any]:
        """Forget all that an owner has; what that was."""
        with self._changed:
            gone = [entry.value for entry in self._owned.pop(owner, {}).values()]
        self._let_go(gone)
        return gone

    def values(self) -> list[Any]:
        """All that is here; this is no use of it."""
        self.sweep()
        with self._changed:
            return [e.value for owned in self._owned.values() for e in owned.values()]

    def seconds_left(self, key: Hashable, owner: Hashable = None) -> float:
        """How long a value stays if nobody uses it."""
        entry = self._owned.get(owner, {}).get(key)
        return max(0.0, entry.used + self.seconds - time.monotonic()) if entry else 0.0

    def sweep(self) -> int:
        """Forget what was not used for too long; how many values that were."""
        limit, gone = time.monotonic() - self.seconds, []
        with self._changed:
            busy = {owner for owner, _ in self._making}
            for owner, owned in list(self._owned.items()):
                while owned and (first := next(iter(owned.items())))[1].used < limit:
                    gone.append(owned.take(first[0]))
                if not owned and owner not in busy:
                    del self._owned[owner]
        self._let_go(gone)
        return len(gone)

    def _put(self, owned: _Owned, key: Hashable, value: Any) -> list[Any]:
        """Keep a value; what had to go for it."""
        if self.seconds < math.inf:
            _timed.add(self)
            _watch()
        gone = [owned.take(key)] if key in owned else []
        owned[key] = _Entry(value, self.size(value), time.monotonic())
        owned.size += owned[key].size
        every = self._owned.values()
        while owned.size > self.most_owned or sum(o.size for o in every) > self.most:
            if owned.size <= self.most_owned:
                owned = max(every, key=lambda one: one.size)
            idle = (name for name, entry in owned.items() if _is_idle(entry.value))
            if (oldest := next(idle, None)) is None:
                break
            gone.append(owned.take(oldest))
        return gone

    def _let_go(self, gone: list[Any]) -> None:
        """Without the lock: other stores may have to forget too."""
        for value in gone:
            self.dropped(value)
        if gone and self.seconds < math.inf:
            _has_let_go.set()


def _is_idle(value: Any) -> bool:
    return not isinstance(value, Task) or value.done


@cache
def _watch() -> None:
    """Forget in time from now on, also while nobody comes."""
    threading.Thread(target=_look, name="stores", daemon=True).start()


def _look() -> None:
    while True:
        time.sleep(LOOK_SECONDS)
        look()


def look() -> None:
    """Forget what is old; if anything went since the last look, its memory goes too."""
    for one in list(_timed):
        one.sweep()
    if _has_let_go.is_set():
        _has_let_go.clear()
        give_back()
