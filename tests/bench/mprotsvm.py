"""Multi-prototype SVM, measured: ``python -m tests.bench.mprotsvm [table ...]``.

liblinear  q=1 beside liblinear's Crammer-Singer, to the same primal objective
many       the same on 200,000 and 1,000,000 rows of 50 features in five classes; there
           liblinear's steps end where it reaches our objective, or has taken ten times
           as long: its least objective by then stands beside
letter     test error, training time and memory of LETTER for several q, two seeds
seeds      its test error over eight seeds
landmarks  RBF on 5000 rows of four tables: the objective that landmarks lose beside a
           fit with all similarities in memory; seconds and peak memory of 100,000 rows

LETTER is read from the ARFF file that the environment variable LETTER_ARFF names; the
first 16000 rows train, the last 4000 test. Times are processor seconds on one thread;
first calls are not timed.
"""

from __future__ import annotations

import json
import os
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from smpcore.errors import Caution
from smpcore.methods.mprotsvm import MultiPrototypeSVC
from tests.bench.solvers import run, show


def letter() -> tuple[np.ndarray, ...]:
    """Training rows and labels, test rows and labels; standardised on training rows."""
    if "LETTER_ARFF" not in os.environ:
        sys.exit("Set LETTER_ARFF to the path of letter.arff.")
    lines = Path(os.environ["LETTER_ARFF"]).read_text("latin-1").splitlines()
    begin = next(i for i, line in enumerate(lines) if line.lower().startswith("@data"))
    rows = [line.split(",") for line in lines[begin + 1 :] if line.count(",") == 16]
    X = np.array([row[:16] for row in rows], dtype=np.float64)
    y = np.array([row[16].strip() for row in rows])
    X = (X - X[:16000].mean(axis=0)) / X[:16000].std(axis=0)
    return X[:16000], y[:16000], X[-4000:], y[-4000:]


def seconds(call: Callable[[], object]) -> tuple[float, object]:
    """Processor seconds of a call, and what it returned."""
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def crammer_singer(
    W: np.ndarray, X: np.ndarray, y_encoded: np.ndarray, C: float
) -> float:
    """Primal objective of one prototype per class."""
    F, rows = X @ W.T, np.arange(len(X))
    own = F[rows, y_encoded]
    F[rows, y_encoded] = -np.inf
    return 0.5 * (W**2).sum() + C * np.maximum(0, 1 - own + F.max(axis=1)).sum()


def liblinear() -> None:
    """Print our time and the least of liblinear's that reaches our objective."""

    def lines() -> Iterator[list]:
        X, y, _, _ = letter()
        y_encoded = np.unique(y, return_inverse=True)[1]
        ones = np.column_stack([X, np.ones(len(X))])
        for C, tol in ((0.1, 1e-2), (0.1, 1e-3), (1.0, 1e-2)):
            ours = MultiPrototypeSVC(1, C, tol=tol, standardize=False)
            fitted = ours.fit(X, y)
            for theirs in (5.0, 2.0, 1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3):
                peer = LinearSVC(
                    multi_class="crammer_singer", fit_intercept=False, C=C, tol=theirs,
                    max_iter=100_000, random_state=0,
                )  # fmt: skip
                peer.fit(ones, y)
                reached = crammer_singer(peer.coef_, ones, y_encoded, C)
                if reached <= fitted.objective_:
                    break
            # In turns, and the least of each: what else runs slows both alike.
            turns = [
                (seconds(lambda m=ours: m.fit(X, y))[0], ours.history_.seconds,
                 seconds(lambda p=peer: p.fit(ones, y))[0])
                for _ in range(9)
            ]  # fmt: skip
            spent, solver, other = np.min(turns, axis=0)
            solver = min(solver, spent)
            yield [
                C, tol, f"{fitted.objective_:.2f}", f"{spent:.2f}", f"{solver:.2f}",
                f"{reached:.2f}", f"{other:.2f}", f"{other / spent:.1f}x",
            ]  # fmt: skip

    head = ["C", "tol", "objective", "ours s", "solver s", "liblinear", "s", "faster"]
    show("LETTER, one prototype per class", head, lines())


