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
many    300 rows of 2,000 columns: a warm path of l1 penalties of SMP beside skglm, and
        the SVM with one prototype per class beside liblinear. Processor time of both in
        turns, and its ratio; how far both are above the optimum, or above each other: a
        peer has the largest tolerance at which it is as good.
path    the knots of SMaLL's path of k on digits, as the live figure asks for them:
        processor time of all, and what their objectives and gaps sum to

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
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from smpcore import METHODS, SMPClassifier, load_dataset, prepare, split
from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.mprotsvm.fit import begin_run
from smpcore.methods.mprotsvm.problem import drawn_start
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smp.problem import SMPProblem, SMPState, solve_problem
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


def wide_rows(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """300 standardised rows of 2,000 columns."""
    X, y = make_classification(
        300, 2000, n_informative=20, n_redundant=20, n_classes=n_classes, random_state=0
    )
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def in_turns(*calls: Callable[[], object]) -> np.ndarray:
    """Processor times of calls that take turns, a row for each; the first turn goes."""
    spent = np.empty((len(calls), REPEATS + 1))
    for turn in range(REPEATS + 1):
        for row, call in zip(spent, calls, strict=True):
            start = time.process_time()
            call()
            row[turn] = time.process_time() - start
    return spent[:, 1:]


def beside(ours: np.ndarray, theirs: np.ndarray) -> list[str]:
    """Medians of both, and of their ratio."""
    medians = np.median(ours), np.median(theirs), np.median(ours / theirs)
    return [f"{value:.3f}" for value in medians]


def smp_path(problem: SMPProblem, mus: np.ndarray, tol: float = 1e-3) -> np.ndarray:
    """Objectives and gaps of a warm path of l1 penalties without ridge."""
    state, reached = None, []
    for mu in mus:
        at = SMPClassifier(1, 0.0, float(mu), 0.0, bias=False)
        solved = solve_problem(problem, at, SolverOptions(tol, 100_000), state)
        state = SMPState(solved.W, solved.Y)
        reached.append((solved.objective[-1], solved.gap[-1]))
    return np.array(reached).T


def skglm_path(X: np.ndarray, y: np.ndarray, mus: np.ndarray, tol: float) -> np.ndarray:
    """Coefficients of the same path by skglm's proximal Newton with working sets."""
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    solver = ProxNewton(tol=tol, fit_intercept=False, warm_start=True)
    w, scores, path = np.zeros(X.shape[1]), np.zeros(len(X)), []
    for mu in mus:
        w, *_ = solver.solve(X, y, Logistic(), L1(mu), w, scores)
        path.append(w.copy())
    return np.array(path)


def l1_lines() -> Iterator[list]:
    """Paths of l1 penalties, from the largest that matters to a hundredth of it."""
    X, y = wide_rows(2)
    problem = SMPClassifier(1, 0.0, bias=False).problem(X, y)
    columns, signs = np.asfortranarray(problem.X), 2.0 * y - 1.0
    largest = np.abs(columns.T @ signs).max() / (2 * len(y))
    for number in (20, 50):
        mus = largest * np.geomspace(1.0, 0.01, number)
        best, _ = smp_path(problem, mus, 1e-7)
        objectives, gaps = smp_path(problem, mus)
        for tol in (1e-3, 7e-4, 5e-4, 3e-4, 2e-4, 1e-4, 3e-5, 1e-5):
            path = skglm_path(columns, signs, mus, tol)
            losses = np.logaddexp(0.0, -signs * (path @ columns.T)).mean(axis=1)
            theirs = losses + mus * np.abs(path).sum(axis=1)
            if (theirs <= 1.001 * best).all():
                break
        spent = in_turns(
            lambda m=mus: smp_path(problem, m),
            lambda m=mus, t=tol: skglm_path(columns, signs, m, t),
        )
        above = max(objectives / best - 1), max(theirs / best - 1)
        accuracy = [f"{value:.0e}" for value in (max(gaps / objectives), *above)]
        yield [number, *beside(*spent), *accuracy]


def crammer_singer(W: np.ndarray, X: np.ndarray, y: np.ndarray, C: float) -> float:
    """Objective of one prototype per class; W may be the difference of two."""
    W = np.vstack([-0.5 * W, 0.5 * W]) if len(W) == 1 else W
    scores, rows = X @ W.T, np.arange(len(X))
    own = scores[rows, y]
    scores[rows, y] = -np.inf
    slack = np.maximum(0.0, 1.0 - own + scores.max(axis=1))
    return float(0.5 * (W**2).sum() + C * slack.sum())


def svm_lines() -> Iterator[list]:
    """One prototype per class; liblinear's tolerance is the largest that is as good."""
    for n_classes, C in product((2, 5), (0.01, 0.1, 1.0)):
        X, y = wide_rows(n_classes)
        ones = np.column_stack([X, np.ones(len(X))])
        ours = MultiPrototypeSVC(1, C, standardize=False).fit(X, y)
        for tol in (0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4):
            peer = LinearSVC(
                multi_class="crammer_singer", fit_intercept=False, C=C, tol=tol,
                max_iter=100_000, random_state=0,
            ).fit(ones, y)  # fmt: skip
            theirs = crammer_singer(peer.coef_, ones, y, C)
            if theirs <= ours.objective_:
                break
        spent = in_turns(
            lambda m=ours, X=X, y=y: m.fit(X, y),
            lambda p=peer, X=ones, y=y: p.fit(X, y),
        )
        accuracy = f"{ours.gap_ / ours.objective_:.1e}", f"{ours.objective_:.5f}"
        yield [n_classes, C, *beside(*spent), *accuracy, f"{theirs:.5f}"]


def many(_options: argparse.Namespace) -> None:
    """Print both tables of many columns."""
    times = ["ours s", "peer s", "ratio"]
    head = ["penalties", *times, "gap", "above the optimum", "peer above it"]
    show("SMP's path of l1 penalties beside skglm", head, l1_lines())
    head = ["classes", "C", *times, "gap", "objective", "peer's"]
    show("SVM, one prototype per class, beside liblinear", head, svm_lines())


def path(options: argparse.Namespace) -> None:
    """Print the path of SMaLL on digits, knot by knot as a release there would fit."""
    method, dataset = METHODS["smallk"], load_dataset("digits")
    rows, before = split(dataset).train, kept(options.before)
    X = prepare(dataset, rows).transform(dataset.frame)[rows]
    values = method.defaults("classification")
    problem = method.estimator(values, "classification").problem(X, dataset.y[rows])
    knots = method.grid(method.bounds(problem, values)["k"]).astype(int).tolist()
    now = {}
    for k in (knots[0], *knots):  # the first call is not timed
        at = method.estimator(values | {"k": k}, "classification")
        start = time.process_time()
        at.solve(problem)
        spent = time.process_time() - start
        now[str(k)] = [spent, at.objective_, at.gap_]
    for name, reached in (("before", before), ("now", now)):
        sums = np.sum([reached[str(k)] for k in knots if str(k) in reached], axis=0)
        if reached:
            print(f"{name}: CPU s, objectives, gaps of {len(knots)} knots: {sums}")
    shared = [k for k in now if k in before]
    if shared:
        changes = [now[k][1] / before[k][1] - 1 for k in shared]
        print(f"objectives by {min(changes):.1e} to {max(changes):.1e} higher")
    if options.save:
        options.save.write_text(json.dumps(now))


WORDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "optima": optima,
    "gaps": gaps,
    "many": many,
    "path": path,
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
