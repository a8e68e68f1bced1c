"""What the tasks of a study need where another process of this machine does them.

Each task brings it along, pickled once; a process unpickles it at its first task and
keeps it, with what the tasks add to it, until one of another study comes. The stop flag
is a small file that all of them have in their memory: compiled loops read it there.
"""

from __future__ import annotations

import io
import logging
import multiprocessing
import os
import pickle
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.threads import Work, alone

log = logging.getLogger(__name__)


class Package:
    """What all tasks of a study need; at the end of a ``with`` the study is over.

    Parameters
    ----------
    work : callable
        ``work(shared, task)``, a function of a module.
    shared : object
    stop : ndarray of int64, shape (1,)
        Wherever this is in ``shared``, a process has the flag in the file.

    Attributes
    ----------
    flag : Path
        It holds one int64 and nothing of the study.
    content : bytes

    Raises
    ------
    OSError
        If the flag cannot be made.
    """

    def __init__(self, work: Work, shared: Any, stop: np.ndarray) -> None:
        file = io.BytesIO()
        _Pickler(file, stop).dump((work, shared))
        self.content = file.getvalue()
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.flag = Path(self._folder.name) / "stop"
        self._raised = np.memmap(self.flag, np.int64, "w+", shape=1)

    def __enter__(self) -> Package:
        return self

    def __exit__(self, *_: object) -> None:
        self._raised[0] = 1
        self._folder.cleanup()


class _Pickler(pickle.Pickler):
    """Leaves the stop flag out."""

    def __init__(self, file: io.BytesIO, stop: np.ndarray) -> None:
        super().__init__(file, protocol=5)
        self._stop = stop

    def persistent_id(self, value: Any) -> str | None:
        """Name what a process has itself."""
        return "stop" if value is self._stop else None


class _Unpickler(pickle.Unpickler):
    """Puts the flag of the file in."""

    def __init__(self, file: io.BytesIO, flag: np.ndarray) -> None:
        super().__init__(file)
        self._flag = flag

    def persistent_load(self, _: str) -> np.ndarray:
        """The flag."""
        return self._flag


#: The study that this process was at last: its flag's file, its work, what is shared.
_last: tuple[Path | None, Work | None, Any] = None, None, None


def do_task(flag: Path, content: bytes, task: tuple) -> tuple[Any, Exception | None]:
    """Do a task of a study in a process of a pool."""
    global _last
    try:
        if _last[0] != flag:
            try:
                mapped = np.memmap(flag, np.int64, "r+", shape=1)
            except FileNotFoundError:  # the study was over before the task began
                return None, None
            stop = np.asarray(mapped)  # kernels are compiled for no other kind
            _last = flag, *_Unpickler(io.BytesIO(content), stop).load()
        _, work, shared = _last
        answer = alone(task, work, shared)
        return answer, None
    except Exception as error:
        if not isinstance(error, SmpcoreError):
            log.exception("a task failed")
        return None, _sendable(error.with_traceback(None))


def _sendable(error: Exception) -> Exception:
    """The error, or what it says, where it does not travel."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(repr(error))
    return error


def end_with_parent() -> None:
    """End this process of a pool when its parent ends, be it killed."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(0)