def many() -> None:
    """Print the same of rows so many that ours takes Newton steps on all of them."""

    def lines() -> Iterator[list]:
        MultiPrototypeSVC(1).fit(*many_rows(200_001))  # loads what it needs
        for n_rows in (200_000, 1_000_000):
            X, y = many_rows(n_rows)
            ones = np.column_stack([X, np.ones(len(X))])
            for C in (0.1, 1.0):
                ours = MultiPrototypeSVC(1, C, standardize=False)
                before, _ = seconds(lambda m=ours, X=X, y=y: m.fit(X, y))
                least, n_steps, spent = np.inf, 1, 0.0
                while least > ours.objective_ and spent < 10 * before:
                    peer = LinearSVC(
                        multi_class="crammer_singer", fit_intercept=False, C=C,
                        tol=1e-3, max_iter=n_steps, random_state=0,
                    )  # fmt: skip
                    spent, _ = seconds(lambda p=peer, X=ones, y=y: p.fit(X, y))
                    least = min(least, crammer_singer(peer.coef_, ones, y, C))
                    n_steps *= 2
                after, _ = seconds(lambda m=ours, X=X, y=y: m.fit(X, y))
                faster = 2 * spent / (before + after)
                yield [
                    n_rows, C, f"{ours.objective_:.1f}",
                    f"{ours.gap_ / ours.objective_:.1e}", f"{before:.1f} {after:.1f}",
                    f"{least:.1f}", f"{spent:.1f}", f"{faster:.1f}x",
                ]  # fmt: skip

    head = ["rows", "C", "objective", "gap", "ours s", "liblinear", "s", "faster"]
    show("Many rows, one prototype per class", head, lines())


