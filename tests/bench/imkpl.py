"""IMKPL, measured: ``python -m tests.bench.imkpl [accuracy choice ...]``.

accuracy  five folds: accuracy, kernels kept, IP, DR, seconds; beside kNN and an SVM
choice    what is chosen on folds: toys, a balance, noise, and tables beside an SVM
page      digits on Explore: until the first model is there, by the clock
rows      digits, and tables of more and more rows: seconds and peak of a whole fit
landmarks objective of 5000 rows beside the fit without; 100,000 rows

Further .arff files, of numbers with the class last, may follow: they join the tables.
``--data FOLDER``: the .arff tables there, of up to 1000 rows, join `choice`; a number
to predict is cut at its mean, and a category of 20 levels or more is left out.
No figure is chosen on test rows. Times are processor seconds of one thread.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.io import arff
from sklearn import datasets
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from pages.work import fits
from pages.work.cache import parts
from pages.work.warmup import uncompiled
from smpcore import METHODS, load_dataset, prepare, read_table, split
from smpcore.datasets import forbid
from smpcore.methods.imkpl import IMKPLClassifier
from smpcore.methods.imkpl.alternation import Alternation
from smpcore.methods.imkpl.measures import discrimination
from smpcore.methods.imkpl.problem import IMKPLParameters
from tests.bench.solvers import run, show
from tests.smpcore.methods.test_imkpl_choice import balance

#: Settings of IMKPL: name -> parameters.
SETTINGS = {
    "kappa chosen": {},
    **{f"kappa={kappa:g}": {"kappa": kappa} for kappa in (1.0, 2.0, 3.0)},
    "all kernels alike (ISKPL)": {"kappa": np.inf},
    "one RBF": {"kernels": "rbf"},
}

PEERS = {
    "kNN, k=5": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier()),
    "SVC, RBF, C=1": lambda: make_pipeline(StandardScaler(), SVC()),
}


@cache
def data() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Name -> rows, labels."""
    found = {
        "wine 178x13": datasets.load_wine(return_X_y=True),
        "breast cancer 569x30": datasets.load_breast_cancer(return_X_y=True),
        "digits 1797x64": datasets.load_digits(return_X_y=True),
    }
    for path in sys.argv[1:]:
        if path.endswith(".arff"):
            table, names = arff.loadarff(path)
            X = np.array([list(row)[:-1] for row in table], dtype=np.float64)
            y = np.unique(table[names.names()[-1]], return_inverse=True)[1]
            found[f"{path.rpartition('/')[2]} {len(X)}x{X.shape[1]}"] = X, y
    return found


def processor_seconds(call: Callable, *values: object) -> tuple[object, float]:
    """What a call returns, and its time."""
    started = time.process_time()
    result = call(*values)
    return result, time.process_time() - started


