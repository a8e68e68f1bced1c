"""Speed of the solvers: ``python -m tests.bench.solvers [table ...]``.

speed    cold and warm solves and whole fits, on one thread
path     a path of l1 penalties beside skglm, where that is installed
exact    beside cvxpy with Clarabel, to the same objective, in the same run
rows     cost and memory against the number of rows and of features
compile  compiling every kernel, and loading them, in fresh processes

First calls are not timed. Times are medians of 25 in milliseconds, wall / processor
(min): on a busy machine the last two say more.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import numpy as np
from sklearn import datasets
from threadpoolctl import threadpool_limits

from smpcore import SMPClassifier
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smp.problem import (
    SMPParameters,
    SMPProblem,
    SMPState,
    solve_problem,
)
from tests.smpcore.methods.smp_oracle import Case

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

#: Fusion, sparsity and ridge of the two settings.
SETTINGS = ((0.01, 0.005, 1.0), (0.003, 0.002, 0.5))


def timed(call: Callable[[], object], repeats: int = 25) -> str:
    """Median wall / processor time of a call, and the least, in milliseconds."""
    call()
    wall, processor = [], []
    for _ in range(repeats):
        starts = time.perf_counter(), time.process_time()
        call()
        wall.append(1000 * (time.perf_counter() - starts[0]))
        processor.append(1000 * (time.process_time() - starts[1]))
    middle = statistics.median(wall), statistics.median(processor)
    return f"{middle[0]:.2f} / {middle[1]:.2f} ({min(processor):.2f})"


def show(title: str, head: list[str], lines: Iterator[list[str]]) -> None:
    """Print a table, line by line as it is measured."""
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for line in lines:
        print(f"| {' | '.join(map(str, line))} |", flush=True)


def data() -> dict[str, tuple[np.ndarray, np.ndarray, int]]:
    """Name -> rows, labels, prototypes per class."""
    synth = datasets.make_classification(
        1000, 50, n_informative=10, n_redundant=5, n_classes=5, random_state=0
    )
    digits = datasets.load_digits(return_X_y=True)
    few = digits[1] < 5
    rows, target = datasets.make_friedman1(1000, 50, noise=1.0, random_state=0)
    return {
        "synth 1000x50, N=10": (*synth, 2),
        "digits 0-4 901x64, N=10": (digits[0][few], digits[1][few], 2),
        "breast cancer 569x30, N=10": (
            *datasets.load_breast_cancer(return_X_y=True),
            5,
        ),
        "fri 1000x50, N=4": (rows, target > target.mean(), 2),
        "digits 0-9 1797x64, N=20": (*digits, 2),
    }


def smp(p: int, setting: tuple[float, float, float], **more: object) -> SMPClassifier:
    """The estimator at one of the settings."""
    return SMPClassifier(p, *setting, **more)


def kernel_times(p: int, setting: tuple, problem: object, **more: object) -> list:
    """Name, cold steps and time, warm steps and time of one setting."""
    lam, mu, eta = setting
    at = SMPParameters(lam, mu, eta, **more)
    moved = SMPParameters(1.25 * lam, 1.25 * mu, eta, **more)
    options = SolverOptions()
    cold = solve_problem(problem, at, options)
    state = SMPState(cold.W, cold.Y)
    warm = solve_problem(problem, moved, options, state)
    return [
        cold.n_iter,
        timed(lambda: solve_problem(problem, at, options)),
        warm.n_iter,
        timed(lambda: solve_problem(problem, moved, options, state)),
    ]


def speed() -> None:
    """Print solves to a gap of 1e-3, and whole fits."""

    def lines() -> Iterator[list]:
        for name, (X, y, p) in data().items():
            problem = SMPClassifier(p).problem(X, y)
            for setting in SETTINGS:
                found = kernel_times(p, setting, problem)
                whole = timed(lambda p=p, s=setting, X=X, y=y: smp(p, s).fit(X, y))
                yield [name, setting, *found, whole]

    head = ["data", "lam, mu, eta", "steps", "cold ms", "steps", "warm x1.25 ms"]
    show("SMP to a gap of 1e-3 (solver only)", [*head, "whole fit ms"], lines())

    def others() -> Iterator[list]:
        for name, (X, y, p) in data().items():
            problem = SMPClassifier(p).problem(X, y)
            for loss, solver in (("max", "spg"), ("smooth", "primal-dual")):
                more = {"loss": loss, "solver": solver}
                yield [
                    name,
                    loss,
                    solver,
                    *kernel_times(p, SETTINGS[0], problem, **more),
                ]

    head = ["data", "loss", "solver", "steps", "cold ms", "steps", "warm x1.25 ms"]
    show("Other losses and solvers, to a gap of 1e-3, first setting", head, others())


def binary() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Name -> rows, two labels."""
    rows, target = datasets.make_friedman1(1000, 50, noise=1.0, random_state=0)
    digits = datasets.load_digits(return_X_y=True)
    return {
        "breast cancer 569x30": datasets.load_breast_cancer(return_X_y=True),
        "fri 1000x50": (rows, target > target.mean()),
        "digits 0-4 or 5-9 1797x64": (digits[0], digits[1] > 4),
    }


