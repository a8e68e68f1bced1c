"""SMPClassifier: scikit-learn's contract, and what the specification promises."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from smpcore import SMPClassifier, SmpcoreError
from smpcore.methods.shared import scaling
from smpcore.methods.shared.linear import largest_eigenvalue
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.shared.starts import MOST_ROWS, cluster_rows, each_row
from smpcore.methods.smp.assignment import equal_prototypes, merged_rows
from smpcore.methods.smp.bounds import loss_gradient
from smpcore.methods.smp.problem import (
    SMPParameters,
    elastic_net,
    solve_problem,
)
from tests.smpcore.solvers.oracle import Case, make_case

IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)


def exact(problem, **params):
    """Optimum of an estimator's problem by an interior-point method."""
    estimator = SMPClassifier(**params)
    mu, eta = estimator.mu, estimator.eta
    l1 = np.full(problem.X.shape[1], mu)
    l2 = np.full(problem.X.shape[1], max(mu * eta, 1e-6))
    if estimator.bias:
        l1[-1], l2[-1] = 0.0, max(mu * eta, 1e-3)
    n_prototypes = len(problem.prototype_labels)
    case = replace(
        make_case(),
        X=problem.X,
        y_encoded=problem.y_encoded,
        assign=problem.assignment,
        weights=problem.weights,
        prototype_labels=problem.prototype_labels,
        copies=np.ones(n_prototypes),
        fusion_factors=problem.fusion,
        lam=estimator.lam,
        l1=np.tile(l1, (n_prototypes, 1)),
        l2=np.tile(l2, (n_prototypes, 1)),
        loss_name=estimator.loss,
    )
    return case.solve_exactly()[1]


REAL = {
    "wine, two each": (WINE, {"lam": 0.01}),
    "wine, one each": (WINE, {"n_prototypes": 1, "lam": 0.0}),
    "wine, five each": (WINE, {"n_prototypes": 5, "mu": 0.002, "eta": 0.5}),
    "wine without ridge": (WINE, {"eta": 0.0}),
    "iris, no bias": (IRIS, {"bias": False, "lam": 0.05}),
    "iris, weights": (IRIS, {"class_weight": {0: 5.0, 2: 0.5}}),
    "iris, a prototype per row": (
        tuple(part[::5] for part in IRIS),
        {"start": "each", "lam": 1e-3},
    ),
    "cancer": (CANCER, {"lam": 0.01}),
    "wine, unequal": (
        WINE,
        {"class_prototypes": {0: 1, 2: 4}, "class_lam": {1: 20.0, 2: 0.1}, "lam": 0.01},
    ),
}


@pytest.mark.parametrize("name", REAL)
def test_objective_is_the_interior_point_optimum(name):
    (X, y), params = REAL[name]
    weight = 1.0 + np.arange(len(y)) % 3 if "weights" in name else None
    problem = SMPClassifier(**params).problem(X, y, weight)
    fitted = SMPClassifier(**params, tol=3e-7, max_iter=20000).solve(problem)
    optimum = exact(problem, **params)
    assert fitted.objective_ == pytest.approx(optimum, rel=1e-6)
    assert fitted.objective_ - fitted.gap_ <= optimum * (1 + 1e-7)


@pytest.mark.parametrize("loss", ["max", "hinge"])
@pytest.mark.parametrize("name", ["wine, two each", "iris, no bias", "iris, weights"])
def test_max_losses_are_within_a_thousandth(name, loss):
    (X, y), params = REAL[name]
    problem = SMPClassifier(**params).problem(X, y)
    fitted = SMPClassifier(**params, loss=loss).solve(problem)
    optimum = exact(problem, **params, loss=loss)
    assert optimum - 1e-9 <= fitted.objective_ <= optimum * 1.001


def test_one_prototype_without_fusion_is_ridge_logistic_regression():
    X, y = WINE
    mu, eta = 1e-12, 1e10  # l1 = 1e-12, l2 = 0.01
    smp = SMPClassifier(
        1, lam=0.0, mu=mu, eta=eta, bias=False, tol=1e-10, max_iter=10000
    ).fit(X, y)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    peer = LogisticRegression(
        C=1.0 / (mu * eta * len(y)), fit_intercept=False, tol=1e-10, max_iter=10000
    ).fit(scaled, y)
    np.testing.assert_allclose(smp.model_.anchors, peer.coef_, atol=2e-5)
    np.testing.assert_array_equal(smp.predict(X), peer.predict(scaled))


