"""Section III, complexity: what an answer costs with few and with all prototypes."""

from __future__ import annotations

from functools import partial
from operator import ge
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR

from smpcore.baselines.selected import FewVectorSVC
from smpcore.codegen import compile_model, estimated
from smpcore.evaluation.sizes import CHIP
from smpcore.methods.shared.paper_steps import history_at
from smpcore.methods.supersparse import (
    SuperSparseClassifier,
    SuperSparseRegressor,
    fit_smallest,
)
from smpcore.methods.supersparse.paper_algorithm import wrapped
from smpcore.model import PrototypeModel
from smpcore.papers.conclusions import Claim
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.protocols import (
    Halves,
    best_by_folds,
    grid_of,
    scaled_numbers,
    seconds,
    standardised_halves,
)
from smpcore.papers.sources import Source, bundled

#: Numbers of prototypes that are tried.
SIZES = (40, 30, 20, 15, 12, 10, 8, 6, 5, 4, 3, 2)
SVM, KERNEL_RIDGE, SEL, RED = (
    "SVM or SVR",
    "kernel ridge",
    "SVM-sel, as many",
    "SVM-red, as many",
)
OURS, TAUGHT = "virtual prototypes", "virtual prototypes, taught by the SVM"
SCORE, MATCHINGS = "accuracy or R2", "similarities per answer"
FLASH, CYCLES = "flash bytes", "cycles per answer"
SECONDS, NUMBERS = "microseconds per answer", "stored numbers"
_C = (0.1, 1.0, 10.0, 100.0)

#: Vectors, their coefficients, and the intercepts.
Sum = tuple[np.ndarray, np.ndarray, np.ndarray]


def _is_regression(rows: Halves) -> bool:
    return rows.y.dtype.kind == "f"


def _ours(rows: Halves, model: str, C: float) -> Any:
    """Virtual prototypes; their number is chosen on a part of the training rows."""
    kind, lam, teacher, least = SuperSparseRegressor, 1e-3, "svr", 1
    if not _is_regression(rows):
        kind, lam, teacher = SuperSparseClassifier, 1e-4, "teacher"
        least = max(2, len(np.unique(rows.y)))
    target = {"target": teacher, "teacher_C": C} if model == TAUGHT else {}
    sizes = [size for size in SIZES if size >= least]
    return fit_smallest(kind(lam=lam, **target), rows.X, rows.y, sizes)


def _best_C(rows: Halves) -> float:
    """Penalty of the SVM, by five folds of the training rows."""
    gamma = 1 / rows.X.shape[1]
    if _is_regression(rows):
        grid = {"C": _C}
        result = GridSearchCV(SVR(gamma=gamma), grid, cv=5).fit(rows.X, rows.y)
        return float(result.best_params_["C"])
    make = partial(SVC, gamma=gamma)
    return best_by_folds(make, grid_of(C=_C), rows.X, rows.y)["C"]


def _sum(rows: Halves, model: str, C: float, n_vectors: int) -> Sum:
    """A decision of scikit-learn's, or of fewer vectors, as a sum of similarities."""
    X, y, gamma = rows.X, rows.y, 1 / rows.X.shape[1]
    if not _is_regression(rows):
        way = "reduced" if model == RED else "selected"
        few = FewVectorSVC(way, n_vectors, C).fit(X, y)
        return few.Z_, few.B_, few.intercept_
    if model == KERNEL_RIDGE:
        ridge = KernelRidge(kernel="rbf", gamma=gamma)
        result = GridSearchCV(ridge, {"alpha": np.logspace(-3, 1, 9)}, cv=5).fit(X, y)
        return X, result.best_estimator_.dual_coef_[:, None], np.zeros(1)
    svr = SVR(gamma=gamma, C=C).fit(X, y)
    return X[svr.support_], svr.dual_coef_.T, svr.intercept_


def _as_model(rows: Halves, of: Sum) -> PrototypeModel:
    """The same code path, on this machine and on a chip, as our own models have."""
    kind = SuperSparseRegressor if _is_regression(rows) else SuperSparseClassifier
    estimator = kind(n_prototypes=1)
    problem = estimator.problem(rows.X, rows.y)
    similarity = estimator.objective(problem).similarity
    return wrapped(problem, similarity, of[0], of[1:], history_at(0, np.nan))


def measures(case: Case) -> Outcome:
    """What a model costs, and how good it is."""
    model, is_regression = case.trial.model, case.dataset.task == "regression"
    if model in ((SEL, RED) if is_regression else (KERNEL_RIDGE,)):
        return Outcome({})
    rows = scaled_numbers(case.rows) if is_regression else case.rows
    C = _best_C(rows)
    if model in (OURS, TAUGHT):
        made = _ours(rows, model, C).model_
    else:
        n_vectors = len(rows.X)
        if model in (SEL, RED):
            n_vectors = int(case.of(OURS).measures[MATCHINGS])
        made = _as_model(rows, _sum(rows, model, C, n_vectors))
    if is_regression:
        left = np.mean((made.scores(rows.X_test)[:, 0] - rows.y_test) ** 2)
        score = 1 - left / rows.y_test.var()
    else:
        score = np.mean(made.predict(rows.X_test) == rows.y_test)
    estimate = estimated(compile_model(made), CHIP)
    taken = np.median(seconds(partial(made.scores, rows.X_test), 5))
    return Outcome(
        {
            SCORE: score,
            MATCHINGS: made.n_prototypes,
            NUMBERS: made.anchors.size + made.votes.size + made.intercept.size,
            FLASH: estimate.flash,
            CYCLES: estimate.count,
            SECONDS: 1e6 * taken / len(rows.X_test),
        }
    )


EXPERIMENTS = (
    Experiment(
        name="supersparse-costs",
        where="Section III, complexity",
        title="Similarities, bytes and time of an answer",
        protocol=(
            "Three random halves of public data of our own choice; RBF with gamma = "
            "1 / features; C and the ridge by five folds, the number of virtual "
            "prototypes by equation (8) on a quarter of the training half. Every model "
            "is the same sum of similarities, so that one program answers for all: its "
            f"bytes and cycles in float32 on an {CHIP}, estimated, also where they do "
            "not fit; time of an answer here, in NumPy."
        ),
        data={
            **bundled("breast_cancer", "digits", "moons", "diabetes", "hills"),
            "housing": Source(file="housing.arff", openml=531),
        },
        models=dict.fromkeys((SVM, KERNEL_RIDGE, SEL, RED, OURS, TAUGHT)),
        measure=measures,
        divide=standardised_halves,
        repetitions=3,
        checks={
            "tenth": Claim(SVM, ge, (OURS,), MATCHINGS, factor=10.0),
            "score": Claim(OURS, ge, (SVM,), SCORE, more=-0.02),
        },
        elsewhere=(SECONDS,),
    ),
)
