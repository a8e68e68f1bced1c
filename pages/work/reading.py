"""Files are read in a process of their own: what is in one holds up nobody else.

It may take so much memory and so many seconds; a file that needs more is refused.
"""

from __future__ import annotations

import gc
import io
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from pages.work.memory import give_back
from smpcore import SmpcoreError

log = logging.getLogger(__name__)

#: Who moves a slider goes first (POSIX).
NICENESS = 5
#: Address space that a file may take, beyond that of the process itself.
MEMORY_BYTES = 3_000_000_000
#: How long a file may take; the slowest takes 20 on a quiet machine.
PATIENCE = 120.0

_ROOT = Path(__file__).parents[2]
_SCRIPT = "from pages.work.reading import serve; serve()"

_lock = threading.Lock()
_process: subprocess.Popen | None = None


def read(
    reader: Callable[..., Any], source: Path | BinaryIO, *args: Any, **options: Any
) -> Any:
    """Call a function that reads a file, in the process for that.

    Parameters
    ----------
    reader : callable
        ``reader(file, *args, **options)``, a function of a module.
    source : Path or binary file
        A path is opened there, the content of a file is sent.
    *args, **options
        Passed on.

    Returns
    -------
    object
        What the function returns.

    Raises
    ------
    SmpcoreError
        That of the function, or if the file needs too much memory or time.
    OSError
        If the path cannot be opened.
    """
    if not isinstance(source, Path):
        source.seek(0)
        source = source.read()
    with _lock:  # one file after the other: what ends the process ends no other
        process = _started()
        late, answer = threading.Event(), MemoryError()
        timer = threading.Timer(PATIENCE, lambda: (late.set(), process.kill()))
        timer.start()
        try:
            pickle.dump((reader, source, args, options), process.stdin, protocol=5)
            process.stdin.flush()
            done, answer = pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):  # it has ended
            done = False
        finally:
            timer.cancel()
            if isinstance(answer, MemoryError):
                process.kill()
                process.wait()
    if done:
        return answer
    if isinstance(answer, MemoryError):
        what = f"longer than {PATIENCE:.0f} seconds" * late.is_set()
        answer = SmpcoreError(
            f"Reading the file takes {what or 'more memory than one may have'}; take "
            "fewer rows or columns, or save the table as Parquet."
        )
    raise answer


def warm_up() -> None:
    """Start the process, so that the first file need not wait for it."""
    with _lock:
        _started()


def _started() -> subprocess.Popen:
    global _process
    if _process is None or _process.poll() is not None:
        _process = subprocess.Popen(
            [sys.executable, "-c", _SCRIPT],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    return _process


def serve() -> None:
    """Read one file after the other until the standard input closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints goes to the parent's log
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    import_module("smpcore.datasets.parquet_sample")  # Parquet takes a second
    with suppress(ImportError, OSError):  # Linux has both
        import resource

        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        most = pages * resource.getpagesize() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    gc.freeze()  # what is there now is not looked at after each file
    with suppress(EOFError):
        while True:
            answer = _answer(*pickle.load(sys.stdin.buffer))
            give_back()  # before the answer has its second copy, in the parent
            pickle.dump(answer, answers, protocol=5)
            answers.flush()
            del answer
            give_back()


def _answer(
    reader: Callable[..., Any],
    source: bytes | Path,
    args: tuple,
    options: dict[str, Any],
) -> tuple[bool, Any]:
    try:
        if isinstance(source, Path):
            with source.open("rb") as file:
                return True, reader(file, *args, **options)
        return True, reader(io.BytesIO(source), *args, **options)
    except (SmpcoreError, OSError, MemoryError) as error:
        return False, error
    except Exception as error:
        log.exception("a file cannot be read")
        return False, RuntimeError(repr(error))
