"""A process beside this one that compiles kernels into the cache.

Compiling holds the GIL: in this process every visitor would wait. It begins before
this one has loaded its libraries, which takes as long there; so nothing of smpcore is
imported here.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)

_ROOT = Path(__file__).parents[2]
_process: subprocess.Popen[str] | None = None
_turn = threading.Lock()


def start() -> None:
    """Begin the process; without one, or without a cache, this one compiles."""
    global _process
    command = [sys.executable, "-m", "smpcore.methods"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    try:
        # In a session of its own Ctrl-C is the parent's affair.
        _process = subprocess.Popen(command, cwd=_ROOT, start_new_session=True, **pipes)
    except OSError as error:
        log.warning("no process to compile solvers in: %s", error)


def compile_method(key: str, every_option: bool) -> None:
    """Have a method in the cache, after what others have asked for."""
    with _turn:
        if _process is None:
            return
        answer = ""
        with suppress(OSError, ValueError):  # it has ended
            _process.stdin.write(f"{key} options\n" if every_option else f"{key}\n")
            _process.stdin.flush()
            answer = _process.stdout.readline()
        if not answer:
            _end()


def end() -> None:
    """End the process: all is compiled."""
    with _turn:
        _end()


def _end() -> None:
    global _process
    if _process is not None:
        _process.kill()
        with suppress(OSError), _process:  # part of a request may be left in stdin
            _process = None
