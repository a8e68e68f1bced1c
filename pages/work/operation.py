"""What an operator reads of a server, whether it is ready and numbers, and its end."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from importlib import import_module

log = logging.getLogger(__name__)

#: Environment variable: the seconds that a server still serves whom it has after
#: SIGTERM. Containers are killed after ten.
DRAIN, DRAIN_SECONDS = "SPE_DRAIN", 5.0
#: Environment variable: the folder where visitors' work outlives the server.
STORE = "SPE_STORE"
#: Set from SIGTERM on.
draining = threading.Event()

#: Why something of a visitor was refused -> how often.
refusals: Counter[str] = Counter()

#: Name of a metric -> what it counts, and the label of its values.
METRICS = {
    "refusals": ("What was refused, since the server began.", "reason"),
    "tasks": ("Fits, sweeps, refits, searches and downloads.", "state"),
    "drags": ("Messages of sliders and parts of pages.", "state"),
    "open_descriptors": ("Files, connections and pipes of the server.", ""),
}


def unready(is_loaded: Callable[[], bool]) -> str:
    """Why no visitor should be sent to this server; empty if it is ready."""
    if draining.is_set():
        return "The server is about to end."
    if not is_loaded():
        return "The solvers are being compiled or loaded."
    folders = {"The folder for temporary files": None}
    folders |= {STORE: folder} if (folder := os.environ.get(STORE)) else {}
    for name, folder in folders.items():
        try:
            with tempfile.TemporaryFile(buffering=0, dir=folder) as file:
                file.write(b"0")
        except OSError as error:  # a full disk, too
            return f"{name} is not writable: {error.strerror}."
    return ""


def metrics() -> dict[str, dict[str, int]]:
    """Values of the metrics by label; while the server starts it waits for them."""
    folder = "/proc/self/fd"
    descriptors = {"": len(os.listdir(folder))} if os.path.isdir(folder) else {}
    return {
        "refusals": dict(refusals),
        "tasks": import_module("pages.work.tasks").counts(),
        "drags": import_module("pages.work.slots").counts(),
        "open_descriptors": descriptors,
    }


def drain_seconds(text: str) -> float:
    """The operator's seconds; ours, with a line in the log, if that is no time."""
    try:
        seconds = float(text or DRAIN_SECONDS)
        if 0 <= seconds < math.inf:
            return seconds
    except ValueError:
        pass
    log.warning(
        "%s: %r is no number of seconds; %g is taken", DRAIN, text, DRAIN_SECONDS
    )
    return DRAIN_SECONDS


def drain_before_end(loop: asyncio.AbstractEventLoop) -> None:
    """Have the first SIGTERM end the server later, and the second one at once."""
    if threading.current_thread() is not threading.main_thread():
        return  # which gets all signals
    seconds = drain_seconds(os.environ.get(DRAIN, ""))
    end = signal.getsignal(signal.SIGTERM)

    def drain() -> None:
        log.warning("no new visitors; the server ends in %g s", seconds)
        loop.call_later(seconds, end, signal.SIGTERM, None)

    def receive(number: int, frame: object) -> None:
        if draining.is_set():
            end(number, frame)
        else:
            draining.set()
            loop.call_soon_threadsafe(drain)  # no log within what it interrupts

    signal.signal(signal.SIGTERM, receive)


def stop_tasks() -> None:
    """Raise the stop flags of all tasks: what runs in other processes ends, too."""
    if tasks := sys.modules.get("pages.work.tasks"):
        tasks.end_all()
