"""How good the optima of our solvers are: ``python -m tests.bench.solvers [word ...]``.

optima  objective and processor time of the multi-prototype SVM with its default
        settings, and how far it is above the best of ``--runs`` long ones: anneals
        from a temperature of 10 that cool at a tenth of the usual speed, each from its
        own start. All rows of six bundled tables, 2, 3 and 5 prototypes per class.
        Seconds are the least of five fits on one thread, the first call not timed.

Long runs take minutes: ``--cache FILE`` keeps what they reached. ``--save FILE`` keeps
what the program reaches, and ``--before FILE`` puts it beside what a later one does.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from smpcore import load_dataset, prepare
from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.mprotsvm.fit import begin_run
from smpcore.methods.mprotsvm.problem import drawn_start
from smpcore.methods.shared.problem import SolverOptions
from tests.bench.methods import show

TABLES = ("moons", "circles", "iris", "wine", "breast_cancer", "digits")
COUNTS, PRICES = (2, 3, 5), (0.1, 1.0)
#: Of a long run: the first temperature, and the factor that cools ten times as slowly.
HOT, SLOW = 10.0, 0.8**0.1
REPEATS = 5
HEAD = ["data", "q", "C", "long runs", "before", "now", "CPU s", "before", "excess %"]


def rows_of(key: str) -> tuple[np.ndarray, np.ndarray]:
    """All rows of a bundled table, and their classes."""
    dataset = load_dataset(key)
    prepared = prepare(dataset, np.arange(len(dataset.y)))
    return prepared.transform(dataset.frame), dataset.y


def long_runs(key: str, count: int, price: float, n_runs: int) -> list[float]:
    """Objectives of long runs, each from a start of its own."""
    estimator = MultiPrototypeSVC(count, C=price, temperature=HOT, cooling=SLOW)
    problem, objectives = estimator.problem(*rows_of(key)), []
    rows = problem.X, problem.y_encoded, problem.weights
    for seed in range(n_runs):
        assignment, labels = drawn_start(*rows, count, "random", seed)
        start = replace(
            problem, assignment=assignment, prototype_labels=labels, seed=seed
        )
        options = SolverOptions(max_iter=20_000)
        run = begin_run(start, estimator, options, None, (0.0, 1.0))
        run.go()
        objectives.append(run.candidate().certificate.objective)
    return objectives


def fitted(key: str, count: int, price: float) -> list[float]:
    """Objective of a fit with default settings, and its processor time."""
    estimator, spent = MultiPrototypeSVC(count, C=price), []
    problem = estimator.problem(*rows_of(key))
    for _ in range(REPEATS + 1):
        start = time.process_time()
        estimator.solve(problem)
        spent.append(time.process_time() - start)
    return [estimator.objective_, min(spent[1:])]


def kept(path: Path | None) -> dict[str, list[float]]:
    """What a file keeps of earlier measurements."""
    return json.loads(path.read_text()) if path and path.exists() else {}


def optima(options: argparse.Namespace) -> None:
    """Print the optima of the multi-prototype SVM, case by case."""
    before, runs, now, excesses = kept(options.before), kept(options.cache), {}, []
    lines = []
    for key, count, price in product(TABLES, COUNTS, PRICES):
        case = f"{key} {count} {price:g}"
        if len(runs.get(case, [])) < options.runs:
            runs[case] = long_runs(key, count, price, options.runs)
            if options.cache:
                options.cache.write_text(json.dumps(runs))
        now[case] = objective, seconds = fitted(key, count, price)
        best = min(runs[case][: options.runs])
        was = before.get(case, [np.nan, np.nan])
        excesses.append(100 * (np.array([was[0], objective]) / best - 1))
        figures = f"{best:.4f}", f"{was[0]:.4f}", f"{objective:.4f}"
        times = f"{seconds:.4f}", f"{was[1]:.4f}"
        lines.append([key, count, price, *figures, *times, f"{excesses[-1][1]:.2f}"])
    show("Optima of the multi-prototype SVM", HEAD, iter(lines))
    if options.save:
        options.save.write_text(json.dumps(now))
    summarise(np.array(excesses), now, before)


def summarise(
    excesses: np.ndarray, now: dict[str, list[float]], before: dict[str, list[float]]
) -> None:
    """Print what the cases come to, by the number of prototypes."""
    counts = np.array([int(case.split()[1]) for case in now])
    for when, values in zip(("before", "now"), excesses.T, strict=True):
        for count in COUNTS:
            part = values[counts == count]
            figures = f"median {np.median(part):.2f}, worst {part.max():.2f}"
            print(f"{when}, q = {count}: % above the best long run: {figures}")
        print(f"{when}, all: median {np.median(values):.2f}, mean {values.mean():.2f}")
    for count in COUNTS:
        some = [case for case in now if int(case.split()[1]) == count]
        was, is_ = (sum(of.get(c, [0, 0])[1] for c in some) for of in (before, now))
        print(f"CPU s of all tables, q = {count}: before {was:.3f}, now {is_:.3f}")
    higher = [c for c in now if c in before and now[c][0] > before[c][0] * (1 + 1e-9)]
    print("higher than before:", ", ".join(higher) or "none")


WORDS: dict[str, Callable[[argparse.Namespace], None]] = {"optima": optima}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", choices=[*WORDS, []], help="what to print")
    parser.add_argument("--runs", type=int, default=50, help="long runs of each case")
    for name in ("cache", "save", "before"):
        parser.add_argument(f"--{name}", type=Path)
    warnings.simplefilter("ignore")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        for word in arguments.words or WORDS:
            WORDS[word](arguments)
