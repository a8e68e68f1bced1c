"""MultiPrototypeSVC on similarities that the user has computed."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from smpcore import PrototypeModel, SmpcoreError
from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.shared.gram import make_semidefinite
from tests.smpcore.solvers.mprotsvm_oracle import judge_slowly

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
TRAIN, NEW = np.arange(len(y)) % 3 > 0, np.arange(len(y)) % 3 == 0
K = rbf_kernel(X[TRAIN], gamma=1 / 13)
BETWEEN = rbf_kernel(X[NEW], X[TRAIN], gamma=1 / 13)


def given(n_prototypes=1, **more):
    settings = {"kernel": "precomputed", "standardize": False, "C": 1.0} | more
    return MultiPrototypeSVC(n_prototypes, **settings)


def test_a_given_kernel_is_the_kernel_of_that_name():
    exact = {"tol": 1e-8, "max_iter": 100_000}
    named = MultiPrototypeSVC(1, C=1.0, kernel="rbf", standardize=False, **exact)
    named.fit(X[TRAIN], y[TRAIN])
    fitted = given(**exact).fit(K, y[TRAIN])
    assert fitted.objective_ == pytest.approx(named.objective_, rel=1e-6)
    assert fitted.automatic_.keys() == {"n_init"}
    np.testing.assert_allclose(
        fitted.decision_function(BETWEEN), named.decision_function(X[NEW]), atol=1e-4
    )


def test_the_model_scores_as_the_solver_does_and_names_its_rows():
    estimator = given(3)
    problem = estimator.problem(K, y[TRAIN])
    fitted = estimator.solve(problem)
    model = fitted.model_
    slow = judge_slowly(problem, fitted.state_, 1.0)
    assert fitted.objective_ == pytest.approx(slow.primal, rel=1e-5)
    assert model.kind_of_prototype == "mix of real cases"
    rows = np.flatnonzero(model.support)
    np.testing.assert_array_equal(np.sort(fitted.anchor_rows_), rows)
    np.testing.assert_array_equal(problem.row[problem.chosen], np.arange(len(K)))
    mixed = BETWEEN[:, fitted.anchor_rows_] @ model.mixing
    np.testing.assert_allclose(model.activations(BETWEEN), mixed, atol=1e-12)
    again = PrototypeModel.from_json(model.to_json())
    np.testing.assert_array_equal(again.predict(BETWEEN), fitted.predict(BETWEEN))
    assert fitted.score(BETWEEN, y[NEW]) > 0.95


def distances():
    return np.sqrt(np.maximum(2 - 2 * K, 0.0))


SKEW = K.copy()
SKEW[0, 1] += 0.1
REFUSED = {
    r"X has 20 columns for 118 rows and should have a column": K[:, :20],
    "X differs from its transpose by 0.1 and should be symmetric": SKEW,
    "X has 0 on its diagonal.* turn distances": distances(),
    "X has -1 on its diagonal": -K,
    "gives values as large as 1e\\+15 .* divide X": 1e15 * K,
    "NaN": np.where(K < 1, K, np.nan),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_no_kernel_is_refused(words):
    with pytest.raises(SmpcoreError, match=words):
        given().fit(REFUSED[words], y[TRAIN])


def test_scaling_is_refused_and_so_are_other_rows():
    with pytest.raises(SmpcoreError, match="standardize=True would scale each column"):
        given(standardize=True).fit(K, y[TRAIN])
    with pytest.raises(SmpcoreError, match=r"20 features.* expecting 118"):
        given().fit(K, y[TRAIN]).predict(BETWEEN[:, :20])


def test_a_negative_eigenvalue_is_named_and_mended():
    wrong = np.where(K < 0.5, 0.0, 1.0)
    least = np.linalg.eigvalsh(wrong)[0]
    assert least < -0.1
    with pytest.warns(UserWarning, match="X has an eigenvalue of -.* none below 0"):
        fitted = given().fit(wrong, y[TRAIN])
    assert 0 <= fitted.gap_ <= fitted.tol * fitted.objective_
    mended = wrong.copy()
    with pytest.warns(UserWarning, match="raised by as much"):
        assert make_semidefinite(mended, "X") == pytest.approx(-least)
    assert np.linalg.eigvalsh(mended)[0] > -1e-9
