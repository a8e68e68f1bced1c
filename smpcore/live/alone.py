"""A place with one viewer: a notebook cell, or a program that writes pages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from smpcore.datasets import Dataset, load_dataset
from smpcore.live.choice import BUNDLED, Choice
from smpcore.live.computed import Computed, remember
from smpcore.live.host import Host
from smpcore.live.parts import Parts
from smpcore.live.scene import flat_window
from smpcore.methods import METHODS


def bundled_table(choice: Choice) -> tuple[Dataset, None]:
    """The bundled table of a choice."""
    values = {p.name: p.start for p in BUNDLED[choice.data].params}
    return load_dataset(choice.data, **values | choice.data_values), None


class Fit:
    """A fit in a thread of its own; an interrupt of the kernel stops it."""

    is_printed, compiled = False, True

    def __init__(
        self, computed: Computed, request: tuple[Parts, str, Mapping], record: int
    ) -> None:
        self._computed, self._request, self._record = computed, request, record
        self.restart()
        self.is_quick = self.ready(computed.quick_seconds)

    def restart(self) -> None:
        """Fit from the start."""
        self.estimator: Any = None
        self.bounds: Any = None
        self._error: Exception | None = None
        self._flag, self.progress = np.zeros(1, np.int64), np.zeros(1)
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        data, method, values = self._request
        try:
            problem = self._computed.problem(*self._request)
            self.bounds = self._computed.bounds(*self._request)
            estimator = METHODS[method].estimator_for(data.dataset, values)
            estimator.set_params(record=self._record)
            self.estimator = estimator.solve(
                problem, stop=self._flag, progress=self.progress
            )
        except Exception as error:  # who asks for the fit gets it
            self._error = error

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self._began

    @property
    def was_stopped(self) -> bool:
        """Whether what there is, is not canonical."""
        return self.estimator is not None and bool(self._flag[0])

    def ready(self, seconds: float | None) -> bool:
        """Wait that long at most; whether the estimator is there now."""
        try:
            self._thread.join(seconds)
        except KeyboardInterrupt:
            self.stop()
            raise
        if self._error is not None:
            raise self._error
        return self.estimator is not None

    def finished(self) -> Any:
        """The estimator, after a wait; what was stopped is begun anew."""
        if self.was_stopped:
            self.restart()
        self.ready(None)
        return self.estimator

    def stop(self) -> None:
        """End it with what there is."""
        if self.estimator is None:
            self._flag.fill(1)
            self._thread.join()

    def want(self) -> None:
        """Nobody else shares it."""

    def leave(self) -> None:
        """Nobody waits for it any more: what has not ended is begun anew."""
        self.stop()


@contextmanager
def _stopped_after(seconds: float) -> Iterator[np.ndarray]:
    flag = np.zeros(1, np.int64)
    timer = threading.Timer(seconds, flag.fill, (1,))
    timer.start()
    try:
        yield flag
    finally:
        timer.cancel()


def host_of(table: Callable[[Choice], Any]) -> Host:
    """A host for one viewer, with nothing but its own memory."""
    computed = Computed()

    def fitted(data: Parts, method: str, values: Mapping[str, Any], record: int) -> Fit:
        return Fit(computed, (data, method, dict(values)), record)

    fit = remember(64)(fitted)
    return Host(
        table=table,
        computed=computed,
        fits=SimpleNamespace(
            fit=lambda *request: fit(*request, 0),
            recorded_fit=lambda *request: fit(*request, 1),
            has_printed=lambda *request: False,
        ),
        studies=SimpleNamespace(
            view=remember(128)(flat_window),
            map_of=None,
            training_scores=lambda *request: SimpleNamespace(calibration=None),
        ),
        stopped_after=_stopped_after,
    )
