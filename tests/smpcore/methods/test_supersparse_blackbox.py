"""Similarities without a gradient: functions of the user's, and strings."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from smpcore import SmpcoreError
from smpcore.methods.supersparse import SuperSparseClassifier
from smpcore.methods.supersparse.strings import (
    decode_strings,
    edited,
    encode_strings,
)

IRIS = load_iris(return_X_y=True)


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
    S = function(IRIS[0], fitted.state_.Z)
    objective = fitted.objective(fitted.problem(*IRIS))
    assert fitted.objective_ == pytest.approx(
        objective.refit(function(objective.rows.cases, fitted.state_.Z))[0]
    )
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
