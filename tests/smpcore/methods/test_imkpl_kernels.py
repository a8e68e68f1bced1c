"""IMKPLClassifier: which kernels it weighs, and how its model uses them."""

import numpy as np
import pytest
from scipy.optimize import linprog

from smpcore import PrototypeModel, SmpcoreError
from smpcore.errors import Caution
from smpcore.methods.imkpl import IMKPLClassifier, kinds_of_kernels
from smpcore.methods.imkpl import problem as imkpl_problem
from smpcore.methods.imkpl.fit import ridge_weights
from smpcore.methods.imkpl.kinds_of_kernels import (
    FactoredMix,
    FeatureKernels,
    thin_product,
)
from smpcore.methods.imkpl.paper_algorithm import terms_of
from tests.smpcore.methods.tables import IRIS, WINE
from tests.smpcore.methods.test_imkpl import alternate
from tests.smpcore.solvers.test_losses import slow_nqp


def feature_kernels(X, Z):
    """Every feature's kernel by the specification, shape (n_features, n_X, n_Z)."""
    n = len(Z)
    widths = 2.0 * Z.var(axis=0) * n / (n - 1)
    return np.exp(-((X.T[:, :, None] - Z.T[:, None]) ** 2) / widths[:, None, None])


def test_kappa_goes_from_one_kernel_to_all_alike():
    kept = []
    for kappa in (0.0, 1e-6, 1.0, 2.0, 1e6, np.inf):
        weights = IMKPLClassifier(kappa=kappa, max_iter=60).fit(*WINE).kernel_weights_
        kept.append(np.count_nonzero(weights))
    assert kept[:2] == [1, 1] and 1 < kept[2] < kept[3] < 13 and kept[4:] == [13, 13]
    np.testing.assert_array_equal(weights, 1 / 13)
    nearly = IMKPLClassifier(kappa=1e6).fit(*WINE).kernel_weights_
    np.testing.assert_allclose(nearly, 1 / 13, atol=3e-7)


def test_the_papers_linear_program_and_iskpl_by_name():
    alternation, problem = alternate(WINE, 0, 3, mu=0.3, tau=0.1, kappa=0.0)
    alternation.update_prototypes()
    H = alternation.U.T @ alternation.codes
    alternation.update_kernels()
    # The costs (11), written out for the algorithm as printed, and their program (10).
    terms = terms_of(IMKPLClassifier(mu=0.3, tau=0.1), problem)
    costs = terms.costs(terms.kernels, H)
    corner = linprog(costs, A_eq=np.ones((1, 13)), b_eq=[1.0]).x
    np.testing.assert_allclose(alternation.beta, corner, atol=1e-12)
    for name, kappa, n_kept in (("lp", 0.0, 1), ("even", np.inf, 13)):
        named = IMKPLClassifier(n_prototypes=3, kernel_weights=name).fit(*WINE)
        plain = IMKPLClassifier(n_prototypes=3, kappa=kappa).fit(*WINE)
        assert named.kappa_ == kappa and "kappa" not in named.automatic_
        assert np.count_nonzero(named.kernel_weights_) == n_kept
        np.testing.assert_array_equal(named.kernel_weights_, plain.kernel_weights_)
        np.testing.assert_array_equal(named.model_.mixing, plain.model_.mixing)


def test_ridge_weights_are_the_minimiser_on_the_simplex():
    rng = np.random.default_rng(0)
    for rho in (0.1, 1.0, 30.0):
        errors = rng.normal(size=9) + 100
        beta = ridge_weights(errors, rho)
        slope = errors + rho * beta
        assert beta.sum() == pytest.approx(1)
        np.testing.assert_allclose(slope[beta > 0], slope.min(), rtol=1e-9)
    np.testing.assert_array_equal(ridge_weights(errors, 0.0), errors == errors.min())
    # kappa = 1 weighs kernels by how far they are below the mean.
    below = np.maximum(errors.mean() - errors, 0)
    at_one = ridge_weights(errors, below.sum())
    np.testing.assert_allclose(at_one, below / below.sum(), atol=1e-12)


