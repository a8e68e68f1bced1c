"""Options of the super-sparse estimators: start, loss, and whose decisions count."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.svm import SVC, SVR

from smpcore import SmpcoreError
from smpcore.methods.supersparse import SuperSparseClassifier, SuperSparseRegressor
from smpcore.methods.supersparse.paper_algorithm import run_as_printed

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
FREE = {"loss": "epsilon-insensitive"}


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


def test_free_errors_are_in_standard_deviations():
    X, y = DIABETES
    first = SuperSparseRegressor(3, **FREE, epsilon=0.5).fit(X, y)
    second = SuperSparseRegressor(3, **FREE, epsilon=0.5).fit(X, 1000.0 * y - 7.0)
    np.testing.assert_allclose(
        second.predict(X), 1000 * first.predict(X) - 7, rtol=1e-3
    )
    assert second.objective_ == pytest.approx(first.objective_, rel=1e-5)
    all_free = SuperSparseRegressor(3, **FREE, epsilon=100.0).fit(X, y)
    assert all_free.objective_ == pytest.approx(0.0, abs=1e-12)


def test_what_does_not_go_together_is_refused():
    X, y = np.array([[0.0, 1.0], [1.0, -1.0], [1.0, 0.0]]), np.arange(3.0)
    strings = SuperSparseRegressor(2, similarity="strings", **FREE)
    with pytest.raises(SmpcoreError, match="use loss='squared'"):
        strings.fit(X, y)
    free = SuperSparseRegressor(2, **FREE)
    with pytest.raises(SmpcoreError, match="is not the paper's"):
        run_as_printed(free, free.problem(*DIABETES))
    with pytest.raises(SmpcoreError, match=r"ones of shape \(150, 4\); wrap"):
        SuperSparseClassifier(target=SVC(decision_function_shape="ovo", C=1)).fit(
            IRIS[0], np.arange(150) % 4
        )


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
        estimator = SuperSparseRegressor(
            target=target, teacher_alpha=0.3, teacher_C=3.0, epsilon=0.2
        )
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
