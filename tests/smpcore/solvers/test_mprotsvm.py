"""The sweeps of the multi-prototype SVM: what the specification promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpcore.methods.mprotsvm import fit
from smpcore.methods.mprotsvm.kernel import (
    Margins,
    draw_prototypes,
    exact_step,
    score,
    top_rival,
)
from smpcore.methods.mprotsvm.problem import Monitor
from smpcore.methods.shared.problem import SolverOptions
from tests.smpcore.solvers.mprotsvm_oracle import (
    judge_slowly,
    make_descent,
    solve_exactly,
)

#: name -> what `make_descent` takes.
CASES = {
    "linear": {},
    "one each": {"q": 1},
    "three each": {"q": 3},
    "five each": {"q": 5, "C": 1.0},
    "small C": {"C": 0.01},
    "rbf": {"kernel": "rbf"},
    "poly": {"kernel": "poly", "degree": 2},
}


def step(seed, n=9, C=0.4, k=1.7, *, filled=True):
    """One row's problem solved: gradients, masses before, after."""
    rng = np.random.default_rng(seed)
    lo, hi, y = 3, 6, 4
    f = rng.normal(size=n)
    rivals = np.r_[0:lo, hi:n]
    a = np.zeros(n)
    if filled:
        a[rivals[:3]] = rng.dirichlet(np.ones(3)) * C * rng.choice([1.0, 0.4])
    index = np.flatnonzero(a).astype(np.int32)
    chosen, amount = np.empty(2 * n, dtype=np.int64), np.empty(2 * n)
    scores = f.copy()
    rival = top_rival(scores, lo, hi)
    lists = index, a[index], 0, len(index)
    m = exact_step(scores, f[y], rival, k, C, a.sum(), *lists, chosen, amount)
    after = np.zeros(n)
    after[chosen[:m]] = amount[:m]
    B = f + k * a
    By = f[y] - k * a.sum()
    return after, B[rivals], By, rivals, k, C


@given(st.integers(0, 10**6), st.floats(1e-3, 10.0), st.booleans())
@settings(max_examples=200)
def test_a_row_is_solved_exactly(seed, C, filled):
    after, B, By, rivals, k, C = step(seed, C=C, filled=filled)
    a, s = after[rivals], after.sum()
    assert (after >= 0).all() and s <= C * (1 + 1e-12)
    g = 1 - (By + k * s) + (B - k * a)
    slots = np.append(g, 0.0)
    mass = np.append(a, C - s if s < C * (1 - 1e-12) else 0.0)
    assert slots.max() - slots[mass > 0].min() <= 1e-9
    if a.any():  # the root of the scalar equation
        v = (1 - By + B) / k
        t = (v - a)[a > 0]
        np.testing.assert_allclose(t, t[0], atol=1e-9)
        assert np.maximum(v - t[0], 0).sum() == pytest.approx(min(t[0], C), rel=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 13))
@settings(max_examples=50)
def test_scores_and_their_largest(seed, d, n):
    rng = np.random.default_rng(seed)
    x, Mt, f = rng.normal(size=d), rng.normal(size=(d, n)), np.empty(n)
    score(x, Mt, f)
    np.testing.assert_allclose(f, x @ Mt, atol=1e-12)
    lo, hi = np.sort(rng.integers(0, n + 1, size=2)).tolist()
    rivals = np.r_[f[:lo], f[hi:]]
    assert top_rival(f, lo, hi) == rivals.max(initial=-np.inf)
    assert (f[lo:hi] == -np.inf).all()


def assert_true(look, descent):
    """A certificate is what the definitions say of the state."""
    slow = judge_slowly(descent.problem, descent.save(), descent.C)
    assert look.objective == pytest.approx(slow.primal, rel=1e-6)
    assert look.free == pytest.approx(slow.free, rel=1e-6)
    assert look.gap == pytest.approx(slow.primal - slow.dual, rel=1e-5, abs=1e-6)
    assert look.gap >= -1e-9
    # Rows of small violation have a small part of the gap: they can be passed over.
    assert look.gap <= (descent.limits * descent.seen.psi).sum() + 1e-6
    assert slow.infeasible <= 1e-9
    return slow


@pytest.mark.parametrize("name", CASES)
def test_the_dual_rises_below_the_primal_and_stays_feasible(name):
    descent, before = make_descent(**CASES[name]), 0.0
    for round_ in range(6):
        slow = assert_true(descent.go_round(), descent)
        assert slow.dual >= before - 1e-6
        before = slow.dual
        if round_ % 2:  # moving rows keeps what must hold
            (_, look), *_ = descent.anneal(np.ones(1))
            before = assert_true(look, descent).dual
        elif not descent.single:
            best = descent.seen.best.copy()
            before = assert_true(descent.go_round(0, moves=True), descent).dual
            np.testing.assert_array_equal(descent.dual.assign, best)


