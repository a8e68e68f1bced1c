"""Compiled solvers: arrays and numbers in, arrays and numbers out.

Machine code is kept in a folder whose name holds the digest of all files of kernels,
because numba does not notice that a kernel calls another file's edited kernel. The
cache holds code that will be run: only a folder that no other user can write to is
used. Without one, or on a full disk, kernels work all the same, compiled anew in each
process. All settings of numba stay as they are: other libraries have them, too.
"""

import contextlib
import hashlib
import logging
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

import numba
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    _CacheLocator,
    _SourceFileBackedLocatorMixin,
)

log = logging.getLogger(__name__)

#: Machine code that nobody has used for so long is removed.
UNUSED_DAYS = 60


def kernel_files():
    """Every file of kernels, or of what they call: ours, and those of each method."""
    top = pathlib.Path(__file__).parents[1]
    patterns = "solvers/**/*.py", "methods/*/kernel.py", "methods/*/kernel_*.py"
    return sorted(path for pattern in patterns for path in top.glob(pattern))


def source_digest():
    """Digest of every file of kernels and of their compiler (16 hexadecimal digits).

    Environments with other compilers would write over each other's code.
    """
    digest = hashlib.blake2b(digest_size=8)
    digest.update(f"{numba.__version__} {sys.version}".encode())
    top = pathlib.Path(__file__).parents[1]
    for path in kernel_files():
        name = path.relative_to(top).as_posix().encode()
        digest.update(name + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def private_folder(folder):
    """Create the folder if need be; whether it is ours and closed to other users."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
        if folder.is_symlink():
            return False
        with tempfile.TemporaryFile(dir=folder):  # as numba will
            pass
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def remove_unused(top, used):
    """Note that a folder of machine code is used; remove those that long were not."""
    with contextlib.suppress(OSError):  # of another process, say
        os.utime(used)
        for folder in top.iterdir():
            is_ours = re.fullmatch("[0-9a-f]{16}", folder.name)
            age = time.time() - folder.lstat().st_mtime
            if is_ours and age > UNUSED_DAYS * 86_400:
                shutil.rmtree(folder, ignore_errors=True)


def cache_folder():
    """Private folder for the machine code of these sources.

    The first usable of ``NUMBA_CACHE_DIR``, ``XDG_CACHE_HOME``, ``~/.cache`` and a
    folder of this user in the system's temporary folder; else a fresh temporary one,
    or none (an empty text) if no file can be made anywhere.
    """
    user = os.getuid() if hasattr(os, "getuid") else "user"
    own_cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    tops = [pathlib.Path(own_cache, "smpcore")]
    with contextlib.suppress(OSError):  # there may be none
        tops.append(pathlib.Path(tempfile.gettempdir(), f"smpcore-{user}"))
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        tops.insert(0, pathlib.Path(chosen, "smpcore"))
    for top in tops:
        folder = top / source_digest()
        if private_folder(top) and private_folder(folder):
            remove_unused(top, folder)
            return str(folder)
        if chosen and top is tops[0]:
            log.warning(
                "NUMBA_CACHE_DIR=%s is not used: smpcore in it should be a folder of "
                "this user that nobody else can write to",
                chosen,
            )
    try:
        return tempfile.mkdtemp(prefix="smpcore-")
    except OSError as error:
        log.warning("kernels are compiled in each process anew: %s", error)
        return ""


#: Where machine code is kept; empty: nowhere.
FOLDER = cache_folder()


def is_kept():
    """Whether other processes find the machine code of this one."""
    try:
        with tempfile.TemporaryFile(dir=FOLDER, buffering=0) as file:
            file.write(b"0")
    except OSError:  # a full disk
        return False
    found = pathlib.Path(FOLDER).name == source_digest()  # no temporary folder
    return found and not numba.config.DISABLE_JIT


COMPILING = (
    "smpcore is compiling its solvers, once on this machine: the first fit of a method "
    "takes many seconds longer. What is compiled is kept in %s."
)


class _Locator(_SourceFileBackedLocatorMixin, _CacheLocator):
    """Says where the machine code of a kernel is, in `FOLDER`."""

    def __init__(self, py_func, py_file):
        self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func, py_file):
        """Locate a kernel; whether its folder can be made is seen when it is saved."""
        return cls(py_func, py_file)

    def get_cache_path(self):
        """Return the folder of the kernel's file."""
        return os.path.join(FOLDER, self.get_suitable_cache_subpath(self._py_file))


class _Files(CompileResultCacheImpl):
    """The files of a kernel."""

    _locator_classes = (_Locator,)


class _Cache(FunctionCache):
    """Machine code of a kernel, as far as the disk gives and takes it."""

    _impl_class = _Files
    announced = warned = False

    def load_overload(self, sig, target_context):
        """Load machine code; say once in a process that it is to be compiled.

        It is a warning, since Python shows those where nothing is set up for logging.
        """
        kept = super().load_overload(sig, target_context)
        if kept is None and not _Cache.announced:
            _Cache.announced = True
            log.warning(COMPILING, FOLDER)
        return kept

    @contextlib.contextmanager
    def _guard_against_spurious_io_errors(self):
        # Around loading and saving; numba does so for some errors of Windows. A full
        # disk refuses a file, and a file that a power cut has left half written may
        # raise anything when it is unpickled: it is forgotten, and written anew.
        try:
            yield
        except Exception as error:
            if not _Cache.warned:
                _Cache.warned = True
                log.warning("machine code cannot be kept, or read: %r", error)
            with contextlib.suppress(OSError):
                self.flush()


def kernel(function):
    """Compile a kernel at its first call, or load what is kept of an earlier one.

    In numba's "numpy" error model a division by zero gives inf or NaN; the default
    raises an error, which keeps loops from being vectorised.
    """
    compiled = numba.njit(nogil=True, error_model="numpy")(function)
    if FOLDER and not numba.config.DISABLE_JIT:
        compiled._cache = _Cache(function)
    return compiled


def inlined(function):
    """Compile a function into the kernels that call it, and not by itself.

    A kernel is compiled once more with each one that calls it, so this is quicker for
    what one kernel calls, and for a formula.
    """
    return numba.njit(nogil=True, error_model="numpy", inline="always")(function)
