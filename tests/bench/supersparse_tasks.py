"""Virtual prototypes at work: ``python -m tests.bench.supersparse_tasks [sections]``.

verify   false rejections at 1 % false acceptances: generated clients, as in the paper
numbers  mean absolute error beside ridge, LASSO and selected rows, five folds
ovr      digits with a machine of few prototypes for each, beside SVMs

Boston housing is read from the ARFF file that the environment variable HOUSING_ARFF
names, target in the last column. Choices (C, lam, gamma, target) are made on rows kept
apart from the training rows; test rows are looked at once, after that.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from scipy.io import arff
from sklearn import datasets
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.model_selection import KFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from smpcore.baselines.selected import WAYS
from smpcore.methods.supersparse import SuperSparseClassifier, SuperSparseRegressor
from tests.bench.solvers import show
from tests.bench.supersparse import chosen
from tests.bench.supersparse_baselines import fit_fewer_vectors, fit_selected

#: Clients, images of each, and features of an image.
CLIENTS, IMAGES, FEATURES = 60, 10, 56


def images(seed: int) -> np.ndarray:
    """Generated features (client, image, feature): persons, poses and noise."""
    rng = np.random.default_rng(seed)
    fading = 1.0 / np.sqrt(1.0 + np.arange(FEATURES))
    persons = rng.normal(size=(CLIENTS, 1, FEATURES)) * fading
    poses = rng.normal(size=(CLIENTS, IMAGES, 6)) @ rng.normal(size=(6, FEATURES))
    noise = rng.normal(size=(CLIENTS, IMAGES, FEATURES)) * fading
    return persons + 0.4 * poses * fading + 0.6 * noise


def false_rejections(genuine: np.ndarray, impostors: np.ndarray) -> float:
    """Share of genuine claims below the score that 1 % of the impostors exceed."""
    return float(np.mean(genuine <= np.quantile(impostors, 0.99)))


def machines() -> dict[str, tuple[list[dict], Callable]]:
    """Name -> settings, and how one is fitted."""
    lams = [1e-6, 1e-4, 1e-3]

    def few(X, y, m, **setting):
        machine = SuperSparseClassifier(
            m, class_weight="balanced", start="kmeans", **setting
        )
        return machine.fit(X, y)

    def svm(X, y, C):
        gamma = 1.0 / FEATURES
        return SVC(C=C, gamma=gamma, class_weight="balanced").fit(X, y)

    def kept(X, y, m):
        estimator = SuperSparseClassifier(m)
        return fit_fewer_vectors(estimator, estimator.problem(X, y))

    found = {"SVM": ([{"C": C} for C in (0.1, 1.0, 10.0, 100.0)], svm)}
    for m in (2, 5, 10):
        for target in ("labels", "teacher"):
            settings = [{"m": m, "target": target, "lam": lam} for lam in lams]
            found[f"virtual, {target}, m={m}"] = settings, few
        found[f"SVM-sel, m={m}"] = [{"m": m}], kept
    return found


def claims(seed: int) -> Iterator[tuple[str, dict, float, float]]:
    """Name, setting, vectors and false rejections of each machine on one division.

    A third of the clients is enrolled with 5 images to learn from, 2 to choose with
    and 3 to test; another third are impostors who choose, the last third those who
    test.
    """
    faces = images(seed)
    own = np.random.default_rng(seed).permutation(CLIENTS).reshape(3, -1)
    learn = faces[own[0], :5].reshape(-1, FEATURES)
    center, scale = learn.mean(axis=0), learn.std(axis=0)
    faces, learn = (faces - center) / scale, (learn - center) / scale
    judge, test = (faces[group].reshape(-1, FEATURES) for group in own[1:])
    who = np.repeat(own[0], 5)

    def rejected(setting, fit, genuine, impostors):
        rates, sizes = [], []
        for client in own[0]:
            machine = fit(learn, who == client, **setting)
            rates.append(
                false_rejections(
                    machine.decision_function(faces[client, genuine]),
                    machine.decision_function(impostors),
                )
            )
            sizes.append(
                len(machine.support_) if isinstance(machine, SVC) else machine.n_asked_
            )
        return float(np.mean(rates)), float(np.mean(sizes))

    for name, (settings, fit) in machines().items():
        best, _ = chosen(
            settings,
            lambda s: s,
            lambda s, fit=fit: rejected(s, fit, slice(5, 7), judge)[0],
        )
        rate, size = rejected(best, fit, slice(7, 10), test)
        yield name, best, size, rate


def verify() -> None:
    """Print false rejections, means of five divisions."""

    def lines() -> Iterator[list]:
        for same in zip(*(list(claims(seed)) for seed in range(5)), strict=True):
            rates = [100 * rate for *_, rate in same]
            size = np.mean([size for _, _, size, _ in same])
            spread = f"{np.mean(rates):.1f} ± {np.std(rates):.1f}"
            yield [same[0][0], f"{size:.1f}", spread]

    head = ["machine", "vectors", "FRR at FAR 1 %, per cent"]
    show("Verification, 20 clients, 5 images each", head, lines())


def tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Name -> rows and numbers."""
    found = {"diabetes": datasets.load_diabetes(return_X_y=True)}
    if "HOUSING_ARFF" in os.environ:
        rows, _ = arff.loadarff(os.environ["HOUSING_ARFF"])
        table = np.array([[float(v) for v in row] for row in rows])
        found["housing"] = table[:, :-1], table[:, -1]
    else:
        print("housing: HOUSING_ARFF is not given")
    return found