def solved(descent, tol):
    look = descent.certify()
    while look.gap > tol * look.objective:
        assert descent.n_sweeps < 20_000
        look = descent.go_round(6, 0.2 * tol)
    return look


@pytest.mark.parametrize("name", ["linear", "one each", "three each", "small C"])
def test_the_objective_is_the_interior_point_optimum(name):
    descent = make_descent(**CASES[name])
    problem = descent.problem
    tied = problem.y_encoded, descent.dual.assign, problem.prototype_labels
    optimum = solve_exactly(problem.X, *tied, descent.limits)
    look = solved(descent, 1e-6)
    assert look.objective == pytest.approx(optimum, rel=1e-6)
    slow = judge_slowly(problem, descent.save(), descent.C)
    assert slow.violation <= 1e-2


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_price_grows_to_C_with_a_dual_in_its_box(kernel):
    grown, cold = (make_descent(q=1, kernel=kernel, C=1.0) for _ in "ab")
    fit.warm_start(grown)
    slow = judge_slowly(grown.problem, grown.save(), 1.0)
    assert slow.infeasible <= 1e-9 and grown.dual.count.any()
    assert grown.certify().gap == pytest.approx(slow.primal - slow.dual, rel=1e-5)
    one, other = solved(grown, 1e-6), solved(cold, 1e-6)
    assert one.objective == pytest.approx(other.objective, rel=2e-6)


def drawn(slack, limits, temperature, draws):
    """Prototypes that rows of one class with four prototypes, of another, draw."""
    n = len(slack)
    margins = Margins(np.zeros(n, int), np.array([0, 4, 5]), limits, np.ones(n))
    places = np.empty(n, dtype=np.int64)
    draw_prototypes(margins, slack, temperature, draws, places)
    return places


@given(st.integers(0, 10**6), st.floats(1e-12, 1e9))
@settings(max_examples=100)
def test_prototypes_are_drawn_by_their_chances(seed, temperature):
    rng = np.random.default_rng(seed)
    slack = np.tile(rng.uniform(0, 5, size=4), (1000, 1))
    limits, draws = np.full(1000, rng.uniform(0.1, 3.0)), np.arange(1000) / 1000
    chances = np.exp(-limits[0] / temperature * (slack[0] - slack[0].min()))
    places = drawn(slack, limits, temperature, draws)
    shares = np.bincount(places, minlength=4) / 1000
    np.testing.assert_allclose(shares, chances / chances.sum(), atol=2e-3)
    moved = drawn(slack + 0.25, limits, temperature, draws)
    assert (moved != places).mean() <= 3e-3
    assert (drawn(slack, limits, 1e-12, draws) == slack[0].argmin()).all()


def test_a_row_stays_where_another_prototype_is_only_as_good():
    descent = make_descent(q=3)
    descent.certify()
    assert (descent.seen.slack == 1.0).all()
    np.testing.assert_array_equal(descent.seen.best, descent.dual.assign)
    descent.go_round()
    best, slack = descent.seen.best, descent.seen.slack
    lowest = descent.starts[descent.problem.y_encoded]
    rows = np.arange(len(best))
    np.testing.assert_allclose(slack[rows, best - lowest], slack.min(axis=1), atol=1e-9)
    now = slack[rows, descent.dual.assign - lowest]
    np.testing.assert_array_equal(
        best != descent.dual.assign, now > slack.min(1) + 1e-9
    )
    assert (best != descent.dual.assign).any()


def test_lists_of_the_dual_grow_and_stay_short():
    descent = make_descent(n=900, q=20, C=1.0)
    descent.index, descent.value = descent.index[:50], descent.value[:50]
    for _ in range(10):
        descent.go_round(3)
        descent.anneal(np.full(1, 0.3))
    slow = judge_slowly(descent.problem, descent.save(), 1.0)
    assert slow.infeasible <= 1e-9
    assert slow.primal == pytest.approx(descent.certify().objective, rel=1e-9)
    dense = len(descent.dual.assign) * len(descent.problem.prototype_labels)
    assert len(descent.value) < 0.4 * dense


def test_sweeps_end_where_none_of_them_helps():
    descent = make_descent(q=1)
    descent.tol = -1.0  # never met
    run = fit.Run(descent, 1500, Monitor(SolverOptions(), (0.0, 1.0)))
    run.go()
    assert not run.finished and 1500 <= descent.n_sweeps <= 1520
