"""How few virtual prototypes will do: exact costs of leaving one out, and a path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from smpcore.errors import SmpcoreError
from smpcore.methods.supersparse.base import SuperSparseEstimator
from smpcore.methods.supersparse.problem import AnyProblem
from smpcore.methods.supersparse.removal import removal_increases

#: What a prototype costs: in error rate, or in standard deviations of the target.
CLASSIFICATION_PRICE, REGRESSION_PRICE = 0.0005, 0.01


def removal_costs(fitted: SuperSparseEstimator, problem: AnyProblem) -> np.ndarray:
    """Exact rise of the objective when a prototype is left out and the rest refitted.

    Not the size of its coefficient: that ignores how large its similarities are, and
    whether another prototype says the same.

    Parameters
    ----------
    fitted : SuperSparseClassifier or SuperSparseRegressor
        Estimator whose prototypes are left out one at a time.
    problem : SuperSparseProblem or SuperSparseRegression
        The one it was fitted to.

    Returns
    -------
    ndarray of shape (n_asked_,)
        Of the prototypes as solved, in the units of ``objective_``.
    """
    Z, objective = fitted.state_.Z, fitted.objective(problem)
    return removal_increases(objective.condensed(Z), Z)


def prune_path(
    estimator: SuperSparseEstimator, problem: AnyProblem, sizes: Sequence[int]
) -> Iterator[SuperSparseEstimator]:
    """Fit fewer and fewer prototypes, each fit without the cheapest of the one before.

    Parameters
    ----------
    estimator : SuperSparseClassifier or SuperSparseRegressor
        Its parameters count, but for `n_prototypes`; it is not changed.
    problem : SuperSparseProblem or SuperSparseRegression
        Training rows, made by `problem` of the estimator.
    sizes : sequence of int
        Numbers of prototypes, falling.

    Yields
    ------
    SuperSparseClassifier or SuperSparseRegressor
        Fitted, one for each size.

    Raises
    ------
    SmpcoreError
        If `sizes` does not fall.
    """
    if any(after >= before for before, after in pairwise(sizes)):
        raise SmpcoreError(f"sizes={list(sizes)!r} should fall; sort them so.")
    state = None
    for size in sizes:
        fitted = clone(estimator).set_params(n_prototypes=int(size))
        fitted.solve(problem, state=state)
        state = fitted.state_
        yield fitted


def choose_size(sizes: Sequence[int], losses: Sequence[float], price: float) -> int:
    """Choose the number of prototypes with the least loss plus price (equation 8)."""
    sizes = np.asarray(sizes)
    total = np.asarray(losses, dtype=np.float64) + price * sizes
    return int(sizes[total <= total.min() + 1e-12].min())


def fit_smallest(
    estimator: SuperSparseEstimator,
    X: Any,
    y: Any,
    sizes: Sequence[int],
    price: float | None = None,
    validation: float = 0.25,
    seed: int = 0,
) -> SuperSparseEstimator:
    """Choose the number of prototypes on rows kept apart, then fit all rows with it.

    Parameters
    ----------
    estimator : SuperSparseClassifier or SuperSparseRegressor
        Its parameters count, but for `n_prototypes`; it is not changed.
    X : array-like of shape (n_samples, n_features)
        Training rows; every value is finite.
    y : array-like of shape (n_samples,)
        Class of each row, or the number to predict.
    sizes : sequence of int
        Numbers of prototypes to try, falling.
    price : float, optional
        Error rate, or mean absolute error in standard deviations of y, that one
        prototype less may cost; 0.0005 and 0.01 otherwise.
    validation : float
        Share of the rows that choose.
    seed : int
        Seed that draws the rows kept apart.

    Returns
    -------
    SuperSparseClassifier or SuperSparseRegressor
        A fitted copy.
    """
    from sklearn.model_selection import train_test_split

    X, y = np.asarray(X), np.asarray(y)
    counts = is_classifier(estimator)
    learned, held_out = train_test_split(
        np.arange(len(y)),
        test_size=validation,
        random_state=seed,
        stratify=y if counts else None,
    )
    problem = clone(estimator).problem(X[learned], y[learned])
    losses = []
    for fitted in prune_path(estimator, problem, sizes):
        predicted = fitted.predict(X[held_out])
        if counts:
            losses.append(float(np.mean(predicted != y[held_out])))
        else:
            unit = float(np.std(y[learned])) or 1.0
            losses.append(float(np.abs(predicted - y[held_out]).mean()) / unit)
    if price is None:
        price = CLASSIFICATION_PRICE if counts else REGRESSION_PRICE
    size = choose_size(sizes, losses, price)
    return clone(estimator).set_params(n_prototypes=size).fit(X, y)