@pytest.mark.parametrize("n_prototypes", [2, 3, 5])
@pytest.mark.parametrize("data", [IRIS, WINE], ids=["iris", "wine"])
def test_from_the_end_of_lam_on_all_prototypes_of_a_class_are_one(data, n_prototypes):
    problem = SMPClassifier(n_prototypes).problem(*data)
    low, high = SMPClassifier(n_prototypes).bounds(problem)["lam"]
    assert 0 < low < high
    for lam in (high, 5 * high):
        fused = SMPClassifier(n_prototypes, lam=lam, tol=1e-6).solve(problem)
        np.testing.assert_array_equal(fused.merged_, problem.prototype_labels)
        np.testing.assert_array_equal(fused.model_.counts, n_prototypes)
    apart = SMPClassifier(n_prototypes, lam=0.3 * high, tol=1e-6).solve(problem)
    assert len(apart.model_.counts) > 3


def test_classes_have_their_own_numbers_of_prototypes():
    X, y = CANCER  # 212 rows of class 0, 357 of class 1
    balanced = SMPClassifier(4, class_prototypes="balanced").problem(X, y)
    assert np.bincount(balanced.prototype_labels).tolist() == [3, 5]
    given = SMPClassifier(4, class_prototypes={1: 1}).problem(X, y)
    assert np.bincount(given.prototype_labels).tolist() == [4, 1]
    with pytest.raises(
        SmpcoreError, match=r"class_prototypes\[1\]=0 should be a whole"
    ):
        SMPClassifier(class_prototypes={1: 0}).problem(X, y)
    with pytest.raises(SmpcoreError, match="class_lam names the class 7"):
        SMPClassifier(class_lam={7: 1.0}).problem(X, y)


def test_lam_of_a_class_fuses_that_class_only():
    plain = SMPClassifier(3).problem(*IRIS)
    high = SMPClassifier(3).bounds(plain)["lam"][1]
    own = SMPClassifier(3, lam=0.1 * high, class_lam={1: 10.0}, tol=1e-6)
    problem = own.problem(*IRIS)
    fitted = own.solve(problem)
    sizes = np.bincount(fitted.model_.prototype_labels)
    assert sizes[1] == 1 and sizes[0] + sizes[2] > 2
    # at the end of its slider all are fused, whatever the factors
    end = own.bounds(problem)["lam"][1]
    fused = SMPClassifier(3, lam=end, class_lam={1: 10.0}, tol=1e-6).solve(problem)
    assert fused.model_.n_prototypes == 3
    rare = SMPClassifier(class_lam="balanced").problem(*CANCER)
    assert rare.fusion[0] / rare.fusion[-1] == pytest.approx(212 / 357)


def test_the_hinge_with_one_prototype_is_a_linear_support_vector_machine():
    """Of two classes w_1 = -w_0, so that the ridge of w_1 - w_0 is half as large."""
    X, y = CANCER
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    ridge = 0.02
    smp = SMPClassifier(
        1, lam=0.0, mu=1e-9, eta=ridge / 1e-9, loss="hinge", bias=False, tol=1e-5,
        max_iter=20_000,
    ).fit(X, y)  # fmt: skip
    peer = LinearSVC(
        C=2.0 / (ridge * len(y)), loss="hinge", fit_intercept=False, tol=1e-8,
        max_iter=1_000_000,
    ).fit(scaled, y)  # fmt: skip
    w = smp.model_.anchors[1] - smp.model_.anchors[0]
    np.testing.assert_allclose(w, peer.coef_[0], atol=0.01)
    assert (smp.predict(X) == peer.predict(scaled)).mean() > 0.995


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("data", [IRIS, WINE, CANCER], ids=["iris", "wine", "cancer"])
def test_from_the_end_of_mu_on_all_features_are_off(data, bias):
    X, y = data[0][::2], data[1][::2]
    problem = SMPClassifier(bias=bias).problem(X, y)
    low, high = SMPClassifier(bias=bias).bounds(problem)["mu"]
    assert 0 < low < high
    silent = SMPClassifier(bias=bias, mu=1.001 * high, tol=1e-8).solve(problem)
    assert not silent.model_.anchors.any()
    speaking = SMPClassifier(bias=bias, mu=0.97 * high, tol=1e-8).solve(problem)
    assert speaking.model_.anchors.any()