def test_listed_kernels_give_the_model_of_kernels_on_the_fly():
    X, y = WINE
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    # Kernels side by side keep the order of the rows, others are sorted by values.
    train, test = order[:120][np.lexsort(X[order[:120]].T[::-1])], order[120:]
    Xs = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    side = np.hstack(feature_kernels(Xs[train], Xs[train]))
    side_test = np.hstack(feature_kernels(Xs[test], Xs[train]))
    streamed = IMKPLClassifier(n_prototypes=10).fit(X[train], y[train])
    listed = IMKPLClassifier(n_prototypes=10, kernels="precomputed", standardize=False)
    listed.fit(7.0 * side, y[train])
    assert listed.objective_ == pytest.approx(streamed.objective_, rel=1e-10)
    np.testing.assert_allclose(listed.kernel_weights_, streamed.kernel_weights_)
    scores = listed.decision_function(7.0 * side_test)
    np.testing.assert_allclose(scores, streamed.decision_function(X[test]), atol=1e-9)


@pytest.mark.parametrize("kernels", ["features", "rbf", "linear"])
def test_the_model_predicts_as_the_specification_says(kernels):
    X, y = WINE[0][::2], WINE[1][::2]
    new = WINE[0][1::2]
    fitted = IMKPLClassifier(kernels=kernels, code_size=4).fit(X, y)
    scale = X.std(axis=0)
    Z, new_z = (X - X.mean(axis=0)) / scale, (new - X.mean(axis=0)) / scale

    def mixed(A):
        if kernels == "features":
            return np.tensordot(fitted.kernel_weights_, feature_kernels(A, Z), 1)
        if kernels == "linear":
            lengths = np.linalg.norm(A, axis=1)[:, None] * np.linalg.norm(Z, axis=1)
            return A @ Z.T / lengths
        apart = ((A[:, None] - Z) ** 2).sum(axis=2)
        own = ((Z[:, None] - Z) ** 2).sum(axis=2)
        return np.exp(-apart / (own.sum() / (len(Z) * (len(Z) - 1))))

    U = np.zeros((len(Z), fitted.model_.n_prototypes))
    U[fitted.anchor_rows_] = fitted.model_.mixing
    gram = U.T @ mixed(Z) @ U
    np.testing.assert_allclose(fitted.model_.gram, gram, atol=1e-10)
    labels = np.eye(3)[y]
    expected = []
    for likeness in mixed(new_z) @ U:
        code, _ = slow_nqp(2 * gram, -2 * likeness, 4)
        expected.append(labels.T @ U @ code)
    scores = fitted.decision_function(new)
    np.testing.assert_allclose(scores, expected, atol=1e-7)
    np.testing.assert_array_equal(fitted.predict(new), np.argmax(expected, axis=1))
    assert fitted.score(new, WINE[1][1::2]) > 0.9


def test_noise_features_are_left_out():
    X, y = WINE
    noise = np.random.default_rng(0).normal(size=(len(y), 20))
    weights = IMKPLClassifier(kappa=1.0).fit(np.hstack([X, noise]), y).kernel_weights_
    assert not weights[13:].any() and 1 < np.count_nonzero(weights) < 13


