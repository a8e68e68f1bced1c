"""Ends of SMP's sliders: where everything is fused, where everything is zero."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.dask_rows import is_dask
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.shared.row_blocks import ROWS_AT_ONCE, row_blocks
from smpcore.methods.smp.problem import SMPParameters, SMPProblem, solve_problem


def loss_gradient(problem: SMPProblem, W: np.ndarray) -> np.ndarray:
    """Gradient of the smooth loss."""
    gradient = np.zeros_like(W)
    for part, X in row_blocks(problem.X):
        assignment, rows = problem.assignment[part], np.arange(X.shape[0])
        own = problem.prototype_labels == problem.y_encoded[part][:, None]
        scores = X @ W.T
        kept = scores[rows, assignment]
        scores = np.where(own, -np.inf, scores + np.log(problem.copies))
        scores[rows, assignment] = kept
        share = np.exp(scores - scores.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        share[rows, assignment] -= 1.0
        gradient += (problem.weights[part][:, None] * share).T @ X
    return gradient


def lam_max(problem: SMPProblem, mu: float, eta: float) -> float:
    """Smallest lambda for which all prototypes of a class are certainly equal.

    At the solution tied within classes, with gradient G, the duals
    ``(G_j - G_i) / |J_c|`` certify that it is optimal for every lambda that, times the
    class's factor, is at least the largest of their l1 norms.
    """
    sizes = np.bincount(problem.prototype_labels).astype(np.float64)
    tied = replace(
        problem,
        assignment=problem.y_encoded,
        prototype_labels=np.arange(len(sizes)),
        copies=sizes,
        fusion=np.ones(len(sizes)),
    )
    W = solve_problem(tied, SMPParameters(0.0, mu, eta), SolverOptions(tol=1e-5)).W
    gradient = loss_gradient(problem, W[problem.prototype_labels])
    largest = 0.0
    for code, size in enumerate(sizes):
        of_class = problem.prototype_labels == code
        own, shrunk = gradient[of_class], size * problem.fusion[of_class][0]
        for i in range(len(own) - 1):
            difference = np.abs(own[i + 1 :] - own[i]).sum(axis=1).max() / shrunk
            largest = max(largest, float(difference))
    return largest


def mu_max(problem: SMPProblem, lam: float, eta: float) -> float:
    """Smallest mu, nearly, for which all feature weights are certainly zero.

    Without features only the bias of each prototype is left to solve for; mu must reach
    the largest gradient there. The bias depends on mu by its ridge: a fixed point.
    """
    n_prototypes, n = problem.n_prototypes, problem.n_features
    sums = np.zeros((n_prototypes, problem.X.shape[1]))
    for prototype in range(n_prototypes):
        rows = np.flatnonzero(problem.assignment == prototype)
        for part in np.array_split(rows, len(rows) // ROWS_AT_ONCE + 1):
            sums[prototype] += problem.weights[part] @ problem.X[part]
    mass = np.bincount(problem.assignment, problem.weights, n_prototypes)
    used = np.flatnonzero(mass > 0)
    bare = replace(
        problem,
        X=np.ones((len(used), 1)),
        y_encoded=problem.prototype_labels[used],
        weights=mass[used],
        assignment=used,
        center=np.empty(0),
        units=np.ones(1),
        lipschitz=0.5,
    )
    grouped = replace(bare, X=sums[used] / mass[used][:, None])

    def gradient_at(mu: float) -> float:
        W = np.zeros((n_prototypes, problem.X.shape[1]))
        if W.shape[1] > n:
            W[:, n:] = solve_problem(
                bare, SMPParameters(lam, mu, eta), SolverOptions(tol=1e-8)
            ).W
        return float(np.abs(loss_gradient(grouped, W)[:, :n]).max())

    mu = gradient_at(0.0)
    for _ in range(20):
        found = gradient_at(mu)
        if found <= mu <= (1.0 + 1e-6) * found:
            break
        mu = max(found, 0.5 * (mu + found)) * (1.0 + 1e-7)
    return mu


#: The last prototypes often merge at `lam_max` only: not at the very end of the slider.
BEYOND = 4.0


def slider_ranges(
    problem: SMPProblem, parameters: SMPParameters, start: str
) -> dict[str, tuple[float, float]]:
    """Useful ranges of `lam` and `mu`, up to `BEYOND` times `lam_max` and to `mu_max`.

    At prototypes of 0 the hinge pulls a row away from its rivals with weight 1, where
    the smooth loss does with 1 - 1 / |K| of its |K| prototypes, at least 1 / 2: the
    range of `mu` is twice as long.
    """
    if is_dask(problem.X):
        raise SmpcoreError(
            "The ranges of lam and mu are those of rows in memory; ask for them with a "
            "sample of the rows of the Dask array."
        )
    highest = {
        "lam": BEYOND * lam_max(problem, parameters.mu, parameters.eta),
        "mu": mu_max(problem, parameters.lam, parameters.eta)
        * (2.0 if parameters.loss == "hinge" else 1.0),
    }
    lowest = {"lam": 1e-6 if start == "each" else 1e-4, "mu": 1e-4}
    return {
        name: (min(lowest[name], high / 100), high) if high > 0 else (lowest[name], 0.4)
        for name, high in highest.items()
    }
