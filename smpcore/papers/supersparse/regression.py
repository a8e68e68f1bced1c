"""Table I: regression with few prototypes in place of ridge and LASSO on all rows.

And Section III, complexity: what an answer costs with few and with all prototypes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import ge
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, SVR

from smpcore.baselines.models import (
    FewVectorSVC,
    SelectedRegressor,
    select_rows,
    similarities,
)
from smpcore.codegen import compile_model, estimated
from smpcore.datasets import Dataset
from smpcore.evaluation.sweep import CHIP
from smpcore.methods.shared.paper_steps import history_at
from smpcore.methods.supersparse import (
    SuperSparseClassifier,
    SuperSparseRegressor,
    fit_smallest,
    prune_path,
)
from smpcore.methods.supersparse.estimator import choose_size
from smpcore.methods.supersparse.problem import similarity_model
from smpcore.model import PrototypeModel
from smpcore.papers.conclusions import Claim, Numbers, where_known
from smpcore.papers.experiment import Case, Experiment, Outcome, read_printed
from smpcore.papers.protocols import (
    Halves,
    best_by_folds,
    grid_of,
    prepared,
    scaled_numbers,
    seconds,
    standardised,
    standardised_halves,
)
from smpcore.papers.sources import Source, bundled, unavailable

#: Numbers of prototypes that are tried, and what one costs in the target's sd.
SIZES, PRICE = (15, 12, 10, 8, 6, 5, 4, 3, 2, 1), 0.01
N_FOLDS = 5
MAE, COUNT = "MAE, sd or years", "prototypes"

Predict = Callable[[np.ndarray], np.ndarray]


def _fold(dataset: Dataset, repetition: int) -> Halves:
    """Standardised training and test rows of a fold."""
    folds = KFold(N_FOLDS, shuffle=True, random_state=0)
    train, test = [*folds.split(dataset.y)][repetition]
    return scaled_numbers(standardised(prepared(dataset, train, test)))


def _on(Z: np.ndarray, model: Any) -> Any:
    """A model of the similarities to some rows."""
    return make_pipeline(FunctionTransformer(similarities, kw_args={"Z": Z}), model)


def _ridge(X: np.ndarray, y: np.ndarray) -> tuple[Predict, int]:
    model = _on(X, RidgeCV(alphas=np.logspace(-4, 2, 13))).fit(X, y)
    return model.predict, len(X)


def _lasso(X: np.ndarray, y: np.ndarray) -> tuple[Predict, int]:
    lasso = LassoCV(alphas=20, eps=1e-3, cv=3, tol=1e-3, max_iter=5000)
    predict = _on(X, lasso).fit(X, y).predict
    return predict, np.count_nonzero(lasso.coef_)


def _kernel_ridge(X: np.ndarray, y: np.ndarray) -> tuple[Predict, int]:
    model = KernelRidge(kernel="rbf", gamma=1 / X.shape[1])
    result = GridSearchCV(model, {"alpha": np.logspace(-3, 1, 9)}, cv=3).fit(X, y)
    return result.predict, len(X)


def _svr(X: np.ndarray, y: np.ndarray) -> tuple[Predict, int]:
    model = SVR(gamma=1 / X.shape[1])
    grid = {"C": (0.1, 1.0, 10.0, 100.0), "epsilon": (0.1, 0.3)}
    result = GridSearchCV(model, grid, cv=3).fit(X, y)
    return result.predict, len(result.best_estimator_.support_)


#: Models on all rows.
WHOLE = {
    "Ridge": _ridge,
    "LASSO": _lasso,
    "kernel ridge": _kernel_ridge,
    "SVR": _svr,
}
#: Models of few prototypes that are made.
MADE: dict[str, Mapping[str, Any]] = {
    "SRidge": {"target": "ridge"},
    "SLASSO": {"target": "lasso"},
    "virtual prototypes": {},
    "virtual prototypes, eps-insensitive": {"loss": "epsilon-insensitive"},
}
#: Models of few rows that are chosen.
WAYS = {
    "PS-R Ridge": "random",
    "PS-B Ridge": "border",
    "PS-S Ridge": "spanning",
    "PS-KM Ridge": "kmedians",
    "PS-KC Ridge": "kcentres",
    "PS-R LASSO": "random",
    "PS-B LASSO": "border",
    "PS-S LASSO": "spanning",
    "PS-KM LASSO": "kmedians",
}


def _path(model: str, X: np.ndarray, y: np.ndarray) -> list[Any]:
    """Fits of each of the numbers of prototypes."""
    if model in WAYS and model.endswith("LASSO"):
        chosen = (select_rows(X, m, WAYS[model], 0) for m in SIZES)
        lasso = LassoCV(alphas=20, eps=1e-3, cv=3)
        return [_on(X[rows], clone(lasso)).fit(X, y) for rows in chosen]
    if model in WAYS:
        return [SelectedRegressor(WAYS[model], m, 1e-4).fit(X, y) for m in SIZES]
    estimator = SuperSparseRegressor(lam=1e-3, **MADE[model])
    return [*prune_path(estimator, estimator.problem(X, y), SIZES)]


def _error(predict: Predict, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.abs(predict(X) - y).mean())


def measures(case: Case) -> Outcome:
    """Errors and numbers of prototypes of one model on one fold."""
    rows, model = case.rows, case.trial.model
    if model in WHOLE:
        predict, count = case.declared(rows.X, rows.y)
        error = _error(predict, rows.X_test, rows.y_test)
        along = dict.fromkeys(SIZES, error)
    else:
        seed = case.trial.repetition
        parts = train_test_split(rows.X, rows.y, test_size=0.25, random_state=seed)
        tried = _path(model, parts[0], parts[2])
        losses = [_error(one.predict, parts[1], parts[3]) for one in tried]
        count = choose_size(SIZES, losses, PRICE)
        fitted = _path(model, rows.X, rows.y)
        errors = (_error(one.predict, rows.X_test, rows.y_test) for one in fitted)
        along = dict(zip(SIZES, errors, strict=True))
        error = along[count]
    of_ours: dict[str, Any] = {}
    if model in MADE:
        values = {"lam": 1e-3, "n_prototypes": count, **MADE[model]}
        of_ours = {"method": "supersparse", "values": values}
    curve = {m: along[m] for m in reversed(SIZES)}
    return Outcome({MAE: error, COUNT: count}, {"MAE / sd along m": curve}, **of_ours)


#: Sparse model -> the one that it is made from, and how far above its error it is in
#: the printed table at most, where both are trained and tested on the same faces.
_SPARSE = {"SRidge": ("Ridge", 1.14), "SLASSO": ("LASSO", 1.02)}


def _almost_the_same(numbers: Numbers, limit: float | None = None) -> Iterator[float]:
    for sparse, (whole, printed) in _SPARSE.items():
        factor = printed if limit is None else 1.0 + limit
        ratio = numbers(sparse, MAE) / numbers(whole, MAE)
        yield where_known(ratio <= factor, ratio)


def _outperforms(numbers: Numbers, limit: float = 0.0) -> Iterator[float]:
    """Whether the error is lower, for each of the paper's ways to select rows.

    Or above it by less than a share, the limit.
    """
    for sparse, (whole, _) in _SPARSE.items():
        for way in ("R", "B", "S", "KM"):
            theirs = numbers(f"PS-{way} {whole}", MAE)
            below = theirs * (1.0 + limit) - numbers(sparse, MAE)
            yield where_known(below > 0, below)


_NO_AGES = (
    "FRGC is licensed to its holders only, Fg-Net is no longer given, and the LDA "
    "features of the normalised faces are not published"
)


#: Mean absolute errors in years, and prototypes: training and test set.
_PRINTED = read_printed(Path(__file__).with_name("table_1.csv"))
_PUBLIC = bundled("diabetes", "hills") | {
    "housing": Source(file="housing.arff", openml=531)
}
EXPERIMENTS = (
    Experiment(
        name="supersparse-table-1",
        where="Table I",
        title="Regression: error against the number of prototypes",
        data=_PUBLIC | unavailable(_NO_AGES, *(one.data for one in _PRINTED)),
        models={**WHOLE, **MADE, **WAYS},
        measure=measures,
        divide=_fold,
        repetitions=N_FOLDS,
        checks={"same": _almost_the_same, "selection": _outperforms},
        reported=_PRINTED,
        axis="prototypes m",
        beside="SRidge",
    ),
)


#: Numbers of prototypes that are tried.
MOST_SIZES = (40, 30, 20, 15, 12, 10, 8, 6, 5, 4, 3, 2)
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
    sizes = [size for size in MOST_SIZES if size >= least]
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
    parts = {"similarity": estimator.objective(problem).similarity}
    return similarity_model(problem, of[0], of[1:], history_at(0, np.nan), **parts)


def measured_costs(case: Case) -> Outcome:
    """What a model costs, and how good it is."""
    model, is_regression = case.trial.model, case.dataset.task == "regression"
    if model in ((SEL, RED) if is_regression else (KERNEL_RIDGE,)):
        return Outcome({})
    rows = scaled_numbers(case.rows)
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


EXPERIMENTS += (
    Experiment(
        name="supersparse-costs",
        where="Section III, complexity",
        title="Similarities, bytes and time of an answer",
        data={
            **bundled("breast_cancer", "digits", "moons", "diabetes", "hills"),
            "housing": Source(file="housing.arff", openml=531),
        },
        models=dict.fromkeys((SVM, KERNEL_RIDGE, SEL, RED, OURS, TAUGHT)),
        measure=measured_costs,
        divide=standardised_halves,
        repetitions=3,
        checks={
            "tenth": Claim(SVM, ge, (OURS,), MATCHINGS, factor=10.0),
            "score": Claim(OURS, ge, (SVM,), SCORE, more=-0.02),
        },
        elsewhere=(SECONDS,),
    ),
)
