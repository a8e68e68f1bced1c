"""What one visitor shows to many, sent beside Streamlit's runs.

Each picture is made once, and all who wait for it get the same bytes. Who is slow gets
the latest one next.
"""

from __future__ import annotations

import asyncio
import gzip
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from pages.work.slots import poll_interval

#: Seconds from one picture to the next at least; in a crowd more.
SECONDS = 0.2
#: So long a request waits for a picture.
PATIENCE = 20.0


class Broadcast:
    """Pictures with numbers, the latest of which is kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next: list[Callable[[int], bytes]] = []
        self._number, self._bytes, self._due = 0, b"", 0.0
        #: The server's loop, and what those who wait there hear of.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._came = asyncio.Event()

    def put(self, *makers: Callable[[int], bytes]) -> None:
        """Show these, one after another, in place of all before; none: nothing.

        Each makes a picture's bytes with its number, when its time has come.
        """
        with self._lock:
            is_new, self._next = not self._next, [*makers]
            if not makers:
                self._bytes = b""
        if is_new and makers and self._loop:
            with suppress(RuntimeError):  # the server ends
                self._loop.call_soon_threadsafe(self._wake)

    async def after(self, number: int) -> bytes:
        """The latest picture if its number is larger; empty if none comes for long."""
        loop, now = asyncio.get_running_loop(), time.monotonic()
        if self._loop is not loop:
            self._loop, self._came = loop, asyncio.Event()
        end = now + PATIENCE
        while now < end:
            if self._next and now >= self._due:
                self._make(now)
            if self._bytes and self._number > number:
                return self._bytes
            until = min(end, self._due) if self._next else end
            with suppress(TimeoutError):
                await asyncio.wait_for(self._came.wait(), until - now)
            now = time.monotonic()
        return b""

    def _make(self, now: float) -> None:
        """Make the next picture, for all."""
        with self._lock:
            if not self._next:
                return
            make, *self._next = self._next
            self._number, self._due = self._number + 1, now + poll_interval(SECONDS)
            self._bytes = gzip.compress(make(self._number), 1)
        self._wake()

    def _wake(self) -> None:
        """Have all who wait look again."""
        self._came.set()
        self._came = asyncio.Event()
