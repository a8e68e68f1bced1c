"""The process that reads files: one after the other, with so much memory at most.

It imports no page and no Streamlit, so that it starts quickly and stays small.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import logging
import os
import pickle
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow

from smpcore import SmpcoreError


def give_back() -> None:
    """Collect garbage and return what is free: after large tables glibc keeps it."""
    gc.collect()
    pyarrow.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)


log = logging.getLogger(__name__)

#: Who moves a slider goes first (POSIX).
NICENESS = 5
#: Address space that a file may take, beyond that of the process itself.
MEMORY_BYTES = 3_000_000_000
#: A page spends a tenth of a millisecond on each.
MOST_COLUMNS = 30_000


def serve() -> None:
    """Read one file after the other until the standard input closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints goes to the parent's log
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    import_module("smpcore.datasets.parquet")  # Parquet takes a second
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


def _refuse_wide(table: Any) -> None:
    """Refuse what would keep all visitors waiting: pages go through all columns."""
    frame = table[0] if isinstance(table, tuple) else table
    n_columns = getattr(frame, "shape", (0, 0))[-1]
    if n_columns > MOST_COLUMNS:
        raise SmpcoreError(
            f"The table has {n_columns:,} columns, a page shows {MOST_COLUMNS:,} at "
            "most; take fewer of them, or shorter series."
        )


def _answer(
    reader: Callable[..., Any],
    source: bytes | Path,
    args: tuple,
    options: dict[str, Any],
) -> dict[str, Any]:
    """The last message of a request, as `ProcessPool` has it."""
    try:
        with (
            source.open("rb")
            if isinstance(source, Path)
            else io.BytesIO(source) as file
        ):
            done = reader(file, *args, **options)
            _refuse_wide(getattr(done, "frame", done))
            return {"done": done}
    except MemoryError:
        return {"failed": "memory"}
    except (SmpcoreError, OSError) as error:
        return {"failed": error}
    except Exception as error:
        log.exception("a file cannot be read")
        return {"failed": RuntimeError(repr(error))}
