"""MultiPrototypeSVC of a kernel on many rows: prototypes are mixes of landmarks."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine

from smpcore import SmpcoreError
from smpcore.errors import Caution
from smpcore.methods.mprotsvm import (
    MultiPrototypeSVC,
    estimator,
    landmarks,
)
from smpcore.methods.mprotsvm import problem as mprotsvm_problem

IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)
DIGITS = tuple(part[:600] for part in load_digits(return_X_y=True))
EXACT = {"tol": 1e-7, "max_iter": 50_000}
KERNELS = [{"kernel": "rbf"}, {"kernel": "poly", "degree": 2}]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_landmarks_that_are_all_rows_are_the_kernel(kernel):
    X, y = WINE
    whole = MultiPrototypeSVC(1, C=1.0, **kernel, **EXACT).fit(X, y)
    fitted = MultiPrototypeSVC(1, C=1.0, landmarks=len(X), **kernel, **EXACT)
    fitted.fit(X, y)
    assert fitted.objective_ == pytest.approx(whole.objective_, rel=1e-4)
    apart = fitted.decision_function(X) - whole.decision_function(X)
    assert np.abs(apart).max() < 2e-2
    # Polynomials of degree 2 in 13 features are mixes of 14 * 15 / 2 of them.
    assert len(fitted.model_.anchors) == (len(X) if kernel["kernel"] == "rbf" else 105)
    assert "landmarks" not in fitted.automatic_


def kernel_objective(fitted, X, y, C):
    """Objective of a model under its kernel, rows tied as they are."""
    model = fitted.model_
    K = model.similarity.values(model.anchors, model.anchors)
    norm = np.einsum("ir,ij,jr->", model.mixing, K, model.mixing)
    scores, rows = model.activations(X), np.arange(len(y))
    own = scores[rows, fitted.merged_[fitted.assignment_]]
    rivals = np.where(model.prototype_labels == y[:, None], -np.inf, scores)
    slack = np.maximum(1.0 - own + rivals.max(axis=1), 0.0)
    return 0.5 * norm + C * slack.sum()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_objective_is_that_of_the_model_under_the_kernel(kernel):
    X, y = WINE
    fitted = MultiPrototypeSVC(2, C=0.5, landmarks=20, **kernel, tol=1e-6).fit(X, y)
    model = fitted.model_
    assert model.anchors.shape == (20, 13)
    assert model.kind_of_prototype == "mix of real cases"
    scaled = (X - model.center) / model.scale
    nearest = np.abs(scaled[:, None] - model.anchors).sum(axis=2).min(axis=0)
    np.testing.assert_allclose(nearest, 0.0, atol=1e-12)
    value = kernel_objective(fitted, X, y, 0.5)
    assert fitted.objective_ == pytest.approx(value, rel=1e-6)


@pytest.fixture
def no_gram(monkeypatch):
    """Rows are many: a Gram matrix takes too much memory, and landmarks are few."""
    monkeypatch.setattr(mprotsvm_problem, "MOST_GRAM_BYTES", 10_000)
    monkeypatch.setattr(landmarks, "N_LANDMARKS", 20)
    monkeypatch.setattr(estimator, "N_LANDMARKS", 20)


def test_a_far_row_leaves_no_other_landmark_out():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 10))
    y = X[:, 0] * X[:, 1] > 0
    X[0] = 40.0
    params = {"n_prototypes": 1, "kernel": "poly", "standardize": False}
    whole = MultiPrototypeSVC(**params, C=1.0).fit(X, y)
    fitted = MultiPrototypeSVC(**params, C=1.0, landmarks=300).fit(X, y)
    # Polynomials of degree 3 in 10 features are mixes of 286 of them.
    assert len(fitted.model_.anchors) == 286
    assert fitted.objective_ == pytest.approx(whole.objective_, rel=0.01)


def test_too_many_rows_to_compare_get_landmarks_and_a_caution(no_gram, monkeypatch):
    X, y = IRIS
    with pytest.warns(Caution, match="mixes of 20 landmarks; raise landmarks to come"):
        fitted = MultiPrototypeSVC(kernel="rbf").fit(X, y)
    assert fitted.automatic_["landmarks"] == 20 and fitted.score(X, y) > 0.9
    assert "landmarks" not in MultiPrototypeSVC().fit(X, y).automatic_
    monkeypatch.setattr(landmarks, "MOST_MAP_BYTES", 10_000)
    with pytest.raises(SmpcoreError, match=r"landmarks=30 with 149 different .*fewer"):
        MultiPrototypeSVC(kernel="rbf", landmarks=30).fit(X, y)
