"""What recording costs the solvers, and sends: ``python -m tests.bench.steps``.

Fits with and without ``record=1`` take turns; medians of 15 in milliseconds on one
thread, first calls not timed. The budget is 10 %. Traces are those that the figure asks
for: their budget is 3 MB compressed.
"""

from __future__ import annotations

import statistics
import time
import warnings
import zlib
from collections.abc import Iterator

from threadpoolctl import threadpool_limits

from pages.explore.canvas import pack
from pages.work import fits
from smpcore import METHODS, load_dataset
from tests.bench.solvers import show
from tests.test_live import Browser
from tests.test_live_steps import all_steps

REPEATS, FEW = 15, 5
#: Fits of several seconds are repeated a few times only.
SLOW = {("imkpl", "digits")}
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
    repeats = FEW if (method, data) in SLOW else REPEATS
    for turn in range(repeats + 1):
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
                yield costs(key, task, data)


def sizes() -> Iterator[list[str]]:
    """A line for the trace of each method on digits: states, bytes and seconds."""
    for key in METHODS:
        browser = Browser(method=key, data="digits")
        start = time.perf_counter()
        _, pictures = all_steps(browser)
        seconds = time.perf_counter() - start
        whole = pack({"steps": pictures})
        size = len(zlib.compress(whole))
        yield [key, str(len(pictures)), str(len(whole)), str(size), f"{seconds:.1f}"]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    head = ["method", "data", "plain", "record=1", "cost", "states"]
    with threadpool_limits(1):
        show("Recording every step (ms of processor time)", head, lines())
    # A fit that takes long would be answered as a job.
    fits.QUICK_SECONDS = 600.0
    head = ["method", "states", "bytes", "compressed", "s"]
    show("Traces of digits, as sent", head, sizes())
