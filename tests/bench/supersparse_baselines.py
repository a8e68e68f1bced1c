"""Selected training rows in place of virtual prototypes, with any similarity.

What `smpcore.baselines.selected` chooses, as fitted estimators of ours.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.base import clone

from smpcore.baselines.selected import fewer_vectors, select_rows
from smpcore.methods.shared.allowed_values import OneOf
from smpcore.methods.supersparse.base import AnyProblem, SuperSparseEstimator
from smpcore.methods.supersparse.problem import Objective, Solution
from smpcore.solvers.iterations import CONVERGED


def fit_selected(
    estimator: SuperSparseEstimator, problem: AnyProblem, way: str
) -> SuperSparseEstimator:
    """Fit coefficients to selected rows instead of virtual prototypes.

    Parameters
    ----------
    estimator : SuperSparseClassifier or SuperSparseRegressor
        Its parameters count; it is not changed.
    problem : SuperSparseProblem or SuperSparseRegression
    way : {"random", "border", "spanning", "kmedians"}

    Returns
    -------
    SuperSparseClassifier or SuperSparseRegressor
    """
    started = time.perf_counter()
    fitted = clone(estimator)
    objective = fitted.objective(problem)
    rows, size = objective.rows, fitted.resolve_defaults(problem)["n_prototypes"]
    Z = rows.cases[select_rows(rows.cases, size, way, fitted.random_state)]
    F, B, intercept, _ = objective.refit(objective.similarities(Z))
    _set_selection(fitted, problem, objective, (Z, B, intercept, F), started)
    return fitted


def fit_fewer_vectors(
    estimator: SuperSparseEstimator, problem: AnyProblem
) -> SuperSparseEstimator:
    """SVM-sel: drop support vectors, each time the one the decision needs least.

    The others' coefficients are then the best ones in the kernel's own space. From
    three classes on the SVMs, one against the rest, share their vectors.

    Parameters
    ----------
    estimator : SuperSparseClassifier
        With an RBF similarity; its parameters count, it is not changed.
    problem : SuperSparseProblem

    Returns
    -------
    SuperSparseClassifier
    """
    from sklearn.svm import SVC

    started = time.perf_counter()
    fitted = clone(estimator)
    OneOf(("rbf",)).check("similarity", fitted.similarity)
    objective = fitted.objective(problem)
    rows, similarity = objective.rows, objective.similarity
    size = fitted.resolve_defaults(problem)["n_prototypes"]
    duals = np.zeros((len(rows.cases), len(rows.Y)))
    intercept = np.zeros(len(rows.Y))
    targets = problem.rows.Y * problem.rows.unit + problem.rows.middle[:, None]
    for output, labels in enumerate(targets):
        svm = SVC(gamma=similarity.gamma).fit(
            rows.cases, labels > 0, rows.weights * problem.mass
        )
        duals[svm.support_, output] = svm.dual_coef_[0]
        intercept[output] = svm.intercept_[0]
    vectors = np.flatnonzero(duals.any(axis=1))
    K = similarity.values(rows.cases[vectors], rows.cases[vectors])
    remaining, B = fewer_vectors(K, duals[vectors], size)
    Z = rows.cases[vectors[remaining]]
    B, intercept = B / rows.unit, (intercept - rows.middle) / rows.unit
    residuals = objective.similarities(Z) @ B + intercept - rows.Y.T
    F = rows.weights @ (residuals**2).sum(axis=1) + fitted.lam * (B**2).sum()
    _set_selection(fitted, problem, objective, (Z, B, intercept, F), started)
    return fitted


def _set_selection(
    fitted: SuperSparseEstimator,
    problem: AnyProblem,
    objective: Objective,
    selection: tuple[np.ndarray, np.ndarray, np.ndarray, float],
    started: float,
) -> None:
    """Give an estimator selected rows, their coefficients, intercept and objective."""
    Z, B, intercept, F = selection
    none, seconds = np.empty((0, *Z.shape)), time.perf_counter() - started
    solution = Solution(Z, B, intercept, CONVERGED, 0, np.array([F]), none)
    result = fitted.fitted(problem, objective, solution, Z, seconds, "real case")
    fitted._set_fitted_attributes(problem, result)