@pytest.mark.parametrize("data", [IRIS, WINE, CANCER], ids=["iris", "wine", "cancer"])
def test_the_range_of_mu_reaches_zero_for_the_hinge_too(data):
    problem = SMPClassifier(loss="hinge").problem(*data)
    high = SMPClassifier(loss="hinge").bounds(problem)["mu"][1]
    silent = SMPClassifier(loss="hinge", mu=1.001 * high).solve(problem)
    assert np.abs(silent.model_.anchors).max() < 1e-9
    speaking = SMPClassifier(loss="hinge", mu=0.4 * high).solve(problem)
    assert np.abs(speaking.model_.anchors).max() > 1e-3


def test_ends_of_the_sliders_where_there_is_nothing_to_do():
    X, y = IRIS
    assert SMPClassifier(1).bounds(SMPClassifier(1).problem(X, y))["lam"] == (1e-4, 0.4)
    with pytest.warns(UserWarning, match="class 0 gets 1"):
        flat = SMPClassifier().problem(np.ones_like(X), y)
    assert SMPClassifier().bounds(flat)["mu"] == (1e-4, 0.4)


def test_without_a_bias_only_the_direction_counts():
    X, y = IRIS
    fitted = SMPClassifier(bias=False).fit(X, y)
    middle = fitted.model_.center
    for factor in (0.01, 3.0, 1000.0):
        rows = middle + factor * (X - middle)
        np.testing.assert_array_equal(fitted.predict(rows), fitted.predict(X))
    assert not fitted.model_.bias.any()


def test_a_prototype_per_row_and_fusion_decides():
    X, y = IRIS[0][::3], IRIS[1][::3]
    problem = SMPClassifier(start="each").problem(X, y)
    assert len(problem.prototype_labels) == len(X)
    np.testing.assert_array_equal(
        problem.prototype_labels[problem.assignment], problem.y_encoded
    )
    _, high = SMPClassifier(start="each").bounds(problem)["lam"]
    left = []
    for share in (0.01, 0.3, 1.0):
        fitted = SMPClassifier(start="each", lam=share * high).solve(problem)
        left.append(len(fitted.model_.counts))
        assert fitted.model_.counts.sum() == len(X)
        assert fitted.merged_objective_ == pytest.approx(fitted.objective_, rel=1e-3)
        assert fitted.wins_.sum() == len(X)
    assert left[0] > left[1] > left[2] == 3


def test_too_many_pairs_are_refused_with_their_size():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 30)), np.arange(6000) % 2
    with pytest.raises(SmpcoreError, match=r"6000 prototypes .* GiB .*kmeans"):
        SMPClassifier(start="each").fit(X, y)


def test_reassigning_lowers_the_objective_round_by_round():
    X, y = WINE
    plain = SMPClassifier(4, tol=1e-6).fit(X, y)
    moved = SMPClassifier(4, tol=1e-6, reassign=True).fit(X, y)
    assert moved.objective_ < plain.objective_
    assert moved.n_iter_ > plain.n_iter_
    assert moved.history_.iteration[-1] == moved.n_iter_
    assert (np.diff(moved.history_.iteration) >= 0).all()
    ends = np.flatnonzero(moved.history_.gap <= 1e-6 * moved.history_.objective)
    ends = moved.history_.objective[ends]
    assert len(ends) > 1
    assert (np.diff(ends) <= 1e-6 * ends[:-1]).all()
    problem = SMPClassifier(4).problem(X, y)
    again = replace(problem, assignment=moved.assignment_)
    W = moved.state_.W
    own = np.where(
        problem.prototype_labels == problem.y_encoded[:, None], problem.X @ W.T, -np.inf
    )
    chosen = own[np.arange(len(y)), moved.assignment_]
    np.testing.assert_allclose(chosen, own.max(axis=1), atol=1e-6)
    assert solve_problem(
        again, SMPParameters(0.003, 0.005, 1.0), SolverOptions()
    ).objective[-1] == pytest.approx(moved.objective_, rel=2e-3)


def test_recorded_steps_of_all_rounds_end_with_the_fitted_model():
    moved = SMPClassifier(4, tol=1e-6, reassign=True, record=1).fit(*WINE)
    steps = moved.history_.steps
    assert moved.n_iter_ > 200
    assert len(steps) == 200
    assert not steps.states[0][0].any()
    np.testing.assert_array_equal(steps.states[-1][0], moved.state_.W)
    np.testing.assert_array_equal(steps.states[-1][1], moved.assignment_)


