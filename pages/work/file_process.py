"""Files are read in processes of their own: what is in one holds up nobody else.

A file may take so much memory and so many seconds; one that needs more is refused.
There are a few processes, which go to whoever had least of them in the last minute.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from pages.work.fair_line import Client, FairLine
from smpcore import SmpcoreError
from smpcore.datasets import ProcessPool

#: Files that are read at once, each in a process of its own; one of them is always left
#: to another address.
N_READERS = 3
#: Seconds of a processor that a file may take, and that one may take while others wait
#: for theirs. The slowest takes 20; how long that is on a busy server is not its fault.
PATIENCE, CROWDED_PATIENCE = 120.0, 20.0
#: By the clock a file may take so many times as long: one that only waits ends too.
SLOWEST = 10.0

_TOO_MUCH = (
    "Reading the file takes {}; take fewer rows or columns, save the table as Parquet, "
    "or try again later."
)
_ENDED = (
    "The file ended the process that read it: it is damaged, or takes more memory than "
    "one may have; fetch or save it again, or take fewer rows or columns."
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

    def while_waiting(self, process: subprocess.Popen) -> float:
        """Seconds of a processor that the process has taken since its start."""
        return processor_seconds(process.pid)


def processor_seconds(pid: int) -> float:
    """Seconds of a processor that a process has taken, but on Linux by the clock."""
    if sys.platform != "linux":
        return time.monotonic()
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0  # it has ended


READERS = ReaderPool(N_READERS - 1)
#: Where files stand in line.
LINE = FairLine(N_READERS, "reader", READERS.warm)


def read(
    reader: Callable[..., Any],
    source: Path | BytesIO,
    *args: Any,
    owner: Client | None = None,
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
    answer, at_start, started = None, 0.0, time.monotonic()
    try:
        with closing(READERS.messages((reader, content, args, options))) as messages:
            for answer in messages:
                if isinstance(answer, float):  # nothing has come yet
                    at_start = at_start or answer
                    by_clock = (time.monotonic() - started) / SLOWEST
                    seconds = max(answer - at_start, by_clock)
                    progress[0] = seconds / PATIENCE
                    _require_patience(seconds, stop)
        if not isinstance(answer, dict):
            raise NotReadError(_ENDED)
        if answer.get("failed") == "memory":
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
        raise NotReadError(
            _TOO_MUCH.format(f"longer than {PATIENCE:.0f} seconds of a processor")
        )
    if seconds > CROWDED_PATIENCE and LINE.is_in_the_way(LINE.owner):
        words = (
            f"longer than {CROWDED_PATIENCE:.0f} seconds of a processor, and others "
            "wait for theirs"
        )
        raise NotReadError(_TOO_MUCH.format(words))
