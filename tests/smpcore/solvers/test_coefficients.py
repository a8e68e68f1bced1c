"""Best coefficients where errors up to epsilon are free, held to slow peers."""

import cvxpy as cp
import numpy as np
import pytest

from smpcore.methods.supersparse.problem import (
    Objective,
    evaluate,
)
from smpcore.methods.supersparse.rows import standard_rows
from smpcore.similarity import SMOOTH, Similarity
from smpcore.solvers.coefficients import WIDTH

N, D, M = 60, 4, 5


def case(seed=0, kind="rbf", epsilon=0.2, lam=1e-3):
    """An objective with weights and outliers, and prototypes."""
    rng = np.random.default_rng(seed)
    X, weights = rng.uniform(0.1, 1.0, size=(N, D)), rng.uniform(0.2, 1.0, size=N)
    y = np.sin(4 * X[:, :1]) + 0.3 * rng.standard_t(1.5, size=(N, 1))
    rows = standard_rows(X, y, weights / weights.sum(), kind)
    how = Similarity(kind, gamma=2.0, degree=3, coef0=0.7)
    return Objective(rows, how, lam, epsilon), rng.uniform(0.1, 1.0, size=(M, D))


def exact(objective, Z, rounded):
    """What an interior-point method gives, with the kink or with it rounded."""
    S, beta, b = objective.similarities(Z), cp.Variable(len(Z)), cp.Variable()
    errors = cp.abs(S @ beta + b - objective.rows.Y[0]) - objective.free
    beyond = cp.pos(errors)
    loss = WIDTH / 2 * cp.huber(beyond / WIDTH, 1) if rounded else beyond
    ridge = objective.lam * cp.sum_squares(beta)
    problem = cp.Problem(cp.Minimize(objective.rows.weights @ loss + ridge))
    problem.solve(solver="CLARABEL")
    return problem.value


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7])
def test_coefficients_are_the_best_and_the_rounded_kink_costs_little(epsilon):
    objective, Z = case(epsilon=epsilon)
    F = evaluate(objective, Z)[0]
    assert F == pytest.approx(exact(objective, Z, rounded=True), rel=1e-7)
    assert 0 <= exact(objective, Z, rounded=False) - F <= WIDTH / 2


@pytest.mark.parametrize("kind", SMOOTH)
def test_the_gradient_is_the_slope_of_the_objective(kind):
    objective, Z = case(1, kind)
    rng = np.random.default_rng(2)
    G = evaluate(objective, Z)[1]
    for _ in range(3):
        along = rng.normal(size=Z.shape)
        ends = (evaluate(objective, Z + t * along)[0] for t in (1e-5, -1e-5))
        slope = np.subtract(*ends) / 2e-5
        assert (G * along).sum() == pytest.approx(slope, rel=1e-3, abs=1e-7)
