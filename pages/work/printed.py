"""The paper's own algorithm on the same rows, from the same start as our fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pages.work import cache
from pages.work.fits import Joined
from pages.work.memo import memo
from pages.work.tasks import Task
from smpcore import METHODS, SmpcoreError
from smpcore.datasets import plain_number
from smpcore.model import Step

if TYPE_CHECKING:  # the papers take half a second, for which no first picture waits
    from smpcore.papers import PrintedStep

#: The printed algorithms are slow: of data with more training values there are none.
MOST_VALUES = 20_000
#: States that are shown at most.
MOST_SHOWN = 60
#: From this share on a ratio is easier to read than a percentage.
TIMES = 1.0


@memo(256)
def has_printed(data: cache.Parts, method: str, values: Mapping[str, Any]) -> bool:
    """Whether the method's paper has an algorithm for such data."""
    from smpcore.papers import PRINTED

    if method not in PRINTED or data.of("train")[0].size > MOST_VALUES:
        return False
    try:
        _states(data, method, values, n_steps=0)
    except SmpcoreError:
        return False
    return True


def _states(
    data: cache.Parts, method: str, values: Mapping[str, Any], **options: Any
) -> tuple[PrintedStep, ...]:
    from smpcore.papers import PRINTED

    estimator = METHODS[method].estimator_for(data.dataset, values)
    problem = cache.problem(data, method, values)
    return PRINTED[method](estimator, problem, **options)


class PrintedRun(Joined):
    """The states of a printed algorithm, on their way in a task.

    It starts from the same prototypes as our fit, where that says which they were.
    """

    waits = "The algorithm as printed is still running; come back when it is done."

    def __init__(
        self, data: cache.Parts, method: str, values: Mapping[str, Any], _estimator: Any
    ) -> None:
        self._request, self.estimator = (data, method, dict(values)), _estimator
        # It is slow and cannot be cut into pieces: no fit is to wait behind it.
        self.task = Task(self._work, study=data.dataset)

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
        self.wait_patiently()
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
        return self.task.result()


#: The states of a printed algorithm; they take memory.
printed_run = memo(8)(PrintedRun)


def difference(printed: Step, ours: float, other: str = "") -> str:
    """How far the last state of the printed algorithm is from our objective."""
    n = plain_number(printed.iteration)
    start = f"After {n} iteration{'s' * (printed.iteration != 1)} the printed steps are"
    if other:
        return f"{start} at {plain_number(printed.objective)}. {other}"
    share = (printed.objective - ours) / max(abs(ours), 1e-300)
    if share > TIMES and ours > 0:
        return f"{start} at {plain_number(1 + share, 3)} times our objective."
    if abs(share) < 1e-4:
        return f"{start} at our objective, to within 0.01 %."
    where = "above" if share > 0 else "below"
    return f"{start} {plain_number(100 * abs(share), 2)} % {where} our objective."
