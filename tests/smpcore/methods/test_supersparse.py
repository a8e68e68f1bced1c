"""SuperSparseClassifier and SuperSparseRegressor: contract, options and starts."""

from dataclasses import astuple, replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import kmeans_plusplus
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.svm import SVC, SVR

from smpcore import PrototypeModel, SmpcoreError
from smpcore.methods.shared import scaling
from smpcore.methods.supersparse import SuperSparseClassifier, SuperSparseRegressor
from smpcore.methods.supersparse import fit as supersparse_fit
from smpcore.methods.supersparse.estimator import removal_costs
from smpcore.methods.supersparse.paper_algorithm import run_as_printed
from smpcore.methods.supersparse.problem import (
    DEAD,
    IDLE,
    SuperSparseState,
    evaluate,
    standard_rows,
)
from smpcore.similarity import SIMILARITIES, SMOOTH
from tests.smpcore.methods.tables import CANCER, DIABETES, DIGITS, IRIS, MOONS


@pytest.mark.parametrize("similarity", SMOOTH)
def test_every_similarity_classifies_and_predicts(similarity):
    X, y = IRIS
    fitted = SuperSparseClassifier(similarity=similarity, max_iter=1000).fit(X, y)
    assert fitted.score(X, y) > (0.75 if similarity == "linear" else 0.93)
    assert fitted.model_.similarity.kind == similarity
    back = PrototypeModel.from_json(fitted.model_.to_json())
    np.testing.assert_array_equal(back.scores(X), fitted.model_.scores(X))
    scaled = fitted.model_.center.any()
    assert scaled == SIMILARITIES[similarity].standardised
    rows, values = DIABETES[0] + 1.0, DIABETES[1]
    number = SuperSparseRegressor(3, similarity=similarity, max_iter=2000)
    assert number.fit(rows, values).score(rows, values) > 0.4


@pytest.mark.parametrize("similarity", ["cosine", "ncc", "intersection"])
def test_a_similarity_is_its_row_whatever_its_name(similarity, monkeypatch):
    monkeypatch.setitem(SIMILARITIES, "new", SIMILARITIES[similarity])
    X, y = IRIS
    rows = (standard_rows(X, X, y / y.sum(), kind) for kind in ("new", similarity))
    for new, old in zip(*map(astuple, rows), strict=True):
        np.testing.assert_array_equal(new, old)
    if similarity == "intersection":
        with pytest.raises(SmpcoreError, match="negative for similarity='new'"):
            standard_rows(X - 9.0, X, y / y.sum(), "new")


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


FREE = {"loss": "epsilon-insensitive"}


@pytest.mark.parametrize("options", [{}, FREE | {"epsilon": 0.5}], ids=str)
def test_regression_is_in_the_users_units_and_free_errors_in_deviations(options):
    X, y = DIABETES
    first = SuperSparseRegressor(3, **options).fit(X, y)
    second = SuperSparseRegressor(3, **options).fit(X, 1000.0 * y + 5.0)
    within = 1e-3 if options else 1e-4
    expected = 1000 * first.predict(X) + 5
    np.testing.assert_allclose(second.predict(X), expected, rtol=within)
    assert second.objective_ == pytest.approx(first.objective_, rel=within / 100)
    model = first.model_
    assert model.classes is None and model.n_outputs == 1
    said = model.activations(X) @ model.votes[:, 0] + model.intercept[0]
    np.testing.assert_allclose(said, first.predict(X))


def test_constant_numbers_need_no_prototypes_and_free_errors_cost_nothing():
    X = IRIS[0]
    all_free = SuperSparseRegressor(3, **FREE, epsilon=100.0).fit(*DIABETES)
    assert all_free.objective_ == pytest.approx(0.0, abs=1e-12)
    fitted = SuperSparseRegressor().fit(X, np.full(150, 3.5))
    np.testing.assert_allclose(fitted.predict(X), 3.5)
    assert fitted.n_iter_ == 0 and fitted.objective_ == 0.0
    assert not fitted.model_.votes.any()


