"""Where virtual prototypes start, and which are placed anew."""

import numpy as np
import pytest
from sklearn.cluster import kmeans_plusplus
from sklearn.datasets import load_digits, make_moons

from smpcore.methods.supersparse import SuperSparseClassifier
from smpcore.methods.supersparse import fit as supersparse_fit
from smpcore.methods.supersparse.problem import SuperSparseState
from smpcore.methods.supersparse.pruning import removal_costs
from smpcore.methods.supersparse.removal import DEAD, IDLE

MOONS = make_moons(200, noise=0.2, random_state=0)


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


def test_dead_prototypes_are_revived():
    problem = SuperSparseClassifier(4).problem(*MOONS)
    far = SuperSparseState(
        np.array([[80.0, 80.0], [90.0, 0.0], [0.1, 0.2], [1.0, 1.0]])
    )
    fitted = SuperSparseClassifier(4).solve(problem, far)
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
    X, y = load_digits(return_X_y=True)
    estimator = SuperSparseClassifier(10)
    problem = estimator.problem(X[:1000], y[:1000])
    start, _ = kmeans_plusplus(
        problem.rows.cases, 10, n_local_trials=1, random_state=11
    )
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
