"""Compiles methods into the cache for another process: ``python -m smpcore.methods``.

A line of stdin is the key of a method, and a second word if all of its options are
meant; each is answered with a line. It ends with stdin, or at once if what it compiles
would be found by nobody.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
import warnings
from queue import SimpleQueue

from smpcore.methods import METHODS
from smpcore.solvers import is_kept

#: Once the first method is there, whoever moves a slider goes first (POSIX).
NICENESS = 5


def _read(requests: SimpleQueue[list[str]]) -> None:
    for line in sys.stdin:
        requests.put(line.split())
    os._exit(0)  # in the middle of a method, too


def main() -> None:
    """Answer requests."""
    gc.disable()  # a compiler makes millions of objects, and hardly any garbage
    warnings.simplefilter("ignore")
    # What cannot be compiled is said by whoever loads it.
    logging.getLogger("smpcore.methods").setLevel(logging.CRITICAL)
    requests: SimpleQueue[list[str]] = SimpleQueue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    is_cached = is_kept()
    while is_cached:
        key, *options = requests.get()
        METHODS[key].warm_up(bool(options))
        print(flush=True)
        if hasattr(os, "nice"):
            os.nice(max(0, NICENESS - os.nice(0)))


if __name__ == "__main__":
    main()
