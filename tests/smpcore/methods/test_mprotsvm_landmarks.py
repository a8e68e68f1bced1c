"""MultiPrototypeSVC of a kernel on many rows: prototypes are mixes of landmarks."""

import threading

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine, make_moons
from sklearn.exceptions import ConvergenceWarning

from smpcore import PrototypeModel, SmpcoreError
from smpcore.codegen import compile_model
from smpcore.errors import Caution
from smpcore.methods.mprotsvm import (
    MultiPrototypeSVC,
    all_rows,
    estimator,
    landmarks,
    rows,
)
from smpcore.methods.mprotsvm import problem as mprotsvm_problem
from smpcore.methods.mprotsvm.problem import SVMParameters
from smpcore.methods.shared import row_blocks
from smpcore.methods.shared.problem import SolverOptions
from smpcore.similarity import Similarity
from smpcore.solvers.iterations import CONVERGED, STOPPED

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


def test_more_landmarks_come_closer_to_the_kernel():
    params = {"n_prototypes": 1, "C": 1.0, "kernel": "rbf", "tol": 1e-4}
    objectives = [
        MultiPrototypeSVC(**params, landmarks=count).fit(*DIGITS).objective_
        for count in (50, 150, 400, 0)
    ]
    assert (np.diff(objectives) < 0).all()
    assert objectives[2] < 1.1 * objectives[3] < objectives[1]


@pytest.fixture
def no_gram(monkeypatch):
    """Rows are many: a Gram matrix takes too much memory, and landmarks are few."""
    monkeypatch.setattr(mprotsvm_problem, "MOST_GRAM_BYTES", 10_000)
    monkeypatch.setattr(landmarks, "USUAL", 20)
    monkeypatch.setattr(rows, "USUAL", 20)
    monkeypatch.setattr(estimator, "USUAL", 20)


LARGE_VALUES = {"kernel": "poly", "degree": 3, "coef0": 30.0}


@pytest.mark.parametrize("n_prototypes", [1, 2])
@pytest.mark.parametrize("kernel", [*KERNELS, LARGE_VALUES], ids=str)
def test_many_rows_are_mixed_until_the_whole_kernel_is_certified(
    kernel, n_prototypes, no_gram
):
    X, y = DIGITS
    params = {"n_prototypes": n_prototypes, "C": 0.3, "tol": 1e-3, **kernel}
    few = MultiPrototypeSVC(**params, landmarks=20).fit(X, y)
    with pytest.warns(Caution, match="landmarks=20 makes a faster fit and a smaller"):
        fitted = MultiPrototypeSVC(**params).fit(X, y)
    assert fitted.gap_ <= 1e-3 * fitted.objective_ < 1e-3 * 0.8 * few.objective_
    value = kernel_objective(fitted, X, y, 0.3)
    assert fitted.objective_ == pytest.approx(value, rel=1e-4)
    assert fitted.history_.status == CONVERGED and fitted.history_.gap[-1] > 0
    assert "landmarks" not in fitted.automatic_


def test_the_certificate_of_mixes_holds_for_the_gram_matrix(no_gram, monkeypatch):
    X, y = DIGITS
    with pytest.warns(Caution):
        fitted = MultiPrototypeSVC(1, C=1.0, kernel="rbf").fit(X, y)
    monkeypatch.undo()
    whole = MultiPrototypeSVC(1, C=1.0, kernel="rbf", tol=1e-6).fit(X, y)
    lowest, highest = whole.objective_ * (1 - 1e-5), whole.objective_ * 1.01
    assert lowest < fitted.objective_ < highest
    assert fitted.objective_ - fitted.gap_ <= whole.objective_ * (1 + 1e-5)


@pytest.mark.filterwarnings("ignore::smpcore.errors.Caution")
def test_a_fit_of_mixes_is_recorded_repeated_and_resumed(no_gram):
    fitted = MultiPrototypeSVC(2, kernel="rbf", record=1).fit(*DIGITS)
    np.testing.assert_array_equal(
        fitted.history_.step(-1).activations(DIGITS[0]),
        fitted.model_.activations(DIGITS[0]),
    )
    again = MultiPrototypeSVC(2, kernel="rbf").fit(*DIGITS)
    np.testing.assert_array_equal(fitted.model_.mixing, again.model_.mixing)
    again.temperature = 0.0
    again.solve(again.problem(*DIGITS), fitted.state_)
    assert again.objective_ <= 1.01 * fitted.objective_