def many_rows(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Standardised rows of five classes."""
    X, y = datasets.make_classification(
        n_rows, 50, n_informative=20, n_redundant=5, n_classes=5, random_state=0
    )
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def errors() -> None:
    """Print test errors of LETTER."""

    def lines() -> Iterator[list]:
        X, y, Z, t = letter()
        MultiPrototypeSVC().fit(X[:500], y[:500])
        for q in (1, 3, 5, 10):
            wrong, spent = [], []
            for seed in (0, 1):
                model = MultiPrototypeSVC(
                    q, 0.3 if q == 1 else 1.0, tol=3e-2, random_state=seed
                )
                taken, _ = seconds(lambda m=model: m.fit(X, y))
                spent.append(f"{taken:.2f}")
                wrong.append(100 * (model.predict(Z) != t).mean())
            yield [
                q, f"{np.mean(wrong):.2f}", *(f"{w:.2f}" for w in wrong), *spent,
                model.n_iter_, f"{model.gap_ / model.objective_:.3f}",
                f"{model.model_.n_prototypes}/{model.n_asked_}",
            ]  # fmt: skip
        tracemalloc.start()
        model = MultiPrototypeSVC(20, 1.0, tol=3e-2, max_iter=40)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        yield [20, f"peak {peak:.0f} MiB in 40 sweeps", *[""] * 7]

    head = ["q", "error %", "seed 0", "seed 1", "s", "s", "sweeps", "gap", "alive"]
    show("LETTER: C=1 (q=1: .3), tol 3e-2, temperature 10, cooling .8", head, lines())


def seeds() -> None:
    """Print test errors of LETTER over eight seeds: two say little."""

    def lines() -> Iterator[list]:
        X, y, Z, t = letter()
        for q in (1, 3, 5, 10):
            wrong = []
            for seed in range(8):
                model = MultiPrototypeSVC(
                    q, 0.3 if q == 1 else 1.0, tol=3e-2, random_state=seed
                ).fit(X, y)
                wrong.append(100 * (model.predict(Z) != t).mean())
            ends = f"{min(wrong):.2f} to {max(wrong):.2f}"
            yield [q, f"{np.mean(wrong):.2f}", f"{np.std(wrong, ddof=1):.2f}", ends]

    show("LETTER, eight seeds", ["q", "mean error %", "deviation", "from"], lines())


MANY = """
import json, resource, sys, time, warnings
import numpy as np
from sklearn.datasets import make_classification
from smpcore.methods.mprotsvm import MultiPrototypeSVC
warnings.simplefilter("ignore")
n, count = json.loads(sys.argv[1])
X, y = make_classification(
    n + 5000, 20, n_informative=8, n_redundant=4, n_classes=5, n_clusters_per_class=3,
    random_state=0,
)
MultiPrototypeSVC(kernel="rbf", landmarks=20).fit(X[:300], y[:300])
begun = time.process_time()
fitted = MultiPrototypeSVC(kernel="rbf", landmarks=count).fit(X[:n], y[:n])
print(json.dumps([
    time.process_time() - begun,
    resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    100 * fitted.score(X[n:], y[n:]),
    fitted.objective_,
    100 * fitted.gap_ / fitted.objective_,
]))
"""


def tables_of_5000() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """LETTER's first rows, and made ones: few features, many, and hardly separable."""
    X, y, _, _ = letter()
    yield "LETTER", X[:5000], y[:5000]
    yield "moons", *datasets.make_moons(5000, noise=0.2, random_state=0)
    yield (
        "quantiles",
        *datasets.make_gaussian_quantiles(
            n_samples=5000, n_features=10, n_classes=3, random_state=0
        ),
    )
    yield "clouds", *datasets.make_classification(
        5000, 20, n_informative=8, n_redundant=4, n_classes=5, n_clusters_per_class=3,
        random_state=0,
    )  # fmt: skip


def landmarks() -> None:
    """Print what prototypes of landmarks lose, and what they cost."""

    def fits(X: np.ndarray, y: np.ndarray, **params: float) -> Iterator[list]:
        exact = 0.0
        for count in (None, 500, 2000):
            estimator = MultiPrototypeSVC(kernel="rbf", landmarks=count, **params)
            spent, _ = seconds(lambda e=estimator: e.fit(X, y))
            objective = estimator.objective_
            exact = exact or objective
            yield [
                count or "all similarities",
                f"{objective:.1f}", f"{100 * (objective / exact - 1):+.2f}",
                f"{100 * estimator.gap_ / objective:.2f}", f"{spent:.1f}",
                len(estimator.model_.anchors),
            ]  # fmt: skip

    def losses() -> Iterator[list]:
        for name, X, y in tables_of_5000():
            for q, C in ((1, 0.1), (1, 1.0), (3, 0.1), (3, 1.0)):
                for line in fits(X, y, n_prototypes=q, C=C):
                    yield [name, q, C, *line]

    def costs() -> Iterator[list]:
        for n, count in ((10_000, None), (10_000, 500), (100_000, 500)):
            found = run(MANY, json.dumps([n, count]))
            yield [n, count or "all similarities", *(f"{value:.1f}" for value in found)]

    head = ["table", "q", "C", "landmarks", "objective", "loss %", "gap %", "s"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Caution)
        show("RBF, 5000 rows", [*head, "anchors"], losses())
    head = ["rows", "landmarks", "s", "peak MiB", "test right %", "objective", "gap %"]
    show("RBF, 20 features, 5 classes, q=3", head, costs())


TABLES = {
    "landmarks": landmarks,
    "liblinear": liblinear,
    "many": many,
    "letter": errors,
    "seeds": seeds,
}

if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=FutureWarning)
    with threadpool_limits(1):
        for table in sys.argv[1:] or TABLES:
            TABLES[table]()