def full_kernel(kind: str, fitted: SuperSparseRegressor, problem: object) -> object:
    """Predictor of ridge or LASSO on the similarities to all rows."""
    objective = fitted.objective(problem)
    similarity, rows = objective.similarity, objective.rows
    model = (
        RidgeCV(np.logspace(-4, 2, 13)) if kind == "ridge" else LassoCV(alphas=30, cv=5)
    )
    model.fit(similarity.values(rows.cases, rows.cases), problem.rows.Y[0])

    def predict(X: np.ndarray) -> np.ndarray:
        scaled = (X - problem.center) / problem.scale
        said = model.predict(similarity.values(scaled, rows.cases))
        return said * problem.rows.unit + problem.rows.middle[0]

    return predict, np.count_nonzero(model.coef_)


def numbers() -> None:
    """Print mean absolute errors, means of five folds."""

    def errors(
        X: np.ndarray, y: np.ndarray, rest: np.ndarray, test: np.ndarray
    ) -> Iterator[tuple]:
        learn, judge = train_test_split(rest, test_size=0.25, random_state=0)

        def loss(model, rows=judge):
            return float(np.abs(model.predict(X[rows]) - y[rows]).mean())

        def prepared(m, setting, rows):
            model = SuperSparseRegressor(m, **setting)
            return model, model.problem(X[rows], y[rows])

        base = SuperSparseRegressor()
        natural = base.resolve_defaults(base.problem(X[learn], y[learn]))["gamma"]
        for kind in ("ridge", "lasso"):
            settings = [{"gamma": natural * f} for f in (0.25, 0.5, 1.0)]
            tried = []
            for setting in settings:
                model = SuperSparseRegressor(**setting)
                predict, _ = full_kernel(kind, model, model.problem(X[learn], y[learn]))
                tried.append(np.abs(predict(X[judge]) - y[judge]).mean())
            model = SuperSparseRegressor(**settings[int(np.argmin(tried))])
            predict, used = full_kernel(kind, model, model.problem(X[rest], y[rest]))
            yield (
                f"{kind}, full kernel",
                used,
                np.abs(predict(X[test]) - y[test]).mean(),
            )
        settings = [
            {"lam": lam, "gamma": natural * f}
            for lam in (1e-4, 1e-3, 1e-2)
            for f in (0.25, 0.5, 1.0)
        ]
        for m in (2, 3, 5, 10):
            fits = {
                "virtual": lambda e, p: e.solve(p),
                **{f"PS {w}": lambda e, p, w=w: fit_selected(e, p, w) for w in WAYS},
            }
            for name, fit in fits.items():
                best, _ = chosen(
                    settings,
                    lambda s, fit=fit, m=m: fit(*prepared(m, s, learn)),
                    loss,
                )
                yield name, m, loss(fit(*prepared(m, best, rest)), test)

    def lines() -> Iterator[list]:
        folds = KFold(5, shuffle=True, random_state=0)
        for name, (X, y) in tables().items():
            runs = [list(errors(X, y, *parts)) for parts in folds.split(X)]
            for same in zip(*runs, strict=True):
                used = np.mean([vectors for _, vectors, _ in same])
                found = [error for _, _, error in same]
                spread = f"{np.mean(found):.3f} ± {np.std(found):.3f}"
                yield [name, same[0][0], f"{used:.0f}", spread]

    show("Mean absolute error on test rows", ["", "model", "vectors", "MAE"], lines())


def ovr() -> None:
    """Print accuracies of ten machines, one against the rest."""
    X, y = datasets.load_digits(return_X_y=True)

    def result(seed: int) -> Iterator[tuple]:
        rest, test = train_test_split(
            np.arange(len(y)), test_size=597, random_state=seed, stratify=y
        )
        learn, judge = train_test_split(
            rest, test_size=300, random_state=seed, stratify=y[rest]
        )
        svms = [SVC(C=C, gamma=g) for C in (1.0, 10.0) for g in (5e-4, 1e-3, 2e-3)]
        kinds = {"SVM": svms}
        for m in (5, 10):
            kinds[f"virtual, m={m} each"] = [
                SuperSparseClassifier(m, lam=lam, target=target, standardize=False)
                for lam in (1e-5, 1e-4, 1e-3)
                for target in ("labels", "teacher")
            ]
        for name, machines in kinds.items():
            best, _ = chosen(
                [OneVsRestClassifier(machine) for machine in machines],
                lambda model: model.fit(X[learn], y[learn]),
                lambda model: 1.0 - model.score(X[judge], y[judge]),
            )
            best.fit(X[rest], y[rest])
            yield name, best.score(X[test], y[test])

    def lines() -> Iterator[list]:
        for same in zip(*(list(result(seed)) for seed in range(3)), strict=True):
            found = [score for _, score in same]
            yield [same[0][0], f"{np.mean(found):.4f} ± {np.std(found):.4f}"]

    show("Digits, 597 test rows, three divisions", ["machines", "accuracy"], lines())


def main() -> None:
    """Print the sections asked for."""
    warnings.simplefilter("ignore")
    sections = {"verify": verify, "numbers": numbers, "ovr": ovr}
    started = time.perf_counter()
    with threadpool_limits(1):
        for name in sys.argv[1:] or sections:
            sections[name]()
    show("Whole run", ["seconds"], iter([[f"{time.perf_counter() - started:.0f}"]]))


if __name__ == "__main__":
    main()