@pytest.mark.filterwarnings("ignore::smpcore.errors.Caution")
def test_mixes_that_are_not_certified_say_so(no_gram, monkeypatch):
    monkeypatch.setattr(all_rows, "MOST_ROUNDS", 1)
    with pytest.warns(ConvergenceWarning, match=r"^The fit ended with .* raise tol or"):
        fitted = MultiPrototypeSVC(1, C=10.0, kernel="rbf").fit(*DIGITS)
    assert fitted.gap_ > 0.01 * fitted.objective_


@pytest.mark.filterwarnings("ignore::smpcore.errors.Caution")
def test_a_fit_that_is_certified_is_done_though_its_last_columns_are_not(no_gram):
    X, y = (part[:300] for part in DIGITS)
    fitted = MultiPrototypeSVC(1, C=1.0, kernel="rbf", max_iter=8).fit(X, y)
    assert 0.5 * 0.01 * fitted.objective_ < fitted.gap_ <= 0.01 * fitted.objective_
    assert fitted.history_.status == CONVERGED


@pytest.mark.filterwarnings("ignore::smpcore.errors.Caution")
def test_a_fit_of_mixes_that_is_stopped_claims_nothing(no_gram):
    unfitted, options = MultiPrototypeSVC(1, kernel="rbf"), SolverOptions(tol=0.01)
    problem = unfitted.problem(*DIGITS)
    options.stop[0] = 1
    history = unfitted._solve(problem, None, options).model.history
    assert history.status == STOPPED and history.gap[-1] == history.objective[-1]


@pytest.mark.filterwarnings("ignore::smpcore.errors.Caution")
def test_a_fit_of_mixes_that_is_stopped_later_has_the_bound_of_the_rounds_before(
    no_gram, monkeypatch
):
    unfitted, options = MultiPrototypeSVC(1, C=1.0, kernel="rbf"), SolverOptions(1e-4)
    problem, fit, calls = unfitted.problem(*DIGITS), all_rows.best_fit, []

    def stopped_at_third(*args, **settings):
        calls.append(fit(*args, **settings))
        options.stop[0] = len(calls) == 3
        return calls[-1]

    monkeypatch.setattr(all_rows, "best_fit", stopped_at_third)
    history = unfitted._solve(problem, None, options).model.history
    monkeypatch.undo()
    whole = MultiPrototypeSVC(1, C=1.0, kernel="rbf", tol=1e-6).fit(*DIGITS)
    lowest = history.objective[-1] - history.gap[-1]
    assert history.status == STOPPED
    assert 0.5 * whole.objective_ < lowest <= whole.objective_ * (1 + 1e-5)


@pytest.mark.filterwarnings("ignore::smpcore.errors.Caution")
def test_masses_that_are_far_too_large_bound_the_objective_once_they_shrink(
    no_gram, monkeypatch
):
    monkeypatch.setattr(all_rows, "MOST_ROUNDS", 1)
    params = {"n_prototypes": 1, "C": 100.0, "kernel": "rbf", "gamma": 5.0}
    with pytest.warns(ConvergenceWarning):
        fitted = MultiPrototypeSVC(**params).fit(*DIGITS)
    monkeypatch.undo()
    whole = MultiPrototypeSVC(**params, tol=1e-6).fit(*DIGITS)
    lowest = fitted.objective_ - fitted.gap_
    assert 0.5 * whole.objective_ < lowest <= whole.objective_ * (1 + 1e-5)


def test_similarities_that_are_too_large_are_refused_beside_landmarks():
    X, y = WINE
    huge = MultiPrototypeSVC(kernel="poly", degree=20, landmarks=50, standardize=False)
    with pytest.raises(SmpcoreError, match="lower degree, gamma or coef0"):
        huge.fit(1e60 * X, y)
    with pytest.raises(SmpcoreError, match="lower degree, gamma or coef0"):
        huge.fit(X, y)


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


def test_rows_that_are_like_nothing_have_landmarks_too():
    X, y = np.zeros((40, 3)), np.arange(40) % 2
    fitted = MultiPrototypeSVC(kernel="poly", coef0=0.0, landmarks=10).fit(X, y)
    assert not fitted.model_.mixing.any()


