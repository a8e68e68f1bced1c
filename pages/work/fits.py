"""A canonical fit, the paper's own algorithm beside it, and what lessons measure."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pages.work import cache
from pages.work.cache import memo
from pages.work.tasks import QUICK, Task
from pages.work.warmup import make_ready, uncompiled
from smpcore import METHODS, SmpcoreError
from smpcore.baselines import BASELINES, fit_weighted
from smpcore.datasets import plain_number
from smpcore.live import STOPPED, Parts
from smpcore.model import Step
from smpcore.readouts import READOUTS

if TYPE_CHECKING:  # the papers take half a second, for which no first picture waits
    from smpcore.papers import PrintedStep

#: A page that needs a model waits this long for its fit.
PATIENCE = 20.0
#: A fit that is stopped has so long to end.
STOP_SECONDS = 1.0


def _wait_patiently(task: Task, words: str) -> None:
    """Wait as long as a page can; one that gives up is opened again later."""
    task.want()
    if not task.ready(PATIENCE):
        raise SmpcoreError(f"{words}; come back when it is done.")


class Fit(Task):
    """A canonical fit: ready, with slider ends for these rows, or on its way."""

    is_printed = False

    def __init__(self, data: Parts, method: str, values: dict[str, Any]) -> None:
        self._data, self._method, self._values = data, METHODS[method], dict(values)
        self.estimator: Any = None
        self.bounds: Any = None
        #: Whether its seconds are the solver's alone.
        self.compiled = method not in uncompiled
        #: The problem and its bounds, for the first attempt.
        self._problem: tuple[Any, Any] | None = None
        key = data, method, values
        if is_slow := cache.computed.is_slow(*key):
            super().__init__(self._work)
        else:
            self._problem = cache.computed.problem(*key), cache.computed.bounds(*key)
            super().__init__(self._work, line=QUICK)
        #: Whether it was there before anybody had to wait for it.
        self.is_quick = not is_slow and self.ready(cache.computed.quick_seconds)
        if not (is_slow or self.is_quick):
            self.requeue()

    def restart(self) -> None:
        """Fit from the start: it must not depend on how far a stopped one came."""
        self.estimator = self.bounds = None
        self.start()

    def _unfitted(self) -> Any:
        return self._method.estimator_for(self._data.dataset, self._values)

    def _work(self, stop: np.ndarray, progress: np.ndarray) -> Any:
        make_ready(self._method.key)
        estimator, data = self._unfitted(), self._data
        known, self._problem = self._problem, None
        if known is None:
            problem = estimator.problem(
                *data.named("train"), data.weights("train"), **data.metadata("train")
            )
            known = problem, self._method.bounds(problem, self._values)
        problem, bounds = known
        return estimator.solve(problem, stop=stop, progress=progress), bounds

    def ready(self, seconds: float) -> bool:
        """Wait that long at most; whether the estimator is there now."""
        if self.estimator is None and super().ready(seconds):
            self.estimator, self.bounds = self.result()
        return self.estimator is not None

    def stop(self) -> None:
        """Leave it; the last one who does has what there is by then."""
        self.leave()
        if self.wait(STOP_SECONDS) and not self.problem:
            self.estimator, self.bounds = self.result()

    def finished(self) -> Any:
        """The canonical estimator, after a wait if its task has not ended."""
        _wait_patiently(self, "The model is still being fitted")
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


#: The printed algorithms are slow: of data with more training values there are none.
MOST_PRINTED_VALUES = 20_000
#: Of the processor, for the list of all choices of features that are nearly the best.
MOST_NEAR_SECONDS = 5.0
#: States that are shown at most.
MOST_SHOWN = 60
#: From this share on a ratio is easier to read than a percentage.
TIMES = 1.0


@memo(256)
def has_printed(data: Parts, method: str, values: Mapping[str, Any]) -> bool:
    """Whether the method's paper has an algorithm for such data."""
    from smpcore.papers import PRINTED

    if method not in PRINTED or data.of("train")[0].size > MOST_PRINTED_VALUES:
        return False
    try:
        _states(data, method, values, n_steps=0)
    except SmpcoreError:
        return False
    return True


def _states(
    data: Parts, method: str, values: Mapping[str, Any], **options: Any
) -> tuple[PrintedStep, ...]:
    from smpcore.papers import PRINTED

    estimator = METHODS[method].estimator_for(data.dataset, values)
    problem = cache.computed.problem(data, method, values)
    return PRINTED[method](estimator, problem, **options)


