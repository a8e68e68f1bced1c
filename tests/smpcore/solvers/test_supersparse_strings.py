"""Edit distances, and those of all strings one edit away, against the definition."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpcore.methods.supersparse.strings import edited, neighbour_values
from smpcore.similarity import Similarity
from smpcore.solvers.strings import edit_distances, neighbour_distances

LETTERS = 3
WORDS = st.lists(st.integers(0, LETTERS - 1), max_size=6)


@cache
def slow_distance(x, z):
    if not x or not z:
        return len(x) + len(z)
    swap = slow_distance(x[1:], z[1:]) + (x[0] != z[0])
    return min(swap, slow_distance(x[1:], z) + 1, slow_distance(x, z[1:]) + 1)


def padded(words, width=8):
    return np.array([list(w) + [-1] * (width - len(w)) for w in words], dtype=np.int64)


@given(first=st.lists(WORDS, min_size=1, max_size=4), second=WORDS)
def test_distances_are_levenshteins(first, second):
    out = np.empty((len(first), 1), dtype=np.int64)
    edit_distances(padded(first), padded([second]), out)
    wanted = [slow_distance(tuple(w), tuple(second)) for w in first]
    assert out[:, 0].tolist() == wanted


@given(first=st.lists(WORDS, min_size=1, max_size=3), second=WORDS)
def test_distances_to_every_neighbour_are_exact(first, second):
    X, z = padded(first), padded([second])[0]
    n = len(second)
    out = np.full((len(first), (2 * n + 1) * LETTERS + n), -1, dtype=np.int64)
    neighbour_distances(X, z, LETTERS, out)
    neighbours = [edited(z, edit, LETTERS) for edit in range(out.shape[1])]
    words = [tuple(code for code in row.tolist() if code >= 0) for row in neighbours]
    for row, word in zip(out, first, strict=True):
        assert row.tolist() == [slow_distance(tuple(word), w) for w in words]


def test_similarity_of_strings():
    X, z = padded([[0, 1], [], [2, 2, 2]]), padded([[0, 1, 1]])
    values = Similarity("strings", gamma=0.3).values(X.astype(float), z.astype(float))
    np.testing.assert_allclose(values[:, 0], np.exp(-0.3 * np.array([1, 3, 3])))
    near = neighbour_values(X, z[0], LETTERS, 0.3)
    again = Similarity("strings", gamma=0.3).values(X, edited(z[0], 4, LETTERS)[None])
    assert near[:, 4] == pytest.approx(again[:, 0])