def smp_path(problem: SMPProblem, mus: np.ndarray, tol: float = 1e-3) -> list[float]:
    """Objectives of a path without ridge, each fit from where the last one ended."""
    state, objectives = None, []
    for mu in mus:
        at = SMPParameters(0.0, float(mu), 0.0)
        found = solve_problem(problem, at, SolverOptions(tol), state)
        state = SMPState(found.W, found.Y)
        objectives.append(found.objective[-1])
    return objectives


def skglm_path(X: np.ndarray, y: np.ndarray, mus: np.ndarray, tol: float) -> list:
    """The same path by skglm's proximal Newton with working sets; its coefficients."""
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    solver = ProxNewton(tol=tol, fit_intercept=False, warm_start=True)
    w, scores, found = np.zeros(X.shape[1]), np.zeros(len(X)), []
    for mu in mus:
        w, *_ = solver.solve(X, y, Logistic(), L1(mu), w, scores)
        found.append(w.copy())
    return found


def skglm_tolerance(X: np.ndarray, y: np.ndarray, mus: np.ndarray, best: list) -> float:
    """The largest at which all of skglm's objectives are within 1e-3 of the optimum."""
    for tol in (3e-3, 2e-3, 1e-3, 7e-4, 5e-4, 3e-4, 2e-4, 1e-4, 3e-5, 1e-5):
        found = np.array(skglm_path(X, y, mus, tol))
        losses = np.logaddexp(0.0, -y[:, None] * (X @ found.T)).mean(axis=0)
        objectives = losses + mus * np.abs(found).sum(axis=1)
        if (objectives <= 1.001 * np.array(best)).all():
            return tol
    raise ValueError("skglm does not reach the objective.")


def path() -> None:
    """Print paths of 20 and of 50 penalties, from the largest to a hundredth of it.

    One prototype a class, no fusion, bias nor ridge: l1 logistic regression. Ours is
    certified to a gap of 1e-3 at each penalty; skglm has no gap, and is given the
    largest tolerance that reaches that. Turn by turn, processor time.
    """
    there = importlib.util.find_spec("skglm") is not None

    def lines() -> Iterator[list]:
        for name, (X, y) in binary().items():
            problem = SMPClassifier(1, 0.0, bias=False).problem(X, y)
            columns, signs = np.asfortranarray(problem.X), 2.0 * (y == y.max()) - 1.0
            largest = np.abs(columns.T @ signs).max() / (2 * len(y))
            for number in (20, 50):
                mus = largest * np.geomspace(1.0, 0.01, number)
                best = smp_path(problem, mus, 1e-7)
                reached = max(np.array(smp_path(problem, mus)) / best) - 1
                rivals = [lambda p=problem, m=mus: smp_path(p, m)]
                if there:
                    call = columns, signs, mus
                    tol = skglm_tolerance(*call, best)
                    rivals.append(lambda c=call, t=tol: skglm_path(*c, t))
                ours, *theirs = turn_by_turn(rivals)
                yield [
                    name, number, f"{reached:.0e}", f"{1000 * np.median(ours):.1f}",
                    *against(ours, *theirs),
                ]  # fmt: skip

    head = ["data", "penalties", "ours above the optimum", "ours ms", "skglm ms"]
    show("Path of l1 logistic regression", [*head, "ratio (quartiles)"], lines())


def turn_by_turn(rivals: list[Callable[[], object]], repeats: int = 15) -> np.ndarray:
    """Processor times of calls that take turns, a row for each of them."""
    seconds = np.empty((len(rivals), repeats))
    for turn in range(repeats):
        for row, call in zip(seconds, rivals, strict=True):
            start = time.process_time()
            call()
            row[turn] = time.process_time() - start
    return seconds


def against(ours: np.ndarray, theirs: np.ndarray | None = None) -> list[str]:
    """Median of a peer in milliseconds, and the ratio of ours to it with quartiles."""
    if theirs is None:
        return ["not installed", ""]
    low, middle, high = np.quantile(ours / theirs, (0.25, 0.5, 0.75))
    return [f"{1000 * np.median(theirs):.1f}", f"{middle:.2f} ({low:.2f}-{high:.2f})"]