def test_defaults_that_depend_on_the_data():
    two = SuperSparseClassifier().fit(*CANCER)
    three = SuperSparseClassifier().fit(*IRIS)
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
        SuperSparseRegressor(standardize=False).fit([[1e200], [0.0]], [0, 1.0])
    with pytest.raises(SmpcoreError, match="too large to be predicted"):
        fitted = SuperSparseRegressor(2, similarity="poly").fit(*DIABETES)
        fitted.predict(np.full((1, 10), 1e200))
    problem = SuperSparseRegressor(2).problem(*DIABETES)
    broken = replace(problem, rows=replace(problem.rows, Y=problem.rows.Y * np.inf))
    with pytest.raises(SmpcoreError, match="not finite"):
        SuperSparseRegressor(2).solve(broken, SuperSparseState(problem.X[:2].copy()))


def test_a_random_start_is_rows_and_is_where_the_printed_algorithm_starts():
    starts = []
    for seed in (0, 1):
        estimator = SuperSparseClassifier(4, start="random", random_state=seed)
        problem = estimator.problem(*CANCER)
        fitted = estimator.solve(problem)
        rows = {row.tobytes() for row in problem.rows.cases}
        assert {z.tobytes() for z in fitted.start_} <= rows
        assert len(np.unique(fitted.start_, axis=0)) == 4
        steps = run_as_printed(estimator, problem, 0, start=fitted.start_, loss="mean")
        np.testing.assert_array_equal(steps[0].arrays["Z"], fitted.start_)
        assert steps[0].objective == pytest.approx(fitted.history_.objective[0])
        starts.append(fitted.start_)
    assert (starts[0] != starts[1]).any()


def test_what_does_not_go_together_is_refused():
    X, y = np.array([[0.0, 1.0], [1.0, -1.0], [1.0, 0.0]]), np.arange(3.0)
    strings = SuperSparseRegressor(2, similarity="strings", **FREE)
    with pytest.raises(SmpcoreError, match="use loss='squared'"):
        strings.fit(X, y)
    free = SuperSparseRegressor(2, **FREE)
    with pytest.raises(SmpcoreError, match="is not the paper's"):
        run_as_printed(free, free.problem(*DIABETES))
    with pytest.raises(SmpcoreError, match=r"ones of shape \(150, 4\); wrap"):
        pairs = SVC(decision_function_shape="ovo", C=1)
        SuperSparseClassifier(target=pairs).fit(IRIS[0], np.arange(150) % 4)


def rows_of(estimator, data):
    problem = estimator.problem(*data)
    rows = estimator.objective(problem).rows
    return problem, rows.Y.T * rows.unit + rows.middle


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_svm_that_is_imitated_has_the_given_C(C):
    estimator = SuperSparseClassifier(4, target="teacher", teacher_C=C)
    problem, decisions = rows_of(estimator, CANCER)
    cases, labels = problem.rows.cases, problem.rows.Y[0] > 0
    assert estimator.objective(problem).rows is estimator.objective(problem).rows
    svm = SVC(C=C, gamma=1 / 30).fit(cases, labels)
    np.testing.assert_allclose(decisions[:, 0], svm.decision_function(cases))


def test_regressions_that_are_imitated_have_the_given_penalties():
    problem = SuperSparseRegressor().problem(*DIABETES)
    rows = problem.rows
    unit, middle = rows.unit, rows.middle[0]
    how = SuperSparseRegressor()._similarity(rows)
    S = how.values(rows.cases, rows.cases)
    peers = {
        "ridge": Ridge(0.3).fit(S, rows.Y[0]).predict(S),
        "lasso": Lasso(0.3, tol=1e-2, max_iter=5000).fit(S, rows.Y[0]).predict(S),
        "svr": SVR(C=3.0, epsilon=0.2, gamma=how.gamma)
        .fit(rows.cases, rows.Y[0])
        .predict(rows.cases),
    }
    for target, wanted in peers.items():
        params = {"teacher_alpha": 0.3, "teacher_C": 3.0, "epsilon": 0.2}
        estimator = SuperSparseRegressor(target=target, **params)
        _, decisions = rows_of(estimator, DIABETES)
        np.testing.assert_allclose(decisions[:, 0], wanted * unit + middle, rtol=1e-5)
    chosen = SuperSparseRegressor(target="ridge").fit(*DIABETES)
    assert 1e-4 <= chosen.automatic_["teacher_alpha"] <= 100
    assert "teacher_alpha" not in SuperSparseRegressor().fit(*DIABETES).automatic_


