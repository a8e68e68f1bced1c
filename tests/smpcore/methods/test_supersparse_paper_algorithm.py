"""Super-sparse Algorithm 1 against six rows by hand, and against our solver."""

from itertools import islice

import numpy as np
import pytest
from sklearn.datasets import make_moons

from smpcore import SmpcoreError, SuperSparseClassifier
from smpcore.methods.supersparse import encode_strings
from smpcore.methods.supersparse.paper_algorithm import (
    Ridge,
    algorithm_1,
    run_as_printed,
    slopes,
)
from smpcore.methods.supersparse.problem import SuperSparseState
from smpcore.similarity import Similarity

#: s(x, z) = 2^-(x - z)^2
HALVING = Similarity("rbf", gamma=np.log(2))
NO_BOX = np.array([-np.inf]), np.array([np.inf])
ROWS = np.array([[0.0], [0], [0], [1], [1], [1]])
MOONS = make_moons(100, noise=0.15, random_state=0)


@pytest.fixture
def six():
    targets = np.array([[1.0], [1], [1], [-1], [-1], [-1]])
    return Ridge(ROWS, targets, np.ones(6), 3 / 8, HALVING)


def test_coefficients_by_hand(six):
    # z = 0: similarities 1 and 1/2, centred 1/4 and -1/4; targets are centred.
    # beta = 6 * 1/4 / (6 / 16 + 3/8) = 2, b = 0 - 3/4 * 2 = -3/2
    beta, b = six.coefficients(HALVING.values(ROWS, np.zeros((1, 1))))
    assert beta.item() == pytest.approx(2) and b.item() == pytest.approx(-1.5)
    # g = 1/2 and -1/2: Omega = 6 * 1/4 + 3/8 * 4
    assert six.omega(np.zeros((1, 1))) == pytest.approx(3)


def test_a_step_by_hand(six):
    # ds/dz = 2 log 2 s (x - z): 0 at x = 0 and log 2 at x = 1, where g - y = 1/2.
    # (5): 2 * 3 * 1/2 * beta * log 2 = 6 log 2, the terms of (6) cancel.
    assert six.gradient(np.zeros((1, 1)), 0) == pytest.approx([6 * np.log(2)])
    # eta = 1 / (12 log 2) moves z to -1/2.
    run = algorithm_1(six, np.zeros((1, 1)), 1 / (12 * np.log(2)), 0.0, NO_BOX)
    (_, before), (Z, omega) = islice(run, 2)
    assert Z.item() == pytest.approx(-0.5) and before == pytest.approx(3)
    # s = 2^-1/4 and 2^-9/4, centred +-d, d = 3/8 * 2^-1/4. With sum y^2 = 6:
    # Omega = 6 - (6 d)^2 / (6 d^2 + 3/8)
    d = 3 / 8 * 2**-0.25
    assert omega == pytest.approx(6 - 36 * d**2 / (6 * d**2 + 3 / 8))


def test_prototypes_repel_each_other_by_hand():
    """Targets 0: the gradient is 0, and only the penalty moves."""
    flat = Ridge(ROWS, np.zeros((6, 1)), np.ones(6), 1.0, HALVING)
    run = algorithm_1(flat, np.array([[0.0], [1.0]]), 0.5, -1.0, NO_BOX)
    states = [Z.ravel() for Z, _ in islice(run, 3)]
    # t = 1: ds(z_2, z_1)/dz_1 = 2 log 2 * 1/2 * (1 - 0): z_1 = -log 2
    away = np.log(2)
    np.testing.assert_allclose(states[1], [-away, 1])
    # t = 2: 1/4 * 2 log 2 * 2^-(1 + log 2)^2 * -(1 + log 2)
    push = away / 2 * 2 ** -((1 + away) ** 2) * (1 + away)
    np.testing.assert_allclose(states[2], [-away, 1 + push])


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_derivatives_are_those_of_objective_and_coefficients(n_outputs):
    random = np.random.RandomState(0)
    X, Y = random.normal(size=(12, 2)), random.normal(size=(12, n_outputs))
    ridge = Ridge(X, Y, random.uniform(size=12), 0.1, Similarity("rbf", gamma=0.4))
    Z = random.normal(size=(3, 2))

    def coefficients(Z):
        return np.vstack(ridge.coefficients(ridge.similarity.values(X, Z)))

    for j, feature in np.ndindex(3, 2):
        step = np.zeros_like(Z)
        step[j, feature] = 1e-5
        slope = (ridge.omega(Z + step) - ridge.omega(Z - step)) / 2e-5
        assert ridge.gradient(Z, j)[feature] == pytest.approx(slope, rel=1e-6)
        slope = (coefficients(Z + step) - coefficients(Z - step)) / 2e-5
        np.testing.assert_allclose(ridge.changes(Z, j)[..., feature], slope, rtol=1e-5)


def test_other_similarities_use_the_heuristic():
    # (7): s(x, z) (x - z); for the Laplacian e^-|x - z| at 1 and z = 0: e^-1
    slope = slopes(Similarity("laplacian", gamma=1.0), np.ones((1, 1)), np.zeros(1))
    assert slope.item() == pytest.approx(np.exp(-1))


def test_on_the_mean_it_descends_and_ours_goes_on_from_the_same_start():
    estimator = SuperSparseClassifier(5, tol=1e-9)
    problem = estimator.problem(*MOONS)
    steps = run_as_printed(estimator, problem, n_steps=600, loss="mean")
    first, last = steps[0], steps[-1]
    # the start are rows
    distances = abs(first.arrays["Z"][:, None] - problem.rows.cases).max(axis=2)
    assert (distances.min(axis=1) == 0).all()
    # measured: .417 -> below .25 after 600 steps
    assert last.objective < 0.7 * first.objective
    ours = estimator.solve(problem, SuperSparseState(first.arrays["Z"].copy()))
    # each step costs one prototype's gradient; ours end lower after 200 of all
    assert ours.history_.objective[0] == pytest.approx(first.objective)
    assert ours.objective_ < last.objective
    # and a stationary point of ours is one of the printed gradient
    tight = SuperSparseClassifier(5, tol=1e-14, max_iter=5000)
    Z = tight.solve(problem, SuperSparseState(last.arrays["Z"].copy())).state_.Z
    rows = problem.rows
    ridge = Ridge(rows.cases, rows.Y.T, rows.weights, tight.lam, Similarity("rbf", 0.5))
    assert ridge.omega(Z) == pytest.approx(tight.objective_, rel=1e-9)
    size = [
        np.abs([ridge.gradient(z, j) for j in range(5)]).max()
        for z in (Z, last.arrays["Z"])
    ]
    assert size[0] < 1e-4 < size[1]


def test_a_state_is_a_model():
    X, y = MOONS
    estimator = SuperSparseClassifier(5, random_state=3)
    step = run_as_printed(estimator, estimator.problem(X, y), 20, loss="mean")[-1]
    errors = step.model.scores(X)[:, 1] * 2 - (2 * y - 1)
    penalty = estimator.lam * (step.arrays["beta"] ** 2).sum()
    assert step.objective == pytest.approx((errors**2).mean() + penalty)
    assert step.assignment.shape == (100,)


def test_strings_are_refused():
    rows, _ = encode_strings(["abc", "abd", "xyz", "xyy"])
    estimator = SuperSparseClassifier(2, similarity="strings", standardize=False)
    with pytest.raises(SmpcoreError, match="no gradient"):
        run_as_printed(estimator, estimator.problem(rows, [0, 0, 1, 1]))
