"""IMKPL of many rows: kernels of features as products of thin factors."""

import numpy as np
import pytest

from smpcore import SmpcoreError
from smpcore.errors import Caution
from smpcore.methods.imkpl import IMKPLClassifier, kinds_of_kernels, landmarks
from smpcore.methods.imkpl.alternation import Alternation
from smpcore.methods.imkpl.factors import FactoredMix, thin_product
from smpcore.methods.imkpl.kinds_of_kernels import FeatureKernels
from smpcore.methods.imkpl.problem import IMKPLParameters


def clouds(n, n_features=6, seed=0):
    """Three clouds; values with outliers, a feature of few values, a constant one."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_t(3, size=(n, n_features))
    X[:, :2] += 3.0 * rng.normal(size=(3, 2))[y]
    X[:, 3] = np.round(X[:, 3])
    X[:, 4] = 1.0
    return X, y


def test_factors_are_those_of_the_kernels():
    X, _ = clouds(1100)
    found = FeatureKernels.of(X)
    assert found.is_low_rank and found.low_rank.n_kernels == 6
    L, feature = found.low_rank.L, found.low_rank.feature
    for number, one in enumerate(np.eye(6)):
        part = L[:, feature == number]
        np.testing.assert_allclose(part @ part.T, found.mixed(one), atol=2e-10)
    assert (np.bincount(feature)[[3, 4]] <= [len(np.unique(X[:, 3])), 1]).all()
    counts = np.random.default_rng(0).uniform(0.1, 3.0, 1100)
    shares = counts / counts.sum()
    means = [shares @ found.mixed(one) @ shares for one in np.eye(6)]
    np.testing.assert_allclose(found.low_rank.means(counts), means, atol=2e-10)


def test_a_factored_mix_is_used_like_the_array_of_its_values():
    X, _ = clouds(1100)
    found = FeatureKernels.of(X)
    weights = np.array([0.4, 0.1, 0.0, 0.2, 0.0, 0.3])
    mix, K = found.mix(weights), found.mixed(weights)
    assert isinstance(mix, FactoredMix) and len(mix) == 1100
    A = np.random.default_rng(0).normal(size=(5, 1100))
    A[1] = 0.0
    np.testing.assert_allclose(A @ mix, A @ K, atol=1e-7)
    np.testing.assert_allclose(mix[[3, 700]], K[[3, 700]], atol=2e-10)
    np.testing.assert_allclose(np.asarray(mix), K, atol=2e-10)
    part = slice(200, 450)
    np.testing.assert_allclose(np.asarray(mix[part, part]), K[part, part], atol=2e-10)
    few = np.where(np.random.default_rng(1).random(A.shape) < 0.01, A, 0.0)
    L = found.low_rank.L
    np.testing.assert_allclose(thin_product(few, L), few @ L, atol=1e-12)


def test_products_of_factors_are_those_of_the_kernels():
    X, y = clouds(330, n_features=24)
    problem = IMKPLClassifier(n_prototypes=4).problem(X, y)
    assert problem.kernels.low_rank is not None and not problem.kernels.is_low_rank
    parameters = IMKPLParameters(0.3, 0.2, 0.2, 2.0, 10, True)
    alternation = Alternation(problem, parameters, np.zeros(1, dtype=np.int64))
    alternation.update_prototypes()
    of_factors = alternation.kernel_errors()
    problem.kernels.__dict__["low_rank"] = None
    direct = alternation.kernel_errors()
    active = problem.active
    np.testing.assert_allclose(of_factors[active], direct[active], rtol=1e-9)


def test_a_fit_of_factors_is_the_fit_of_tables(monkeypatch):
    X, y = clouds(1200)
    params = {"n_prototypes": 3, "kappa": 2.0}
    thin = IMKPLClassifier(**params)
    problem = thin.problem(X, y)
    assert isinstance(problem.K, FactoredMix)
    thin.solve(problem)
    monkeypatch.setattr(kinds_of_kernels, "FACTORED_ROWS", 10**9)
    monkeypatch.setattr(kinds_of_kernels, "FACTORED_NUMBERS", 10**12)
    table = IMKPLClassifier(**params).fit(X, y)
    assert thin.objective_ == pytest.approx(table.objective_, rel=1e-3)
    np.testing.assert_allclose(thin.kernel_weights_, table.kernel_weights_, atol=2e-2)
    assert np.mean(thin.predict(X) == table.predict(X)) > 0.98
    np.testing.assert_array_equal(thin.dropped_, [4])


def test_a_fit_that_starts_from_landmarks_is_as_good():
    X, y = clouds(2400)
    params = {"n_prototypes": 3, "kappa": 2.0}
    whole = IMKPLClassifier(**params).fit(X, y)
    problem = IMKPLClassifier(**params, landmarks=600).problem(X, y)
    assert problem.landmarks.shape == (600,) and problem.U.shape == (9, 2400)
    assert not np.delete(problem.U, problem.landmarks, axis=1).any()
    fitted = IMKPLClassifier(**params, landmarks=600)
    fitted.solve(problem)
    assert fitted.objective_ < 1.01 * whole.objective_
    assert fitted.score(X, y) > whole.score(X, y) - 0.01
    again = IMKPLClassifier(**params, landmarks=600).solve(problem, fitted.state_)
    assert again.objective_ <= fitted.objective_ * (1 + 1e-9)


def test_many_rows_get_landmarks_and_a_caution(monkeypatch):
    X, y = clouds(1500)
    assert IMKPLClassifier(landmarks=50).problem(X[:300], y[:300]).landmarks is None
    # Tables of 300 rows of a class.
    monkeypatch.setattr(kinds_of_kernels, "MOST_BYTES", 16 * 300**2)
    monkeypatch.setattr(landmarks, "refuse_thick", lambda *_: None)
    monkeypatch.setattr(landmarks, "N_LANDMARKS", 400)
    with pytest.raises(SmpcoreError, match="2 tables of 500 x 500"):
        IMKPLClassifier(landmarks=0).problem(X, y)
    with pytest.raises(SmpcoreError, match="2 tables of 400 x 400"):
        IMKPLClassifier(landmarks=1200).problem(X, y)
    with pytest.warns(Caution, match="Of 1500 rows, about 400 landmarks are fitted"):
        problem = IMKPLClassifier().problem(X, y)
    assert len(problem.landmarks) in range(399, 402)
    monkeypatch.undo()
    monkeypatch.setattr(kinds_of_kernels, "MOST_BYTES", 10**6)
    with pytest.raises(SmpcoreError, match=r"kernels of 1500 rows, with .* features"):
        IMKPLClassifier().problem(X, y)