def test_a_teacher_of_ones_own_sees_rows_in_their_units():
    X, y = DIABETES
    X = 50.0 * X + 3.0
    estimator = SuperSparseRegressor(6, target=LinearRegression())
    _, decisions = rows_of(estimator, (X, y))
    wanted = LinearRegression().fit(X, y).predict(X)
    np.testing.assert_allclose(np.sort(decisions[:, 0]), np.sort(wanted))
    fitted = estimator.fit(X, y)
    assert np.corrcoef(fitted.predict(X), wanted)[0, 1] > 0.98
    assert not hasattr(estimator.target, "coef_")


def test_a_teacher_of_a_part_of_the_rows_sees_every_class():
    y = np.arange(4100) % 2
    y[1] = 2
    X = np.column_stack([y, np.linspace(0.0, 1.0, len(y))])
    assert (SuperSparseClassifier(6, target="teacher").fit(X, y).predict(X) < 2).any()


@pytest.mark.parametrize("start", ["auto", "kmeans", "greedy"])
def test_no_two_prototypes_start_at_the_same_place(start):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(12, 2)), 5, axis=0)
    y = rng.integers(0, 2, size=60)
    fitted = SuperSparseClassifier(10, start=start).fit(X, y)
    assert len(np.unique(fitted.start_, axis=0)) == 10
    twins = SuperSparseState(np.repeat(fitted.state_.Z[:1], 10, axis=0))
    warm = SuperSparseClassifier(10).solve(fitted.problem(X, y), twins)
    assert len(np.unique(warm.start_, axis=0)) == 10
    boxed = SuperSparseClassifier(5, start=start, box=(-0.2, 0.2)).fit(X, y)
    assert len(np.unique(boxed.start_, axis=0)) == 5


def test_dead_prototypes_are_revived():
    problem = SuperSparseClassifier(4).problem(*MOONS)
    places = np.array([[80.0, 80.0], [90.0, 0.0], [0.1, 0.2], [1.0, 1.0]])
    fitted = SuperSparseClassifier(4).solve(problem, SuperSparseState(places))
    alive = fitted.model_.similarity.values(problem.X, fitted.state_.Z).mean(axis=0)
    assert (alive > DEAD).all()
    narrow = SuperSparseClassifier(4, gamma=1e5, start="kmeans", record=1)
    narrow.solve(problem)
    alive = narrow.model_.similarity.values(problem.X, narrow.start_).mean(axis=0)
    assert (alive < DEAD).all()  # no row is at the centre of a cluster
    alive = narrow.model_.similarity.values(problem.X, narrow.state_.Z).mean(axis=0)
    assert (alive > DEAD).all()
    assert (np.diff(narrow.history_.objective) <= 0).all()
    assert len(narrow.history_.objective) == narrow.n_iter_ + 1


def test_an_idle_prototype_gets_another_place(monkeypatch):
    X, y = DIGITS
    estimator = SuperSparseClassifier(10)
    problem = estimator.problem(X[:1000], y[:1000])
    cases = problem.rows.cases
    start, _ = kmeans_plusplus(cases, 10, n_local_trials=1, random_state=11)
    moved = estimator.solve(problem, SuperSparseState(start))
    low, steps = moved.objective_, moved.n_iter_
    costs = removal_costs(moved, problem)
    assert costs.min() > IDLE * np.median(costs)
    assert (np.diff(moved.history_.objective) <= 0).all()
    monkeypatch.setattr(supersparse_fit, "MOST_REVIVALS", 0)
    left = estimator.solve(problem, SuperSparseState(start))
    costs = removal_costs(left, problem)
    assert costs.min() < IDLE * np.median(costs)
    assert left.n_iter_ < steps and low < 0.7 * left.objective_


def test_sparse_rows_that_are_too_large_are_refused(monkeypatch):
    X, y = csr_array(IRIS[0]), IRIS[1]
    monkeypatch.setattr(scaling, "MOST_COPY_BYTES", 100)
    with pytest.raises(SmpcoreError, match="150 x 4 values would take"):
        SuperSparseClassifier().fit(X, y)
