"""What an operator reads of a server: whether it is ready, and numbers."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable
from importlib import import_module

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
    if not is_loaded():
        return "The solvers are being compiled or loaded."
    try:
        with tempfile.TemporaryFile(buffering=0) as file:
            file.write(b"0")
    except OSError as error:  # a full disk, too
        return f"The folder for temporary files is not writable: {error.strerror}."
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
