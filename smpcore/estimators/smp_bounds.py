"""Where the sliders of SMP end: certificates that all is merged, or all is zero."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone


def lambda_merge(estimator: Any, problem: Any) -> float:
    """Fusion from which on each class has certainly one prototype.

    At the optimum of the tied problem (one prototype per class that stands for all)
    the differences of the gradients give the duals of the fusion; they are feasible
    from this value on. It depends on the estimator's mu, eta and loss.

    Parameters
    ----------
    estimator : SMPClassifier
    problem : TiedProblem

    Returns
    -------
    float
    """
    copies = problem.sizes.astype(np.float64)
    tied = replace(problem, assign=problem.codes, owners=np.arange(len(copies)))
    W = estimator.run(tied, tied.assign, copies=copies)[0]
    pulls = problem.weights * _miss(estimator, problem, W, copies)
    pull = _sums(problem, pulls)
    largest = 0.0
    for number, size in enumerate(problem.sizes):
        if size > 1:
            own = pull[problem.owners == number]
            largest = max(largest, cdist(own, own, "cityblock").max() / size)
    # The tied optimum is known to a small gap only.
    return 1.02 * float(largest)


def mu_max(estimator: Any, problem: Any) -> float:
    """Sparsity from which on all feature weights are certainly zero.

    With a bias the best biases alone are solved first: at weights of zero the slopes
    of the loss must not exceed mu. As the ridge of the bias depends on mu, the value is
    raised until it suffices.

    Parameters
    ----------
    estimator : SMPClassifier
    problem : TiedProblem

    Returns
    -------
    float
    """
    sums = _sums(problem, problem.weights)
    if not problem.has_bias:
        flat = np.zeros(len(problem.owners))
        return float(np.abs(_flat_gradient(estimator, problem, flat) @ sums).max())
    ones = np.ones((len(problem.X), 1))
    biases = replace(problem, X=ones, center=np.empty(0), lipschitz=0.5)
    alone = clone(estimator).set_params(mu=0.0, tol=1e-8)
    while True:
        flat = alone.run(biases, problem.assign)[0][:, 0]
        slopes = _flat_gradient(estimator, problem, flat) @ sums[:, :-1]
        needed = float(np.abs(slopes).max(initial=0.0))
        if needed <= alone.mu:
            return float(alone.mu)
        alone.mu = 1.001 * needed


def _sums(problem: Any, weights: np.ndarray) -> np.ndarray:
    """Weighted sum of the rows tied to each prototype, (n_prototypes, n_columns)."""
    sums = np.empty((len(problem.owners), problem.X.shape[1]))
    order = np.argsort(problem.assign, kind="stable")
    ends = np.searchsorted(problem.assign[order], np.arange(len(sums) + 1))
    for j, (first, last) in enumerate(pairwise(ends)):
        rows = order[first:last]
        sums[j] = weights[rows] @ problem.X[rows]
    return sums


def _flat_gradient(estimator: Any, problem: Any, scores: np.ndarray) -> np.ndarray:
    """Derivative of the loss in each score, for rows whose scores are these constants.

    Returns
    -------
    ndarray of shape (n_prototypes, n_prototypes)
        Column a for rows tied to prototype a.
    """
    rival = problem.owners[:, None] != problem.owners[None, :]
    S = np.where(rival, scores[None, :], -np.inf)
    best, own = S.max(axis=1, keepdims=True), scores[:, None]
    if estimator.loss == "max":
        ties = best == S
        share = 1.0 / (1.0 + np.exp(own - best))
        Q = ties * share / ties.sum(axis=1, keepdims=True)
    else:
        top = np.maximum(best, own)
        E = np.exp(S - top)
        Q = E / (E.sum(axis=1, keepdims=True) + np.exp(own - top))
    return (Q - np.diag(Q.sum(axis=1))).T


def _miss(
    estimator: Any, problem: Any, W: np.ndarray, copies: np.ndarray
) -> np.ndarray:
    """Probability that rivals get each row, with one prototype per class."""
    S = problem.X @ W.T
    rows = np.arange(len(S))
    own = S[rows, problem.codes].copy()
    smooth = estimator.loss == "smooth"
    if smooth:
        S += np.log(copies)
    S[rows, problem.codes] = -np.inf
    top = S.max(axis=1)
    if smooth:
        top += np.log(np.exp(S - top[:, None]).sum(axis=1))
    return 1.0 / (1.0 + np.exp(np.clip(own - top, -700.0, 700.0)))
