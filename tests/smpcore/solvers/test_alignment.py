"""The global alignment kernel, beside its definition in logarithms."""

import numpy as np
import pytest
from tslearn.metrics import cdist_gak

from smpcore.similarity import Similarity, alignment_kernel


def definition(a, b, sigma):
    """Logarithm of the kernel by the recursion, on a whole table."""
    logs = np.full((len(a) + 1, len(b) + 1), -np.inf)
    logs[0, 0] = 0.0
    z = (a[:, None] - b) ** 2 / (2 * sigma**2)
    local = -z - np.log(2 - np.exp(-z))
    for i in range(len(a)):
        for j in range(len(b)):
            before = [logs[i, j + 1], logs[i + 1, j], logs[i, j]]
            logs[i + 1, j + 1] = local[i, j] + np.logaddexp.reduce(before)
    return logs[-1, -1]


@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0, 40.0])
def test_values_are_those_of_the_definition(sigma):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(5, 30)), rng.normal(size=(4, 30))
    wanted = [
        [
            definition(a, b, sigma)
            - 0.5 * (definition(a, a, sigma) + definition(b, b, sigma))
            for b in B
        ]
        for a in A
    ]
    found = alignment_kernel(A, B, sigma)
    np.testing.assert_allclose(found, np.exp(wanted), rtol=1e-10, atol=1e-300)
    alike = alignment_kernel(A, A, sigma)
    np.testing.assert_allclose(alike, alignment_kernel(A, A.copy(), sigma), rtol=1e-12)
    np.testing.assert_allclose(alike.diagonal(), 1.0, rtol=1e-12)
    assert np.linalg.eigvalsh(alike)[0] > -1e-12


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


def test_a_shift_in_time_matters_less_than_another_shape():
    times = np.linspace(0, 12, 60)
    A = np.array([np.sin(times), np.sin(times + 0.4), np.sin(2 * times)])
    K = alignment_kernel(A, A, 3.0)
    assert K[0, 1] > K[0, 2]


def test_channels_are_weighed():
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(6, 20)), rng.normal(size=(3, 20))
    how = Similarity("gak", weights=(0.3, 0.0, 0.2, 0.5), widths=(1.0, 1.0, 2.0, 3.0))
    wanted = sum(
        weight * alignment_kernel(X[:, 5 * c : 5 * c + 5], Z[:, 5 * c : 5 * c + 5], s)
        for c, (weight, s) in enumerate(zip(how.weights, how.widths, strict=True))
    )
    np.testing.assert_allclose(how.values(X, Z), wanted, rtol=1e-12)