def test_constant_features_are_dropped_beforehand():
    X, y = WINE
    rare = np.zeros(len(y))
    rare[7] = 1.0
    wide = np.column_stack([np.full(len(y), 3.0), X, rare])
    for standardize in (True, False):
        fitted = IMKPLClassifier(standardize=standardize).fit(wide, y)
        assert fitted.dropped_.tolist() == [0, 14]
        assert not fitted.kernel_weights_[[0, 14]].any()
    plain = IMKPLClassifier().fit(X, y)
    assert plain.dropped_.size == 0
    tiny = IMKPLClassifier(standardize=False).fit(1e-9 * X, y)
    for other in (fitted, tiny):
        assert other.objective_ == pytest.approx(plain.objective_, rel=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_kernels_that_all_see_nothing_are_all_kept():
    X, y = np.zeros((20, 2)), np.arange(20) % 2
    with pytest.warns(UserWarning, match="None of the 2 kernels tells rows apart"):
        fitted = IMKPLClassifier().fit(X, y)
    np.testing.assert_allclose(fitted.kernel_weights_, 0.5)
    assert np.isfinite(fitted.decision_function(X)).all()


def test_a_list_that_is_no_kernel_is_refused_or_mended():
    X, y = IRIS[0][::3], IRIS[1][::3]
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    estimator = IMKPLClassifier(kernels="precomputed", standardize=False)
    assert estimator.fit(np.hstack([K, K**2]), y).score(np.hstack([K, K**2]), y) > 0.9
    skew = K.copy()
    skew[0, 1] += 0.1
    with pytest.raises(SmpcoreError, match="kernel 1 differs from its transpose by"):
        estimator.fit(np.hstack([K, skew]), y)
    with pytest.raises(SmpcoreError, match=r"kernel 0 has 1 to 4 on its diagonal"):
        estimator.fit(K * np.outer([2.0] + [1.0] * 49, [2.0] + [1.0] * 49), y)
    with pytest.raises(SmpcoreError, match="120 columns for 50 rows"):
        estimator.fit(np.ones((50, 120)), y)
    with pytest.raises(SmpcoreError, match="standardize=True would scale each column"):
        IMKPLClassifier(kernels="precomputed").fit(K, y)
    wrong = np.where(K < 0.5, 0.0, 1.0)
    assert np.linalg.eigvalsh(wrong)[0] < -0.1
    with pytest.warns(UserWarning, match=r"kernel 0 has an eigenvalue of -.* raised"):
        mended = estimator.fit(wrong, y)
    gram = mended.model_.gram
    assert np.linalg.eigvalsh(gram)[0] > -1e-9


def waves(seed, n=12):
    """Series of three channels: noise, a wave whose pace is the class, a constant."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n)
    phase, times = rng.uniform(0, 6, size=(2 * n, 1)), np.arange(24) / 24
    wave = np.sin(2 * np.pi * (1 + 2 * y[:, None]) * times + phase)
    noise = rng.normal(size=wave.shape)
    return np.hstack([noise, wave, np.ones_like(wave)]), y


def test_series_are_told_apart_by_the_channel_that_matters():
    estimator = IMKPLClassifier(
        kernels="gak", n_channels=3, standardize=False, kappa=0.1, code_size=4
    )
    fitted = estimator.fit(*waves(0))
    assert fitted.dropped_.tolist() == [2]
    assert np.flatnonzero(fitted.kernel_weights_).tolist() == [1]
    assert fitted.score(*waves(1)) > 0.9
    assert fitted.model_.sample_shape == (3, 24)
    assert fitted.model_.support.tolist() == [False] * 24 + [True] * 24 + [False] * 24
    back = PrototypeModel.from_json(fitted.model_.to_json())
    new, _ = waves(1)
    np.testing.assert_array_equal(back.predict(new), fitted.predict(new))
    codes = fitted.model_.activations(waves(0)[0])
    np.testing.assert_array_equal(codes.argmax(axis=1), fitted.assignment_)


def test_series_that_do_not_fit_are_refused():
    X, y = waves(0)
    with pytest.raises(SmpcoreError, match="n_channels=5 should divide the 72 columns"):
        IMKPLClassifier(kernels="gak", n_channels=5, standardize=False).fit(X, y)
    with pytest.raises(SmpcoreError, match="would scale each time of a series"):
        IMKPLClassifier(kernels="gak", n_channels=3).fit(X, y)


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
    alternation, problem = alternate((X, y), 0, 4, lam=0.3)
    assert problem.kernels.low_rank is not None and not problem.kernels.is_low_rank
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
    monkeypatch.setattr(kinds_of_kernels, "refuse_thick", lambda *_: None)
    monkeypatch.setattr(imkpl_problem, "N_LANDMARKS", 400)
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
