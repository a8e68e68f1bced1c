"""SMP's Algorithm 2 against six rows by hand, and against our solver."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris

from smpcore import SMPClassifier, SmpcoreError
from smpcore.methods.smp.paper_algorithm import (
    cluster_centres,
    difference_matrix,
    loss_gradient,
    printed_norm,
    project_rows,
    run_as_printed,
    step_lengths,
)

ROWS = np.array([[2, 0], [2, 0], [0, 2], [0, 2], [-2, 0], [0, -2]], dtype=float)
LABELS = [0, 0, 0, 0, 1, 1]


@pytest.fixture
def six():
    """Prototypes 0 and 1 are of class 0, 2 and 3 of class 1. l1 = 1/8, l2 = 1."""
    estimator = SMPClassifier(
        lam=0.5, mu=0.125, eta=8.0, bias=False, standardize=False, tol=1e-7
    )
    problem = estimator.problem(ROWS, LABELS)
    assignment = np.array([0, 0, 1, 1, 2, 3])
    labels = np.array([0, 0, 1, 1])
    return estimator, replace(problem, assignment=assignment, prototype_labels=labels)


def test_two_steps_by_hand(six):
    # N = 4, R^2 = 4, p = 2, lambda = 1/2:
    # tau = 1 / (2 * 4 * 4) = 1/32, sigma = 1 / (2 * 1/4 * 2 * 1/32) = 32
    assert step_lengths(six[1], 0.5) == pytest.approx((1 / 32, 32.0))
    start, first, second = run_as_printed(*six, n_steps=2)
    # At W = 0 each row has its own prototype and two rivals, so f = log 3, q = 1/3.
    assert start.objective == pytest.approx(np.log(3))
    # Gradient: (1/6) (1/3 * rows of the other class - 2/3 * rows that are tied):
    #   0: ((-2, -2) - 2 (4, 0)) / 18 = (-10, -2) / 18     1: (-2, -10) / 18
    #   2: (( 4,  4) - 2 (-2, 0)) / 18 = (8, 4) / 18       3: (4, 8) / 18
    # V stays 0, as W-bar is. U = -slope / 32 and
    # W = sign(U) (|U| - 1/32 * 1/8)_+ / (1 + 1/32) = sign(U) (|slope| - 1/8)_+ / 33:
    #   10/18 - 1/8 = 31/72, 2/18 < 1/8, 8/18 - 1/8 = 23/72, 4/18 - 1/8 = 7/72
    W = np.array([[31, 0], [0, 31], [-23, -7], [-7, -23]]) / (72 * 33)
    np.testing.assert_allclose(first.arrays["W"], W, atol=1e-15)
    np.testing.assert_allclose(first.arrays["V"], 0.0)
    # Row (2, 0), unit 1/2376: own 62, rivals -46 and -14. Row (-2, 0): own 46, -62, 0.
    unit = 1 / 2376
    loss = 4 * np.log(1 + np.exp(-108 * unit) + np.exp(-76 * unit))
    loss += 2 * np.log(1 + np.exp(-108 * unit) + np.exp(-46 * unit))
    fusion = 0.5 * (31 + 16) * unit
    net = (31 + 31 + 30 + 30) * unit / 8
    net += 0.5 * (31**2 + 31**2 + 2 * (23**2 + 7**2)) * unit**2
    assert first.objective == pytest.approx(loss / 6 + fusion + net, rel=1e-12)
    # V = sigma lambda B W-bar = 32 * 1/2 * 2 (w_i - w_j): 32 (31, -31) and 32 (-16, 16)
    # in that unit; sizes 1984/2376 and 1024/2376 are below 1, so nothing is projected.
    V = 32 * np.array([[31, -31], [-16, 16]]) * unit
    np.testing.assert_allclose(second.arrays["V"], V)
    # One more step of W: U = W - (slope + lambda B'V) / 32
    slope = loss_gradient(six[1], W, "smooth")
    U = W - (slope + 0.5 * np.array([V[0], -V[0], V[1], -V[1]])) / 32
    W = np.sign(U) * np.maximum(np.abs(U) - 1 / 256, 0) / (33 / 32)
    np.testing.assert_allclose(second.arrays["W"], W)


def test_projection_on_the_unit_ball_by_hand():
    # (3, -1): 3 - 2 = 1 and |-1| < 2.  (.9, .6): both less (1.5 - 1) / 2 = .25.
    Z = np.array([[3.0, -1.0], [0.9, 0.6], [0.2, -0.7]])
    np.testing.assert_allclose(project_rows(Z), [[1, 0], [0.65, 0.35], [0.2, -0.7]])


#: The slope at W = 0. Smooth: see above. The others look at one rival: each row pulls
#: at its first one, with 1/2 * 1/6 for the max loss and 1/6 for the hinge.
#:   0: (-2, -2) - (4, 0)    1: -(0, 4)    2: (4, 4) - (-2, 0)    3: -(0, -2)
FIRST = np.array([[-6, -2], [0, -4], [6, 4], [0, 2]])
SLOPES = {
    "smooth": np.array([[-10, -2], [-2, -10], [8, 4], [4, 8]]) / 18,
    "max": FIRST / 12,
    "hinge": FIRST / 6,
}


@pytest.mark.parametrize("loss", SLOPES)
def test_the_gradient_is_that_of_the_loss(six, loss):
    problem = six[1]
    slope = loss_gradient(problem, np.zeros((4, 2)), loss)
    np.testing.assert_allclose(slope, SLOPES[loss])
    # far beyond the margin nothing pulls
    far = loss_gradient(problem, 100 * cluster_centres(problem), loss)
    np.testing.assert_allclose(far, 0, atol=1e-12)


def test_it_approaches_the_objective_that_our_solver_certifies(six):
    estimator, problem = six
    last = run_as_printed(estimator, problem, n_steps=1500)[-1]
    estimator.solve(problem)
    assert estimator.gap_ < 1e-6
    assert last.objective == pytest.approx(estimator.objective_, rel=1e-5)
    assert last.objective >= estimator.objective_ - estimator.gap_
    scores = (ROWS @ last.arrays["W"].T).max(axis=1)
    np.testing.assert_allclose(last.model.scores(ROWS).max(axis=1), scores)
    assert last.model.predict(ROWS).tolist() == LABELS
    assert last.model.history.objective == [last.objective]


def test_the_papers_start_is_the_cluster_centres(six):
    W = cluster_centres(six[1])
    np.testing.assert_allclose(W, [[2, 0], [0, 2], [-2, 0], [0, -2]])
    step = run_as_printed(*six, n_steps=0, start=W)[0]
    np.testing.assert_array_equal(step.arrays["W"], W)


def test_step_lengths_are_a_choice():
    estimator = SMPClassifier(
        lam=0.05, class_prototypes={1: 3}, class_lam={2: 4.0}, tol=1e-8
    )
    problem = estimator.problem(*load_iris(return_X_y=True))
    singular = np.linalg.svd(difference_matrix(problem), compute_uv=False)
    # Proposition 2; 4 sqrt(2) of class 2 is more than sqrt(3) of class 1
    assert singular[0] == pytest.approx(printed_norm(problem)) == pytest.approx(32**0.5)
    best = estimator.solve(problem).objective_

    def end(steps):
        last = run_as_printed(estimator, problem, 300, steps=steps)[-1]
        return last.objective / best - 1

    tight = step_lengths(problem, 0.05, "tight")
    # measured: .66 and 2e-3 after 300 steps
    assert end("printed") > 0.1 > 0.01 > end("tight") == end(tight) > -1e-8
    for wrong in ("longest", (1.0,), (0.1, -1.0)):
        with pytest.raises(SmpcoreError, match="should be"):
            end(wrong)
