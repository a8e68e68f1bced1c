"""SMaLL's kernels: norm, projections, certificates, exact optima."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from smpcore.methods.smallk.kernel_support_norm import (
    project_shares,
    squared_support_norm,
    sum_largest_squares,
    support_norm_prox,
)
from smpcore.methods.smallk.problem import SMaLLState
from smpcore.solvers.iterations import CONVERGED, DIVERGED, ITERATION_LIMIT, STOPPED
from tests.smpcore.methods.smallk_oracle import make_sparse_case

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
def test_norm_is_the_published_formula_and_its_shares_attain_it(v, share):
    case = make_sparse_case().but(k=some_k(v, share))
    value, shares = norm_and_shares(v, case.k)
    assert value == pytest.approx(case.squared_norm(v), rel=1e-9)
    assert ((shares >= 0) & (shares <= 1)).all()
    assert shares.sum() <= case.k * (1 + 1e-12)
    some = np.abs(v) > 1e-100 * max(1.0, np.abs(v).max())
    assert (v[some] ** 2 / shares[some]).sum() == pytest.approx(value, rel=1e-9)


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
    assert largest == pytest.approx(np.sort((v - x) ** 2)[-k:].sum(), rel=1e-12)
    assert largest == pytest.approx(beta**2 * value, rel=1e-6, abs=1e-9 * scale)


@pytest.mark.parametrize("v", [[0.0, 0, 0], [3.0, 0, 0], [2.0, 2, 2], [1e-200, 1, 0]])
def test_prox_and_norm_of_zeros_and_ties(v):
    v, x = np.array(v), np.empty(3)
    for k in (1, 2):
        support_norm_prox(v, 0.5, k, np.empty((2, 3)), x)
        assert (np.abs(x) <= np.abs(v)).all()
        value, shares = norm_and_shares(v, k)
        equal = len(set(v)) == 1
        assert value == pytest.approx(v.sum() ** 2 / k if equal else v.max() ** 2)
        assert shares.sum() <= k


@given(VECTORS, SHARE)
def test_projection_on_shares_is_the_nearest(v, share):
    """No feasible point lies on the other side of it than what is projected."""
    k, e = some_k(v, share), v / 1e5
    near = e.copy()
    project_shares(near, k, np.empty((2, len(v))))
    assert ((near >= 0) & (near <= 1)).all()
    assert near.sum() <= k + 1e-9
    rng = np.random.default_rng(0)
    for _ in range(5):
        other = rng.uniform(size=len(v))
        other *= min(1.0, k / other.sum())
        assert (e - near) @ (other - near) <= 1e-9 * (1 + np.abs(e).sum())


def certified(case, solution, farthest):
    """Whether a solution is what it says, and this far above the optimum at most."""
    optimum, last = case.solve_exactly(), solution.objective[-1]
    assert solution.status == CONVERGED
    assert len(solution.objective) == len(solution.gap) == solution.n_iter + 1
    assert last == pytest.approx(case.relaxed(solution.W), rel=1e-9)
    assert optimum * (1 - 1e-6) <= last <= optimum * farthest
    assert (solution.objective - solution.gap <= optimum * (1 + 1e-7)).all()
    assert not solution.W[: case.first].any()


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("loss", ["smooth", "max", "hinge"])
@pytest.mark.parametrize("name", EXACT)
def test_relaxation_is_the_interior_point_optimum(name, loss):
    case, tol = EXACT[name].but(loss=loss), 3e-7 if loss == "smooth" else 1e-4
    solution = case.solve(tol, max_iter=20_000)
    certified(case, solution, 1 + 1e-6 if loss == "smooth" else 1 + 1.01e-4)


@pytest.mark.parametrize("name", ["k=2, p=2", "three classes", "few positives"])
def test_mirror_prox_comes_to_the_same_relaxation(name):
    case = EXACT[name].but(lam=0.2, solver="mirror-prox")
    certified(case, case.solve(1e-3), 1 + 1e-3)


@pytest.mark.parametrize("name", ["k=2, p=2", "few positives", "three classes"])
def test_refits_are_ridge_optima(name):
    case = EXACT[name]
    chosen = np.random.default_rng(0).uniform(size=(case.shape[0], case.n_features))
    support = chosen.argsort(axis=1) < case.k
    support[: case.first] = False
    solution = case.solve(1e-8, support=support)
    assert solution.status == CONVERGED
    last = solution.objective[-1]
    assert last == pytest.approx(case.integer(solution.W), rel=1e-10)
    assert last == pytest.approx(case.solve_exactly(support), rel=1e-7)
    assert not solution.W[:, : case.n_features][~support].any()
    given_up = case.solve(1e-8, support=support, ceiling=0.9 * last)
    assert given_up.status == ITERATION_LIMIT and given_up.n_iter < solution.n_iter


def test_a_warm_start_at_the_solution_is_done_at_once():
    case = EXACT["three classes"]
    cold = case.solve(1e-4)
    warm = case.solve(1e-4, state=SMaLLState((cold.W,), (), (cold.curvature,)))
    assert warm.n_iter <= 1 < 5 < cold.n_iter
    assert warm.objective[-1] == pytest.approx(cold.objective[-1], rel=1e-4)


@pytest.mark.parametrize("solver", ["fista", "mirror-prox"])
def test_statuses_progress_and_recorded_steps(solver):
    case = make_sparse_case(1).but(solver=solver)
    stop, progress = np.ones(1, dtype=np.int64), np.zeros(1)
    stopped = case.solve(1e-9, stop=stop, progress=progress)
    assert (stopped.status, stopped.n_iter, progress[0]) == (STOPPED, 0, 1.0)
    limited = case.solve(1e-9, max_iter=4, record=2)
    assert (limited.status, limited.n_iter) == (ITERATION_LIMIT, 4)
    assert limited.steps.shape == (3, *case.shape)
    np.testing.assert_array_equal(limited.steps[-1], limited.W)
    case.X[:] = np.nan
    assert case.solve(1e-9).status == DIVERGED
