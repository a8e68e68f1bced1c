"""SuperSparseClassifier and SuperSparseRegressor: contract and promises."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    make_moons,
)

from smpcore import PrototypeModel, SmpcoreError
from smpcore.methods.supersparse import SuperSparseClassifier, SuperSparseRegressor
from smpcore.methods.supersparse.problem import (
    SuperSparseState,
    evaluate,
)
from smpcore.similarity import SMOOTH

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
MOONS = make_moons(200, noise=0.2, random_state=0)


@pytest.mark.parametrize("similarity", SMOOTH)
def test_every_similarity_classifies_and_predicts(similarity):
    X, y = IRIS
    fitted = SuperSparseClassifier(similarity=similarity, max_iter=1000).fit(X, y)
    assert fitted.score(X, y) > (0.75 if similarity == "linear" else 0.93)
    assert fitted.model_.similarity.kind == similarity
    back = PrototypeModel.from_json(fitted.model_.to_json())
    np.testing.assert_array_equal(back.scores(X), fitted.model_.scores(X))
    scaled = fitted.model_.center.any()
    assert scaled == (similarity in ("rbf", "laplacian", "linear", "poly"))
    rows, values = DIABETES[0] + 1.0, DIABETES[1]
    number = SuperSparseRegressor(3, similarity=similarity, max_iter=2000)
    assert number.fit(rows, values).score(rows, values) > 0.4


def test_decision_of_two_classes_is_the_fitted_function():
    X, y = CANCER
    fitted = SuperSparseClassifier(4).fit(X, y)
    problem = fitted.problem(X, y)
    objective = fitted.objective(problem)
    rows, similarity = objective.rows, objective.similarity
    F, _, B, b = evaluate(objective, fitted.state_.Z)
    g = similarity.values(problem.X, fitted.state_.Z) @ B + b
    g = g * rows.unit + rows.middle
    expected = g[:, 0] - fitted.model_.tie
    np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-9)
    assert fitted.objective_ == pytest.approx(F, rel=1e-12)
    assert np.isnan(fitted.gap_)
    left = (g[:, 0] - np.where(y == 1, 1.0, -1.0)) / rows.unit
    ridge = fitted.lam * (B**2).sum()
    assert np.mean(left**2) + ridge == pytest.approx(F, rel=1e-9)


def test_regression_is_in_the_users_units():
    X, y = DIABETES
    first = SuperSparseRegressor(3).fit(X, y)
    second = SuperSparseRegressor(3).fit(X, 1000.0 * y + 5.0)
    np.testing.assert_allclose(
        second.predict(X), 1000 * first.predict(X) + 5, rtol=1e-4
    )
    assert second.objective_ == pytest.approx(first.objective_, rel=1e-6)
    model = first.model_
    assert model.classes is None and model.n_outputs == 1
    said = model.activations(X) @ model.votes[:, 0] + model.intercept[0]
    np.testing.assert_allclose(said, first.predict(X))


def test_constant_numbers_need_no_prototypes():
    X = IRIS[0]
    fitted = SuperSparseRegressor().fit(X, np.full(150, 3.5))
    np.testing.assert_allclose(fitted.predict(X), 3.5)
    assert fitted.n_iter_ == 0 and fitted.objective_ == 0.0
    assert not fitted.model_.votes.any()


def test_defaults_that_depend_on_the_data():
    two, three = (
        SuperSparseClassifier().fit(*CANCER),
        SuperSparseClassifier().fit(*IRIS),
    )
    assert (two.n_asked_, three.n_asked_) == (5, 6)
    assert SuperSparseRegressor().fit(*DIABETES).n_asked_ == 10
    assert two.gamma_ == pytest.approx(1 / 30)
    plain = SuperSparseClassifier(standardize=False).fit(*IRIS)
    assert plain.gamma_ == pytest.approx(1 / IRIS[0].var(axis=0).sum())
    problem = three.problem(*IRIS)
    assert three.resolve_defaults(problem) == {"n_prototypes": 6, "gamma": three.gamma_}
    bounds = three.bounds(problem)
    assert bounds["n_prototypes"] == (1, 40)
    assert bounds["gamma"] == pytest.approx((three.gamma_ / 16, three.gamma_ * 16))


def test_more_prototypes_than_rows_warn_with_value_and_bound():
    X = np.repeat(IRIS[0][[0, 60, 120]], 4, axis=0)
    y = np.repeat([0, 1, 2], 4)
    with pytest.warns(UserWarning, match=r"n_prototypes=9 is more than the 3 distinct"):
        fitted = SuperSparseClassifier(9).fit(X, y)
    assert fitted.n_asked_ == 3
    assert fitted.bounds(fitted.problem(X, y))["n_prototypes"] == (1, 3)


def test_box_is_in_the_users_units_and_holds():
    X, y = IRIS
    fitted = SuperSparseClassifier(6, lam=1e-6, box=(0.5, 5.0), tol=1e-4).fit(X, y)
    places = fitted.model_.prototypes
    assert places.min() >= 0.5 - 1e-9 and places.max() <= 5.0 + 1e-9
    assert places.min() < 0.5 + 1e-9 or places.max() > 5.0 - 1e-9
    ball = SuperSparseClassifier(similarity="linear").fit(X, y)
    assert np.linalg.norm(ball.state_.Z, axis=1).max() <= 1 + 1e-9


def test_close_prototypes_are_shown_as_one():
    fitted = SuperSparseClassifier(6, lam=0.3, tol=1e-12, max_iter=5000).fit(*MOONS)
    model = fitted.model_
    assert model.n_prototypes < fitted.n_asked_ == 6
    np.testing.assert_array_equal(model.counts, np.bincount(fitted.merged_))
    apart = SuperSparseClassifier(6, lam=1e-5).fit(*MOONS)
    assert apart.model_.n_prototypes == 6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_may_have_another_number_of_prototypes():
    problem = SuperSparseClassifier().problem(*CANCER)
    state, falls = None, []
    for size in (12, 8, 5, 2):
        fitted = SuperSparseClassifier(size, max_iter=20, tol=1e-4)
        if state is None:
            fitted = SuperSparseClassifier(size)
        fitted.solve(problem, state)
        assert fitted.n_asked_ == len(fitted.state_.Z) == size
        if state is not None:
            assert np.isin(fitted.start_, state.Z).all()
            assert fitted.objective_ < fitted.history_.objective[0]
        falls.append(fitted.objective_)
        state = fitted.state_
    assert (np.diff(falls) > 0).all()
    grown = SuperSparseClassifier(3).solve(problem, state)
    assert grown.n_asked_ == 3 and grown.objective_ < falls[-1]
    kept = np.isin(grown.start_, state.Z).all(axis=1)
    assert kept.sum() == 2


def test_rows_of_weight_zero_are_as_if_they_were_not_there():
    X, y = IRIS
    weight = (np.arange(150) % 3 > 0).astype(float)
    first = SuperSparseClassifier().fit(X, y, weight)
    second = SuperSparseClassifier().fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(
        first.decision_function(X), second.decision_function(X)
    )
    assert len(first.assignment_) == 150
    nearest = first.model_.activations(X).argmax(axis=1)
    np.testing.assert_array_equal(first.merged_[first.assignment_], nearest)


def test_what_cannot_be_learned_is_refused():
    X, y = IRIS
    for box in ((1.0, 0.0), 3.0, ("a", "b")):
        with pytest.raises(SmpcoreError, match=r"box=.* should be \(low, high\)"):
            SuperSparseClassifier(box=box).fit(X, y)
    with pytest.raises(SmpcoreError, match="target='ridge' should be one of 'labels'"):
        SuperSparseClassifier(target="ridge").fit(X, y)
    with pytest.raises(SmpcoreError, match="should not be negative for"):
        SuperSparseClassifier(similarity="intersection").fit(X - 5.0, y)
    with pytest.raises(SmpcoreError, match="too large"):
        SuperSparseRegressor(standardize=False).fit(
            np.array([[1e200], [0.0]]), [0, 1.0]
        )
    with pytest.raises(SmpcoreError, match="too large to be predicted"):
        fitted = SuperSparseRegressor(2, similarity="poly").fit(*DIABETES)
        fitted.predict(np.full((1, 10), 1e200))
    problem = SuperSparseRegressor(2).problem(*DIABETES)
    broken = replace(problem, rows=replace(problem.rows, Y=problem.rows.Y * np.inf))
    with pytest.raises(SmpcoreError, match="not finite"):
        SuperSparseRegressor(2, start="kmeans").solve(
            broken, SuperSparseState(problem.X[:2].copy())
        )
