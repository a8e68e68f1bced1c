"""Processes that answer requests and may be ended; an idle one is kept for the next."""

from __future__ import annotations

import json
import logging
import subprocess
import threading
from collections.abc import Generator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO, Any

log = logging.getLogger(__name__)

#: Seconds without a message after which the caller gets None and may give up.
_POLL_SECONDS = 0.05


class ProcessPool:
    """Sends each request to a process that has no other one to answer.

    A process of the command reads requests from stdin and answers each on stdout with
    messages, the last of which has the key "done" or "failed"; after ``{"failed":
    "memory"}`` it is not used again. Both are JSON objects, one a line; a subclass may
    `dump` and `load` otherwise. It may end while it is idle, and has to end when stdin
    closes.

    Parameters
    ----------
    command : sequence of object
        The program and its arguments.
    most_idle : int
        Processes that are kept for next requests.
    **options
        Of each process, as for `subprocess.Popen`.
    """

    #: Whether another process is asked where an idle one ends before it answers.
    asks_again = True

    def __init__(
        self, command: Sequence[object], most_idle: int = 1, **options: Any
    ) -> None:
        self._command, self._options = [*map(str, command)], options
        self._most_idle, self._lock = most_idle, threading.Lock()
        self._idle: list[subprocess.Popen] = []

    def dump(self, request: Any, stdin: IO[bytes]) -> None:
        """Write a request."""
        stdin.write(json.dumps(request).encode() + b"\n")

    def load(self, stdout: IO[bytes]) -> Any:
        """Read a message; whatever else is printed is none."""
        while line := stdout.readline():
            with suppress(ValueError):
                return json.loads(line)
        raise EOFError

    def while_waiting(self, process: subprocess.Popen) -> Any:
        """What a caller gets while there is no message: here None."""

    def messages(self, request: Any) -> Generator[Any, None, None]:
        """Yield the messages that answer a request, and `while_waiting` between them.

        If the caller closes the generator before the last message, the process is
        killed. Without a last message, the process has ended too early.
        """
        if idle := self._take():
            answered = yield from self._exchange(idle, request)
            if answered or not self.asks_again:
                return
        yield from self._exchange(self._start(), request)

    def warm(self) -> None:
        """Have one more idle process, if there is room for it."""
        if len(self._idle) < self._most_idle:
            self._give_back(self._start())

    def close(self) -> None:
        """End the idle processes."""
        while process := self._take():
            _end(process)

    def _exchange(
        self, process: subprocess.Popen, request: Any
    ) -> Generator[Any, None, bool]:
        """Yield the messages of one process; return whether there were any."""
        received: SimpleQueue[dict | None] = SimpleQueue()
        args = process, request, received
        thread = threading.Thread(target=self._talk, args=args, daemon=True)
        thread.start()
        last: dict = {}
        try:
            while not _is_last(last):
                try:
                    message = received.get(timeout=_POLL_SECONDS)
                except Empty:
                    yield self.while_waiting(process)
                    continue
                if message is None:
                    break
                last = message
                yield message
            return bool(last)
        finally:
            reusable = _is_last(last) and last.get("failed") != "memory"
            if not reusable:
                process.kill()
            thread.join()
            if reusable:
                self._give_back(process)
            else:
                _end(process)

    def _talk(
        self, process: subprocess.Popen, request: Any, received: SimpleQueue
    ) -> None:
        """Put the messages up to the last into the queue, or None if it ends before."""
        message: Any = {}
        try:
            with suppress(OSError):  # it has ended; `load` finds that out, too
                self.dump(request, process.stdin)
                process.stdin.flush()
            while not _is_last(message):
                message = self.load(process.stdout)
                received.put(message)
        except Exception as error:
            if not isinstance(error, EOFError):
                log.warning("a process gave no answer: %r", error)
            received.put(None)

    def _start(self) -> subprocess.Popen:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen(self._command, **pipes, **self._options)

    def _take(self) -> subprocess.Popen | None:
        """An idle process, unless there is none that has not ended."""
        while True:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            if process is None or process.poll() is None:
                return process
            _end(process)

    def _give_back(self, process: subprocess.Popen) -> None:
        with self._lock:
            reused = len(self._idle) < self._most_idle
            if reused:
                self._idle.append(process)
        if not reused:
            _end(process)


def _is_last(message: dict) -> bool:
    return "done" in message or "failed" in message


def _end(process: subprocess.Popen) -> None:
    """Kill a process, wait for its end and close its pipes."""
    process.kill()
    with suppress(OSError), process:  # part of a request may be left in stdin
        pass
