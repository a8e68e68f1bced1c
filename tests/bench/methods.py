"""Speed and accuracy of every method: ``python -m tests.bench.methods [key ...]``.

speed     scaling rows and finding the start, a solve from there, and one from the fit
          at a quarter less of the first slider; the share that ``record=1`` adds, whose
          budget is 10 %. Milliseconds of processor time on one thread, medians of 7,
          first calls not timed.
accuracy  of test rows, or R2, mean of five splits, beside the usual models; each with
          its default settings, so that nothing is chosen on test rows

Keys choose methods. What grows with rows, features and classes: `tests.bench.scaling`.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from smpcore import METHODS, load_dataset, prepare, split
from smpcore.methods.shared.method import Method

DATA = {
    "classification": ("wine", "breast_cancer", "digits"),
    "regression": ("diabetes",),
}
PEERS = {"classification": (LogisticRegression, SVC), "regression": (Ridge, SVR)}
REPEATS, SPLITS = 7, 5
SPEED = ["start ms", "solve ms", "again ms", "slider", "record=1"]
ACCURACY = ["default", "linear model", "SVM, RBF"]


def median_ms(*calls: Callable[[], object]) -> list[float]:
    """Median processor time of calls that take turns, in milliseconds."""
    spent: list[list[float]] = [[] for _ in calls]
    for turn in range(REPEATS + 1):
        for call, times in zip(calls, spent, strict=True):
            start = time.process_time()
            call()
            times += [1000 * (time.process_time() - start)] * bool(turn)
    return [statistics.median(times) for times in spent]


def show(title: str, head: list[str], lines: Iterator[list]) -> None:
    """Print a table, line by line as it is measured."""
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for line in lines:
        print(f"| {' | '.join(map(str, line))} |", flush=True)


def speed(method: Method, task: str, key: str) -> list:
    """The line of a method and a table."""
    dataset = load_dataset(key)
    rows = split(dataset).train
    X = prepare(dataset, rows).transform(dataset.frame)[rows]
    values = method.defaults(task)
    slider = next(p.name for p in method.controls(task) if p.scale == "log")
    model = method.estimator(values, task)
    problem = model.problem(X, dataset.y[rows])
    low, high = method.bounds(problem, values)[slider]
    near = float(np.clip(0.75 * (values[slider] or low), low, high))
    other = method.estimator(values | {slider: near}, task)
    state = other.solve(problem).state_
    recorded = method.estimator(values, task).set_params(record=1)
    found, cold, steps, warm = median_ms(
        lambda: model.problem(X, dataset.y[rows]),
        lambda: model.solve(problem),
        lambda: recorded.solve(problem),
        lambda: model.solve(problem, state),
    )
    share = f"{100 * (steps / cold - 1):+.0f} %"
    return [*(f"{value:.1f}" for value in (found, cold, warm)), slider, share]


def accuracy(method: Method, task: str, key: str) -> list[str]:
    """The line of a method, its peers and a table."""
    dataset = load_dataset(key)
    scores = []
    for seed in range(SPLITS):
        rows = split(dataset, seed=seed)
        X, y = prepare(dataset, rows.train).transform(dataset.frame), dataset.y
        models = [method.estimator(method.defaults(task), task)]
        models += [make_pipeline(StandardScaler(), make()) for make in PEERS[task]]
        for model in models:
            model.fit(X[rows.train], y[rows.train])
        scores.append([model.score(X[rows.test], y[rows.test]) for model in models])
    return [f"{100 * mean:.1f}" for mean in np.mean(scores, axis=0)]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    tables = [
        (METHODS[key], task, data)
        for key in sys.argv[1:] or METHODS
        for task in METHODS[key].estimators
        for data in DATA[task]
    ]
    with threadpool_limits(1):
        for title, head, line in (
            ("Speed", SPEED, speed),
            ("Accuracy or R2 of test rows, %", ACCURACY, accuracy),
        ):
            lines = ([m.key, data, *line(m, task, data)] for m, task, data in tables)
            show(title, ["method", "data", *head], lines)
