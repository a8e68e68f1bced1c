"""Proximal maps and projections against their definitions."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from smpcore.solvers.prox import fusion_prox, project_l1_ball, soft_threshold
from tests.smpcore.solvers.oracle import make_case

NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
VECTORS = hnp.arrays(np.float64, st.integers(1, 30), elements=NUMBERS)
SIZES = st.floats(1e-3, 1e6)


def sorted_projection(v, radius):
    """Duchi et al. (2008): sort, cumulate, threshold."""
    if np.abs(v).sum() <= radius:
        return v.copy()
    u = -np.sort(-np.abs(v))
    levels = (np.cumsum(u) - radius) / np.arange(1, len(v) + 1)
    level = levels[np.flatnonzero(u > levels)[-1]]
    return np.sign(v) * np.maximum(np.abs(v) - level, 0.0)


@given(NUMBERS, st.floats(0, 1e6))
def test_soft_threshold_minimises(x, t):
    w = soft_threshold(x, t)
    assert w == np.sign(x) * max(abs(x) - t, 0.0)
    slope = w - x  # of (w - x)^2 / 2; t * sign(w) must answer it
    assert abs(slope) <= t + 1e-9 if w == 0 else slope == pytest.approx(-t * np.sign(w))


@given(VECTORS, SIZES, st.floats(0, 1e6))
def test_projection_is_the_nearest_point_from_any_start(v, radius, level):
    w = v.copy()
    project_l1_ball(w, radius, np.ones(w.size), level)
    scale = max(1.0, np.abs(v).max())
    np.testing.assert_allclose(w, sorted_projection(v, radius), atol=1e-9 * scale)
    assert np.abs(w).sum() <= radius * (1 + 1e-12) + 1e-9 * scale


@pytest.mark.parametrize("radius", [0.0, 5e-324, 1e-20])
@pytest.mark.parametrize("level", [0.0, 0.5, 7.0])
def test_projection_on_next_to_nothing_ends(radius, level):
    v = np.array([3.0, -1.0, 3.0])
    project_l1_ball(v, radius, np.ones(v.size), level)
    assert np.abs(v).sum() <= 1e-15


@given(VECTORS, SIZES)
def test_projecting_twice_changes_nothing(v, radius):
    project_l1_ball(v, radius, np.ones(v.size), 0.0)
    w = v.copy()
    project_l1_ball(w, radius, np.ones(w.size), 0.0)
    np.testing.assert_allclose(w, v, rtol=1e-12, atol=1e-9 * max(1.0, radius))


@given(VECTORS, SIZES, st.integers(0, 2**31))
def test_projection_brings_points_closer(v, radius, seed):
    w = v + np.random.default_rng(seed).normal(size=v.shape)
    apart = np.linalg.norm(v - w)
    project_l1_ball(v, radius, np.ones(v.size), 0.0)
    project_l1_ball(w, radius, np.ones(w.size), 0.0)
    assert np.linalg.norm(v - w) <= apart * (1 + 1e-9) + 1e-6


def prox(case, U, tau, Y, tol=1e-12):
    """W and Y after one call of the kernel."""
    pairs, n = Y.shape
    W = np.empty_like(U)
    starts = np.searchsorted(
        case.prototype_labels, np.arange(case.prototype_labels[-1] + 2)
    )
    fusion_prox(
        U, starts, tau, case.lam, case.l1, case.l2, case.copies, case.units, tol,
        W, Y, np.zeros((pairs, n)), np.zeros(pairs), np.empty(n),
    )  # fmt: skip
    return W


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("sizes", [(2, 2), (3, 1, 4)])
def test_fusion_prox_agrees_with_an_interior_point_method(sizes, copies):
    case = make_case(sizes=sizes, lam=0.3, mu=0.2, copies=copies)
    U, tau = np.random.default_rng(1).normal(size=case.shape), 0.7
    Y = np.zeros((len(case.pairs), case.shape[1]))
    for _ in range(60):  # the kernel cuts short; its duals are the warm start
        W = prox(case, U, tau, Y)
    V = cp.Variable(case.shape)
    cost = cp.sum_squares(V - U) / (2 * tau)
    cost += cp.sum(cp.multiply(case.l1, cp.abs(V)))
    cost += cp.sum(cp.multiply(case.l2, cp.square(V))) / 2
    for radius, (i, j) in zip(case.radius, case.pairs, strict=True):
        cost += radius * cp.norm_inf(V[i] - V[j])
    cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(W, V.value, atol=2e-5)


@given(st.integers(0, 1000), st.floats(0, 5), st.floats(0.01, 10))
@settings(max_examples=50)
def test_fusion_prox_keeps_its_duals_feasible(seed, lam, tau):
    case = make_case(seed, m=20, sizes=(2, 3), lam=lam, mu=0.1, copies=True)
    U = 3 * np.random.default_rng(seed).normal(size=case.shape)
    Y = np.zeros((len(case.pairs), case.shape[1]))
    prox(case, U, tau, Y)
    assert (np.abs(Y).sum(axis=1) <= case.radius * (1 + 1e-12) + 1e-12).all()


@pytest.mark.parametrize(("sizes", "lam"), [((1, 1, 1), 0.5), ((2, 3), 0.0)])
def test_without_fusion_it_is_the_elastic_net(sizes, lam):
    case = make_case(sizes=sizes, lam=lam, mu=0.3)
    U, tau = np.random.default_rng(2).normal(size=case.shape), 0.4
    W = prox(case, U, tau, np.zeros((len(case.pairs), case.shape[1])))
    shrunk = np.sign(U) * np.maximum(np.abs(U) - tau * case.l1, 0.0)
    np.testing.assert_allclose(W, shrunk / (1.0 + tau * case.l2), rtol=1e-14)