def folds(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Five folds, the same for everyone."""
    yield from StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)


def measured(X: np.ndarray, y: np.ndarray, params: dict, real: int) -> list[str]:
    """Mean over folds of accuracy, kernels, noise kept, IP, DR, seconds."""
    lines = []
    for train, test in folds(X, y):
        estimator = IMKPLClassifier(**params)
        fitted, seconds = processor_seconds(estimator.fit, X[train], y[train])
        weights = fitted.kernel_weights_
        codes = fitted.model_.activations(X[test])
        rates = discrimination(codes, fitted.model_.prototype_labels, y[test])
        lines.append(
            [
                100 * fitted.score(X[test], y[test]),
                np.count_nonzero(weights),
                np.count_nonzero(weights[real:]),
                fitted.ip_,
                np.nanmean(rates),
                seconds,
            ]
        )
    mean, spread = np.mean(lines, axis=0), np.std(lines, axis=0)
    accuracy = f"{mean[0]:.1f} ± {spread[0]:.1f}"
    return [accuracy, *(f"{v:.1f}" for v in mean[1:5]), f"{mean[5]:.2f}"]


def peer(X: np.ndarray, y: np.ndarray, make: Callable) -> str:
    """Accuracy of another classifier on the same folds."""
    found = [100 * make().fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds(X, y)]
    return f"{np.mean(found):.1f} ± {np.std(found):.1f}"


HEAD = ["data", "model", "accuracy %", "kernels", "of noise", "IP %", "DR %", "s a fit"]


def accuracy() -> None:
    """Print cross-validated figures."""
    IMKPLClassifier().fit(*datasets.load_iris(return_X_y=True))

    def lines() -> Iterator[list]:
        for name, (X, y) in data().items():
            for label, params in SETTINGS.items():
                yield [name, label, *measured(X, y, params, X.shape[1])]
            for label, make in PEERS.items():
                yield [name, label, peer(X, y, make), *5 * [""]]

    show("IMKPL, five folds", HEAD, lines())


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, rows and labels of the tables beside an SVM."""
    yield "wine", *datasets.load_wine(return_X_y=True)
    yield "breast cancer", *datasets.load_breast_cancer(return_X_y=True)
    yield "iris", *datasets.load_iris(return_X_y=True)
    folder = dict(pairwise(sys.argv)).get("--data")
    for path in sorted(Path(folder).glob("*.arff")) if folder else ():
        found = read_table(path.read_bytes(), path.name)
        if found.task == "regression":
            found = found.two_classes()
        drop = [
            name
            for name in found.feature_columns
            if found.kinds[name] != "number" and found.frame[name].nunique() >= 20
        ]
        found = forbid(found, tuple(drop)) if drop else found
        if len(found.y) <= 1000:
            every = np.arange(len(found.y))
            yield path.stem, prepare(found, every).transform(found.frame), found.y


def choice() -> None:
    """Print what comes of choosing on folds of the training rows."""

    def toys() -> Iterator[list]:
        for key in ("moons", "xor", "circles"):
            found = load_dataset(key)
            rows = split(found)
            X = prepare(found, rows.train).transform(found.frame)
            fitted = IMKPLClassifier().fit(X[rows.train], found.y[rows.train])
            score = fitted.score(X[rows.validation], found.y[rows.validation])
            kept = np.count_nonzero(fitted.kernel_weights_)
            count = fitted.n_prototypes_
            yield [key, f"{fitted.kappa_:g}", count, kept, f"{100 * score:.1f}"]

    def noisy() -> Iterator[list]:
        X, y = datasets.load_wine(return_X_y=True)
        for seed in range(5):
            more = np.random.default_rng(seed).normal(size=(len(y), 50))
            fitted = IMKPLClassifier().fit(np.hstack([X, more]), y)
            weights = fitted.kernel_weights_
            kept = np.count_nonzero(weights), np.count_nonzero(weights[13:])
            count = fitted.n_prototypes_
            yield [f"seed {seed}", f"{fitted.kappa_:g}", count, *kept]

    def beside() -> Iterator[list]:
        totals = []
        for name, X, y in [("balance scale", *balance()), *tables()]:
            chosen, counts, right = [], [], []
            for train, test in folds(X, y):
                fitted = IMKPLClassifier().fit(X[train], y[train])
                chosen.append(f"{fitted.kappa_:.3g}")
                counts.append(str(fitted.n_prototypes_))
                ten = IMKPLClassifier(n_prototypes=10).fit(X[train], y[train])
                svm = PEERS["SVC, RBF, C=1"]().fit(X[train], y[train])
                models = fitted, ten, svm
                right.append([100 * model.score(X[test], y[test]) for model in models])
            means = np.mean(right, axis=0)
            rates = [f"{mean:.1f}" for mean in means]
            yield [name, " ".join(chosen), " ".join(counts), *rates]
            if name != "balance scale":
                totals.append(means)
        rates = [f"{mean:.1f}" for mean in np.mean(totals, axis=0)]
        yield [f"mean of {len(totals)} without the scale", "", "", *rates]

    head = ["data", "kappa", "prototypes a class", "kernels"]
    show("Toys", [*head, "validation %"], toys())
    show("Wine and 50 of noise", [*head, "of noise"], noisy())
    head = [*head[:3], "IMKPL %", "10 a class %", "SVC, RBF, C=1, standardised %"]
    show("Five folds, kappa and prototypes chosen in each", head, beside())


def page() -> None:
    """Print how long Explore waits for its first model of digits: seven splits."""
    method, dataset = METHODS["imkpl"], load_dataset("digits")
    method.warm_up()
    uncompiled.discard(method.key)

    def seconds(seed: int) -> float:
        division = split(dataset, validation=0.2, test=0.2, seed=seed)
        data, begun = parts(dataset, division), time.perf_counter()
        fits.Fit(data, method.key, method.defaults()).finished()
        return time.perf_counter() - begun

    waits = sorted(map(seconds, range(7)))
    line = [f"{waits[place]:.2f}" for place in (3, 0, -1)]
    show("IMKPL, digits on Explore", ["median s", "least", "most"], [line])


ROWS = """
import json, resource, sys, time
import numpy as np
from sklearn.datasets import load_digits
from smpcore.methods.imkpl import IMKPLClassifier
n, f, params = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
y = np.arange(n) % 5
X = rng.normal(size=(n, f)) + 2 * rng.normal(size=(5, f))[y]
if f == 64:
    X, y = (part[:n] for part in load_digits(return_X_y=True))
IMKPLClassifier().fit(X[:300], y[:300])
begun = time.process_time()
fitted = IMKPLClassifier(**params).fit(X, y)
print(json.dumps([
    time.process_time() - begun, fitted.objective_, fitted.n_iter_,
    fitted.n_prototypes_, 100 * fitted.score(X, y),
    resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
]))
"""


def rows() -> None:
    """Print what a fit of many rows takes, with its choices and without."""
    ten = '{"n_prototypes": 10, "kappa": 2.0}'

    def lines() -> Iterator[list]:
        for n, f in ((1797, 64), (2000, 20), (4000, 20), (8000, 20)):
            for params in ("{}", ten):
                found = run(ROWS, f"[{n}, {f}, {params}]")
                seconds, objective, n_iter, count, right, peak = found
                yield [
                    "digits" if f == 64 else "clouds", n, f, params, f"{seconds:.2f}",
                    f"{objective:.6g}", n_iter, count, f"{right:.1f}", f"{peak:.0f}",
                ]  # fmt: skip

    head = ["data", "rows", "features", "parameters", "s", "objective", "iterations"]
    head += ["a class", "right %", "peak MiB"]
    show("IMKPL, a whole fit of many rows", head, lines())


def overlapping(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of five classes of three clusters each, and 8 features of noise."""
    return datasets.make_classification(
        n, 20, n_informative=8, n_redundant=4, n_classes=5, n_clusters_per_class=3,
        random_state=0,
    )  # fmt: skip


def landmarks() -> None:
    """Print what a start of landmarks changes, and what many rows take."""
    ten = {"n_prototypes": 10, "kappa": 2.0}

    def losses() -> Iterator[list]:
        X, y = overlapping(10_000)
        train, test = slice(0, 5000), slice(5000, None)
        whole = IMKPLClassifier(**ten, landmarks=0)
        problem = whole.problem(X[train], y[train])
        parameters = IMKPLParameters(0.2, 0.2, 0.2, 2.0, 10, True)
        exact = spread = 0.0
        for count in (0, 500, 1000, 2000):
            estimator = IMKPLClassifier(**ten, landmarks=count)
            _, spent = processor_seconds(estimator.fit, X[train], y[train])
            # The objective of all rows' neighbours, in the units of the fit without.
            spread = spread or estimator.state_.spread
            end = replace(estimator.state_, spread=spread)
            alternation = Alternation(problem, parameters, np.zeros(1, np.int64), end)
            value = alternation.objective()
            exact = exact or value
            right = 100 * estimator.score(X[test], y[test])
            yield [
                count or "none", f"{value:.1f}", f"{100 * (value / exact - 1):+.2f}",
                f"{right:.1f}", estimator.n_iter_, f"{spent:.1f}",
            ]  # fmt: skip

    def costs() -> Iterator[list]:
        for n in (10_000, 100_000):
            found = run(ROWS, f'[{n}, 20, {{"n_prototypes": 10, "kappa": 2.0}}]')
            yield [n, f"{found[0]:.1f}", found[2], f"{found[5]:.0f}"]

    head = ["landmarks", "objective", "loss %", "test right %", "iterations", "s"]
    show("5000 rows of 20 features, 50 prototypes", head, losses())
    head = ["rows", "s", "iterations on all rows", "peak MiB"]
    show("Many rows, landmarks chosen", head, costs())


TABLES = {
    t.__name__: t
    for t in (
        accuracy,
        choice,
        page,
        rows,
        landmarks,
    )
}

if __name__ == "__main__":
    chosen = [name for name in sys.argv[1:] if name in TABLES]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for table in chosen or TABLES:
            TABLES[table]()
