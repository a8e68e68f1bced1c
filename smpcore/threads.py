"""One core for one fit, whatever the machine has."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from joblib import parallel_config
from threadpoolctl import OpenBLASController, ThreadpoolController

#: A piece of work: ``work(shared, task)``, with a tuple for a task.
Work = Callable[[Any, tuple], Any]


class _OneCore:
    """Keep linear algebra and scikit-learn's loops to one thread inside a ``with``.

    More threads sum in another order: a fit would depend on how many cores there are.
    And they compete with the tasks beside them. BLAS has one limit for the process: it
    is set by the first thread that comes, and taken back by the last one that goes.
    That of OpenMP is each thread's own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n = 0
        self._blas: Any = None
        self._own = threading.local()

    def __enter__(self) -> None:
        with self._lock:
            if not self._n:
                self._blas = _controller().limit(limits=1, user_api="blas")
            self._n += 1
        openmp = _controller().limit(limits=1, user_api="openmp")
        self._own.limits = [*getattr(self._own, "limits", []), openmp]

    def __exit__(self, *_: object) -> None:
        self._own.limits.pop().restore_original_limits()
        with self._lock:
            self._n -= 1
            if not self._n:
                # threadpoolctl lets no thread but the first lift its limit; of two that
                # leave in the order in which they came, the last one is another.
                OpenBLASController.clear_controlling_thread(force=True)
                self._blas.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    """What the libraries that are loaded say; to look takes a millisecond."""
    return ThreadpoolController()


one_core = _OneCore()


def alone(task: tuple, work: Work, shared: Any) -> Any:
    """Do one task on one core, in this thread."""
    with one_core, parallel_config("sequential"):
        return work(shared, task)
