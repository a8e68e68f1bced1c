"""Fewer prototypes: exact costs, paths, the choice of a size, and baselines."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import huber
from sklearn.base import clone

from smpcore import SmpcoreError
from smpcore.baselines.models import fewer_vectors
from smpcore.methods import fit_smallest, prune_path, removal_costs
from smpcore.methods.supersparse import SuperSparseClassifier, SuperSparseRegressor
from smpcore.methods.supersparse.estimator import choose_size
from smpcore.methods.supersparse.problem import Objective, kept_columns
from smpcore.similarity import Similarity
from smpcore.solvers.coefficients import WIDTH
from tests.smpcore.methods.tables import CANCER, DIABETES, IRIS


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
    after = [objective.refit(np.delete(S, j, axis=1))[0] for j in range(4)]
    assert set(range(4)) - set(kept.tolist()) == {int(np.argmin(after))}
    sizes = np.abs(objective.refit(S)[1][:, 0])
    assert sizes.argmin() != np.argmin(after)
    assert kept_columns(objective, S, 1).shape == (1,)
    by_size = kept_columns(objective, S, 2, "coefficient")
    assert by_size.tolist() == sorted(np.argsort(-sizes)[:2].tolist())


def test_removal_costs_of_free_errors_are_exact():
    estimator = SuperSparseRegressor(5, lam=1e-3, loss="epsilon-insensitive")
    problem = estimator.problem(*DIABETES)
    fitted = estimator.solve(problem)
    objective = fitted.objective(problem)
    costs = removal_costs(fitted, problem)
    for j, cost in enumerate(costs):
        Z = np.delete(fitted.state_.Z, j, axis=0)
        B, b = objective.coefficients(Z)
        errors = np.abs(objective.similarities(Z) @ B[:, 0] + b - problem.rows.Y[0])
        loss = WIDTH * huber(1.0, np.maximum(errors - 0.1, 0.0) / WIDTH)
        F = problem.rows.weights @ loss + 1e-3 * (B**2).sum()
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
    left = np.delete(fits[1].state_.Z, dropped, axis=0)
    np.testing.assert_array_equal(fits[2].start_, left)
    with pytest.raises(SmpcoreError, match=r"sizes=\[3, 4\] should fall; sort them"):
        next(prune_path(estimator, problem, [3, 4]))


def test_the_size_is_chosen_by_its_price_on_rows_kept_apart():
    estimator = SuperSparseRegressor(lam=1e-3)
    dear = fit_smallest(estimator, *DIABETES, [8, 5, 2], price=10.0)
    assert dear.n_asked_ == 2
    whole = clone(estimator).set_params(n_prototypes=2).fit(*DIABETES)
    np.testing.assert_array_equal(whole.predict(DIABETES[0]), dear.predict(DIABETES[0]))


def test_the_smallest_of_equally_good_sizes_is_chosen():
    assert choose_size([9, 5, 3, 1], [0.1, 0.1, 0.1, 0.5], 0.0) == 3
    assert choose_size([9, 5, 3, 1], [0.0, 0.05, 0.1, 0.5], 0.02) == 5
    assert choose_size([9, 5, 3, 1], [0.0, 0.05, 0.1, 0.5], 1.0) == 1


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