def test_too_many_rows_to_compare_get_landmarks_and_a_caution(no_gram, monkeypatch):
    X, y = IRIS
    monkeypatch.setattr(rows, "MOST_COMPARED", 100)
    with pytest.warns(Caution, match="mixes of 20 landmarks; raise landmarks to come"):
        fitted = MultiPrototypeSVC(kernel="rbf").fit(X, y)
    assert fitted.automatic_["landmarks"] == 20 and fitted.score(X, y) > 0.9
    assert "landmarks" not in MultiPrototypeSVC().fit(X, y).automatic_
    monkeypatch.setattr(landmarks, "MOST_MAP_BYTES", 10_000)
    with pytest.raises(SmpcoreError, match=r"landmarks=30 with 149 different .*fewer"):
        MultiPrototypeSVC(kernel="rbf", landmarks=30).fit(X, y)


def test_many_rows_are_clustered_in_part(monkeypatch):
    monkeypatch.setattr(landmarks, "CLUSTERED", 2)
    fitted = MultiPrototypeSVC(kernel="rbf", landmarks=40).fit(*DIGITS)
    assert 30 <= len(fitted.model_.anchors) <= 40
    assert fitted.score(*DIGITS) > 0.85


def test_a_model_of_landmarks_is_like_any_other():
    fitted = MultiPrototypeSVC(kernel="rbf", landmarks=25, record=2).fit(*WINE)
    model = PrototypeModel.from_json(fitted.model_.to_json())
    np.testing.assert_array_equal(model.predict(WINE[0]), fitted.predict(WINE[0]))
    assert compile_model(model) is not None
    assert fitted.history_.step(0).anchors.shape == (25, 13)
    warm = MultiPrototypeSVC(kernel="rbf", landmarks=25, C=0.2)
    warm.solve(warm.problem(*WINE), fitted.state_)
    assert warm.score(*WINE) > 0.95


@pytest.mark.filterwarnings("ignore::smpcore.errors.Caution")
@pytest.mark.parametrize(("n_prototypes", "C"), [(1, 10.0), (2, 1.0)])
def test_rows_of_a_local_kernel_are_summed_up_cell_by_cell(
    n_prototypes, C, no_gram, monkeypatch
):
    X, y = make_moons(600, noise=0.2, random_state=0)
    monkeypatch.setattr(all_rows, "MOST_ROUNDS", 12)
    local = MultiPrototypeSVC(n_prototypes, C=C, kernel="rbf", gamma=10.0)
    assert local.fit(X, y).gap_ <= 0.01 * local.objective_
    assert local.objective_ == pytest.approx(kernel_objective(local, X, y, C), rel=1e-4)


@pytest.mark.filterwarnings("ignore::smpcore.errors.Caution")
def test_mixes_end_where_their_columns_fill_the_memory(no_gram, monkeypatch):
    unfitted = MultiPrototypeSVC(1, C=10.0, kernel="rbf", gamma=0.1)
    problem = unfitted.problem(*DIGITS)
    n_rows, n_columns = problem.mapped.shape
    for room in (0, 25, 60):
        # One round's columns stand beside all of before.
        most = 16 * n_rows * (n_columns + room)
        monkeypatch.setattr(all_rows, "MOST_MAP_BYTES", most)
        search = SVMParameters(10.0, 10.0, 0.8, "random", 1)
        widened, ended, _ = all_rows.fit_mixes(problem, search, SolverOptions(), None)
        assert room - 10 < widened.mapped.shape[1] - n_columns <= room
        assert not ended.finished


@pytest.mark.filterwarnings("ignore::smpcore.errors.Caution")
def test_two_cores_mix_rows_to_the_same_bits(no_gram, monkeypatch):
    monkeypatch.setattr(row_blocks, "ROWS_AT_ONCE", 64)
    fits, threads, mixed = [], set(), Similarity.mixed

    def watched(*args):
        threads.add(threading.get_ident())
        return mixed(*args)

    monkeypatch.setattr(Similarity, "mixed", watched)
    for cores in (1, 2):
        threads.clear()
        with joblib.parallel_config("threading", n_jobs=cores):
            fits.append(MultiPrototypeSVC(2, kernel="rbf").fit(*DIGITS))
        assert (len(threads) > 1) == (cores > 1)
    one, two = fits
    assert one.gap_ == two.gap_
    np.testing.assert_array_equal(one.model_.mixing, two.model_.mixing)