def exact() -> None:
    """Print the comparison with an interior-point method."""

    def lines() -> Iterator[list]:
        for name, (X, y, p) in list(data().items())[:4]:
            problem = SMPClassifier(p).problem(X, y)
            for lam, mu, eta in SETTINGS:
                case = Case(problem, SMPParameters(lam, mu, eta))
                start = time.perf_counter()
                optimum = case.solve_exactly()
                theirs = time.perf_counter() - start
                call = problem, case.parameters, SolverOptions(1e-6)
                solved = solve_problem(*call)
                ours = timed(lambda call=call: solve_problem(*call), 9)
                apart = solved.objective[-1] / optimum - 1
                ratio = 1000 * theirs / float(ours.split(" /")[0])
                yield [
                    name, (lam, mu, eta), f"{optimum:.8f}", f"{apart:.1e}",
                    f"{theirs:.2f}", ours, f"{ratio:.0f}x",
                ]  # fmt: skip

    head = ["data", "lam, mu, eta", "optimum", "ours above", "cvxpy + Clarabel s"]
    show("The same objective", [*head, "ours to 1e-6 ms", "faster"], lines())


GROWTH = """
import json, sys, time
import numpy as np
from smpcore import SMPClassifier
def memory(key):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))
m, n = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
SMPClassifier().fit(rng.normal(size=(50, 3)), np.arange(50) % 5)
X, y = np.empty((m, n)), np.arange(m) % 5
hills = rng.normal(size=(10, n)) * (rng.uniform(size=n) < max(0.1, 3 / n))
for first in range(0, m, 10_000):
    part = slice(first, first + 10_000)
    X[part] = rng.normal(size=X[part].shape)
    X[part] += hills[y[part] + 5 * rng.integers(2, size=len(y[part]))]
open("/proc/self/clear_refs", "w").write("5")  # Linux: the peak starts anew
before, start = memory("VmRSS"), time.perf_counter()
estimator = SMPClassifier()
problem = estimator.problem(X, y)
between = time.perf_counter()
estimator.solve(problem)
print(json.dumps([
    between - start, estimator.history_.seconds, estimator.n_iter_,
    memory("VmHWM") - before, X.nbytes / 2**20,
]))
"""


def rows() -> None:
    """Print time and memory as data grow."""

    def lines() -> Iterator[list]:
        shapes = [(m, 20) for m in (10**3, 10**4, 10**5, 10**6)]
        for m, n in shapes + [(1000, n) for n in (10, 100, 1000, 10_000)]:
            door, solver, steps, extra, size = run(GROWTH, json.dumps([m, n]))
            yield [
                m, n, f"{1000 * door:.0f}", steps, f"{1000 * solver:.1f}",
                f"{1000 * solver / max(steps, 1):.2f}", f"{size:.1f}", f"{extra:.1f}",
            ]  # fmt: skip

    head = ["rows", "features", "scale + k-means ms", "steps", "solver ms", "ms a step"]
    head += ["X MiB", "peak beyond X MiB"]
    show("SMP as data grow: five classes, N=10, one fit", head, lines())


COMPILE = """
import json, time
start = time.perf_counter()
import numpy as np
from smpcore.methods import METHODS
imported = time.perf_counter()
first = next(iter(METHODS.values()))
first.warm_up()
default = time.perf_counter()
for method in METHODS.values():
    method.warm_up(every_option=True)
from smpcore import SMPClassifier
SMPClassifier(solver="primal-dual").fit(np.eye(4), [0, 0, 1, 1])
print(json.dumps([imported - start, default - imported, time.perf_counter() - default]))
"""


def compile_all() -> None:
    """Print what a first and a second process wait for."""

    def lines() -> Iterator[list]:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("nothing compiled yet", "everything in the cache"):
                yield [name, *(f"{t:.2f}" for t in run(COMPILE, cache=folder))]

    head = ["kernels", "import s", "default method s", "all others s"]
    show("Compiling the kernels", head, lines())


def run(script: str, *arguments: str, cache: str | None = None) -> list[float]:
    """Numbers that a script prints in a process of its own."""
    environment = os.environ | ONE_THREAD
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


TABLES = {
    "speed": speed,
    "path": path,
    "exact": exact,
    "rows": rows,
    "compile": compile_all,
}

if __name__ == "__main__":
    with threadpool_limits(1):
        for table in sys.argv[1:] or TABLES:
            TABLES[table]()
