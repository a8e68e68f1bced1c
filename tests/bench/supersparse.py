"""Super-sparse prototypes: ``python -m tests.bench.supersparse [sections]``.

speed    cold and warm solves on 1000 x 64 digits, and the other similarities
peers    objective beside scipy's L-BFGS-B
digits   accuracy of ten classes with few prototypes beside an SVM and selected rows

Choices (lam, gamma, scaling, target) are made on validation rows; test rows are looked
at once, after that. Times: median of 9 in milliseconds, wall / processor (min).
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from collections.abc import Iterator

import numpy as np
from scipy.optimize import minimize
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from smpcore.baselines import BASELINES
from smpcore.methods.supersparse import SuperSparseClassifier
from smpcore.methods.supersparse.problem import (
    Objective,
    evaluate,
)
from smpcore.methods.supersparse.starts import choose_start
from smpcore.similarity import SMOOTH
from tests.bench.solvers import show, timed
from tests.smpcore.solvers.test_supersparse import REAL, limits, real

#: One move of a slider.
MOVE = {"max_iter": 20, "tol": 1e-4}


def some_digits() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """A thousand digits: ten classes, and two."""
    X, y = datasets.load_digits(return_X_y=True)
    return {"1 output": (X[:1000], y[:1000] > 4), "10 outputs": (X[:1000], y[:1000])}


def speed() -> None:
    """Print times of solves."""
    make = SuperSparseClassifier

    def lines() -> Iterator[list]:
        for (name, data), m in itertools.product(
            some_digits().items(), (5, 10, 20, 40)
        ):
            problem = make(m).problem(*data)
            cold = make(m).solve(problem)
            state, moves = cold.state_, []
            for more in ({"lam": 1.5e-4}, {"gamma": 1.2 * cold.gamma_}):
                moved = make(m, **more, **MOVE).solve(problem, state)
                apart = moved.objective_ / make(m, **more).solve(problem).objective_
                moves += [
                    timed(
                        lambda w=more, m=m, p=problem, s=state: make(
                            m, **w, **MOVE
                        ).solve(p, s),
                        9,
                    ),
                    f"{apart:.3f}",
                ]
            one = timed(lambda m=m, p=problem: make(m).solve(p), 9)
            yield [name, m, cold.n_iter_, one, *moves]

    head = ["digits 1000x64", "m", "steps", "cold ms", "lam x1.5 ms", "F / cold"]
    show("RBF, start included", [*head, "gamma x1.2 ms", "F / cold"], lines())

    def kinds() -> Iterator[list]:
        X, y = some_digits()["10 outputs"]
        for kind in SMOOTH:
            problem = make(10, similarity=kind).problem(X, y)
            fitted = make(10, similarity=kind).solve(problem)
            one = timed(lambda k=kind, p=problem: make(10, similarity=k).solve(p), 9)
            yield [kind, fitted.n_iter_, f"{fitted.objective_:.3f}", one]

    show("Similarities, m = 10, 10 outputs", ["", "steps", "F", "cold ms"], kinds())


def peers() -> None:
    """Print objectives from the same start, after as many gradients."""

    def lines() -> Iterator[list]:
        for name in REAL:
            rows, similarity = real(name)
            objective = Objective(rows, similarity, 1e-4)
            d = rows.X.shape[1]
            plain = limits(d, tol=1e-5, max_iter=200)
            random = np.random.RandomState(0)
            start = choose_start(objective, 10, "kmeans", *plain, random)
            ours = objective.solve(start, *plain)

            def flat(v, objective=objective, shape=start.shape):
                F, G, _, _ = evaluate(objective, v.reshape(shape))
                return F, G.ravel()

            found = []
            for steps in (ours.n_iter, 2000):
                options = {"maxiter": steps, "maxfun": 10**5, "ftol": 1e-15}
                peer = minimize(
                    flat, start.ravel(), jac=True, method="L-BFGS-B", options=options
                )
                found.append(peer.fun)
            values = [*ours.objective[[0, -1]], *found]
            yield [name, ours.n_iter, *(f"{value:.4f}" for value in values)]

    head = ["m = 10", "steps", "F at start", "here", "L-BFGS-B, as many"]
    head += ["L-BFGS-B, 2000"]
    show("Objective from the same start", head, lines())


def chosen(settings: list, fit: object, loss: object) -> tuple[dict, float]:
    """Setting with the least loss on the validation rows."""
    losses = [loss(fit(setting)) for setting in settings]
    return settings[int(np.argmin(losses))], min(losses)


def digits() -> None:
    """Print accuracies of ten classes."""
    X, y = datasets.load_digits(return_X_y=True)

    def lines() -> Iterator[list]:
        for seed in range(3):
            rest, test = train_test_split(
                np.arange(len(y)), test_size=597, random_state=seed, stratify=y
            )
            learn, judge = train_test_split(
                rest, test_size=300, random_state=seed, stratify=y[rest]
            )

            def error(model, rows=judge):
                return 1.0 - model.score(X[rows], y[rows])

            svms = [
                {"C": C, "gamma": g}
                for C in (1.0, 10.0)
                for g in (2.5e-4, 5e-4, 1e-3, 2e-3)
            ]
            best, _ = chosen(svms, lambda s, a=learn: SVC(**s).fit(X[a], y[a]), error)
            svm = SVC(**best).fit(X[rest], y[rest])
            yield [
                seed,
                "SVC, RBF",
                len(svm.support_),
                best,
                f"{1 - error(svm, test):.4f}",
            ]
            for m in (10, 15, 20, 30):
                settings = [
                    {"lam": lam, "standardize": scaled, "target": target}
                    for lam in (1e-5, 1e-4, 1e-3)
                    for scaled in (True, False)
                    for target in ("labels", "teacher")
                ]
                best, _ = chosen(
                    settings,
                    lambda s, a=learn, m=m: SuperSparseClassifier(m, **s).fit(
                        X[a], y[a]
                    ),
                    error,
                )
                few = SuperSparseClassifier(m, **best).fit(X[rest], y[rest])
                yield [seed, "virtual", m, best, f"{1 - error(few, test):.4f}"]
                for key, row in BASELINES.items():
                    if row.group == "selected":
                        rival = row.estimator({"n_prototypes": m})
                        rival.fit(X[rest], y[rest])
                        yield [seed, key, m, "", f"{1 - error(rival, test):.4f}"]

    head = ["seed", "model", "vectors", "chosen on validation rows", "test accuracy"]
    show("Digits, 900 + 300 rows, 597 test rows", head, lines())


def main() -> None:
    """Print the sections asked for."""
    warnings.simplefilter("ignore")
    sections = {
        "speed": speed,
        "peers": peers,
        "digits": digits,
    }
    started = time.perf_counter()
    with threadpool_limits(1):
        for name in sys.argv[1:] or sections:
            sections[name]()
    show("Whole run", ["seconds"], iter([[f"{time.perf_counter() - started:.0f}"]]))


if __name__ == "__main__":
    main()
