"""Files are read in processes of their own: what is in one holds up nobody else.

A file may take so much memory and so many seconds; one that needs more is refused.
There are two processes, and they go to the visitor who was served longest ago.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from pages.work.fair_line import FairLine
from smpcore import SmpcoreError

#: Files that are read at once, each in a process of its own.
N_READERS = 2
#: Seconds that a file may take, and that one may take while others wait for theirs.
#: The slowest takes 20 on a quiet machine.
PATIENCE, CROWDED_PATIENCE = 120.0, 20.0
#: A file under way is looked at this often.
LOOK_SECONDS = 0.1

_ROOT = Path(__file__).parents[2]
_SCRIPT = "from pages.work.reader_process import serve; serve()"

#: The process of each thread of the line.
_own = threading.local()


class NotReadError(SmpcoreError):
    """A file was not read to its end: at another time it may be."""


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
    """Read a file in the process of the calling thread of the line."""
    process, over, reasons = _started(), threading.Event(), []
    watch = partial(_watch, process, LINE.owner, over, reasons, stop, progress)
    watching = threading.Thread(target=watch, name="file watch", daemon=True)
    watching.start()
    done, answer = False, MemoryError()
    try:
        reader, source, args, options = request
        content = source.getvalue() if isinstance(source, BytesIO) else source
        pickle.dump((reader, content, args, options), process.stdin, protocol=5)
        process.stdin.flush()
        done, answer = pickle.load(process.stdout)
    except (EOFError, OSError, pickle.UnpicklingError):  # it has ended
        pass
    finally:
        over.set()
        watching.join()
        if reasons or isinstance(answer, MemoryError):
            process.kill()
            process.wait()
            _started()  # for the next file
    if isinstance(answer, MemoryError):
        raise NotReadError(*reasons or [_too_much("more memory than one may have")])
    if not done:
        raise answer
    return answer


def _watch(
    process: subprocess.Popen,
    owner: str,
    over: threading.Event,
    reasons: list[str],
    stop: np.ndarray,
    progress: np.ndarray,
) -> None:
    """Kill a process that takes too long, or whose file is wanted no longer."""
    started = time.monotonic()
    while not reasons and not over.wait(LOOK_SECONDS):
        seconds = time.monotonic() - started
        progress[0] = seconds / PATIENCE
        if stop[0]:
            reasons.append("Reading the file was cancelled.")
        elif seconds > PATIENCE:
            reasons.append(_too_much(f"longer than {PATIENCE:.0f} seconds"))
        elif seconds > CROWDED_PATIENCE and LINE.is_in_the_way(owner):
            reasons.append(
                _too_much(
                    f"longer than {CROWDED_PATIENCE:.0f} seconds, and others wait for "
                    "theirs; try again later"
                )
            )
    if reasons:
        process.kill()


def _too_much(what: str) -> str:
    join = ", or" if "; " in what else ";"
    return (
        f"Reading the file takes {what}{join} take fewer rows or columns, or save the "
        "table as Parquet."
    )


def _started() -> subprocess.Popen:
    """The process of the calling thread, which is started if it has ended."""
    process = getattr(_own, "process", None)
    if process is None or process.poll() is not None:
        process = _own.process = subprocess.Popen(
            [sys.executable, "-c", _SCRIPT],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    return process


#: Where files stand in line.
LINE = FairLine(N_READERS, "reader", _started)