def test_fewer_rows_than_prototypes_warn_with_value_and_bound():
    X = np.vstack([IRIS[0][:60], np.repeat(IRIS[0][100:101], 5, axis=0)])
    y = np.r_[np.zeros(60), np.ones(5)]
    with pytest.warns(UserWarning, match=r"n_prototypes=3 is more than .* 1.0 gets 1"):
        fitted = SMPClassifier(3).fit(X, y)
    np.testing.assert_array_equal(fitted.model_.counts.sum(), 4)


def test_five_hundred_classes_work():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(500, 6)), 3, axis=0) * 10
    X += 0.01 * rng.normal(size=X.shape)
    y = np.repeat(np.arange(500), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = SMPClassifier(n_prototypes=1, lam=0.0, mu=1e-5, tol=0.5).fit(X, y)
    assert fitted.model_.scores(X).shape == (1500, 500)
    assert fitted.score(X, y) > 0.5


def test_a_warm_start_gives_the_same_model_sooner():
    problem = SMPClassifier().problem(*CANCER)
    start = SMPClassifier(tol=1e-5).solve(problem)
    cold = SMPClassifier(lam=0.004, mu=0.006, tol=1e-5).solve(problem)
    warm = SMPClassifier(lam=0.004, mu=0.006, tol=1e-5).solve(problem, start.state_)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-5)
    other = SMPClassifier(3).fit(*IRIS).state_
    unfit = SMPClassifier().solve(problem, other)
    assert unfit.objective_ == SMPClassifier().solve(problem).objective_
    assert SMPClassifier().solve(problem, "elsewhere").n_iter_ == unfit.n_iter_


def test_a_problem_depends_on_the_parameters_it_names():
    named = SMPClassifier.problem_params
    first = SMPClassifier().problem(*IRIS)
    others = {"lam": 1.0, "mu": 1.0, "eta": 3.0, "loss": "max", "reassign": True}
    others |= {"tol": 0.1, "max_iter": 3, "solver": "primal-dual", "record": 2}
    others |= {"warm_start": True}
    assert set(named) | set(others) == set(SMPClassifier().get_params())
    second = SMPClassifier(**others).problem(*IRIS)
    for name, value in vars(first).items():
        np.testing.assert_array_equal(value, getattr(second, name))


def test_the_same_twice():
    for params in ({}, {"loss": "max"}, {"reassign": True}, {"n_prototypes": 6}):
        first, second = (SMPClassifier(**params).fit(*WINE) for _ in "ab")
        np.testing.assert_array_equal(first.model_.anchors, second.model_.anchors)
        np.testing.assert_array_equal(first.history_.gap, second.history_.gap)


def test_stopping_and_progress():
    problem = SMPClassifier().problem(*CANCER)
    stop, progress = np.ones(1, dtype=np.int64), np.zeros(1)
    halted = SMPClassifier(tol=1e-12).solve(problem, stop=stop, progress=progress)
    assert halted.history_.status_text == "stopped"
    assert halted.n_iter_ == 0 and progress[0] == 1.0
    assert np.isfinite(halted.model_.scores(CANCER[0])).all()


def test_an_unfinished_fit_says_how_far_it_came():
    with pytest.warns(ConvergenceWarning, match="max_iter=3 was reached .* raise"):
        fitted = SMPClassifier(max_iter=3, tol=1e-6).fit(*CANCER)
    assert fitted.n_iter_ == 3
    assert fitted.history_.status_text == "iteration limit reached"


def test_numbers_that_are_none_are_refused():
    problem = SMPClassifier().problem(*IRIS)
    broken = replace(problem, X=np.full_like(problem.X, np.nan))
    with pytest.raises(SmpcoreError, match="not finite"):
        SMPClassifier().solve(broken)


