"""SMaLL's kernels: norm, projections, certificates, exact optima."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from smpcore.methods.smallk.kernel_mirror_prox import pull, step_is_safe
from smpcore.methods.smallk.kernel_support_norm import (
    project_shares,
    squared_support_norm,
    sum_largest_squares,
    support_norm_prox,
)
from smpcore.solvers.iterations import CONVERGED, DIVERGED, ITERATION_LIMIT, STOPPED
from tests.smpcore.solvers.smallk_oracle import make_sparse_case, random_shares

#: Problems that are solved exactly; name -> case.
EXACT = {
    "k=1, p=1": make_sparse_case(0, k=1, p=1),
    "k=2, p=2": make_sparse_case(1),
    "k=3, p=3, no bias": make_sparse_case(2, k=3, p=3, bias=False),
    "k=4, p=4, weights": make_sparse_case(3, k=4, p=4, weighted=True),
    "k=5, little ridge": make_sparse_case(4, k=5, lam=0.003),
    "few positives": make_sparse_case(5, positive=0.15),
    "much ridge, no bias": make_sparse_case(6, lam=1.0, bias=False, m=40),
    "three classes": make_sparse_case(7, n_classes=3, positive=0.7),
    "four classes, no bias": make_sparse_case(8, n_classes=4, p=1, k=1, bias=False),
    "three classes, weights": make_sparse_case(
        9, n_classes=3, p=3, k=3, lam=0.01, weighted=True
    ),
}

NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
VECTORS = hnp.arrays(np.float64, st.integers(2, 30), elements=NUMBERS)
SHARE = st.floats(0.01, 0.99)


def some_k(v, share):
    """A number of weights from 1 to one less than there are."""
    return 1 + int(share * (len(v) - 1))


def norm_and_shares(v, k):
    shares = np.empty(len(v))
    return squared_support_norm(v, k, shares, np.empty((2, len(v)))), shares


@given(VECTORS, SHARE)
def test_norm_is_the_published_formula(v, share):
    case = replace(make_sparse_case(), k=some_k(v, share))
    value, _ = norm_and_shares(v, case.k)
    assert value == pytest.approx(case.squared_norm(v), rel=1e-9)


@given(VECTORS, SHARE, st.integers(0, 10**6))
def test_shares_are_feasible_and_no_others_cost_less(v, share, seed):
    k = some_k(v, share)
    value, shares = norm_and_shares(v, k)
    assert ((shares >= 0) & (shares <= 1)).all()
    assert shares.sum() <= k * (1 + 1e-12)
    some = np.abs(v) > 1e-100 * max(1.0, np.abs(v).max())
    assert (v[some] ** 2 / shares[some]).sum() == pytest.approx(value, rel=1e-9)
    other = np.random.default_rng(seed).uniform(1e-3, 1.0, size=len(v))
    other *= min(1.0, k / other.sum())
    assert value <= (v**2 / other).sum() * (1 + 1e-12)


@given(VECTORS, SHARE)
def test_conjugate_is_the_sum_of_the_largest_squares(v, share):
    k, sizes = some_k(v, share), np.empty((2, len(v)))
    expected = np.sort(v**2)[-k:].sum()
    assert sum_largest_squares(v, k, sizes) == pytest.approx(expected, rel=1e-12)


@given(VECTORS, SHARE, st.floats(1e-3, 1e3))
def test_prox_solves_its_optimality_conditions(v, share, beta):
    """x is the prox iff x . z = beta |x|^2 and |z|_dual^2 = beta^2 |x|^2, z = v - x."""
    k, n = some_k(v, share), len(v)
    x, sizes = np.empty(n), np.empty((2, n))
    support_norm_prox(v, beta, k, sizes, x)
    value, _ = norm_and_shares(x, k)
    scale = max((v**2).sum(), 1e-300)
    assert x @ (v - x) == pytest.approx(beta * value, rel=1e-6, abs=1e-9 * scale)
    largest = sum_largest_squares(v - x, k, sizes)
    assert largest == pytest.approx(beta**2 * value, rel=1e-6, abs=1e-9 * scale)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_prox_matches_an_interior_point_method(k):
    rng = np.random.default_rng(k)
    for beta in (0.05, 1.0, 20.0):
        v = rng.normal(size=5) * rng.integers(1, 4, size=5)
        x, e, cost = cp.Variable(5), cp.Variable(5, nonneg=True), cp.Variable(5)
        cone = cp.SOC(cost + e, cp.vstack([2 * x, cost - e]), axis=0)
        goal = 0.5 * cp.sum_squares(x - v) + 0.5 * beta * cp.sum(cost)
        cp.Problem(cp.Minimize(goal), [e <= 1, cp.sum(e) <= k, cone]).solve()
        found = np.empty(5)
        support_norm_prox(v, beta, k, np.empty((2, 5)), found)
        np.testing.assert_allclose(found, x.value, atol=2e-4)


@pytest.mark.parametrize("v", [[0.0, 0, 0], [3.0, 0, 0], [2.0, 2, 2], [1e-200, 1, 0]])
def test_prox_and_norm_of_zeros_and_ties(v):
    v, x = np.array(v), np.empty(3)
    for k in (1, 2):
        support_norm_prox(v, 0.5, k, np.empty((2, 3)), x)
        assert np.isfinite(x).all()
        assert (np.abs(x) <= np.abs(v)).all()
        value, shares = norm_and_shares(v, k)
        assert value == pytest.approx(
            v.sum() ** 2 / k if len(set(v)) == 1 else v.max() ** 2
        )
        assert shares.sum() <= k


@given(VECTORS, SHARE)
def test_projection_on_shares_is_feasible_idempotent_and_near(v, share):
    k, sizes = some_k(v, share), np.empty((2, len(v)))
    e = v / 1e5
    projected = e.copy()
    project_shares(projected, k, sizes)
    assert ((projected >= 0) & (projected <= 1)).all()
    assert projected.sum() <= k + 1e-9
    again = projected.copy()
    project_shares(again, k, sizes)
    np.testing.assert_allclose(again, projected, atol=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(5):
        other = rng.uniform(size=len(v))
        other *= min(1.0, k / other.sum())
        assert (e - projected) @ (other - projected) <= 1e-9 * (1 + np.abs(e).sum())


def test_projection_on_shares_does_not_cut_first():
    """Cutting (3, 0.9) at 1 before looking for the threshold gives (0.55, 0.45)."""
    e = np.array([3.0, 0.9])
    project_shares(e, 1, np.empty((2, 2)))
    np.testing.assert_allclose(e, [1.0, 0.0])
    rng = np.random.default_rng(1)
    for k in (1, 2, 3):
        point, x = rng.normal(size=6) * 3, cp.Variable(6)
        goal = cp.Minimize(cp.sum_squares(x - point))
        cp.Problem(goal, [x >= 0, x <= 1, cp.sum(x) <= k]).solve()
        project_shares(point, k, np.empty((2, 6)))
        np.testing.assert_allclose(point, x.value, atol=1e-4)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("name", EXACT)
def test_relaxation_is_the_interior_point_optimum(name):
    case = EXACT[name]
    W, status, n_iter, objectives, gaps, _, _ = case.solve(3e-7)
    _, primal = case.solve_primal()
    assert status == CONVERGED
    assert len(objectives) == len(gaps) == n_iter + 1
    assert objectives[-1] == pytest.approx(case.relaxed(W), rel=1e-10)
    assert objectives[-1] == pytest.approx(primal, rel=1e-6)
    assert case.solve_dual() == pytest.approx(primal, rel=1e-6)
    assert ((objectives - gaps) <= primal * (1 + 1e-7)).all()
    assert not W[: case.first].any()


@pytest.mark.parametrize("loss", ["max", "hinge"])
@pytest.mark.parametrize("name", EXACT)
def test_other_losses_are_certified_too(name, loss):
    case = replace(EXACT[name], loss_name=loss)
    W, status, _, objectives, gaps, _, _ = case.solve(1e-4, max_iter=20_000)
    _, primal = case.solve_primal()
    assert status == CONVERGED
    assert objectives[-1] == pytest.approx(case.relaxed(W), rel=1e-10)
    assert primal * (1 - 1e-7) <= objectives[-1] <= primal * (1 + 1.01e-4)
    assert ((objectives - gaps) <= primal * (1 + 1e-7)).all()


@pytest.mark.parametrize("name", ["k=2, p=2", "three classes", "few positives"])
def test_mirror_prox_comes_to_the_same_relaxation(name):
    case = replace(EXACT[name], lam=0.2)
    W, status, _, objectives, gaps, _, _ = case.solve_mirror_prox(1e-3, 5000)
    optimum = case.solve(1e-7)[3][-1]
    assert status == CONVERGED
    assert objectives[-1] == pytest.approx(case.relaxed(W), rel=1e-9)
    assert optimum * (1 - 1e-9) <= objectives[-1] <= optimum * (1 + 1e-3)
    assert ((objectives - gaps) <= optimum * (1 + 1e-7)).all()


@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.booleans())
@settings(max_examples=50)
def test_every_bound_lies_below_every_objective(seed, n_classes, bias):
    case = make_sparse_case(seed, m=25, n_classes=n_classes, bias=bias, weighted=True)
    rng = np.random.default_rng(seed)
    W = rng.normal(size=case.shape) * rng.choice([0.1, 1.0, 3.0])
    W[: case.first] = 0.0
    bound = case.dual(random_shares(case, rng))
    assert bound <= case.relaxed(W)
    assert bound <= case.solve(1e-2)[3][-1]


@pytest.mark.parametrize("name", ["k=3, p=3, no bias", "three classes, weights"])
def test_gradients_are_slopes(name):
    case = EXACT[name]
    rng = np.random.default_rng(0)
    W, step = rng.normal(size=(2, *case.shape))
    W[: case.first] = step[: case.first] = 0.0
    h = 1e-6
    slope = (case.loss(W + h * step) - case.loss(W - h * step)) / (2 * h)
    found = (case.gradient(case.share(W)) * step).sum()
    assert found == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("name", ["k=2, p=2", "three classes, weights"])
def test_slopes_of_the_saddle_problem(name):
    case = EXACT[name]
    rng = np.random.default_rng(0)
    (m, N), n = case.allowed.shape, case.shape[1]
    share, e = random_shares(case, rng), rng.uniform(0.1, 1.0, size=case.shape)
    A = np.where(case.tied > 0, 0.0, share)
    D, slope, Z, M = np.empty((m, N)), np.empty((m, N)), np.empty((N, n)), e.copy()
    entropy = pull(
        case.X, case.y_encoded, case.assign, case.weights, case.prototype_labels,
        case.first, case.ridge, e, A, D, Z, M, slope,
    )  # fmt: skip
    assert entropy == pytest.approx(case.entropy(share), rel=1e-10)
    np.testing.assert_allclose(Z, case.gradient(share), atol=1e-12)

    def value(e, A):
        return case.saddle(e, A + case.tied * (1 - A.sum(axis=1, keepdims=True)))

    h, own = 1e-6, (share * case.tied).sum(axis=1, keepdims=True)
    toward = np.where(A > 0, rng.normal(size=A.shape) * A * own, 0.0)
    numeric = (value(e, A + h * toward) - value(e, A - h * toward)) / (2 * h)
    found = (case.weights[:, None] * slope * toward).sum()
    assert found == pytest.approx(numeric, rel=1e-5)
    step = rng.normal(size=e.shape)
    step[: case.first] = 0.0
    numeric = (value(e + h * step, A) - value(e - h * step, A)) / (2 * h)
    found = -(Z**2 / (2 * case.ridge) * step).sum()
    assert found == pytest.approx(numeric, rel=1e-5)


def test_a_step_is_safe_if_slopes_hardly_change():
    one, zero = np.ones((2, 3)), np.zeros((2, 3))
    arguments = (np.full(2, 0.5), 0, 2, np.ones(3), zero, one, zero, zero, one, zero)
    assert step_is_safe(1.0, *arguments, one, one, one, one)
    assert not step_is_safe(1e6, *arguments, one, zero, one, zero)


def test_two_classes_are_the_papers_loss():
    case = EXACT["k=4, p=4, weights"]
    W = np.random.default_rng(0).normal(size=case.shape)
    W[0] = 0.0
    assert case.loss(W) == pytest.approx(case.paper_loss(W), rel=1e-12)


@pytest.mark.parametrize("name", ["k=2, p=2", "few positives", "three classes"])
def test_refits_are_ridge_optima(name):
    case = EXACT[name]
    rng = np.random.default_rng(0)
    for _ in range(4):
        chosen = rng.uniform(size=(case.shape[0], case.n_features)).argsort(axis=1)
        support = chosen < case.k
        W, status, _, objectives, gaps, _, _ = case.solve(1e-8, support=support)
        assert status == CONVERGED
        assert objectives[-1] == pytest.approx(case.integer(W), rel=1e-10)
        assert objectives[-1] == pytest.approx(case.refit(support), rel=1e-7)
        assert not W[:, : case.n_features][~support].any()
        assert gaps[-1] >= -1e-12


def test_relaxation_is_below_every_sparse_model():
    for seed in range(3):
        case = make_sparse_case(seed, n=5, m=40)
        relaxed = case.solve(1e-6)[3][-1]
        assert relaxed <= case.best_by_enumeration() * (1 + 1e-7)


@pytest.mark.parametrize("name", ["k=2, p=2", "three classes"])
def test_relaxation_falls_with_k_and_rises_with_lam(name):
    case = EXACT[name]
    by_k = [replace(case, k=k).solve(1e-7)[3][-1] for k in range(1, case.n_features)]
    full = np.ones((case.shape[0], case.n_features), dtype=bool)
    by_k.append(case.solve(1e-7, support=full)[3][-1])
    assert (np.diff(by_k) <= 1e-7).all()
    assert by_k[-1] == pytest.approx(case.refit(full), rel=1e-7)
    lams = (0.001, 0.01, 0.1, 1.0)
    by_lam = [replace(case, lam=lam).solve(1e-7)[3][-1] for lam in lams]
    assert (np.diff(by_lam) >= -1e-7).all()


def test_order_of_prototypes_does_not_matter():
    case = EXACT["k=3, p=3, no bias"]
    order = np.array([0, 3, 1, 2])
    turned = replace(case, assign=order.argsort()[case.assign])
    first, second = case.solve(1e-9), turned.solve(1e-9)
    assert second[3][-1] == pytest.approx(first[3][-1], rel=1e-8)
    np.testing.assert_allclose(second[0], first[0][order], atol=1e-3)


def test_a_warm_start_at_the_solution_is_done_at_once():
    case = EXACT["three classes"]
    cold = case.solve(1e-4)
    assert cold[2] > 5
    warm = case.solve(1e-4, start=cold[0])
    assert warm[2] <= 1
    assert warm[3][-1] == pytest.approx(cold[3][-1], rel=1e-4)


def test_a_refit_gives_up_when_a_better_one_is_known():
    case = EXACT["k=2, p=2"]
    support = np.tile(np.arange(case.n_features) < case.k, (case.shape[0], 1))
    through = case.solve(1e-9, support=support)
    given_up = case.solve(1e-9, support=support, ceiling=0.9 * through[3][-1])
    assert given_up[1] == ITERATION_LIMIT
    assert given_up[2] < through[2]


def test_statuses_progress_and_recorded_steps():
    case = EXACT["k=2, p=2"]
    stop, progress = np.ones(1, dtype=np.int64), np.zeros(1)
    assert case.solve(1e-9, stop=stop, progress=progress)[1:3] == (STOPPED, 0)
    assert progress[0] == 1.0
    limited = case.solve(1e-9, max_iter=4, record=2)
    assert limited[1:3] == (ITERATION_LIMIT, 4)
    assert limited[5].shape == (3, *case.shape)
    np.testing.assert_array_equal(limited[5][-1], limited[0])
    paper = case.solve_mirror_prox(1e-12, 6, record=3)
    assert paper[1:3] == (ITERATION_LIMIT, 6)
    assert paper[5].shape == (3, *case.shape)
    broken = replace(case, X=case.X * np.nan)
    assert broken.solve(1e-9)[1] == DIVERGED
    assert broken.solve_mirror_prox()[1] == DIVERGED
