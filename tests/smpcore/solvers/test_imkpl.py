"""IMKPL's kernels: sums over kernels that are never stored, and better prototypes."""

import numpy as np
import pytest

from smpcore.methods.imkpl import kinds_of_kernels
from smpcore.methods.imkpl.kernel import mix_features, rows_tried, update_prototypes
from smpcore.methods.imkpl.kernel_start import choose_medoids, eliminate, nearest_rows
from smpcore.methods.imkpl.kinds_of_kernels import (
    NO_SOURCE,
    FactoredMix,
    FeatureFactors,
    FeatureLevels,
    held_rows,
)

NONE = np.empty(0, dtype=np.int64)
RUN, STOP = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)


@pytest.fixture
def features():
    """Rows of features with widths, and their kernels one by one."""
    rng = np.random.default_rng(0)
    Z, widths = rng.normal(size=(6, 37)), rng.uniform(0.5, 3.0, size=6)
    return Z, widths, kernels_of(Z, widths)


def kernels_of(Z, widths):
    """The kernel of each feature by its definition."""
    return np.exp(-((Z[:, :, None] - Z[:, None]) ** 2) / widths[:, None, None])


def mix_rows(K, source, stop):
    """The mixed kernel of features with few values and of others."""
    mix_features(source, np.ones(K.shape[1]), K, np.empty(0), stop)


def test_a_mix_is_the_sum_of_the_kernels(features):
    Z, widths, kernels = features
    counts = np.random.default_rng(2).uniform(0.1, 3.0, 37)
    weights = np.array([0.1, 0.0, 0.4, 0.2, 0.0, 0.3])
    K, sums = np.empty((37, 37)), np.empty(6)
    source = NO_SOURCE._replace(Z=Z, weights=weights, widths=widths)
    mix_features(source, counts, K, sums, RUN)
    np.testing.assert_allclose(K, np.tensordot(weights, kernels, 1), rtol=1e-14)
    np.testing.assert_array_equal(K, K.T)
    expected = np.where(weights > 0, kernels @ counts @ counts, 0.0)
    np.testing.assert_allclose(sums, expected, rtol=1e-14)
    alone = np.empty_like(K)
    mix_features(source, counts, alone, np.empty(0), RUN)
    np.testing.assert_array_equal(alone, K)


def test_rows_are_looked_up_where_features_have_few_values():
    rng = np.random.default_rng(0)
    # Two pairs of features with few values, one of them alone, and two with many.
    Z = rng.integers(7, size=(7, 40)).astype(np.float64)
    Z[[1, 4]] = rng.normal(size=(2, 40))
    widths, weights = rng.uniform(2.0, 9.0, size=7), rng.uniform(size=7)
    weights[3] = 0.0
    kernels = kernels_of(Z, widths)
    K, levels = np.empty((40, 40)), FeatureLevels(Z, widths)
    for some in (weights, np.where(np.arange(7) < 3, weights, 0.0)):
        mix_rows(K, levels.source(some), RUN)
        np.testing.assert_allclose(K, np.tensordot(some, kernels, 1), rtol=1e-14)
        np.testing.assert_array_equal(K, K.T)
    mix_rows(before := np.full((40, 40), -1.0), levels.source(weights), STOP)
    assert (before == -1.0).all()
    assert levels.most_columns <= 5 * 7 + 2 * 24 and levels.is_most


