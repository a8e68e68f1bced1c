"""Losses, proximal maps, quadratic programmes and alignments, held to slow peers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import xlogy
from tslearn.metrics import cdist_gak

from smpcore.similarity import Similarity, alignment_kernel
from smpcore.solvers import losses
from smpcore.solvers.nqp import DEPENDENT, EQUAL, FLAT, LITTLE, nqp_rows
from smpcore.solvers.prox import project_l1_ball
from tests.smpcore.methods.smp_oracle import make_case

#: Different shapes, among them one that needs several blocks of rows.
CASES = {
    "no bias": make_case(1, bias=False),
    "copies": make_case(3, sizes=(1, 2, 3), copies=True, weighted=True),
    "blocks": make_case(4, m=300, n=7, sizes=(2, 2)),
    "max": make_case(5, loss="max", weighted=True),
    "hinge": make_case(6, loss="hinge", weighted=True),
}


@given(hnp.arrays(np.float64, st.integers(1, 300), elements=st.floats(-800, 0)))
def test_exponentials_and_logarithms(x):
    e = np.empty_like(x)
    losses.exponentials(x, e, e.view(np.int64))
    expected = np.where(x >= -700, np.exp(x), 0.0)
    np.testing.assert_allclose(e, expected, rtol=5e-16, atol=0)
    logs = [losses.log_one_plus(z) for z in expected]
    np.testing.assert_allclose(logs, np.log1p(expected), rtol=1e-15, atol=1e-300)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("size", "rows"), [(0.1, 16), (1.0, 96), (100.0, 1000)])
def test_loss_gradient_and_entropy(name, size, rows):
    case = CASES[name]
    W = size * np.random.default_rng(0).normal(size=case.shape)
    T = 1.0 if case.smooth else 0.05
    (N, n), G, miss = case.shape, np.empty(case.shape), np.empty(len(case.X))
    ties = losses.Ties(*case.tied, case.prototype_labels, case.offsets, case.kind)
    annealed, annealed_entropy, loss, entropy = losses.loss_and_gradient(
        case.X, ties, T, W, G, miss, losses.loss_room(N, n, rows)
    )
    assert annealed == pytest.approx(case.loss_at(W, T), rel=1e-12, abs=1e-300)
    assert loss == pytest.approx(case.loss_at(W), rel=1e-9, abs=1e-300)
    np.testing.assert_allclose(G, case.gradient(W, T), atol=1e-13 * max(1, size))
    expected = [m for *_, m in case.per_example(W, T)]
    np.testing.assert_allclose(miss, expected, rtol=1e-9, atol=1e-300)
    if case.smooth:
        assert entropy == pytest.approx(case.entropy(W), rel=1e-9, abs=1e-12)
        assert annealed_entropy == entropy


@given(st.floats(1e-3, 1.0), st.integers(0, 10**6))
def test_entropy_of_a_scaled_dual_point(s, seed):
    """Of the probabilities s q of rivals, where the own prototype has the rest."""
    rng = np.random.default_rng(seed)
    q, weights = rng.dirichlet(np.ones(4), size=20), rng.dirichlet(np.ones(20))
    miss = 1.0 - q[:, 0]

    def entropies(q):
        own, rest = q[:, 0], 1.0 - q[:, 0]
        rows = xlogy(q, q).sum(axis=1), xlogy(own, own) + xlogy(rest, rest), -rest
        return [float(weights @ row) for row in rows]

    scaled = np.c_[1.0 - s * miss, s * q[:, 1:]]
    for kind, (before, after) in enumerate(
        zip(entropies(q), entropies(scaled), strict=True)
    ):
        found = losses.scaled_entropy(s, before, kind, miss, weights)
        assert found == pytest.approx(after, rel=1e-9, abs=1e-12)


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


@pytest.mark.parametrize("n_times", [3, 40, 150, 450])
def test_values_are_those_of_tslearn(n_times):
    rng = np.random.default_rng(n_times)
    A, B = 0.3 * rng.normal(size=(2, 4, n_times)).cumsum(axis=2)
    apart = np.median(np.abs(A[:, :, None] - B[:, None])) * np.sqrt(n_times)
    for sigma in (0.25 * apart, apart, 4 * apart):
        found = alignment_kernel(A, B, float(sigma))
        wanted = cdist_gak(A[:, :, None], B[:, :, None], sigma=sigma)
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-300)
        alike = cdist_gak(A[:, :, None], sigma=sigma)
        found = alignment_kernel(A, A, float(sigma))
        np.testing.assert_allclose(found, alike, rtol=1e-10, atol=1e-300)


def test_long_and_far_series_neither_overflow_nor_vanish():
    times = np.linspace(0, 20, 660)
    A = np.array([np.sin(times), np.sin(times + 0.3), np.full(660, 1e3)])
    K = alignment_kernel(A, A, 2.0)
    assert K[0, 1] > 0 and np.isfinite(K).all()
    assert K[0, 2] == 0.0 and K[2, 2] == 1.0


def test_channels_are_weighed():
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(6, 20)), rng.normal(size=(3, 20))
    how = Similarity("gak", weights=(0.3, 0.0, 0.2, 0.5), widths=(1.0, 1.0, 2.0, 3.0))
    wanted = sum(
        weight * alignment_kernel(X[:, 5 * c : 5 * c + 5], Z[:, 5 * c : 5 * c + 5], s)
        for c, (weight, s) in enumerate(zip(how.weights, how.widths, strict=True))
    )
    np.testing.assert_allclose(how.values(X, Z), wanted, rtol=1e-12)


def solve(Q, C, limit):
    """Solutions and objectives for the rows of C."""
    C = np.ascontiguousarray(np.atleast_2d(C))
    X, values = np.zeros_like(C), np.empty(len(C))
    nqp_rows(np.ascontiguousarray(Q), C, limit, X, values)
    return X, values


def slow_nqp(Q, c, limit):
    """The same search, solving with dense matrices from scratch at every step."""
    support, x, value = [], np.zeros(0), 0.0
    slope, blocked = c.copy(), set()
    for _ in range(4 * limit + 20):
        if len(support) >= limit:
            break
        free = [j for j in range(len(c)) if j not in support and j not in blocked]
        if not free or slope[free].min() >= -FLAT * np.abs(c).max():
            break
        j = free[np.argmax(slope[free] <= slope[free].min() + EQUAL * np.abs(c).max())]
        before = Q[np.ix_(support, support)]
        rest = Q[j, j]
        if support:
            rest -= Q[j, support] @ np.linalg.solve(before, Q[support, j])
        if rest <= DEPENDENT * Q[j, j]:
            blocked.add(j)
            continue
        support, x = [*support, j], np.append(x, 0.0)
        while support:
            z = -np.linalg.solve(Q[np.ix_(support, support)], c[support])
            if (z > 0).all():
                x = z
                break
            bad = np.flatnonzero(z <= 0)
            gaps = x[bad] - z[bad]
            shares = np.where(gaps > 0, x[bad] / np.where(gaps > 0, gaps, 1.0), 0.0)
            x = x + shares.min() * (z - x)
            gone = (z <= 0) & (x <= 1e-14 * x.max())
            gone[bad[shares.argmin()]] = True
            support = [s for s, out in zip(support, gone, strict=True) if not out]
            x = x[~gone]
        lower = 0.5 * c[support] @ x
        slope = c + Q[:, support] @ x
        done = value - lower <= LITTLE * abs(lower)
        value = lower
        if done:
            break
    solution = np.zeros(len(c))
    solution[support] = x
    return solution, value


def brute_force(Q, c, limit):
    """The best of all supports."""
    best = 0.0
    for size in range(1, limit + 1):
        for support in itertools.combinations(range(len(c)), size):
            x = -np.linalg.solve(Q[np.ix_(support, support)], c[list(support)])
            if (x > 0).all():
                best = min(best, 0.5 * c[list(support)] @ x)
    return best


def held_out(seed, n):
    """An input to reconstruct from rows, by a Gaussian kernel."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3))
    Q = np.exp(-((rows[:, None] - rows) ** 2).sum(axis=2) / 4)
    return Q, -np.exp(-((rows - rng.normal(size=3)) ** 2).sum(axis=1) / 4)


