"""What IMKPL starts from, beside slow NumPy: factors, nearest rows, medoids."""

import numpy as np
import pytest

from smpcore.methods.imkpl.kernel_start import choose_medoids, eliminate, nearest_rows


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
