"""Similarities without a gradient: strings, given ones, and functions of the user's."""

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpcore import SmpcoreError
from smpcore.methods.supersparse import SuperSparseClassifier
from smpcore.methods.supersparse.value_solvers import (
    decode_strings,
    edited,
    encode_strings,
    neighbour_values,
)
from smpcore.similarity import Similarity
from smpcore.solvers.strings import edit_distances, neighbour_distances
from tests.smpcore.methods.tables import IRIS


def gaussian(X, Z):
    return np.exp(-0.3 * ((X[:, None] - Z) ** 2).sum(axis=2))


def negative_too(X, Z):
    return X @ Z.T - 30.0


def fit(function, **more):
    return SuperSparseClassifier(similarity=function, **more).fit(*IRIS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("function", [gaussian, negative_too])
def test_a_function_only_descends(function):
    fitted = fit(function)
    history = fitted.history_.objective
    assert (np.diff(history) <= 0).all() and history[-1] < history[0]
    Z, objective = fitted.state_.Z, fitted.objective(fitted.problem(*IRIS))
    S, of_rows = function(IRIS[0], Z), function(objective.rows.cases, Z)
    assert fitted.objective_ == pytest.approx(objective.refit(of_rows)[0])
    said = S @ fitted.model_.votes + fitted.model_.intercept
    np.testing.assert_allclose(fitted.decision_function(IRIS[0]), said, atol=1e-9)
    assert not fitted.model_.center.any()


def failing(X, Z):
    raise RuntimeError("no such unit")


WRONG = [
    (failing, "raised RuntimeError: no such unit; mend"),
    (lambda X, Z: X[0], r"shape \(4,\) and should return \(20, 20\)"),
    (lambda X, Z: gaussian(X, Z) * np.nan, "values that are not finite"),
    (
        lambda X, Z: X[:, :1] + 2 * Z[:, 0],
        "should be symmetric, but .* differ by up to",
    ),
    (lambda X, Z: [["a"] * len(Z)] * len(X), "raised ValueError: could not convert"),
]


@pytest.mark.parametrize(("function", "words"), WRONG)
def test_mistakes_of_functions_are_told_in_words(function, words):
    with pytest.raises(SmpcoreError, match=words):
        fit(function)


def misspelt(n=80, seed=0):
    """Words of two languages, with up to two mistakes each."""
    rng = np.random.default_rng(seed)
    texts = []
    for i in range(n):
        word = list(("abcabc", "ccbbaa", "abab", "cacaca")[i % 4])
        for _ in range(rng.integers(0, 3)):
            place = rng.integers(len(word))
            if rng.uniform() < 0.5:
                word[place] = rng.choice(list("abc"))
            else:
                word.insert(place, rng.choice(list("abc")))
        texts.append("".join(word))
    codes, alphabet = encode_strings(texts)
    return codes, np.arange(n) % 2, alphabet, texts


def test_strings_are_learned_by_edits():
    X, y, alphabet, texts = misspelt()
    assert decode_strings(X, alphabet) == texts
    fitted = SuperSparseClassifier(4, similarity="strings", record=1).fit(X, y)
    assert fitted.score(X, y) > 0.9
    history = fitted.history_
    assert [*history.steps.places] == [*range(fitted.n_iter_ + 1)]
    assert (np.diff(history.objective) <= 0).all()
    assert history.objective[-1] < history.objective[0]
    assert history.status_text == "converged"
    words = decode_strings(fitted.model_.prototypes, alphabet)
    assert all(1 <= len(word) <= 20 for word in words) and len(set(words)) == 4


def test_no_single_edit_helps_any_more():
    X, y, alphabet, _ = misspelt(40)
    estimator = SuperSparseClassifier(2, similarity="strings")
    problem = estimator.problem(X, y)
    fitted = estimator.solve(problem)
    objective = fitted.objective(problem)
    Z, letters = fitted.state_.Z.astype(np.int64), len(alphabet)
    best = fitted.objective_
    for j in range(2):
        n = int((Z[j] >= 0).sum())
        for edit in range((2 * n + 1) * letters + n):
            inserts = n * letters <= edit < (2 * n + 1) * letters
            if inserts and n == X.shape[1]:
                continue
            other = Z.copy()
            other[j] = edited(Z[j], edit, letters)
            S = objective.similarities(other.astype(float))
            assert objective.refit(S)[0] > best - 2e-9


def test_rows_that_are_no_strings_are_refused():
    X, y, _, _ = misspelt()
    for wrong in (X + 0.5, X - 1.0, X[:, ::-1]):
        with pytest.raises(SmpcoreError, match="X should hold codes 0, 1, 2"):
            SuperSparseClassifier(similarity="strings").fit(wrong, y)
    with pytest.raises(SmpcoreError, match="width=2 should be at least 3"):
        encode_strings(["abc"], width=2)
    with pytest.raises(SmpcoreError, match="'c' is missing"):
        encode_strings(["abc"], alphabet="ab")


RNG = np.random.default_rng(3)
POINTS = RNG.normal(size=(30, 2))
LABELS = (POINTS[:, 0] * POINTS[:, 1] > 0).astype(int)
#: Similarities, but no kernel.
S = -(np.abs(POINTS[:, None] - POINTS).sum(axis=2) ** 1.5)


def fitted(m, y=LABELS, S=S, kind=SuperSparseClassifier, **options):
    return kind(m, similarity="precomputed", **options).fit(S, y)


def objective_of(columns, y, lam=1e-4):
    """The objective of a ridge on some columns, by its definition."""
    targets = 2.0 * y - 1
    targets = (targets - targets.mean()) / targets.std()
    A = S[:, columns] - S[:, columns].mean(axis=0)
    n = len(y)
    B = np.linalg.solve(A.T @ A / n + lam * np.eye(len(columns)), A.T @ targets / n)
    return ((A @ B - targets) ** 2).mean() + lam * (B**2).sum()


def test_one_prototype_is_the_best_of_all_rows():
    best = min(range(30), key=lambda j: objective_of([j], LABELS))
    found = fitted(1)
    assert found.anchor_rows_.tolist() == [best]
    assert found.objective_ == pytest.approx(objective_of([best], LABELS), rel=1e-9)


def test_no_exchange_of_one_row_is_better():
    found = fitted(3)
    chosen = found.anchor_rows_.tolist()
    assert found.objective_ == pytest.approx(objective_of(chosen, LABELS), rel=1e-9)
    for j, other in itertools.product(range(3), range(30)):
        rows = chosen[:j] + chosen[j + 1 :] + [other]
        if len(set(rows)) == 3:
            assert objective_of(rows, LABELS) >= found.objective_ - 1e-8
    history = found.history_.objective
    assert (np.diff(history) <= 1e-12).all()


def test_a_prediction_needs_the_similarities_to_the_prototypes_only():
    found = fitted(4)
    assert found.model_.kind_of_prototype == "real case"
    assert np.flatnonzero(found.model_.support).tolist() == sorted(found.anchor_rows_)
    new = RNG.normal(size=(9, 30))
    noise = np.where(found.model_.support, new, RNG.normal(size=(9, 30)))
    np.testing.assert_array_equal(found.predict(new), found.predict(noise))


@pytest.mark.parametrize(
    ("X", "options", "words"),
    [
        (S[:, :7], {}, "X has 7 columns for 30 rows and should have a column for each"),
        (S, {"target": "teacher"}, "target='teacher' should be 'labels'"),
    ],
)
def test_what_cannot_be_learned_is_refused(X, options, words):
    with pytest.raises(SmpcoreError, match=words):
        fitted(2, S=X, **options)


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