class PrintedRun(Task):
    """The states of a printed algorithm, on their way in a task.

    It starts from the same prototypes as our fit, where that says which they were.
    """

    is_printed = True

    def __init__(
        self, data: Parts, method: str, values: Mapping[str, Any], _estimator: Any
    ) -> None:
        self._request, self.estimator = (data, method, dict(values)), _estimator
        # It is slow and cannot be cut into pieces: no fit is to wait behind it.
        super().__init__(self._work, study=data.dataset)

    def _work(self, stop: np.ndarray, progress: np.ndarray) -> list[Step]:
        from smpcore.papers import as_step

        start = self.estimator.start_
        states = _states(*self._request, start=start, stop=stop)
        is_finite = np.isfinite([state.objective for state in states])
        n = len(states) if is_finite.all() else int(is_finite.argmin())
        shown = np.linspace(0, n - 1, min(n, MOST_SHOWN)).astype(int)
        return [as_step(states[i], int(i), self.estimator) for i in shown]

    def finished(self) -> list[Step]:
        """The states that are shown, after a wait if it has not ended."""
        _wait_patiently(self, "The algorithm as printed is still running")
        return self.states

    @property
    def difference(self) -> str:
        """How far its end is from our fit, in a sentence."""
        from smpcore.papers import OTHER_OBJECTIVES

        compared = OTHER_OBJECTIVES.get(self._request[1], lambda _: "")
        ours = self.estimator
        return difference(self.states[-1], ours.objective_, compared(ours))

    @property
    def states(self) -> list[Step]:
        """The states that are shown."""
        return self.result()


#: The states of a printed algorithm; they take memory.
printed_run = memo(8)(PrintedRun)


def difference(printed: Step, ours: float, other: str = "") -> str:
    """How far the last state of the printed algorithm is from our objective."""
    noun = "iteration" if printed.iteration == 1 else "iterations"
    start = f"After {plain_number(printed.iteration)} {noun} the printed steps are"
    if other:
        return f"{start} at {plain_number(printed.objective)}. {other}"
    share = (printed.objective - ours) / max(abs(ours), 1e-300)
    if share > TIMES and ours > 0:
        return f"{start} at {plain_number(1 + share, 3)} times our objective."
    if abs(share) < 1e-4:
        return f"{start} at our objective, to within 0.01 %."
    where = "above" if share > 0 else "below"
    return f"{start} {plain_number(100 * abs(share), 2)} % {where} our objective."


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit whose read-outs are taken, and what it is compared with."""

    data: Parts
    method: str
    values: Mapping[str, Any]
    estimator: Any

    @cached_property
    def printed(self) -> Step | None:
        """The last state of the paper's own algorithm; None where it has none."""
        request = self.data, self.method, self.values
        if not has_printed(*request):
            return None
        return printed_run(*request, self.estimator).finished()[-1]

    @cached_property
    def near_best(self) -> Any:
        """Choices of features within 5 % of the best; None where none are listed."""
        search = getattr(self.estimator, "alternatives", None)
        if search is None or self.data.dataset.task != "classification":
            return None
        problem = cache.computed.problem(self.data, self.method, self.values)
        with suppress(SmpcoreError):
            return search(problem, seconds=MOST_NEAR_SECONDS)
        return None

    def agreement(self, bits: int) -> Any:
        """Integers beside floats on validation rows; None where there are none."""
        from smpcore.codegen import agreement, compile_model, quantise

        data, model = self.data, self.estimator.model_
        rows = data.dataset.frame.iloc[data.split.validation]
        with suppress(SmpcoreError):
            whole = quantise(compile_model(model, data.preparation), bits)
            return agreement(whole, model, rows, data.preparation)
        return None

    @cached_property
    def svm(self) -> Any:
        """An RBF-SVM of the same training rows; None for a number or a large table."""
        X, y = self.data.of("train")
        task = self.data.dataset.task
        if task != "classification" or X.size > MOST_PRINTED_VALUES:
            return None
        unfitted = BASELINES["rbf_svm"].estimator()
        return fit_weighted(unfitted, X, y, self.data.weights("train"))


def measured(fitted: Fitted, text: str = "") -> dict[str, float]:
    """Read-outs of a fitted model, slow ones where a text names them."""
    return {
        key: float(row.value(fitted))
        for key, row in READOUTS.items()
        if row.value and (not row.is_slow or key in text)
    }
