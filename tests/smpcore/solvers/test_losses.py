"""Losses and gradients against the formulas, written out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from smpcore.solvers.losses import exponentials, log_one_plus, loss_and_gradient
from tests.smpcore.solvers.oracle import make_case

#: Different shapes, among them one that needs several blocks of rows.
CASES = {
    "plain": make_case(),
    "no bias": make_case(1, bias=False),
    "weights": make_case(2, weighted=True),
    "copies": make_case(3, sizes=(1, 2, 3), copies=True),
    "blocks": make_case(4, m=300, n=7, sizes=(2, 2)),
    "max": make_case(5, loss_name="max", weighted=True),
    "hinge": make_case(6, loss_name="hinge", weighted=True),
}


def evaluate(case, W, T=1.0, rows=96):
    """The kernel's numbers: annealed loss, entropy, loss, entropy; gradient, miss."""
    N, n = case.shape
    G, miss, powers = np.empty((N, n)), np.empty(len(case.X)), np.empty(N * rows)
    numbers = loss_and_gradient(
        case.X, case.y_encoded, case.assign, case.weights, case.prototype_labels,
        case.offsets, case.kind, T, W, G, miss,
        np.empty((N + 1) * rows), powers, powers.view(np.int64), np.empty((3, rows)),
        np.empty((N, n)),
    )  # fmt: skip
    return (*numbers, G, miss)


@given(hnp.arrays(np.float64, st.integers(1, 300), elements=st.floats(-800, 0)))
def test_exponentials(x):
    e = np.empty_like(x)
    exponentials(x, e, e.view(np.int64))
    expected = np.where(x >= -700, np.exp(x), 0.0)
    np.testing.assert_allclose(e, expected, rtol=5e-16, atol=0)


@given(st.floats(0, 1))
def test_logarithm(z):
    np.testing.assert_allclose(log_one_plus(z), np.log1p(z), rtol=1e-15, atol=1e-300)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [0.1, 1.0, 100.0])
def test_loss_gradient_and_entropy(name, size):
    case = CASES[name]
    W = size * np.random.default_rng(0).normal(size=case.shape)
    T = 1.0 if case.smooth else 0.05
    annealed, annealed_entropy, loss, entropy, G, miss = evaluate(case, W, T)
    assert annealed == pytest.approx(case.loss(W, T), rel=1e-12, abs=1e-300)
    assert loss == pytest.approx(case.loss(W), rel=1e-9, abs=1e-300)
    np.testing.assert_allclose(G, case.gradient(W, T), atol=1e-13 * max(1, size))
    parts = list(case.per_example(W, T))
    np.testing.assert_allclose(miss, [m for *_, m in parts], rtol=1e-9, atol=1e-300)
    if case.smooth:
        tied = np.eye(len(case.prototype_labels))[case.assign]
        share = tied * (1 - miss)[:, None]
        for row, (_, rivals, q, _) in zip(share, parts, strict=True):
            row[rivals] = q
        free = replace(case, l1=np.full(case.shape, 1e300))
        dual = free.dual(share, np.zeros((len(case.pairs), case.shape[1])))
        assert -entropy == pytest.approx(dual, rel=1e-9, abs=1e-12)
        assert annealed_entropy == entropy


@pytest.mark.parametrize("name", CASES)
def test_gradient_is_the_slope(name):
    case = CASES[name]
    rng = np.random.default_rng(3)
    W = 0.5 * rng.normal(size=case.shape)
    T = 1.0 if case.smooth else 0.5
    G = evaluate(case, W, T)[4]
    for _ in range(5):
        way, h = rng.normal(size=case.shape), 1e-4
        way /= np.linalg.norm(way)
        ups = [evaluate(case, W + k * h * way, T)[0] for k in (1, -1, 2, -2)]
        slope = (8 * (ups[0] - ups[1]) - (ups[2] - ups[3])) / (12 * h)
        assert slope == pytest.approx((G * way).sum(), abs=1e-9)


@given(st.integers(0, 10**6), st.floats(0.01, 30))
def test_smooth_loss_lies_above_the_max_loss(seed, size):
    smooth, hard = make_case(seed, m=25), make_case(seed, m=25, loss_name="max")
    W = size * np.random.default_rng(seed).normal(size=smooth.shape)
    above, below = evaluate(smooth, W)[2], evaluate(hard, W)[2]
    rivals = 4
    assert below <= above * (1 + 1e-12)
    assert above <= below + np.log(rivals) + 1e-12


def test_the_hinge_by_hand():
    """Leads of 2, 1/2 and -1 over the strongest rival cost 0, 1/2 and 2."""
    case = replace(
        make_case(m=3, n=1, sizes=(1, 1, 1), bias=False, loss_name="hinge"),
        X=np.array([[2.0], [0.5], [-1.0]]),
        y_encoded=np.zeros(3, np.int64),
        assign=np.zeros(3, np.int64),
    )
    W = np.array([[1.0], [0.0], [0.0]])
    _, _, loss, entropy, G, miss = evaluate(case, W, T=1e-9)
    assert loss == pytest.approx(2.5 / 3)
    np.testing.assert_allclose(miss, [0, 1, 1])
    assert entropy == pytest.approx(-2 / 3)
    # The rows within the margin pull: 1/3 (0.5 - 1) away from the own prototype.
    np.testing.assert_allclose(G[0], 0.5 / 3)


def test_without_rivals_there_is_no_loss():
    case = make_case(sizes=(3,))
    W = np.random.default_rng(0).normal(size=case.shape)
    loss, entropy, *_, G, miss = evaluate(case, W)
    assert loss == entropy == 0.0
    assert not G.any() and not miss.any()


@pytest.mark.parametrize("name", CASES)
def test_curvature_bound_holds(name):
    case = CASES[name]
    rng = np.random.default_rng(4)
    for size in (0.01, 1.0):
        for _ in range(20):
            W = size * rng.normal(size=case.shape)
            V = W + 0.01 * size * rng.normal(size=case.shape)
            change = np.linalg.norm(evaluate(case, W)[4] - evaluate(case, V)[4])
            assert change <= case.lipschitz * np.linalg.norm(W - V) * (1 + 1e-9)


@pytest.mark.parametrize("name", CASES)
def test_the_size_of_the_blocks_does_not_matter(name):
    case = CASES[name]
    W = np.random.default_rng(5).normal(size=case.shape)
    for rows in (1, 7, 1000):
        *numbers, G, miss = evaluate(case, W, rows=rows)
        *others, G_other, miss_other = evaluate(case, W)
        np.testing.assert_allclose(numbers, others, rtol=1e-12)
        np.testing.assert_allclose(G, G_other, atol=1e-13)
        np.testing.assert_allclose(miss, miss_other, rtol=1e-11)


def test_permuting_prototypes_of_a_class_changes_nothing():
    case = CASES["weights"]
    W = np.random.default_rng(6).normal(size=case.shape)
    order = np.array([1, 0, 3, 2, 5, 4])
    moved = replace(case, assign=np.argsort(order)[case.assign])
    assert evaluate(moved, W[order])[0] == pytest.approx(
        evaluate(case, W)[0], rel=1e-13
    )
