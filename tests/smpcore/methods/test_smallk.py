"""SMaLLClassifier: scikit-learn's contract, and what the specification promises."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from smpcore import SmpcoreError
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smallk import SMaLLClassifier
from smpcore.methods.smallk.problem import SMaLLParameters
from smpcore.methods.smallk.rounding import (
    Start,
    draw_support,
    largest_shares,
    refit,
    shares,
)
from tests.smpcore.solvers.smallk_oracle import SparseCase

IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)


def as_case(problem, fitted):
    """The same problem for the oracle; of one task only."""
    (task,) = problem.tasks
    return SparseCase(
        problem.X, task.y_encoded, task.assignment, problem.weights,
        task.prototype_labels, task.first, problem.n_features, min(fitted.k,
        problem.n_features), fitted.lam, fitted.loss,
    )  # fmt: skip


REAL = {
    "cancer": (CANCER, {}),
    "cancer, the other class": (CANCER, {"positive_class": 0, "k": 5}),
    "cancer, no bias": (CANCER, {"bias": False, "lam": 0.1, "n_prototypes": 3}),
    "iris": (IRIS, {"k": 2}),
    "wine": (WINE, {"n_prototypes": 3, "lam": 0.01}),
    "wine, balanced": (WINE, {"class_weight": "balanced", "k": 1}),
    "cancer, max": (CANCER, {"loss": "max"}),
    "cancer, hinge": (CANCER, {"loss": "hinge"}),
    "wine, hinge": (WINE, {"loss": "hinge", "k": 2}),
}


@pytest.mark.parametrize("name", REAL)
def test_objectives_bound_and_support_are_what_they_say(name):
    data, params = REAL[name]
    problem = SMaLLClassifier(**params).problem(*data)
    fitted = SMaLLClassifier(**params).solve(problem)
    case = as_case(problem, fitted)
    relaxed, rounded = fitted.state_.relaxed[0], fitted.state_.rounded[0]
    assert fitted.relaxed_objective_ == pytest.approx(case.relaxed(relaxed), rel=1e-9)
    assert fitted.objective_ == pytest.approx(case.integer(rounded), rel=1e-9)
    assert fitted.bound_ == pytest.approx(fitted.objective_ - fitted.gap_, rel=1e-12)
    exact = 1e-7 if fitted.loss == "smooth" else 1e-5
    optimum = case.solve(exact, max_iter=50_000)[3][-1]
    assert fitted.bound_ <= optimum * (1 + 1e-9)
    assert optimum * (1 - exact) <= fitted.relaxed_objective_ <= optimum * (1 + 1e-3)
    assert fitted.bound_ >= optimum * (1 - 1e-3)
    assert fitted.relaxed_objective_ <= fitted.objective_ * (1 + 1e-3)
    assert (np.count_nonzero(fitted.model_.anchors, axis=1) <= fitted.k).all()
    support = rounded[:, : case.n_features] != 0
    best = case.solve(exact, support=support, max_iter=50_000)[3][-1]
    assert fitted.objective_ == pytest.approx(best, rel=2e-4)


def test_enumeration_finds_hardly_ever_anything_better():
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 6))
        y = X @ rng.normal(size=6) + X[:, 0] * X[:, 1] > 0
        small = SMaLLClassifier(k=1 + seed % 2, lam=0.02, tol=1e-6)
        problem = small.problem(X, y)
        fitted = small.solve(problem)
        best = as_case(problem, fitted).best_by_enumeration()
        assert fitted.bound_ <= best * (1 + 1e-9)
        assert fitted.objective_ >= best * (1 - 1e-6)
        found.append(fitted.objective_ <= best * (1 + 1e-5))
    assert sum(found) >= 7


def test_no_swap_of_a_feature_lowers_the_objective():
    options = SolverOptions(1e-5)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n_rows, n = rng.integers(60, 200), rng.integers(6, 12)
        X = rng.normal(size=(n_rows, n)) @ (np.eye(n) + rng.normal(size=(n, n)) / 2)
        y = X @ rng.normal(size=n) + X[:, 0] * X[:, 1] > 0
        small = SMaLLClassifier(
            rng.integers(1, 4), k=rng.integers(1, 5), lam=10 ** rng.uniform(-3, -1)
        )
        problem = small.problem(X, y)
        small.solve(problem)
        parameters = SMaLLParameters(small.k, small.lam)
        (task,), (W,), (L,) = (
            problem.tasks,
            small.state_.rounded,
            small.state_.curvature,
        )
        for j, out in zip(*np.nonzero(W[:, :n]), strict=True):
            for into in np.flatnonzero(W[j, :n] == 0):
                support = W[:, :n] != 0
                support[j, [out, into]] = False, True
                start = Start(W, L, small.objective_)
                other = refit(problem, task, support, parameters, start, options)
                assert other.objective[-1] >= small.objective_ * (1 - 1e-3), seed


def test_one_full_prototype_without_bias_is_ridge_logistic_regression():
    X, y = CANCER
    lam = 0.02
    small = SMaLLClassifier(1, k=30, lam=lam, bias=False, tol=1e-10).fit(X, y)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    peer = LogisticRegression(
        C=1.0 / (lam * len(y)), fit_intercept=False, tol=1e-10, max_iter=10000
    ).fit(scaled, y)
    np.testing.assert_allclose(small.model_.anchors[1:], peer.coef_, atol=2e-5)
    np.testing.assert_array_equal(small.predict(X), peer.predict(scaled))
    assert small.objective_ == small.relaxed_objective_
    assert small.gap_ <= 1e-10 * small.objective_


def test_the_negative_class_has_one_row_of_zeros():
    for positive, place in ((None, 0), (1, 0), (0, 3)):
        fitted = SMaLLClassifier(3, positive_class=positive).fit(*CANCER)
        model = fitted.model_
        assert model.n_prototypes == fitted.n_asked_ == 4
        assert (np.diff(model.prototype_labels) >= 0).all()
        zeros = ~model.anchors.any(axis=1) & (model.bias == 0)
        np.testing.assert_array_equal(np.flatnonzero(zeros), [place])
        assert model.prototype_labels[place] == (1 if positive == 0 else 0)
        np.testing.assert_array_equal(
            model.prototype_labels[fitted.assignment_], CANCER[1]
        )
        assert set(fitted.assignment_) == {0, 1, 2, 3}
        assert fitted.score(*CANCER) > 0.92
        assert fitted.wins_.sum() == len(CANCER[1])


def test_decision_is_the_best_prototype_above_zero():
    X, y = CANCER
    fitted = SMaLLClassifier().fit(X, y)
    W, bias = fitted.model_.anchors, fitted.model_.bias
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    best = (scaled @ W[1:].T + bias[1:]).max(axis=1) - fitted.model_.tie
    np.testing.assert_allclose(fitted.decision_function(X), best, atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(X), (best > 0).astype(int))


@pytest.mark.parametrize("data", [IRIS, WINE], ids=["iris", "wine"])
def test_one_against_the_rest_is_a_sum_of_two_class_problems(data):
    X, y = data
    params = {"n_prototypes": 1, "k": 2, "tol": 1e-7}
    fitted = SMaLLClassifier(multiclass="ovr", **params).fit(X, y)
    alone = [
        SMaLLClassifier(**params).fit(X, np.where(y == c, 1, -1)) for c in range(3)
    ]
    for name in ("relaxed_objective_", "objective_", "bound_", "gap_"):
        total = sum(getattr(single, name) for single in alone)
        assert getattr(fitted, name) == pytest.approx(total, rel=1e-6)
    for c, single in enumerate(alone):
        np.testing.assert_allclose(
            fitted.model_.anchors[c], single.model_.anchors[1], atol=1e-3
        )
    several = SMaLLClassifier(k=3, multiclass="ovr", lam=0.01).fit(X, y)
    assert several.model_.n_prototypes == several.n_asked_ == 6
    np.testing.assert_array_equal(
        several.model_.prototype_labels[several.assignment_], y
    )
    assert several.score(X, y) > 0.9


def test_joint_classes_are_learned():
    for data, params, least in (
        (IRIS, {"k": 2, "lam": 0.01}, 0.95),
        (WINE, {"k": 2, "lam": 0.01}, 0.95),
    ):
        fitted = SMaLLClassifier(**params).fit(*data)
        assert fitted.score(*data) > least
        np.testing.assert_array_equal(
            fitted.model_.prototype_labels[fitted.assignment_], data[1]
        )


def test_without_a_bias_only_the_direction_counts():
    X, y = CANCER
    fitted = SMaLLClassifier(bias=False).fit(X, y)
    middle = fitted.model_.center
    for factor in (0.01, 3.0, 1000.0):
        rows = middle + factor * (X - middle)
        np.testing.assert_array_equal(fitted.predict(rows), fitted.predict(X))
    assert not fitted.model_.bias.any()


def test_random_supports_hit_a_feature_as_often_as_its_share():
    rng = np.random.RandomState(0)
    W = rng.normal(size=(2, 9)) ** 3
    share = shares(W, 4)
    drawn = np.array([draw_support(share, rng) for _ in range(20000)])
    assert drawn.sum(axis=2).max() <= 4
    np.testing.assert_allclose(drawn.mean(axis=0), share, atol=0.015)
    np.testing.assert_array_equal(drawn[:, share == 1], True)
    assert not draw_support(np.zeros((50, 5)), rng).any()


def test_the_largest_shares_are_taken_and_weights_break_ties():
    W = np.array([[3.0, 2.0, 0.1, 0.0], [0.0, 1.0, 5.0, 4.0]])
    share = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(
        largest_shares(share, W, 2), np.array([[1, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
    )


def test_draws_never_make_the_model_worse():
    for data in (CANCER, WINE, IRIS):
        problem = SMaLLClassifier().problem(*data)
        for k in (1, 2, 3):
            plain = SMaLLClassifier(k=k, lam=0.003, n_draws=0).solve(problem)
            drawn = SMaLLClassifier(k=k, lam=0.003, n_draws=30).solve(problem)
            assert drawn.objective_ <= plain.objective_ * (1 + 1e-4)
            assert drawn.bound_ == plain.bound_


def test_a_warm_start_gives_the_same_model_sooner():
    problem = SMaLLClassifier().problem(*CANCER)
    start = SMaLLClassifier(tol=1e-6).solve(problem)
    cold = SMaLLClassifier(k=4, lam=0.04, tol=1e-6).solve(problem)
    warm = SMaLLClassifier(k=4, lam=0.04, tol=1e-6).solve(problem, start.state_)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-6)
    assert warm.bound_ == pytest.approx(cold.bound_, rel=2e-6)
    again = SMaLLClassifier(tol=1e-6).solve(problem, start.state_)
    assert again.n_iter_ <= 5
    assert again.objective_ == pytest.approx(start.objective_, rel=1e-6)
    other = SMaLLClassifier(3).fit(*IRIS).state_
    unfit = SMaLLClassifier().solve(problem, other)
    assert unfit.objective_ == SMaLLClassifier().solve(problem).objective_
    assert SMaLLClassifier().solve(problem, "elsewhere").n_iter_ == unfit.n_iter_


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_a_path_of_k_falls(multiclass):
    problem = SMaLLClassifier(multiclass=multiclass).problem(*WINE)
    state, relaxed = None, []
    for k in range(1, 14):
        small = SMaLLClassifier(k=k, n_draws=0, multiclass=multiclass)
        state = small.solve(problem, state).state_
        relaxed.append(small.relaxed_objective_)
        assert small.gap_ >= 0
    assert (np.diff(relaxed) <= 1e-3 * np.array(relaxed[:-1])).all()
    assert small.gap_ <= 1e-3 * small.objective_


def test_a_whole_weight_is_repeated_rows():
    X, y = CANCER[0][::4], CANCER[1][::4]
    weight = 1 + np.arange(len(y)) % 3
    weighted = SMaLLClassifier(tol=1e-6).fit(X, y, weight)
    repeated = SMaLLClassifier(tol=1e-6).fit(
        np.repeat(X, weight, 0), np.repeat(y, weight)
    )
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    np.testing.assert_allclose(
        weighted.model_.anchors, repeated.model_.anchors, atol=1e-3
    )


def test_a_problem_depends_on_the_parameters_it_names():
    named = SMaLLClassifier.problem_params
    first = SMaLLClassifier().problem(*IRIS)
    others = {"k": 1, "lam": 1.0, "n_draws": 0, "tol": 0.1, "max_iter": 3}
    others |= {"n_swaps": 0, "warm_start": True}
    others |= {"solver": "mirror-prox", "record": 2, "loss": "hinge"}
    assert set(named) | set(others) == set(SMaLLClassifier().get_params())
    second = SMaLLClassifier(**others).problem(*IRIS)
    for name, value in vars(first).items():
        if name != "tasks":
            np.testing.assert_array_equal(value, getattr(second, name))
    for one, two in zip(first.tasks, second.tasks, strict=True):
        for name, value in vars(one).items():
            np.testing.assert_array_equal(value, getattr(two, name))


def test_the_same_twice():
    for params in ({}, {"multiclass": "ovr", "k": 2}, {"n_draws": 50, "lam": 0.003}):
        first, second = (SMaLLClassifier(**params).fit(*WINE) for _ in "ab")
        np.testing.assert_array_equal(first.model_.anchors, second.model_.anchors)
        np.testing.assert_array_equal(first.history_.gap, second.history_.gap)


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_stopping_and_progress(multiclass):
    problem = SMaLLClassifier(multiclass=multiclass).problem(*WINE)
    stop, progress = np.ones(1, dtype=np.int64), np.zeros(1)
    small = SMaLLClassifier(tol=1e-12, multiclass=multiclass)
    halted = small.solve(problem, stop=stop, progress=progress)
    assert halted.history_.status_text == "stopped"
    assert progress[0] == 1.0
    assert np.isfinite(halted.model_.scores(WINE[0])).all()


def test_an_unfinished_fit_says_how_far_it_came():
    with pytest.warns(ConvergenceWarning, match="max_iter=3 was reached .* raise"):
        fitted = SMaLLClassifier(max_iter=3, tol=1e-6).fit(*CANCER)
    assert fitted.history_.status_text == "iteration limit reached"
    with pytest.warns(ConvergenceWarning, match="relaxation certified to"):
        paper = SMaLLClassifier(solver="mirror-prox", max_iter=50).fit(*CANCER)
    assert paper.bound_ <= SMaLLClassifier().fit(*CANCER).objective_


@pytest.mark.parametrize("params", [{}, {"bias": False}, {"multiclass": "ovr", "k": 2}])
def test_recorded_steps_are_prototypes_with_a_bias(params):
    fitted = SMaLLClassifier(record=1, **params).fit(*IRIS)
    steps = fitted.history_.steps
    assert len(steps) == fitted.n_iter_ + 1
    assert not steps.states[0].any()
    W = np.column_stack([fitted.model_.anchors, fitted.model_.bias])
    np.testing.assert_array_equal(steps.states[-1], W)
    assert len(fitted.history_.iteration) == fitted.n_iter_ + 1
    many = SMaLLClassifier(record=1, tol=1e-9, lam=1e-3).fit(*CANCER)
    assert many.n_iter_ > 200
    assert 100 < len(many.history_.steps) <= 200
    last = many.history_.steps.states[-1]
    np.testing.assert_array_equal(last[:, :-1], many.model_.anchors)


def test_history_ends_with_the_rounded_model():
    fitted = SMaLLClassifier().fit(*CANCER)
    assert fitted.history_.objective[-1] == fitted.objective_
    assert fitted.history_.gap[-1] == fitted.gap_
    (_, first), (start, second) = fitted.history_.phases
    assert (first, second) == ("relaxed", "rounded to k")
    before = fitted.history_.iteration < start
    assert fitted.history_.objective[before][-1] == fitted.relaxed_objective_
    assert SMaLLClassifier(k=30).fit(*CANCER).history_.phases == ()
    at = np.flatnonzero(fitted.history_.objective == fitted.relaxed_objective_)
    assert fitted.history_.gap[at[0]] <= 1e-3 * fitted.relaxed_objective_


def test_bounds_of_the_sliders():
    problem = SMaLLClassifier().problem(*CANCER)
    assert SMaLLClassifier().bounds(problem) == {"k": (1, 30), "lam": (1e-3, 1.0)}


def test_k_beyond_the_features_is_clipped_and_said():
    with pytest.warns(UserWarning, match="k=9 is more than the 4 features; k=4 is"):
        clipped = SMaLLClassifier(k=9).fit(*IRIS)
    full = SMaLLClassifier(k=4).fit(*IRIS)
    np.testing.assert_array_equal(clipped.model_.anchors, full.model_.anchors)
    assert full.gap_ <= 1e-3 * full.objective_


@pytest.mark.parametrize("params", [{}, {"bias": False}, {"multiclass": "ovr"}])
def test_without_features_the_bias_decides(params):
    with pytest.warns(UserWarning, match="k=0 leaves no feature"):
        silent = SMaLLClassifier(k=0, **params).fit(*IRIS)
    assert not silent.model_.anchors.any()
    assert silent.gap_ <= 1e-3 * silent.objective_
    assert silent.model_.bias.any() == params.get("bias", True)


def test_fewer_rows_than_prototypes_warn_with_value_and_bound():
    X = np.vstack([IRIS[0][:60], np.repeat(IRIS[0][100:101], 5, axis=0)])
    y = np.r_[np.zeros(60), np.ones(5)]
    with pytest.warns(UserWarning, match=r"n_prototypes=3 is more .* 1.0 gets 1"):
        fitted = SMaLLClassifier(3).fit(X, y)
    assert fitted.model_.n_prototypes == fitted.n_asked_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SMaLLClassifier(3, positive_class=0.0).fit(X, y)


def test_constant_and_equal_columns_do_no_harm():
    X, y = CANCER
    X = np.column_stack([X[:, :5], np.ones(len(X)), X[:, :5]])
    fitted = SMaLLClassifier(k=8).fit(X, y)
    assert np.isfinite(fitted.model_.scores(X)).all()
    assert not fitted.model_.anchors[:, 5].any()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.filterwarnings("ignore:n_prototypes=")
def test_nothing_to_learn_from_is_learned(bias):
    X, y = np.ones((20, 5)), np.arange(20) % 4 == 0
    fitted = SMaLLClassifier(bias=bias).fit(X, y)
    assert not fitted.model_.anchors.any()
    assert not fitted.predict(X).any()
    assert fitted.gap_ <= 1e-3 * fitted.objective_


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"k": -1}, "k=-1 should be a whole number of at least 0; change k"),
        ({"k": 2.5}, r"k=2\.5 should be a whole number"),
        ({"lam": 0}, "lam=0 should be a number above 0"),
        ({"lam": float("nan")}, "lam=nan should be a number above 0"),
        ({"n_prototypes": 0}, "n_prototypes=0 should be a whole number of at least 1"),
        ({"n_draws": -2}, "n_draws=-2 should be a whole number of at least 0"),
        ({"tol": 0.0}, r"tol=0\.0 should be a number above 0"),
        ({"max_iter": 0}, "max_iter=0 should be"),
        ({"multiclass": "ova"}, "multiclass='ova' should be one of 'joint', 'ovr'"),
        ({"solver": "newton"}, "solver='newton' should be one of 'fista'"),
        ({"bias": 1}, "bias=1 should be one of True, False"),
        ({"positive_class": "x"}, r"positive_class='x' should be a class of y \(0, 1"),
    ],
)
def test_what_is_refused(params, words):
    with pytest.raises(SmpcoreError, match=words):
        SMaLLClassifier(**params).fit(*IRIS)


def test_one_class_and_hopeless_numbers_are_refused():
    with pytest.raises(SmpcoreError, match="one class only"):
        SMaLLClassifier().fit(IRIS[0], np.zeros(150))
    problem = SMaLLClassifier().problem(*IRIS)
    broken = replace(problem, X=np.full_like(problem.X, np.nan))
    with pytest.raises(SmpcoreError, match="not finite"):
        SMaLLClassifier().solve(broken)
    with pytest.raises(SmpcoreError, match="not finite"):
        SMaLLClassifier(standardize=False).fit(IRIS[0] * 1e200, IRIS[1])


def test_labels_may_be_words_and_either_may_be_positive():
    X, y = CANCER
    words = np.where(y == 1, "benign", "malignant")
    fitted = SMaLLClassifier(positive_class="malignant").fit(X, words)
    assert fitted.score(X, words) > 0.93
    assert set(fitted.predict(X)) == {"benign", "malignant"}
    assert not fitted.model_.anchors[0].any()
