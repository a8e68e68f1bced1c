"""Losses and gradients against the formulas, written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import xlogy

from smpcore.solvers.losses import (
    Ties,
    exponentials,
    log_one_plus,
    loss_and_gradient,
    loss_room,
    scaled_entropy,
)
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
    exponentials(x, e, e.view(np.int64))
    expected = np.where(x >= -700, np.exp(x), 0.0)
    np.testing.assert_allclose(e, expected, rtol=5e-16, atol=0)
    logs = [log_one_plus(z) for z in expected]
    np.testing.assert_allclose(logs, np.log1p(expected), rtol=1e-15, atol=1e-300)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("size", "rows"), [(0.1, 16), (1.0, 96), (100.0, 1000)])
def test_loss_gradient_and_entropy(name, size, rows):
    case = CASES[name]
    W = size * np.random.default_rng(0).normal(size=case.shape)
    T = 1.0 if case.smooth else 0.05
    (N, n), G, miss = case.shape, np.empty(case.shape), np.empty(len(case.X))
    ties = Ties(*case.tied, case.prototype_labels, case.offsets, case.kind)
    annealed, annealed_entropy, loss, entropy = loss_and_gradient(
        case.X, ties, T, W, G, miss, loss_room(N, n, rows)
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
        found = scaled_entropy(s, before, kind, miss, weights)
        assert found == pytest.approx(after, rel=1e-9, abs=1e-12)
