"""Similarities without a gradient: functions of the user's, and strings."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from smpcore import SmpcoreError
from smpcore.methods.supersparse import SuperSparseClassifier, SuperSparseRegressor
from smpcore.methods.supersparse.problem import Objective, evaluate
from smpcore.methods.supersparse.strings import (
    decode_strings,
    edited,
    encode_strings,
    objectives_with,
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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_gaussian_function_comes_close_to_the_gradient():
    black = fit(gaussian, start="kmeans")
    white = SuperSparseClassifier(standardize=False, gamma=0.3, start="kmeans").fit(
        *IRIS
    )
    np.testing.assert_allclose(black.start_, white.start_)
    assert white.objective_ <= black.objective_ <= 1.2 * white.objective_
    rows = white.problem(*IRIS).rows
    objective = Objective(rows, white.model_.similarity, 1e-4)
    _, G, _, _ = evaluate(objective, white.start_)
    S = gaussian(rows.cases, white.start_)
    _, B, _, residuals = Objective(rows, None, 1e-4).refit(S)
    pull = 2 * (rows.weights[:, None] * residuals) @ B.T * S
    seven = pull.T @ rows.cases - pull.sum(axis=0)[:, None] * white.start_
    np.testing.assert_allclose(2 * 0.3 * seven, G, rtol=1e-8, atol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_functions_predict_numbers_too_and_heed_the_box():
    X, y = load_diabetes(return_X_y=True)

    def wide(X, Z):
        return np.exp(-100.0 * ((X[:, None] - Z) ** 2).sum(axis=2))

    fitted = SuperSparseRegressor(3, similarity=wide, box=(-0.02, 0.02)).fit(X, y)
    assert np.abs(fitted.model_.prototypes).max() <= 0.02
    assert fitted.score(X, y) > 0.3


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


def test_a_mistake_that_shows_late_is_told_too():
    def fickle(X, Z):
        return gaussian(X, Z) if len(Z) > 1 else np.zeros((len(X), 2))

    with pytest.raises(
        SmpcoreError, match=r"shape \(149, 2\) and should return \(149, 1\)"
    ):
        fit(fickle, start="kmeans")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_model_with_a_function_is_not_saved():
    with pytest.raises(SmpcoreError, match="Python function cannot be saved"):
        fit(gaussian).model_.to_json()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_functions_stop_and_record():
    stop = np.ones(1, dtype=np.int64)
    estimator = SuperSparseClassifier(similarity=gaussian, record=2, max_iter=6)
    halted = estimator.solve(estimator.problem(*IRIS), stop=stop)
    assert halted.history_.status_text == "stopped"
    assert fit(gaussian, record=2, max_iter=6).history_.steps.states[3].shape == (6, 4)


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
    fitted = SuperSparseClassifier(4, similarity="strings").fit(X, y)
    assert fitted.score(X, y) > 0.9
    history = fitted.history_
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


def test_objectives_of_candidates_are_exact():
    rng = np.random.default_rng(0)
    rows = SuperSparseClassifier().problem(*IRIS).rows
    S, columns = rng.normal(size=(2, len(rows.cases), 3))
    objective = Objective(rows, None, 1e-3)
    found = objectives_with(objective, S, columns)
    alone = objectives_with(objective, S[:, :0], columns)
    for k in range(3):
        whole = objective.refit(np.column_stack([S, columns[:, k]]))[0]
        assert found[k] == pytest.approx(whole, rel=1e-10)
        assert alone[k] == pytest.approx(objective.refit(columns[:, [k]])[0])


def test_strings_predict_numbers_stop_and_record():
    X, y, _, _ = misspelt()
    fitted = SuperSparseRegressor(3, similarity="strings", record=1).fit(X, 2.0 * y)
    assert fitted.score(X, 2.0 * y) > 0.4
    assert len(fitted.history_.steps) == fitted.n_iter_ + 1
    estimator = SuperSparseRegressor(3, similarity="strings")
    stop = np.ones(1, dtype=np.int64)
    halted = estimator.solve(estimator.problem(X, y), stop=stop)
    assert halted.history_.status_text == "stopped"
    one = SuperSparseClassifier(1, similarity="strings").fit(X, y)
    assert one.objective_ < 1.0


def test_rows_that_are_no_strings_are_refused():
    X, y, _, _ = misspelt()
    for wrong in (X + 0.5, X - 1.0, X[:, ::-1]):
        with pytest.raises(SmpcoreError, match="X should hold codes 0, 1, 2"):
            SuperSparseClassifier(similarity="strings").fit(wrong, y)
    with pytest.raises(SmpcoreError, match="width=2 should be at least 3"):
        encode_strings(["abc"], width=2)
    with pytest.raises(SmpcoreError, match="'c' is missing"):
        encode_strings(["abc"], alphabet="ab")
