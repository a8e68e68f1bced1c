"""What recording costs the solvers: ``python -m tests.bench.steps``.

Fits with and without ``record=1`` take turns; medians of 15 in milliseconds on one
thread, first calls not timed. The budget is 10 %.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Iterator

from threadpoolctl import threadpool_limits

from smpcore import METHODS, load_dataset
from tests.bench.solvers import show

REPEATS = 15
DATA = {
    "classification": ("wine", "breast_cancer", "digits"),
    "regression": ("diabetes",),
}


def costs(method: str, task: str, data: str) -> list[str]:
    """Median solver times without and with recording, and the states recorded."""
    dataset = load_dataset(data)
    X, y = dataset.frame[dataset.feature_columns].to_numpy(dtype=float), dataset.y
    estimators = [METHODS[method].estimators[task](record=k) for k in (0, 1)]
    problem = estimators[0].problem(X, y)
    times: list[list[float]] = [[], []]
    for turn in range(REPEATS + 1):
        for estimator, taken in zip(estimators, times, strict=True):
            start = time.process_time()
            estimator.solve(problem)
            if turn:
                taken.append(1000 * (time.process_time() - start))
    plain, recorded = map(statistics.median, times)
    count = len(estimators[1].history_.steps)
    share = f"{100 * (recorded / plain - 1):+.1f} %"
    return [method, data, f"{plain:.1f}", f"{recorded:.1f}", share, str(count)]


def lines() -> Iterator[list[str]]:
    """A line for each method and data set."""
    for key, method in METHODS.items():
        for task in method.estimators:
            for data in DATA[task]:
                if (key, data) != ("imkpl", "digits"):  # half a minute a fit
                    yield costs(key, task, data)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    head = ["method", "data", "plain", "record=1", "cost", "states"]
    with threadpool_limits(1):
        show("Recording every step (ms of processor time)", head, lines())
