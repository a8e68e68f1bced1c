"""Few training rows, or few vectors of an SVM, as baselines."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from smpcore import SmpcoreError
from smpcore.baselines import models as selected


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


CANCER = scaled(load_breast_cancer)
IRIS = scaled(load_iris)
DIABETES = scaled(load_diabetes)


@pytest.mark.parametrize("way", selected.WAYS)
def test_coefficients_are_those_of_ridge_regression(way):
    X, y = DIABETES
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    fitted = selected.SelectedRegressor(way, 7, lam=1e-3).fit(X, y, weights)
    assert len(fitted.Z_) <= 7
    assert all((X == z).all(axis=1).any() for z in fitted.Z_)
    S = selected.similarities(X, fitted.Z_)
    ridge = Ridge(1e-3 * weights.sum()).fit(S, y, weights)
    np.testing.assert_allclose(fitted.predict(X), ridge.predict(S), rtol=1e-6)


def test_an_svm_with_all_its_vectors_is_the_svm():
    X, y = CANCER
    few = selected.FewVectorSVC(n_prototypes=10**4).fit(X, y)
    svm = SVC(gamma=1 / X.shape[1]).fit(X, y)
    assert len(few.Z_) == len(svm.support_)
    values = few._values(X)[:, 0]
    np.testing.assert_allclose(values, svm.decision_function(X), atol=1e-4)


def test_new_vectors_come_nearer_to_the_decision_than_kept_ones():
    X, y = CANCER
    svm = SVC(gamma=1 / X.shape[1]).fit(X, y)
    V, duals = X[svm.support_], svm.dual_coef_.T

    def left(Z, B):
        across = duals.T @ selected.similarities(V, Z) @ B
        whole = duals.T @ selected.similarities(V, V) @ duals
        few = B.T @ selected.similarities(Z, Z) @ B
        return float((whole - 2 * across + few)[0, 0]) / float(whole[0, 0])

    parts = []
    for n in (1, 4, 8):
        parts.append(left(*selected.reduced_vectors(V, duals, n)))
        kept = selected.FewVectorSVC("selected", n).fit(X, y)
        assert parts[-1] < left(kept.Z_, kept.B_)
    assert parts[0] > parts[1] > parts[2] >= 0.0


def test_ways_look_at_a_part_of_many_rows(monkeypatch):
    monkeypatch.setattr(selected, "MOST_ROWS", 40)
    X, _ = CANCER
    for way in ("border", "spanning", "kmedians", "kcentres"):
        chosen = selected.select_rows(X, 6, way)
        assert 1 < len(set(chosen)) <= 6
    monkeypatch.setattr(selected, "MOST_VECTORS", 5)
    with pytest.raises(
        SmpcoreError, match="support vectors, and at most 5 are reduced"
    ):
        selected.FewVectorSVC().fit(*CANCER)


def test_rows_are_chosen_as_by_hand_and_centres_by_their_definition():
    X = np.array([[0.0], [1.0], [2.0], [10.0]])
    assert set(selected.select_rows(X, 1, "border")) == {3}
    assert selected.select_rows(X, 2, "spanning").tolist() == [1, 3]
    X = np.array([[0.0], [1.0], [2.0], [3.0], [20.0], [21.0], [22.0]])
    assert sorted(selected.select_rows(X, 2, "kcentres")) == [1, 5]
    X = np.random.default_rng(0).normal(size=(80, 2))
    chosen = selected.select_rows(X, 6, "kcentres")
    nearest = cdist(X, X[chosen]).argmin(axis=1)
    for k, row in enumerate(chosen):
        members = X[nearest == k]
        radii = cdist(members, members).max(axis=1)
        assert cdist(members, X[[row]]).max() == pytest.approx(radii.min())
    assert len(set(selected.select_rows(np.zeros((9, 2)), 3, "kcentres"))) == 1
