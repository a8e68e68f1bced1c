"""Compiled solvers: arrays and numbers in, arrays and numbers out.

Importing this package tells numba where to keep machine code. The folder's name holds
the digest of these sources, because numba does not notice that a kernel calls another
file's edited kernel. The cache holds code that will be run: only a folder that no
other user can write to is used.
"""

import hashlib
import os
import pathlib
import tempfile

import numba


def source_digest():
    """Digest of every source file in this folder (16 hexadecimal digits)."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def private_folder(folder):
    """Create the folder if need be; whether it is ours and closed to other users."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return False
    if folder.is_symlink() or not os.access(folder, os.W_OK | os.X_OK):
        return False
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def cache_folder():
    """Private folder for the machine code of these sources.

    The first usable of ``NUMBA_CACHE_DIR``, ``XDG_CACHE_HOME``, ``~/.cache`` and a
    folder of this user in the system's temporary folder; else a fresh temporary one.
    """
    user = os.getuid() if hasattr(os, "getuid") else "user"
    own_cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    tops = [
        pathlib.Path(own_cache, "smpcore"),
        pathlib.Path(tempfile.gettempdir(), f"smpcore-{user}"),
    ]
    if os.environ.get("NUMBA_CACHE_DIR"):
        tops.insert(0, pathlib.Path(os.environ["NUMBA_CACHE_DIR"], "smpcore"))
    for top in tops:
        folder = top / source_digest()
        if private_folder(top) and private_folder(folder):
            return str(folder)
    return tempfile.mkdtemp(prefix="smpcore-")


numba.config.CACHE_DIR = cache_folder()

#: How every kernel is compiled. In numba's "numpy" error model a division by zero gives
#: inf or NaN; the default raises an error, which keeps loops from being vectorised.
kernel = numba.njit(cache=True, nogil=True, error_model="numpy")
