"""Proximal maps and projections against their definitions."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from smpcore.solvers.prox import Penalty, fusion_prox, project_l1_ball
from tests.smpcore.methods.smp_oracle import make_case

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


def prox(case, U, tau, Y):
    """W after one call of the kernel, which moves Y."""
    (pairs, n), W = Y.shape, np.empty_like(U)
    room = np.zeros((pairs, n)), np.zeros(pairs), np.empty(n)
    penalty = Penalty(case.starts, case.copies, case.units, case.lam, *case.net)
    fusion_prox(U, tau, penalty, 1e-12, W, Y, room)
    return W


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize(
    ("sizes", "lam"), [((2, 2), 0.3), ((3, 1, 4), 0.3), ((1, 1), 0.5), ((2, 3), 0.0)]
)
def test_fusion_prox_agrees_with_an_interior_point_method(sizes, lam, copies):
    case = make_case(sizes=sizes, lam=lam, mu=0.2, copies=copies)
    U, tau = np.random.default_rng(1).normal(size=case.shape), 0.7
    Y, (l1, l2) = np.zeros((len(case.pairs), case.shape[1])), case.net
    for _ in range(60):  # the kernel cuts short; its duals are the warm start
        W = prox(case, U, tau, Y)
        assert (np.abs(Y).sum(axis=1) <= case.radius * (1 + 1e-12)).all()
    V = cp.Variable(case.shape)
    cost = cp.sum_squares(V - U) / (2 * tau)
    cost += cp.sum(cp.multiply(l1, cp.abs(V)))
    cost += cp.sum(cp.multiply(l2, cp.square(V))) / 2
    for radius, (i, j) in zip(case.radius, case.pairs, strict=True):
        cost += radius * cp.norm_inf(V[i] - V[j])
    cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(W, V.value, atol=2e-5)
