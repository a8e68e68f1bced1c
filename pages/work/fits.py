"""A canonical fit: quick, or a task that goes on."""

from __future__ import annotations

from typing import Any

import numpy as np

from pages.work import cache
from pages.work.memo import memo
from pages.work.parts import Parts
from pages.work.tasks import QUICK, Task
from pages.work.warmup import uncompiled
from smpcore import METHODS, SmpcoreError

#: Fits that are not done after this long go on as a job with progress and Stop.
QUICK_SECONDS = 0.3
#: A page that needs a model waits this long for its fit.
PATIENCE = 20.0
#: A fit that is stopped has so long to end.
STOP_SECONDS = 1.0
#: Solver status of a fit that was asked to stop.
STOPPED = 2


class Joined:
    """Work that visitors wait for together; the last one who leaves ends its task.

    It is ready without a task.
    """

    task: Task | None = None
    #: Why there is nothing to be seen yet.
    waits = ""

    def join(self) -> None:
        """Wait for it with others; begin anew if nobody waited for it any more."""
        if not self.wait(0.0):
            self.task.start()

    def leave(self) -> None:
        """Wait for it no longer."""
        if self.task:
            self.task.leave()

    def end(self) -> None:
        """Its data are to be forgotten."""
        if self.task:
            self.task.end()

    def wait(self, seconds: float) -> bool:
        """Wait that long at most; whether it is there now."""
        return self.task.wait(seconds) and not self.task.was_left

    def wait_patiently(self) -> None:
        """Wait as long as a page can; one that gives up is opened again later."""
        self.join()
        if not self.wait(PATIENCE):
            raise SmpcoreError(self.waits)


class Fit(Joined):
    """A canonical fit: ready, with slider ends for these rows, or on its way."""

    waits = "The model is still being fitted; come back when it is done."

    def __init__(self, data: Parts, method: str, values: dict[str, Any]) -> None:
        self._data, self._method, self._values = data, METHODS[method], dict(values)
        self.estimator: Any = None
        self.bounds: Any = None
        #: Whether its seconds are the solver's alone.
        self.compiled = method not in uncompiled
        #: The problem and its bounds, for the first attempt.
        self._ready: tuple[Any, Any] | None = None
        if cache.is_slow(data, method, values):
            self.task = Task(self._work)
            return
        key = data, method, values
        self._ready = cache.problem(*key), cache.bounds(*key)
        task = Task(self._work, line=QUICK)
        if task.wait(QUICK_SECONDS):
            self.estimator, self.bounds = task.result()
        else:
            task.requeue()
            self.task = task

    def restart(self) -> None:
        """Fit from the start: it must not depend on how far a stopped one came."""
        self.estimator = self.bounds = None
        self.task.start()

    def _unfitted(self) -> Any:
        return self._method.estimator_for(self._data.dataset, self._values)

    def _work(self, stop: np.ndarray, progress: np.ndarray) -> Any:
        estimator, data = self._unfitted(), self._data
        ready, self._ready = self._ready, None
        if ready is None:
            problem = estimator.problem(*data.named("train"), data.weights("train"))
            ready = problem, self._method.bounds(problem, self._values)
        problem, bounds = ready
        return estimator.solve(problem, stop=stop, progress=progress), bounds

    def wait(self, seconds: float) -> bool:
        """Wait that long at most; whether the estimator is there now."""
        if self.estimator is None and super().wait(seconds):
            self.estimator, self.bounds = self.task.result()
        return self.estimator is not None

    def stop(self) -> None:
        """Leave it; the last one who does has what there is by then."""
        self.leave()
        if self.task.wait(STOP_SECONDS) and not self.task.problem:
            self.estimator, self.bounds = self.task.result()

    def finished(self) -> Any:
        """The canonical estimator, after a wait if its task has not ended."""
        self.wait_patiently()
        if self.was_stopped:
            raise SmpcoreError("The fit was stopped; let it finish on Explore first.")
        return self.estimator

    @property
    def was_stopped(self) -> bool:
        """Whether the last visitor stopped it: what there is, is not canonical."""
        return self.estimator is not None and self.estimator.history_.status == STOPPED


class RecordedFit(Fit):
    """The canonical fit with the states of its solver."""

    def _unfitted(self) -> Any:
        return super()._unfitted().set_params(record=1)


#: A fit whose `history_` has the states of its solver; they take memory.
recorded_fit = memo(16)(RecordedFit)
#: The canonical fit: fixed seed, standard tolerance, from a cold start.
fit = memo(256)(Fit)
