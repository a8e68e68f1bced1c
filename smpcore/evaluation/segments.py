"""What the tasks of a study share, where every process of this machine can read it.

It is pickled once, into shared memory; a task carries the name of that segment and no
data. The first eight bytes are the study's stop flag: compiled loops of all processes
read it where it stands. A process that has done a task of a study keeps what it has
unpickled, and what the tasks add to it, until the flag rises.
"""

from __future__ import annotations

import errno
import io
import logging
import pickle
import shutil
import threading
import time
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.threads import Work, alone

log = logging.getLogger(__name__)

#: Bytes of the flag.
_FLAG = 8
#: Where Linux keeps shared memory: to write beyond its end would kill this process.
_PLACE = Path("/dev/shm")
#: Seconds until a process has forgotten a study that is over.
FORGET = 0.5


class Segment:
    """A study's shared memory; at the end of a ``with`` the study is over.

    Parameters
    ----------
    work : callable
        ``work(shared, task)``.
    shared : object
    stop : ndarray of int64, shape (1,)
        Wherever this is in ``shared``, a process has the segment's flag.

    Attributes
    ----------
    name : str

    Raises
    ------
    OSError
        If there is no room for it.
    """

    def __init__(self, work: Work, shared: Any, stop: np.ndarray) -> None:
        file = io.BytesIO()
        _Pickler(file, stop).dump((work, shared))
        content = file.getbuffer()
        size = _FLAG + content.nbytes
        if _PLACE.is_dir() and shutil.disk_usage(_PLACE).free < size:
            raise OSError(errno.ENOSPC, f"no room for {size} bytes", str(_PLACE))
        self._memory = SharedMemory(create=True, size=size)
        self._memory.buf[_FLAG:size] = content
        self.name = self._memory.name

    def __enter__(self) -> Segment:
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.buf[0] = 1
        self._memory.close()
        self._memory.unlink()


class _Pickler(cloudpickle.Pickler):
    """Leaves the stop flag out; takes functions of a notebook as well."""

    def __init__(self, file: io.BytesIO, stop: np.ndarray) -> None:
        super().__init__(file, protocol=5)
        self._stop = stop

    def persistent_id(self, value: Any) -> str | None:
        """Name what a process has itself."""
        return "stop" if value is self._stop else None


class _Unpickler(pickle.Unpickler):
    """Puts the segment's flag in."""

    def __init__(self, file: io.BytesIO, flag: np.ndarray) -> None:
        super().__init__(file)
        self._flag = flag

    def persistent_load(self, _: str) -> np.ndarray:
        """The flag."""
        return self._flag


@dataclass(frozen=True, eq=False)
class _Study:
    """What a process has of a study."""

    work: Work
    shared: Any
    flag: np.ndarray


_lock = threading.Lock()
#: Name of a segment -> what was in it.
_studies: dict[str, _Study] = {}
#: Segments that are open in this process.
_open: list[SharedMemory] = []
_forgetting = False


def do_task(name: str, task: tuple) -> tuple[Any, Exception | None]:
    """Do a task of a study in a process of a pool.

    Parameters
    ----------
    name : str
        Of the study's segment.
    task : tuple

    Returns
    -------
    (object, None) or (None, Exception)
        What the work returned, or what it broke with: in this way no error comes with
        its frames, which would keep the study's data, and none breaks the pool.
    """
    try:
        if (study := _study(name)) is None:
            return None, None
        return alone(task, study.work, study.shared), None
    except Exception as error:
        if not isinstance(error, SmpcoreError):
            log.exception("a task failed")
        return None, _sendable(error.with_traceback(None))


def _study(name: str) -> _Study | None:
    """What this process has of a study; None if it was over before a task began."""
    global _forgetting
    with _lock:
        if name not in _studies:
            try:
                memory = _attached(name)
            except FileNotFoundError:
                return None
            _open.append(memory)
            # Unlike `ndarray(buffer=...)` this keeps the segment from being closed.
            flag = np.frombuffer(memory.buf, np.int64, 1)
            file = io.BytesIO(memory.buf[_FLAG:])
            _studies[name] = _Study(*_Unpickler(file, flag).load(), flag)
        if not _forgetting:
            _forgetting = True
            threading.Thread(target=_forget, name="forget", daemon=True).start()
        return _studies[name]


def _attached(name: str) -> SharedMemory:
    """Open a segment that another process has made and will remove.

    Until Python 3.13, which has an argument for it, the first process that ends would
    remove it: whoever opens a segment is registered as its owner.
    """
    register = resource_tracker.register
    resource_tracker.register = lambda *_: None
    try:
        return SharedMemory(name)
    finally:
        resource_tracker.register = register


def _forget() -> None:
    """Drop what a study has left in this process, soon after it is over."""
    while True:
        time.sleep(FORGET)
        with _lock:
            for name in [name for name, study in _studies.items() if study.flag[0]]:
                del _studies[name]
            _open[:] = [memory for memory in _open if not _closed(memory)]


def _closed(memory: SharedMemory) -> bool:
    """Close a segment, unless a flag in it is still in use."""
    try:
        memory.close()
    except BufferError:
        return False
    return True


def _sendable(error: Exception) -> Exception:
    """The error, or what it says, where it does not travel."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(repr(error))
    return error
