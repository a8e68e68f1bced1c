"""Both SMP solvers: certificates, exact optima, and what the specification promises."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpcore.methods.smp.kernel import dual_net, net_conjugate, penalty, step_curvature
from smpcore.solvers.iterations import CONVERGED, DIVERGED, ITERATION_LIMIT, STOPPED
from smpcore.solvers.losses import LOSSES, scaled_entropy
from tests.smpcore.solvers.oracle import make_case, random_point, with_net

#: Problems that are solved exactly; name -> case.
EXACT = {
    "p=2": make_case(0),
    "p=1": make_case(1, sizes=(1, 1, 1), lam=0.0),
    "p=5": make_case(2, m=90, sizes=(5, 5), lam=0.02, mu=0.005),
    "unequal classes": make_case(3, sizes=(1, 2, 4), lam=0.02),
    "no bias": make_case(4, bias=False),
    "eta=0": make_case(5, mu=0.02, eta=0.0),
    "mu=0": make_case(6, m=80, mu=0.0, eta=0.0, lam=0.03),
    "lam=0": make_case(7, lam=0.0),
    "weights": make_case(8, weighted=True),
    "copies": make_case(9, sizes=(1, 2, 3), copies=True),
    "each": make_case(10, m=24, sizes=(8, 8, 8), lam=0.002),
    "factors": replace(
        make_case(17, sizes=(2, 3), copies=True),
        fusion_factors=np.repeat([0.3, 4.0], (2, 3)),
    ),
    "two": make_case(18, sizes=(1, 1), weighted=True, lam=0.0),
    "two, eta=0": make_case(19, sizes=(1, 1), mu=0.02, eta=0.0),
    "two, mu=0": make_case(20, m=80, n=3, sizes=(1, 1), mu=0.0, eta=0.0),
    "two, copies": make_case(21, sizes=(1, 1), copies=True),
    "all fused": make_case(11, lam=3.0),
    "all zero": make_case(12, mu=2.0),
}
KERNELS = {"spg": "solve", "primal-dual": "solve_primal_dual"}


@pytest.mark.parametrize("name", EXACT)
def test_smooth_objective_is_the_interior_point_optimum(name):
    case = EXACT[name]
    W, Y, status, n_iter, objectives, gaps, _ = case.solve(3e-7, max_iter=20000)
    _, optimum = case.solve_exactly()
    assert status == CONVERGED
    assert len(objectives) == len(gaps) == n_iter + 1
    assert objectives[-1] == pytest.approx(case.objective(W), rel=1e-12)
    assert objectives[-1] == pytest.approx(optimum, rel=1e-6)
    assert objectives[-1] - gaps[-1] <= optimum * (1 + 1e-7)
    assert (np.abs(Y).sum(axis=1) <= case.radius * (1 + 1e-12)).all()


@pytest.mark.parametrize("loss", ["max", "hinge"])
@pytest.mark.parametrize("name", EXACT)
def test_annealed_objective_is_within_a_thousandth(name, loss):
    case = replace(EXACT[name], loss_name=loss)
    _, optimum = case.solve_exactly()
    W, _, status, _, objectives, gaps, _ = case.solve(9e-4, max_iter=20000)
    assert status == CONVERGED
    assert objectives[-1] == pytest.approx(case.objective(W), rel=1e-9)
    assert objectives[-1] <= optimum * (1 + 1e-3)
    assert objectives[-1] - gaps[-1] <= optimum * (1 + 1e-7)


@pytest.mark.parametrize(("loss", "farthest"), [("max", 1.03), ("hinge", 1.1)])
@pytest.mark.parametrize("name", ["p=2", "unequal classes", "weights"])
def test_max_losses_by_the_papers_algorithm(name, loss, farthest):
    """It takes steps along subgradients: near the optimum, and not much nearer."""
    case = replace(EXACT[name], loss_name=loss)
    _, optimum = case.solve_exactly()
    W, _, _, _, objectives, gaps, _ = case.solve_primal_dual(1e-3, max_iter=3000)
    assert objectives[-1] == pytest.approx(case.objective(W), rel=1e-9)
    assert objectives[-1] - gaps[-1] <= optimum * (1 + 1e-7)
    assert objectives[-1] <= optimum * farthest


@pytest.mark.parametrize("name", ["p=2", "p=5", "weights", "copies", "no bias"])
def test_the_two_solvers_agree(name):
    case = EXACT[name]
    fast, slow = case.solve(1e-6), case.solve_primal_dual(1e-6, max_iter=30000)
    assert fast[2] == slow[2] == CONVERGED
    assert fast[4][-1] == pytest.approx(slow[4][-1], rel=2e-6)
    np.testing.assert_allclose(fast[0], slow[0], atol=0.02)


@given(st.integers(0, 10**6), st.sampled_from([*LOSSES]), st.booleans())
@settings(max_examples=60)
def test_every_bound_lies_below_every_objective(seed, loss, copies):
    case = make_case(seed, m=25, loss_name=loss, copies=copies, weighted=True)
    W, share, Y = random_point(case, np.random.default_rng(seed))
    assert case.dual(share, Y) <= case.objective(W)
    assert case.dual(share, Y) <= case.solve(1e-2)[4][-1]


@given(st.integers(0, 10**6), st.floats(1e-3, 1.0), st.sampled_from([*LOSSES]))
@settings(max_examples=60)
def test_pieces_of_the_bound(seed, s, loss):
    case = make_case(seed, m=20, sizes=(2, 3), loss_name=loss, weighted=True)
    W, share, Y = random_point(case, np.random.default_rng(seed))
    starts = np.array([0, 2, 5])
    rows = np.arange(len(case.X))
    tied = np.eye(len(case.prototype_labels))[case.assign]
    G, Z = (case.weights[:, None] * (share - tied)).T @ case.X, np.empty(case.shape)
    miss = 1.0 - share[rows, case.assign]
    own_net, free = dual_net(G, Y, starts, case.l1, case.l2, Z)
    np.testing.assert_allclose(Z, G + case.spread_duals(Y), atol=1e-12)
    no_net = replace(case, l1=np.full(case.shape, 1e300))
    entropy = -no_net.dual(share, Y)
    assert -entropy - own_net == pytest.approx(case.dual(share, Y), rel=1e-9)
    assert own_net == pytest.approx(net_conjugate(Z, 1.0, case.l1, case.l2))
    features = case.l1 > 0
    assert (free * np.abs(Z)[features] <= case.l1[features] * (1 + 1e-12)).all()
    mixed = s * share + (1 - s) * tied
    scaled = scaled_entropy(s, entropy, case.kind, miss, case.weights)
    assert -scaled == pytest.approx(no_net.dual(mixed, s * Y), rel=1e-8, abs=1e-12)
    at_s = -scaled - net_conjugate(Z, s, case.l1, case.l2)
    assert at_s == pytest.approx(case.dual(mixed, s * Y), rel=1e-8, abs=1e-9)
    expected = case.objective(W) - case.loss(W)
    found = penalty(W, starts, case.lam, case.l1, case.l2, case.copies, case.units)
    assert found == pytest.approx(expected, rel=1e-12)


def test_curvature_of_a_step():
    rng = np.random.default_rng(0)
    W, V, G = rng.normal(size=(3, 2, 4))
    H = G + 3.0 * (V - W)
    for second in (True, False):
        curvature, dd = step_curvature(W, V, G, H, second)
        assert curvature == pytest.approx(3.0)
        assert dd == pytest.approx(((V - W) ** 2).sum())
    assert step_curvature(W, V, G, G - (V - W), True)[0] == 0.0


@pytest.mark.parametrize("name", EXACT)
def test_no_other_point_is_better_than_the_gap_allows(name):
    case = EXACT[name]
    W, _, _, _, objectives, gaps, _ = case.solve(1e-5, max_iter=20000)
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(10):
            other = W + size * rng.normal(size=W.shape)
            assert case.objective(other) >= objectives[-1] - gaps[-1] - 1e-12


def test_a_warm_start_at_the_solution_is_done_at_once():
    case = EXACT["weights"]
    cold = case.solve(1e-3)
    assert cold[3] > 5
    assert case.solve(1e-3, state=cold)[3] == 0


@pytest.mark.parametrize("name", ["p=2", "p=5", "weights", "copies"])
def test_a_warm_start_nearby_saves_steps(name):
    case = EXACT[name]
    moved = replace(with_net(case, 0.012, 1.0), lam=1.25 * case.lam)
    cold, start = moved.solve(1e-3), case.solve(1e-3)
    warm = moved.solve(1e-3, state=start)
    assert warm[2] == CONVERGED
    assert warm[3] < cold[3]


@pytest.mark.parametrize("kernel", KERNELS)
def test_twice_the_same_to_the_last_bit(kernel):
    for case in (EXACT["p=5"], replace(EXACT["p=2"], loss_name="max")):
        first, second = (getattr(case, KERNELS[kernel])(1e-3) for _ in "ab")
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kernel", KERNELS)
def test_stop_limit_progress_and_record(kernel):
    case = EXACT["p=2"]
    solve = getattr(case, KERNELS[kernel])
    progress = np.zeros(1)
    stopped = solve(1e-9, stop=np.ones(1, np.int64), progress=progress)
    assert (stopped[2], stopped[3], progress[0]) == (STOPPED, 0, 1.0)
    limited = solve(1e-9, max_iter=7, record=3)
    assert (limited[2], limited[3]) == (ITERATION_LIMIT, 7)
    assert limited[6].shape == (4, *case.shape)  # after 0, 3, 6 and 7 steps
    assert not limited[6][0].any()
    for step, objective in zip(limited[6], limited[4][[0, 3, 6, 7]], strict=True):
        assert objective == pytest.approx(case.objective(step), rel=1e-12)
    assert solve(1e-3)[6].shape == (0, *case.shape)
    assert solve(1e-3, max_iter=0)[4] == pytest.approx([np.log(5)])


@pytest.mark.parametrize("max_iter", [199, 200, 201, 399, 400, 500, 900])
def test_recorded_steps_are_spread_over_the_whole_fit(max_iter):
    found = EXACT["p=2"].solve_primal_dual(1e-15, max_iter=max_iter, record=1)
    W, n_iter, objective, steps = found[0], found[3], found[4], found[6]
    assert n_iter == max_iter
    assert 100 < len(steps) <= 200
    every = {199: 1, 200: 2, 201: 2, 399: 2, 400: 4, 500: 4, 900: 8}[max_iter]
    places = every * np.arange(len(steps))
    assert n_iter - 2 * every < places[-2] < n_iter
    places[-1] = n_iter
    for step, place in zip(steps, places, strict=True):
        found = EXACT["p=2"].objective(step)
        assert objective[place] == pytest.approx(found, rel=1e-12)
    np.testing.assert_array_equal(steps[-1], W)


def test_a_problem_with_infinite_numbers_is_given_up():
    case = EXACT["p=2"]
    X = case.X.copy()
    X[3, 1] = np.nan
    broken = replace(case, X=X)
    W = case.solve(max_iter=3)[0]
    state = W, np.zeros((len(case.pairs), case.shape[1]))
    result = make_case(0).solve(1e-3, state=state)
    assert result[2] == CONVERGED
    with np.errstate(invalid="ignore"):
        assert _status_with_fixed_curvature(broken, case.lipschitz) == DIVERGED


def _status_with_fixed_curvature(case, lipschitz):
    class Fixed(type(case)):
        @property
        def lipschitz(self):
            return lipschitz

    return Fixed(**case.__dict__).solve(1e-3)[2]


def test_copies_are_that_many_equal_prototypes():
    many = make_case(13, sizes=(2, 3), lam=50.0)
    tied = replace(
        many,
        assign=many.y_encoded,
        prototype_labels=np.array([0, 1]),
        copies=np.array([2.0, 3.0]),
        l1=many.copies[:2, None] * np.array([[2.0], [3.0]]) * many.l1[:2],
        l2=np.array([[2.0], [3.0]]) * many.l2[:2],
    )
    fused, one = many.solve(1e-8, max_iter=20000), tied.solve(1e-8)
    assert fused[4][-1] == pytest.approx(one[4][-1], rel=1e-6)
    np.testing.assert_allclose(fused[0], one[0][many.prototype_labels], atol=1e-3)


def test_whole_weights_are_repeated_rows():
    case = make_case(14, m=40)
    times = np.random.default_rng(0).integers(0, 4, size=40)
    weighted = replace(case, weights=times / times.sum())
    repeated = replace(
        case,
        X=np.repeat(case.X, times, axis=0),
        y_encoded=np.repeat(case.y_encoded, times),
        assign=np.repeat(case.assign, times),
        weights=np.full(times.sum(), 1 / times.sum()),
    )
    W = np.random.default_rng(1).normal(size=case.shape)
    assert weighted.objective(W) == pytest.approx(repeated.objective(W), rel=1e-12)
    for loss, tol in (("smooth", 1e-9), ("max", 1e-4), ("hinge", 1e-4)):
        pair = [replace(c, loss_name=loss).solve(tol) for c in (weighted, repeated)]
        assert pair[0][4][0] == pytest.approx(pair[1][4][0], rel=1e-13)
        assert pair[0][4][-1] == pytest.approx(pair[1][4][-1], rel=tol)
        np.testing.assert_allclose(pair[0][0], pair[1][0], atol=30 * tol**0.5)


def test_more_fusion_brings_prototypes_closer():
    case = make_case(15, m=90, sizes=(3, 3))
    distances = []
    for lam in (0.0, 0.003, 0.01, 0.03, 0.1, 0.3):
        at = replace(case, lam=lam)
        W = at.solve(1e-8, max_iter=20000)[0]
        distances.append(replace(case, lam=1.0).fusion(W))
    assert distances[-1] < 1e-3 < distances[0]
    assert (np.diff(distances) <= 1e-4).all()


@pytest.mark.parametrize("mu", [0.0, 0.01])
def test_a_constant_feature_gets_no_weight(mu):
    case = make_case(16)
    X = case.X.copy()
    X[:, 2] = 0.0
    W = with_net(replace(case, X=X), mu, 1.0).solve(1e-6, max_iter=20000)[0]
    assert not W[:, 2].any()
    assert W[:, 0].any()