@pytest.mark.parametrize("bias", [True, False])
def test_recorded_steps_are_prototypes(bias):
    fitted = SMPClassifier(bias=bias, record=5).fit(*IRIS)
    steps = fitted.history_.steps
    assert len(steps) == -(-fitted.n_iter_ // 5) + 1
    assert list(steps.places[:-1]) == list(range(0, fitted.n_iter_, 5))
    assert not steps.states[0][0].any()
    np.testing.assert_array_equal(steps.states[-1][0], fitted.state_.W)
    assert fitted.history_.step(-1).bias.any() == bias
    assert len(fitted.history_.iteration) == fitted.n_iter_ + 1


def test_model_merges_what_fusion_made_equal():
    problem = SMPClassifier(3).problem(*IRIS)
    high = SMPClassifier(3).bounds(problem)["lam"][1]
    fitted = SMPClassifier(3, lam=0.6 * high, tol=1e-6).solve(problem)
    model = fitted.model_
    assert 3 < model.n_prototypes < 9
    np.testing.assert_array_equal(model.counts, np.bincount(fitted.merged_))
    np.testing.assert_array_equal(
        model.prototype_labels[fitted.merged_], problem.prototype_labels
    )
    W = np.column_stack([model.anchors, model.bias])[fitted.merged_]
    np.testing.assert_allclose(W, fitted.state_.W, atol=2e-3 * np.abs(W).max())
    assert fitted.merged_objective_ == pytest.approx(fitted.objective_, rel=1e-5)
    scores = np.where(
        problem.prototype_labels == np.arange(3)[:, None, None],
        problem.X @ fitted.state_.W.T,
        -np.inf,
    ).max(axis=2)
    np.testing.assert_allclose(model.scores(IRIS[0]), scores.T, atol=1e-2)
    assert model.kind_of_prototype == "direction"


def test_of_prototypes_that_differ_in_the_bias_only_the_largest_stays():
    W = np.array([[1.0, 0.5], [1.0, 0.8], [0.0, 2.0], [3.0, 0.0]])
    prototype_labels = np.array([0, 0, 0, 1])
    group = equal_prototypes(W, prototype_labels, 1)
    np.testing.assert_array_equal(group, [0, 0, 1, 2])
    np.testing.assert_array_equal(merged_rows(W, group, 1), W[1:])


def test_no_weights_left_means_one_prototype_a_class():
    silent = SMPClassifier(n_prototypes=4, mu=5.0, lam=0.0).fit(*IRIS)
    assert silent.model_.n_nonzeros == 0
    assert silent.model_.n_prototypes == 3
    assert silent.model_.counts.tolist() == [4, 4, 4]


def test_equality_of_prototypes_is_passed_on():
    W = np.array([[1.0], [1.0009], [1.0018], [2.0], [1.0]])
    prototype_labels = np.array([0, 0, 0, 0, 1])
    np.testing.assert_array_equal(
        equal_prototypes(2 * W, prototype_labels, 1), [0, 0, 0, 1, 2]
    )
    np.testing.assert_array_equal(
        equal_prototypes(0 * W, prototype_labels, 1), [0, 0, 0, 0, 1]
    )


def test_gradient_of_the_estimator_is_the_oracles():
    case = make_case(copies=True, weighted=True)
    problem = replace(
        SMPClassifier().problem(*IRIS),
        X=case.X,
        y_encoded=case.y_encoded,
        weights=case.weights,
        assignment=case.assign,
        prototype_labels=case.prototype_labels,
        copies=case.copies,
    )
    W = np.random.default_rng(0).normal(size=case.shape)
    np.testing.assert_allclose(
        loss_gradient(problem, W), case.gradient(W), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("n", [3, 600])
def test_largest_eigenvalue(n):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(700, n)) + 0.3, rng.uniform(size=700)
    largest = np.linalg.eigvalsh((X.T * weights) @ X)[-1]
    assert largest * (1 - 1e-9) <= largest_eigenvalue(X, weights) <= 1.06 * largest


def test_starts_tie_rows_to_prototypes_of_their_class():
    rng = np.random.default_rng(0)
    X, y_encoded = rng.normal(size=(100, 3)), rng.integers(3, size=100)
    weights = rng.integers(3, size=100) / 100
    for assignment, prototype_labels in (
        each_row(y_encoded, weights),
        cluster_rows(X, y_encoded, weights, 4, 0),
    ):
        assert (np.diff(prototype_labels) >= 0).all()
        np.testing.assert_array_equal(prototype_labels[assignment], y_encoded)
        assert set(assignment[weights > 0]) == set(range(len(prototype_labels)))
    assert len(each_row(y_encoded, weights)[1]) == (weights > 0).sum()


def test_clusters_do_not_depend_on_order_or_repetition():
    rng = np.random.default_rng(1)
    X, y_encoded = rng.normal(size=(80, 4)), np.arange(80) % 2
    weights = rng.integers(4, size=80)
    order = rng.permutation(np.repeat(np.arange(80), weights))
    first, _ = cluster_rows(X, y_encoded, weights / weights.sum(), 3, 5)
    equal = np.full(len(order), 1 / len(order))
    second, _ = cluster_rows(X[order], y_encoded[order], equal, 3, 5)
    np.testing.assert_array_equal(first[order], second)


def test_clusters_of_many_rows_are_learned_from_some():
    rng = np.random.default_rng(2)
    n_rows = 2 * MOST_ROWS + 500
    y_encoded = np.arange(n_rows) % 2 * (np.arange(n_rows) < 1000)
    X = rng.normal(size=(n_rows, 2)) + 20.0 * rng.integers(3, size=(n_rows, 1))
    assignment, prototype_labels = cluster_rows(X, y_encoded, np.ones(n_rows), 3, 0)
    assert len(prototype_labels) == 6
    own = y_encoded == 0
    hill = np.round(X[own, 0] / 20.0)
    for cluster in range(3):
        assert len(set(hill[assignment[own] == cluster])) == 1


def test_digits_are_learned():
    X, y = load_digits(return_X_y=True)
    fitted = SMPClassifier(random_state=1).fit(X[:1000], y[:1000])
    assert fitted.score(X[1000:], y[1000:]) > 0.9
    assert not fitted.model_.support[[0, 32, 39]].any()


def test_the_ridge_of_the_bias_favours_a_rare_class():
    X, y = make_classification(
        2000, 10, n_informative=4, weights=[0.95], flip_y=0.02, class_sep=0.8,
        random_state=0,
    )  # fmt: skip

    def rare(**params):
        fitted = SMPClassifier(**params).fit(X, y)
        mean = softmax(fitted.model_.scores(X), axis=1)[:, 1].mean()
        return mean / y.mean() - 1, fitted.predict(X)[y == 1].mean()

    assert abs(rare(n_prototypes=1, mu=0.0005)[0]) < 0.05
    assert 0.05 < rare(n_prototypes=1)[0] < 0.15
    assert 0.5 < rare(mu=0.05)[0] < 0.95
    assert rare()[1] <= 0.03
    assert rare(class_weight="balanced")[1] > 0.65


@pytest.mark.parametrize("n_prototypes", [1, 2])
@pytest.mark.parametrize(
    ("loss", "solver", "max_iter"),
    [
        *(("smooth", "spg", 500), ("smooth", "primal-dual", 5000)),
        *(("max", "spg", 5000), ("hinge", "spg", 20_000)),
    ],
)
def test_columns_of_very_different_scales_reach_the_optimum(
    n_prototypes, loss, solver, max_iter
):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 9))
    y = (X[:, 0] + X[:, 3] * X[:, 6] + 0.5 * X[:, 4] > 0).astype(int) + (X[:, 1] > 0.8)
    estimator = SMPClassifier(
        n_prototypes, standardize=False, tol=1e-6, loss=loss, solver=solver,
        max_iter=max_iter,
    )  # fmt: skip
    problem = estimator.problem(X * np.repeat([1e3, 1.0, 1e-3], 3), y)
    fitted = estimator.solve(problem)
    l1, l2 = elastic_net(problem, fitted.mu, fitted.eta)
    case = Case(
        problem.X, problem.y_encoded, problem.assignment, problem.weights,
        problem.prototype_labels, problem.copies, fitted.lam, l1, l2, loss,
    )  # fmt: skip
    assert fitted.gap_ <= 1e-6 * fitted.objective_
    assert fitted.objective_ == pytest.approx(case.objective(fitted.state_.W), rel=1e-9)
    optimum = case.solve_exactly(problem.units)[1]
    assert fitted.objective_ <= (1.0 + 1e-6) * optimum
    assert fitted.gap_ >= fitted.objective_ - optimum - 1e-7 * optimum


@pytest.mark.parametrize("kind", ["sparse", "blocks"])
def test_columns_have_units_however_rows_are_read(kind, monkeypatch):
    X, y = WINE
    estimator = SMPClassifier(standardize=False, mu=0.05, tol=1e-5, max_iter=3000)
    dense = estimator.problem(X, y)
    if kind == "blocks":
        monkeypatch.setattr(scaling, "MOST_COPY_BYTES", 1)
    read = estimator.problem(csr_array(X) if kind == "sparse" else X, y)
    assert not isinstance(read.X, np.ndarray)
    np.testing.assert_allclose(read.units, dense.units)
    read = replace(read, assignment=dense.assignment)
    with pytest.warns(ConvergenceWarning):
        objective = estimator.solve(dense).objective_
        assert estimator.solve(read).objective_ == pytest.approx(objective, rel=1e-3)