class Step:
    """One sweep over random prototypes, and the part of the objective it lowers."""

    def __init__(self, seed, lam=0.2, tau=0.3, n=60, c=7, dead=()):
        rng = np.random.default_rng(seed)
        rows = np.repeat(rng.normal(size=(3, 2)), n // 3, axis=0) * 2
        rows += rng.normal(size=rows.shape)
        self.K = np.exp(-((rows[:, None] - rows) ** 2).sum(axis=2) / 3)
        same = np.repeat(np.arange(3), n // 3)
        self.B = lam * (1 - (same[:, None] == same) * self.K) - 2 * self.K
        self.U = np.where(rng.uniform(size=(c, n)) < 5 / n, rng.uniform(size=(c, n)), 0)
        self.U[np.arange(c), np.arange(c)] = 1.0
        self.U /= np.sqrt(np.einsum("ij,jk,ik->i", self.U, self.K, self.U))[:, None]
        self.codes = rng.uniform(size=(c, n)) * (rng.uniform(size=(c, n)) < 0.3)
        self.codes[list(dead)] = 0.0
        self.tau = tau
        self.KU = self.U @ self.K

    def value(self):
        """trace(K H H') + <B, H> + tau sum(U), what depends on U and codes."""
        H = self.U.T @ self.codes
        quadratic = np.sum((self.K @ H) * H)
        return quadratic + np.sum(self.B * H) + self.tau * self.U.sum()

    def sweep(self, worst=(), limit=5, path=True, held=None):
        pull, overlap = self.codes @ self.B, self.codes @ self.codes.T
        worst = np.array(worst, dtype=np.int64)
        return update_prototypes(
            held or held_rows(self.K, limit, NONE), self.U, self.KU, self.codes, pull,
            overlap, worst, self.tau, limit, path,
        )  # fmt: skip


@pytest.mark.parametrize("tau", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("path", [True, False])
def test_a_sweep_lowers_the_objective_and_keeps_the_rules(tau, path):
    for seed in range(10):
        step = Step(seed, tau=tau)
        values = [step.value()]
        changed = step.sweep(path=path)
        values.append(step.value())
        for _ in range(3):
            step.sweep(path=path)
            values.append(step.value())
        assert values[1] < values[0] if path else values[1] <= values[0] + 1e-9
        assert (changed > 0) == (values[1] < values[0])
        assert (np.diff(values) <= 1e-10 * np.abs(values[0])).all()
        assert (step.U >= 0).all() and (step.codes >= 0).all()
        lengths = np.einsum("ij,jk,ik->i", step.U, step.K, step.U)
        np.testing.assert_allclose(lengths, 1.0, atol=1e-12)
        np.testing.assert_allclose(step.KU, step.U @ step.K, atol=1e-12)


def test_a_prototype_that_no_row_uses_becomes_the_worst_row():
    step = Step(0, dead=(2, 5))
    before = step.value() - step.tau * step.U.sum()
    step.sweep(worst=[11, 30])
    np.testing.assert_array_equal(step.U[2], np.eye(60)[11])
    np.testing.assert_array_equal(step.U[5], np.eye(60)[30])
    np.testing.assert_allclose(step.KU[5], step.K[30])
    assert step.value() - step.tau * step.U.sum() < before


def test_rows_are_computed_when_asked_for_and_forgotten_for_want_of_room(monkeypatch):
    Z = np.random.default_rng(0).normal(size=(2, 1200))
    widths, weights = np.array([2.0, 3.0]), np.array([0.3, 0.7])
    levels = FeatureLevels(Z, widths)
    mix = FactoredMix(FeatureFactors.of(Z, widths), weights, levels)
    steps = [Step(1, n=1200, c=9, dead=(4,)) for _ in range(3)]
    mix_rows(K := np.empty((1200, 1200)), levels.source(weights), RUN)
    for step in steps:
        step.K = K
        step.U /= np.sqrt(np.einsum("ij,ij->i", step.U @ K, step.U))[:, None]
        step.KU = step.U @ K
    steps[0].sweep(worst=[7])
    held = held_rows(mix, 5, NONE)
    steps[1].sweep(worst=[7], held=held)
    assert 0 < held[2][0] < 1200 and (held[1] >= 0).sum() == held[2][0]
    tight = held_rows(mix, 5, NONE)._replace(K=np.empty((rows_tried(5), 1200)))
    steps[2].sweep(worst=[7], held=tight)
    assert tight[2][0] < held[2][0]
    for step in steps[1:]:
        np.testing.assert_array_equal(step.U, steps[0].U)
        np.testing.assert_array_equal(step.KU, steps[0].KU)
    rows, place, count, *_ = held_rows(mix, 5, np.array([7, 30]))
    assert count == [2] and place[[7, 30]].tolist() == [0, 1]
    assert (place >= 0).sum() == 2
    np.testing.assert_allclose(rows[:2], K[[7, 30]], atol=2e-10)
    monkeypatch.setattr(kinds_of_kernels, "ROW_BYTES", 8 * 1200 * (rows_tried(5) + 1))
    rows, place, count, *_ = held_rows(mix, 5, np.array([7, 30]))
    assert len(rows) == rows_tried(5) + 1 and count == [0] and (place < 0).all()


def similarities(seed, n=60, levels=None):
    """A symmetric table of similarities; of few levels, it has many equal entries."""
    K = np.random.default_rng(seed).random((n, n))
    K = np.tril(K) + np.tril(K, -1).T
    if levels:
        K = np.round(levels * K) / levels
    np.fill_diagonal(K, 1.0)
    return K


@pytest.mark.parametrize("levels", [None, 4])
@pytest.mark.parametrize("count", [0, 1, 7, 19])
def test_nearest_rows_are_the_first_of_a_sorted_row(levels, count):
    K, start, stop = similarities(0, levels=levels), 15, 35
    here = np.arange(start, stop)
    inside = np.empty((20, min(count, 19)), dtype=np.int64)
    outside = np.empty((20, count), dtype=np.int64)
    nearest_rows(K[here], here, start, stop, inside, outside)
    for a, i in enumerate(here):
        order = np.argsort(-K[i], kind="stable")
        own = (order >= start) & (order < stop)
        np.testing.assert_array_equal(inside[a], order[own & (order != i)][:count])
        np.testing.assert_array_equal(outside[a], order[~own][:count])


def slow_medoids(K, counts, count, most_steps):
    """The medoids by their definition, and the one that each row is most like."""
    chosen = [int((K @ counts).argmax())]
    while len(chosen) < count:
        likeness = K[chosen].max(axis=0)
        likeness[chosen] = np.inf
        chosen.append(int(likeness.argmin()))
    chosen = np.array(chosen)
    for step in range(most_steps + 1):
        cluster = K[chosen].argmax(axis=0)
        cluster[chosen] = np.arange(count)
        if step < most_steps:
            members = [np.flatnonzero(cluster == q) for q in range(count)]
            inner = [(K[np.ix_(m, m)] @ counts[m]).argmax() for m in members]
            chosen = np.array([m[i] for m, i in zip(members, inner, strict=True)])
    return chosen, cluster


@pytest.mark.parametrize("count", [1, 3, 10, 60])
@pytest.mark.parametrize("most_steps", [0, 1, 30])
def test_medoids_are_those_of_the_definition(count, most_steps):
    for seed in range(5):
        K, counts = similarities(seed), np.ones(60)
        if seed % 2:
            counts = np.random.default_rng(seed).uniform(0.5, 4.0, 60)
        medoids, cluster = np.empty(count, np.int64), np.empty(len(K), np.int64)
        choose_medoids(K, counts, most_steps, medoids, cluster)
        expected = slow_medoids(K, counts, count, most_steps)
        np.testing.assert_array_equal(medoids, expected[0])
        np.testing.assert_array_equal(cluster, expected[1])


def test_elimination_ends_at_the_rank_or_for_want_of_room():
    z = np.repeat([0.0, 1.0, 3.0], 20)
    K = np.exp(-((z[:, None] - z) ** 2) / 2.0)
    for room, rank in ((2, 2), (3, 3), (9, 3)):
        columns = np.empty((room, 60))
        assert eliminate(z, 2.0, 1e-10, columns) == rank
    np.testing.assert_allclose(columns[:3].T @ columns[:3], K, atol=1e-14)
