"""How good the optima of our solvers are: ``python -m tests.bench.solvers [word ...]``.

optima  objective and processor time of the multi-prototype SVM with its default
        settings, and how far it is above the best of ``--runs`` long ones: anneals
        from a temperature of 10 that cool at a tenth of the usual speed, each from its
        own start. All rows of six bundled tables, 2, 3 and 5 prototypes per class.
        Seconds are the least of five fits on one thread, the first call not timed.
gaps    certified gap of SMP, relative to the objective, asked for 1e-6 with all else at
        its defaults, and processor time of the fit: columns as they are by default and
        raw ones, fewer rows than columns, and each loss. Seconds are the median of five
        fits on one thread, the first call not timed. ``--steps`` is `max_iter`.

Long runs take minutes: ``--cache FILE`` keeps what they reached. ``--save FILE`` keeps
what the program reaches, and ``--before FILE`` puts it beside what a later one does.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from smpcore import load_dataset, prepare
from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.mprotsvm.fit import begin_run
from smpcore.methods.mprotsvm.problem import drawn_start
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smp import SMPClassifier
from smpcore.solvers.losses import LOSSES
from tests.bench.methods import show

TABLES = ("moons", "circles", "iris", "wine", "breast_cancer", "digits")
COUNTS, PRICES = (2, 3, 5), (0.1, 1.0)
#: Of a long run: the first temperature, and the factor that cools ten times as slowly.
HOT, SLOW = 10.0, 0.8**0.1
REPEATS = 5
GAP_HEAD = ["data", "loss", "gap before", "now", "was above", "CPU s before", "now"]
GAP_HEAD.append("times")
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


def keep(path: Path | None, now: dict[str, list[float]]) -> None:
    """Add measurements to a file."""
    if path:
        path.write_text(json.dumps(kept(path) | now))


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
    keep(options.save, now)
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


def gap_cases() -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray], dict[str, Any]]]:
    """Names of problems of SMP, their rows and classes, and its parameters."""
    (X, y), raw = rows_of("iris"), {"standardize": False}
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(60, 200))
    lead = wide[:, :5].sum(axis=1) + rng.normal(size=60)
    yield from ((key, rows_of(key), {}) for key in TABLES[2:])
    yield "breast_cancer, lambda 0", rows_of("breast_cancer"), {"lam": 0.0}
    yield "60 x 200, eta 0", (wide, (lead > 0).astype(int)), {"eta": 0.0}
    yield "iris, mixed columns", (X * [1e3, 1.0, 1e-3, 1.0], y), raw
    yield "iris times 1000", (1e3 * X, y), raw


def certified(
    rows: tuple[np.ndarray, np.ndarray], params: dict[str, Any]
) -> list[float]:
    """Relative gap of a fit of SMP, its objective and its processor time."""
    estimator, spent = SMPClassifier(**params), []
    problem = estimator.problem(*rows)
    for _ in range(REPEATS + 1):
        start = time.process_time()
        estimator.solve(problem)
        spent.append(time.process_time() - start)
    gap = estimator.gap_ / estimator.objective_
    return [gap, estimator.objective_, float(np.median(spent[1:]))]


def gaps(options: argparse.Namespace) -> None:
    """Print the gaps that SMP certifies, case by case."""
    before, now, lines = kept(options.before), {}, []
    limits = {"tol": 1e-6, "max_iter": options.steps}
    for (name, rows, params), loss in product(gap_cases(), LOSSES):
        case = f"{name} {loss}"
        now[case] = certified(rows, {"loss": loss} | limits | params)
        was = before.get(case, [np.nan] * 3)
        above = was[1] / now[case][1] - 1
        figures = f"{was[0]:.1e}", f"{now[case][0]:.1e}", f"{above:.1e}"
        times = f"{was[2]:.4f}", f"{now[case][2]:.4f}", f"{now[case][2] / was[2]:.2f}"
        lines.append([name, loss, *figures, *times])
    show("Gaps of SMP", GAP_HEAD, iter(lines))
    keep(options.save, now)
    missed = [case for case, values in now.items() if values[0] > 1e-6]
    print("above 1e-6:", ", ".join(missed) or "none")
    higher = [c for c in now if c in before and now[c][1] > before[c][1] * (1 + 1e-6)]
    print(
        "objective higher than before by more than 1e-6:", ", ".join(higher) or "none"
    )


WORDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "optima": optima,
    "gaps": gaps,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", choices=[*WORDS, []], help="what to print")
    parser.add_argument("--runs", type=int, default=50, help="long runs of each case")
    parser.add_argument("--steps", type=int, default=2000, help="most steps of SMP")
    for name in ("cache", "save", "before"):
        parser.add_argument(f"--{name}", type=Path)
    warnings.simplefilter("ignore")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        for word in arguments.words or WORDS:
            WORDS[word](arguments)