def wishart(seed, n):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, n + 2))
    return factor @ factor.T / n, rng.normal(size=n)


def correlated(seed, n):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, 4)) + 2.0
    return factor @ factor.T + 0.05 * np.eye(n), -factor @ rng.uniform(size=4)


KINDS = [held_out, wishart, correlated]


@pytest.mark.parametrize("kind", KINDS)
def test_is_the_slow_twin(kind):
    for seed in range(40):
        Q, c = kind(seed, 30)
        for limit in (1, 4, 12):
            x, value = slow_nqp(Q, c, limit)
            ours, found = solve(Q, c, limit)
            np.testing.assert_allclose(ours[0], x, rtol=1e-7, atol=1e-9)
            assert found[0] == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_is_never_below_the_best_of_all_supports(kind):
    ratios = []
    for seed in range(25):
        Q, c = kind(seed, 10)
        best, (_, value) = brute_force(Q, c, 3), solve(Q, c, 3)
        assert value[0] >= best - 1e-10 * abs(best)
        ratios.append(value[0] / best)
    assert np.mean(ratios) > 0.95 and np.median(ratios) > 0.99


def test_nothing_to_gain_is_the_zero_code():
    Q = np.eye(4)
    X, values = solve(Q, np.array([[0.0, 0, 0, 0], [1, 2, 3, 4], [1, -1, 1, 1]]), 2)
    np.testing.assert_array_equal(X, [[0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]])
    np.testing.assert_array_equal(values, [0.0, 0.0, -0.5])


def test_equal_columns_count_once():
    Q, c = held_out(3, 12)
    twice = np.repeat(np.arange(12), 2)
    x, value = solve(Q[np.ix_(twice, twice)], c[twice], 6)
    assert value[0] == pytest.approx(solve(Q, c, 6)[1][0], rel=1e-9)
    assert not (x[0, ::2] * x[0, 1::2]).any()
    assert np.isfinite(x).all()


def test_a_solution_that_is_better_already_stays():
    rng = np.random.default_rng(0)
    A = rng.random((12, 12))
    Q, C = A @ A.T, -rng.random((40, 12))
    first, values = solve(Q, C, 4)
    for limit in (1, 4, 12):
        now, again = first.copy(), np.empty(40)
        nqp_rows(Q, C, limit, now, again)
        assert (again <= values + 1e-12).all()
        same = again >= values - 1e-12
        np.testing.assert_array_equal(now[same], first[same])
    now[:] = 1.0  # worse than what is found anew
    nqp_rows(Q, C, 4, now, again)
    np.testing.assert_array_equal(now, first)
