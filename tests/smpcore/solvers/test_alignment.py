"""The global alignment kernel, beside tslearn's."""

import numpy as np
import pytest
from tslearn.metrics import cdist_gak

from smpcore.similarity import Similarity, alignment_kernel


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
