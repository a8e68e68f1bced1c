"""Work that waits for somebody else: each errand in a thread of its own.

A download needs no core, so it takes no place among the jobs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from smpcore import SmpcoreError

log = logging.getLogger(__name__)

#: Errands of all visitors at once, at most.
MOST = 4
_places = threading.BoundedSemaphore(MOST)


class Errand:
    """One piece of waiting, begun at once.

    Parameters
    ----------
    work : callable
        ``work(stop=flag, doing=tell)``: gives up when ``flag[0]`` is not 0, and tells
        in words what it does.

    Attributes
    ----------
    doing : str
        What it was last heard to do.
    result : object
        What came of it; None before, and if nothing did.
    problem : str
        Why nothing came of it; empty otherwise.
    """

    def __init__(self, work: Callable[..., Any]) -> None:
        self.doing, self.problem = "Waiting", ""
        self.result: Any = None
        self._stop = np.zeros(1, dtype=np.int64)
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[..., Any]) -> None:
        with _places:
            try:
                self.result = work(stop=self._stop, doing=self._tell)
            except SmpcoreError as error:
                self.problem = str(error)
            except Exception:
                log.exception("an errand failed")
                self.problem = "Something went wrong; the server's log says more."

    def _tell(self, words: str) -> None:
        self.doing = words

    @property
    def running(self) -> bool:
        """Whether something may still come of it."""
        return self._thread.is_alive()

    @property
    def seconds(self) -> float:
        """Since it was begun."""
        return time.monotonic() - self._began

    def wait(self, seconds: float) -> bool:
        """Wait that long at most; whether it has ended."""
        self._thread.join(seconds)
        return not self.running

    def stop(self) -> None:
        """Give up soon."""
        self._stop[0] = 1
