"""Multi-prototype SVM in slow, plain NumPy, and its exact optimum."""

from collections import namedtuple

import cvxpy as cp
import numpy as np

from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.mprotsvm.fit import Descent

#: All that the specification says of one point.
Judged = namedtuple("Judged", "primal free dual infeasible violation")


def dense(state):
    """Masses (n, R): own ones in the assigned column, rivals elsewhere."""
    n = len(state.assignment)
    A = np.zeros((n, len(state.prototype_labels)))
    row = np.repeat(np.arange(n), state.count)
    A[row, state.index] = state.value
    A[np.arange(n), state.assignment] = np.bincount(row, state.value, n)
    return A


def judge_slowly(problem, state, C):
    """Objectives, feasibility and optimality, row by row."""
    K = problem.X @ problem.X.T if problem.gram is None else problem.gram * 1.0
    A, limits = dense(state), C * problem.shares
    own = state.prototype_labels == problem.y_encoded[:, None]
    B = np.where(own, A, -A)
    F = K @ B
    norm = 0.5 * (B * F).sum()
    loss = free = violation = infeasible = 0.0
    for i, y in enumerate(state.assignment):
        rivals = np.flatnonzero(~own[i])
        slack = np.maximum(0, 1 - F[i, own[i]] + F[i, rivals].max())
        loss += limits[i] * max(0, 1 - F[i, y] + F[i, rivals].max())
        free += limits[i] * slack.min()
        others = np.setdiff1d(np.flatnonzero(own[i]), [y])
        s = A[i, y]
        infeasible = max(
            infeasible,
            -A[i].min(),
            abs(s - A[i, rivals].sum()),
            (s - limits[i]) / limits[i],
            np.abs(A[i, others]).max(initial=0.0),
        )
        g = np.append(1 - F[i, y] + F[i, rivals], 0.0)
        mass = np.append(A[i, rivals], (limits[i] - s) * (s < limits[i] * (1 - 1e-9)))
        violation = max(violation, g.max() - g[mass > 0].min())
    mass = A[np.arange(len(A)), state.assignment].sum()
    return Judged(norm + loss, norm + free, mass - norm, infeasible, violation)


def solve_exactly(X, y_encoded, assign, prototype_labels, limits):
    """Optimum for fixed assignments by an interior-point method."""
    M = cp.Variable((len(prototype_labels), X.shape[1]))
    slack = cp.Variable(len(X), nonneg=True)
    constraints = []
    for i, x in enumerate(X):
        rivals = np.flatnonzero(prototype_labels != y_encoded[i])
        constraints.append(slack[i] >= 1 - M[assign[i]] @ x + M[rivals] @ x)
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(M) + limits @ slack), constraints
    )
    problem.solve(solver=cp.CLARABEL)
    return problem.value


def make_descent(seed=0, n=60, q=2, C=0.3, kernel="linear", **more):
    """Three classes of two hills each, ready for sweeps."""
    rng = np.random.default_rng(seed)
    hills = 2.0 * rng.normal(size=(6, 3))
    hill = rng.integers(6, size=n)
    X = hills[hill] + rng.normal(size=(n, 3))
    weights = rng.uniform(0.5, 2.0, size=n)
    svc = MultiPrototypeSVC(q, C, kernel=kernel, random_state=seed, **more)
    problem = svc.problem(X, hill % 3, weights)
    stop = np.zeros(1, dtype=np.int64)
    return Descent(problem, C, 1e-2, None, stop)
