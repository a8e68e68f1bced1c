"""Proximal Newton steps of two prototypes, against the formulas."""

import numpy as np
import pytest

from smpcore.solvers.iterations import CONVERGED
from smpcore.solvers.newton import newton_step, row_metric
from tests.smpcore.methods.smp_oracle import make_case


def metric(case, miss, active):
    """The kernel's metric, from blocks of seven rows."""
    k = len(active)
    H, part = np.empty((k, k)), np.empty((k, k))
    row_metric(case.X, case.weights, miss, active, np.empty(7 * k), part, H)
    return H


def test_metric_is_the_curvature_of_opposite_moves():
    case = make_case(m=60, sizes=(1, 1), weighted=True)
    rng = np.random.default_rng(0)
    W, d = rng.normal(size=(2, *case.shape))
    d[1] = -d[0]
    miss = np.array([p for *_, p in case.per_example(W)])
    H, h = metric(case, miss, np.arange(case.shape[1])), 1e-5
    up, down = (case.gradient(W + t * d) for t in (h, -h))
    np.testing.assert_allclose((up - down) / (2 * h), d @ H, atol=1e-8)
    few = np.array([0, 2])
    np.testing.assert_allclose(metric(case, miss, few), H[np.ix_(few, few)])


def test_step_minimises_the_model():
    case = make_case(m=60, n=6, sizes=(1, 1), mu=0.05, eta=0.5)
    W, n = np.zeros(case.shape), case.shape[1]
    G, active = case.gradient(W), np.arange(case.shape[1])
    H, moved = metric(case, np.full(60, 0.5), active), np.empty(case.shape)
    l1, l2 = case.net
    newton_step(W, G, H, l1, l2, active, np.empty(n), moved)
    slope, at = G + moved @ H + l2 * moved, moved != 0
    assert at.any() and not at.all()
    np.testing.assert_allclose(slope[at], (-l1 * np.sign(moved))[at], atol=1e-4)
    assert (np.abs(slope[~at]) <= l1[~at] + 1e-4).all()


@pytest.mark.parametrize("mu", [0.1, 0.01, 0.001])
def test_few_steps_solve_l1_logistic_regression_of_correlated_columns(mu):
    case = make_case(1, m=200, n=8, sizes=(1, 1), mu=mu, eta=0.0)
    case.X[:, 1] = case.X[:, 0] + 0.01 * case.X[:, 1]
    solution = case.solve(1e-6)
    assert solution.status == CONVERGED and solution.n_iter <= 12
