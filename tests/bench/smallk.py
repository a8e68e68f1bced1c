"""SMaLL, measured: ``python -m tests.bench.smallk [speed accuracy]``.

speed     relaxation, roundings with refits, warm moves, a whole path of k; one thread
accuracy  test rows, beside l1 logistic regression of as many features

First calls are not timed. Times are medians of 25 in milliseconds, wall / processor
(min): on a busy machine the last two say more.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn import datasets
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smallk import SMaLLClassifier
from smpcore.methods.smallk.problem import SMaLLParameters
from smpcore.methods.smallk.rounding import relax_all
from tests.bench.solvers import show, timed

LAMS = (0.003, 0.01, 0.03, 0.1, 0.3)


def friedman(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Friedman's first function of 50 features, above or below its mean."""
    X, target = datasets.make_friedman1(n_rows, 50, noise=1.0, random_state=0)
    return X, target > target.mean()


def data() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Name -> rows, labels."""
    return {
        "breast cancer 569x30": datasets.load_breast_cancer(return_X_y=True),
        "fri 1000x50": friedman(1000),
        "fri 500x50": friedman(500),
        "fri 250x50": friedman(250),
    }


def speed() -> None:
    """Print solves and paths, and peers."""
    joint = {
        "wine 178x13, joint": datasets.load_wine(return_X_y=True),
        "digits 1797x64, joint": datasets.load_digits(return_X_y=True),
    }

    def lines() -> Iterator[list]:
        for name, (X, y) in (data() | joint).items():
            problem = SMaLLClassifier().problem(X, y)
            for lam in (0.1, 0.03, 0.01):
                yield [name, lam, *moves(problem, lam), path_time(problem, lam)]

    head = ["data", "lam", "steps", "relaxation", "+ 11 roundings, refits", "gap %"]
    head += ["warm k=3 to 4", "warm lam x1.25", "path of k, warm, one refit each"]
    show("SMaLL, p=2, k=3, relaxation to a gap of 1e-3; ms", head, lines())

    def others() -> Iterator[list]:
        X, y = data()["fri 1000x50"]
        scaled = StandardScaler().fit_transform(X)
        peer = sparse_logistic(scaled, y, 6)
        yield ["scikit-learn l1 (liblinear), 6 features", timed(peer_fit(peer, X, y))]
        for name, timing in PEERS.items():
            found = importlib.util.find_spec(name) is not None
            yield [
                f"{name}, 6 features",
                timing(scaled, y) if found else "not installed",
            ]

    show("Peers on fri 1000x50", ["peer", "ms"], others())


def abess_time(X: np.ndarray, y: np.ndarray) -> str:
    """Time of best-subset logistic regression with 6 features."""
    from abess import LogisticRegression as BestSubset

    return timed(lambda: BestSubset(support_size=6).fit(X, y.astype(int)))


def skglm_time(X: np.ndarray, y: np.ndarray) -> str:
    """Time of l1 logistic regression with at most 6 features, its penalty known."""
    from skglm import SparseLogisticRegression

    low, high = 1e-4, 1.0
    for _ in range(25):
        alpha = np.sqrt(low * high)
        found = SparseLogisticRegression(alpha=alpha).fit(X, y)
        few = np.count_nonzero(found.coef_) <= 6
        low, high = (low, alpha) if few else (alpha, high)
    return timed(lambda: SparseLogisticRegression(alpha=high).fit(X, y))


#: Solvers of the same kind of problem, timed at the same support size if importable.
PEERS = {"skglm": skglm_time, "abess": abess_time}


def peer_fit(
    peer: LogisticRegression, X: np.ndarray, y: np.ndarray
) -> Callable[[], object]:
    """A call that fits the peer anew."""
    return lambda: clone(peer).fit(StandardScaler().fit_transform(X), y)


def moves(problem: object, lam: float) -> list:
    """Steps and times of cold and warm solves."""
    call = problem, SMaLLParameters(3, lam), SolverOptions()
    live = SMaLLClassifier(lam=lam, n_draws=0).solve(problem)
    full = SMaLLClassifier(lam=lam).solve(problem)
    return [
        relax_all(*call)[0].n_iter,
        timed(lambda: relax_all(*call)),
        timed(lambda: SMaLLClassifier(lam=lam).solve(problem)),
        f"{100 * full.gap_ / full.objective_:.2f}",
        timed(
            lambda: SMaLLClassifier(k=4, lam=lam, n_draws=0).solve(problem, live.state_)
        ),
        timed(
            lambda: SMaLLClassifier(lam=1.25 * lam, n_draws=0).solve(
                problem, live.state_
            )
        ),
    ]


def path_time(problem: object, lam: float) -> str:
    """Time of all k, each warm from the one before."""

    def path() -> None:
        state = None
        for k in range(1, problem.n_features + 1):
            small = SMaLLClassifier(k=k, lam=lam, n_draws=0)
            state = small.solve(problem, state).state_

    return timed(path, 5)


def sparse_logistic(
    X: np.ndarray, y: np.ndarray, n_features: int
) -> LogisticRegression:
    """l1 logistic regression with the least penalty that leaves that many features."""
    low, high = 1e-4, 1e3
    for _ in range(40):
        middle = np.sqrt(low * high)
        peer = l1(middle).fit(X, y)
        if np.count_nonzero(peer.coef_) <= n_features:
            low = middle
        else:
            high = middle
    return l1(low)


def l1(C: float) -> LogisticRegression:
    """l1 logistic regression."""
    return LogisticRegression(
        C=C, l1_ratio=1.0, solver="liblinear", tol=1e-6, max_iter=2000, random_state=0
    )


def chosen(X: np.ndarray, y: np.ndarray, grid: list[dict]) -> SMaLLClassifier:
    """The setting with the best accuracy in five folds of these rows, fitted on all."""
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    scores = np.zeros(len(grid))
    for train, held in folds:
        for number, params in enumerate(grid):
            small = SMaLLClassifier(**params).fit(X[train], y[train])
            scores[number] += small.score(X[held], y[held])
    return SMaLLClassifier(**grid[int(scores.argmax())]).fit(X, y)


def rivals(X: np.ndarray, y: np.ndarray) -> Iterator[tuple]:
    """l1 models of at most 6 and 3 features, as they are and refitted without l1.

    Each comes with the columns that it reads.
    """
    scaled = StandardScaler().fit_transform(X)
    for n_features in (6, 3):
        peer = sparse_logistic(scaled, y, n_features)
        kept = np.flatnonzero(peer.fit(scaled, y).coef_[0])
        assert len(kept) <= n_features
        yield make_pipeline(StandardScaler(), clone(peer)).fit(X, y), slice(None)
        plain = LogisticRegression(C=100.0, max_iter=2000)
        yield make_pipeline(StandardScaler(), plain).fit(X[:, kept], y), kept


def accuracy() -> None:
    """Print test accuracy over ten splits (70 % train); test rows choose nothing."""
    either = [{"lam": lam, "positive_class": c} for lam in LAMS for c in (0, 1)]
    second = [{"lam": lam} for lam in LAMS]

    def lines() -> Iterator[list]:
        for name, (X, y) in data().items():
            y = y.astype(np.int64)
            splits = StratifiedShuffleSplit(10, test_size=0.3, random_state=0)
            table, weights = [], []
            for train, test in splits.split(X, y):
                small = [chosen(X[train], y[train], grid) for grid in (second, either)]
                row = [fitted.score(X[test], y[test]) for fitted in small]
                one = chosen(
                    X[train], y[train], [g | {"n_prototypes": 1} for g in second]
                )
                row.append(one.score(X[test], y[test]))
                for peer, columns in rivals(X[train], y[train]):
                    row.append(peer.score(X[test][:, columns], y[test]))
                table.append(row)
                weights.append(small[0].model_.support.sum())
            means, spreads = np.mean(table, axis=0), np.std(table, axis=0)
            pairs = zip(means, spreads, strict=True)
            yield [name, *(f"{a:.3f} ({b:.3f})" for a, b in pairs), np.mean(weights)]

    head = ["data", "SMaLL p=2", "p=2, either class positive", "SMaLL p=1", "l1, 6"]
    head += ["l1, 6, refitted", "l1, 3", "l1, 3, refitted", "features of p=2"]
    show("Test accuracy, mean (spread) of ten splits, k=3", head, lines())


TABLES = {"speed": speed, "accuracy": accuracy}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for table in sys.argv[1:] or TABLES:
            TABLES[table]()
