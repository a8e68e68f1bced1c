"""Fewer prototypes: exact costs, paths, the choice of a size, and baselines."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import huber
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.svm import SVC

from smpcore import SmpcoreError
from smpcore.baselines.selected import WAYS, fewer_vectors, select_rows
from smpcore.methods import fit_smallest, prune_path, removal_costs
from smpcore.methods.supersparse import SuperSparseClassifier, SuperSparseRegressor
from smpcore.methods.supersparse.problem import Objective
from smpcore.methods.supersparse.pruning import choose_size
from smpcore.methods.supersparse.removal import kept_columns
from smpcore.similarity import Similarity
from smpcore.solvers.coefficients import WIDTH
from tests.bench.supersparse_baselines import fit_fewer_vectors, fit_selected

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["iris", "cancer"])
def test_removal_costs_are_exact(data):
    estimator = SuperSparseClassifier(6, lam=1e-3)
    problem = estimator.problem(*data)
    fitted = estimator.solve(problem)
    S = fitted.model_.similarity.values(problem.rows.cases, fitted.state_.Z)
    for j, cost in enumerate(removal_costs(fitted, problem)):
        left = Objective(problem.rows, None, 1e-3).refit(np.delete(S, j, axis=1))[0]
        assert left - fitted.objective_ == pytest.approx(cost, rel=1e-7)


def test_the_cheapest_is_dropped_first_and_it_need_not_have_the_smallest_weight():
    rng = np.random.default_rng(0)
    problem = SuperSparseRegressor().problem(*DIABETES)
    rows, lam = problem.rows, 1e-6
    S = rng.normal(size=(len(rows.cases), 4)) * [1.0, 0.01, 1.0, 1.0]
    S[:, 1] += 0.01 * rows.Y[0]
    S[:, 3] = S[:, 2] + 1e-3 * rng.normal(size=len(S))
    objective = Objective(rows, Similarity("rbf"), lam)
    kept = kept_columns(objective, S, 3)
    after = [
        Objective(rows, None, lam).refit(np.delete(S, j, axis=1))[0] for j in range(4)
    ]
    assert set(range(4)) - set(kept.tolist()) == {int(np.argmin(after))}
    _, B, _, _ = Objective(rows, None, lam).refit(S)
    sizes = np.abs(B[:, 0])
    assert sizes.argmin() != np.argmin(after)
    assert kept_columns(objective, S, 1).shape == (1,)
    by_size = kept_columns(objective, S, 2, "coefficient")
    assert by_size.tolist() == sorted(np.argsort(-sizes)[:2].tolist())


def test_a_path_leaves_out_the_smallest_coefficients_where_it_is_asked_to():
    X, y = CANCER
    for removal, costs in (
        ("rise", removal_costs),
        ("coefficient", lambda fitted, _: np.abs(fitted.dual_coef_[:, 0])),
    ):
        estimator = SuperSparseClassifier(lam=1e-3, removal=removal)
        problem = estimator.problem(X, y)
        six, five = prune_path(estimator, problem, [6, 5])
        out = costs(six, problem).argmin()
        np.testing.assert_array_equal(five.start_, np.delete(six.state_.Z, out, axis=0))


def test_removal_costs_of_free_errors_are_exact():
    estimator = SuperSparseRegressor(5, lam=1e-3, loss="epsilon-insensitive")
    problem = estimator.problem(*DIABETES)
    fitted = estimator.solve(problem)
    objective = fitted.objective(problem)
    costs = removal_costs(fitted, problem)
    for j, cost in enumerate(costs):
        left = objective.coefficients(np.delete(fitted.state_.Z, j, axis=0))
        S = objective.similarities(np.delete(fitted.state_.Z, j, axis=0))
        errors = np.abs(S @ left[0][:, 0] + left[1] - problem.rows.Y[0])
        loss = WIDTH * huber(1.0, np.maximum(errors - 0.1, 0.0) / WIDTH)
        F = problem.rows.weights @ loss + 1e-3 * (left[0] ** 2).sum()
        assert F - fitted.objective_ == pytest.approx(cost, rel=1e-6)
    S = objective.similarities(fitted.state_.Z)
    kept = kept_columns(objective, S, 4)
    assert set(range(5)) - set(kept.tolist()) == {int(costs.argmin())}


def test_a_path_falls_from_fit_to_fit():
    estimator = SuperSparseRegressor(lam=1e-3, max_iter=1000)
    problem = estimator.problem(*DIABETES)
    fits = list(prune_path(estimator, problem, [8, 5, 4, 1]))
    assert [f.n_asked_ for f in fits] == [8, 5, 4, 1]
    assert (np.diff([f.objective_ for f in fits]) > 0).all()
    assert estimator.n_prototypes is None
    for before, after in pairwise(fits):
        assert np.isin(after.start_, before.state_.Z).all()
    dropped = removal_costs(fits[1], problem).argmin()
    np.testing.assert_array_equal(
        fits[2].start_, np.delete(fits[1].state_.Z, dropped, axis=0)
    )
    with pytest.raises(SmpcoreError, match=r"sizes=\[3, 4\] should fall; sort them"):
        next(prune_path(estimator, problem, [3, 4]))


def test_the_smallest_of_equally_good_sizes_is_chosen():
    assert choose_size([9, 5, 3, 1], [0.1, 0.1, 0.1, 0.5], 0.0) == 3
    assert choose_size([9, 5, 3, 1], [0.0, 0.05, 0.1, 0.5], 0.02) == 5
    assert choose_size([9, 5, 3, 1], [0.0, 0.05, 0.1, 0.5], 1.0) == 1


@pytest.mark.parametrize(
    ("estimator", "data"),
    [(SuperSparseClassifier(), IRIS), (SuperSparseRegressor(lam=1e-3), DIABETES)],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_size_is_chosen_on_rows_kept_apart(estimator, data):
    sizes = [12, 8, 5, 3, 2]
    free = fit_smallest(estimator, *data, sizes, price=0.0)
    dear = fit_smallest(estimator, *data, sizes, price=10.0)
    assert dear.n_asked_ == 2 <= free.n_asked_
    usual = fit_smallest(estimator, *data, sizes)
    assert 2 <= usual.n_asked_ <= free.n_asked_
    whole = clone(estimator).set_params(n_prototypes=usual.n_asked_).fit(*data)
    np.testing.assert_array_equal(whole.predict(data[0]), usual.predict(data[0]))


def test_selections_are_what_they_are_called():
    X = np.random.default_rng(0).normal(size=(60, 2))
    apart = cdist(X, X)
    border = select_rows(X, 3, "border")
    assert border[0] == apart.sum(axis=1).argmax()
    left = np.delete(np.arange(60), border[0])
    assert border[1] == left[apart[np.ix_(left, left)].sum(axis=1).argmax()]
    spanning = select_rows(X, 4, "spanning")
    assert spanning[0] == apart.sum(axis=1).argmin()
    assert spanning[3] == apart[spanning[:3]].min(axis=0).argmax()
    middle = select_rows(X, 1, "kmedians")
    assert middle.tolist() == [apart.sum(axis=1).argmin()]
    drawn = select_rows(X, 5, "random", 3)
    assert len(set(drawn.tolist())) == 5
    np.testing.assert_array_equal(drawn, select_rows(X, 5, "random", 3))
    with pytest.raises(SmpcoreError, match="way='best' should be one of 'random'"):
        select_rows(X, 2, "best")


@pytest.mark.parametrize("way", WAYS)
def test_virtual_prototypes_fit_better_than_selected_rows(way):
    for estimator, data in (
        (SuperSparseClassifier(6), CANCER),
        (SuperSparseRegressor(6), DIABETES),
    ):
        problem = estimator.problem(*data)
        chosen = fit_selected(estimator, problem, way)
        assert chosen.model_.kind_of_prototype == "real case"
        nearest = cdist(chosen.model_.anchors, problem.X).min(axis=1)
        np.testing.assert_allclose(nearest, 0.0, atol=1e-9)
        assert estimator.solve(problem).objective_ < chosen.objective_


def test_all_support_vectors_are_the_svm():
    for data in (CANCER, IRIS):
        X, y = data
        estimator = SuperSparseClassifier(1000)
        problem = estimator.problem(X, y)
        whole = fit_fewer_vectors(estimator, problem)
        gamma = whole.gamma_
        if len(np.unique(y)) == 2:
            peer = SVC(gamma=gamma).fit(problem.X, y).decision_function(problem.X)
            # SVC solves to a tolerance of 1e-3, and saw the rows in another order.
            np.testing.assert_allclose(whole.decision_function(X), peer, atol=2e-3)
        few = fit_fewer_vectors(SuperSparseClassifier(8), problem)
        assert few.n_asked_ == 8
        assert few.score(X, y) > 0.85


def test_each_vector_dropped_is_the_least_needed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    K = np.exp(-0.5 * cdist(X, X, "sqeuclidean"))
    duals = rng.normal(size=(12, 2))

    def lost(kept):
        best = np.linalg.lstsq(K[np.ix_(kept, kept)], K[kept] @ duals, rcond=None)[0]
        change = duals.copy()
        change[kept] -= best
        return np.trace(change.T @ K @ change)

    kept, coefficients = fewer_vectors(K, duals, 11)
    each = [lost(np.delete(np.arange(12), j)) for j in range(12)]
    assert set(range(12)) - set(kept.tolist()) == {int(np.argmin(each))}
    wanted = np.linalg.solve(K[np.ix_(kept, kept)], K[kept] @ duals)
    np.testing.assert_allclose(coefficients, wanted, rtol=1e-4)
    assert lost(fewer_vectors(K, duals, 5)[0]) > min(each)
