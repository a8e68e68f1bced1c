"""Sparse non-negative codes: beside brute force and a slow twin, and by their rules."""

import itertools

import numpy as np
import pytest

from smpcore.solvers.nqp import DEPENDENT, EQUAL, FLAT, LITTLE, nqp_rows


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
