"""What a notebook shows while kernels are compiled: the first fit takes long."""

from __future__ import annotations

import logging

from numba import config
from numba.core import event

__all__ = ["announce_compiling"]

log = logging.getLogger(__name__)

#: Kernels of these modules are ours; others are compiled without a word.
OURS = "smpcore."

MESSAGE = (
    "smpcore is compiling its solvers, once on this machine: the first fit of a method "
    "takes many seconds longer. What is compiled is kept in %s."
)


class Announcement(event.Listener):
    """Say once in a process that kernels are compiled, and not that they are loaded.

    It is a warning, since Python shows those where nothing is set up for logging.
    """

    made = False

    def on_start(self, start: event.Event) -> None:
        """Log a compilation; a kernel that is in the cache begins none."""
        kernel = start.data["dispatcher"].py_func
        if not self.made and kernel.__module__.startswith(OURS):
            self.made = True
            log.warning(MESSAGE, config.CACHE_DIR)

    def on_end(self, end: event.Event) -> None:
        """Log nothing at the end of a compilation."""


def announce_compiling() -> None:
    """Log the first compilation of a kernel in this process."""
    event.register("numba:compile", Announcement())
