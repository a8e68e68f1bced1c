"""What virtual prototypes are compared with: selected training rows.

PS-R, PS-B, PS-S and PS-KM choose rows by their places alone (Pekalska, Duin, Paclik
2006); their coefficients are the best ones for the chosen rows. SVM-sel drops support
vectors, and the others take over what they can of the decision.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils import check_random_state

from smpcore.estimators.checks import OneOf
from smpcore.estimators.supersparse.base import AnyProblem, SuperSparseEstimator
from smpcore.estimators.supersparse.problem import Objective, Solution
from smpcore.solvers.supersparse import CONVERGED
from smpcore.threads import one_core

WAYS = ("random", "border", "spanning", "kmedians")


def select_rows(X: np.ndarray, n_rows: int, way: str, seed: Any = 0) -> np.ndarray:
    """Choose rows by their places.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_rows : int
    way : {"random", "border", "spanning", "kmedians"}
        PS-R: at random. PS-B: the ones farthest from all others. PS-S: each the
        farthest from those chosen before, the first in the middle. PS-KM: the middle
        row of each cluster; there may be fewer.
    seed : int, RandomState or None

    Returns
    -------
    ndarray of int
    """
    from sklearn.cluster import KMeans

    OneOf(WAYS).check("way", way)
    random = check_random_state(seed)
    n_rows = min(n_rows, len(X))
    if way == "random":
        return random.choice(len(X), n_rows, replace=False)
    if way == "kmedians":
        with one_core:
            labels = KMeans(n_rows, n_init=1, random_state=random).fit_predict(X)
        return np.array([_middle(X, np.flatnonzero(labels == k)) for k in set(labels)])
    apart = cdist(X, X)
    total = apart.sum(axis=1)
    if way == "border":
        chosen = []
        for _ in range(n_rows):
            chosen.append(int(total.argmax()))
            total = total - apart[chosen[-1]]
            total[chosen] = -np.inf
        return np.array(chosen)
    chosen = [int(total.argmin())]
    while len(chosen) < n_rows:
        chosen.append(int(apart[chosen].min(axis=0).argmax()))
    return np.array(chosen)


def _middle(X: np.ndarray, members: np.ndarray) -> int:
    """The member nearest to all others."""
    return int(members[cdist(X[members], X[members]).sum(axis=1).argmin()])


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


def fewer_vectors(
    K: np.ndarray, duals: np.ndarray, n_kept: int
) -> tuple[np.ndarray, np.ndarray]:
    """Drop vectors one by one; the others move as close to the whole as they can.

    Parameters
    ----------
    K : ndarray of shape (n_vectors, n_vectors)
        Kernel of the vectors.
    duals : ndarray of shape (n_vectors, n_outputs)
    n_kept : int

    Returns
    -------
    remaining : ndarray of int, shape (n_kept,)
    duals : ndarray of shape (n_kept, n_outputs)
    """
    K = K + 1e-8 * np.eye(len(K))
    remaining, inverse, left = np.arange(len(K)), np.linalg.inv(K), duals.copy()
    while len(remaining) > n_kept:
        cost = (left**2).sum(axis=1) / np.diag(inverse)
        out = int(cost.argmin())
        column, pivot = inverse[:, out], inverse[out, out]
        left = left - np.outer(column, left[out]) / pivot
        inverse = inverse - np.outer(column, column) / pivot
        stay = np.arange(len(remaining)) != out
        remaining, left, inverse = (
            remaining[stay],
            left[stay],
            inverse[np.ix_(stay, stay)],
        )
    return remaining, np.linalg.solve(
        K[np.ix_(remaining, remaining)], K[remaining] @ duals
    )


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
