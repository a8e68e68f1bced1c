"""Processes of a script that answer requests; an idle one is kept for the next."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO

#: Seconds without a message after which the caller gets None and may give up.
_POLL_SECONDS = 0.05


class ProcessPool:
    """Sends each request to a process that has no other one to answer.

    The script reads JSON objects from stdin, one a line, and answers each with JSON
    objects on stdout, the last of which has the key "done" or "failed". It may end
    while it is idle, and has to end when stdin closes.

    Parameters
    ----------
    script : Path
    *arguments : object
        Command-line arguments of the script.
    """

    def __init__(self, script: Path, *arguments: object) -> None:
        self._command = [sys.executable, "-P", str(script), *map(str, arguments)]
        self._idle: list[subprocess.Popen] = []  # one at most
        self._lock = threading.Lock()

    def messages(self, request: dict) -> Generator[dict | None, None, None]:
        """Yield the messages that answer a request, and None while there are none.

        If the caller closes the generator before the last message, the process is
        killed. Without a last message, the process has ended too early.
        """
        line = json.dumps(request) + "\n"
        idle = self._take()
        # An idle process may end just before it reads the request.
        answered = idle is not None and (yield from self._exchange(idle, line))
        if not answered:
            yield from self._exchange(self._start(), line)

    def close(self) -> None:
        """End the idle process."""
        process = self._take()
        if process is not None:
            _end(process)

    def _exchange(
        self, process: subprocess.Popen, line: str
    ) -> Generator[dict | None, None, bool]:
        """Yield the messages of one process; return whether there were any."""
        received: SimpleQueue[dict | None] = SimpleQueue()
        reader = threading.Thread(target=_read, args=(process.stdout, received))
        reader.daemon = True
        reader.start()
        last: dict = {}
        try:
            with suppress(OSError):  # it has ended; the reader finds that out, too
                process.stdin.write(line)
                process.stdin.flush()
            while not _is_last(last):
                try:
                    message = received.get(timeout=_POLL_SECONDS)
                except Empty:
                    yield None
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
            reader.join()
            if reusable:
                self._give_back(process)
            else:
                _end(process)

    def _start(self) -> subprocess.Popen:
        return subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def _take(self) -> subprocess.Popen | None:
        """The idle process, unless there is none or it has ended."""
        with self._lock:
            process = self._idle.pop() if self._idle else None
        if process is not None and process.poll() is not None:
            _end(process)
            return None
        return process

    def _give_back(self, process: subprocess.Popen) -> None:
        with self._lock:
            reused = not self._idle
            if reused:
                self._idle.append(process)
        if not reused:
            _end(process)


def _is_last(message: dict) -> bool:
    return "done" in message or "failed" in message


def _read(stdout: IO[str], received: SimpleQueue) -> None:
    """Put the messages up to the last one into the queue, or None if it ends before."""
    for line in stdout:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        received.put(message)
        if _is_last(message):
            return
    received.put(None)


def _end(process: subprocess.Popen) -> None:
    """Kill a process, wait for its end and close its pipes."""
    process.kill()
    with suppress(OSError), process:  # part of a request may be left in stdin
        pass
