"""IMKPL's Algorithms 1 and 2 against six rows by hand, and against our solver."""

from itertools import islice

import numpy as np
import pytest

from smpcore import IMKPLClassifier
from smpcore.methods.imkpl.paper_algorithm import (
    Terms,
    algorithm_1,
    other_objective,
    pursuit,
    run_as_printed,
    terms_of,
)
from smpcore.methods.imkpl.problem import neighbour_pairs
from tests.smpcore.methods.tables import IRIS, WINE
from tests.smpcore.methods.test_imkpl import alternate

LABELS = np.array([0, 0, 0, 1, 1, 1])
SAME = (LABELS[:, None] == LABELS).astype(float)


@pytest.fixture
def six():
    """A kernel that is 1 within a class and 0 across, and one that knows no likeness.

    Prototypes are at first row 0 and row 3; they and codes have one entry.
    """
    kernels = np.stack([SAME, np.eye(6)])
    near = neighbour_pairs(kernels.sum(axis=0), LABELS, 1, np.ones(6))
    terms = Terms(kernels, SAME, near, lam=0.5, mu=0.25, tau=0.0625, size=1)
    return terms, np.eye(6)[[0, 3]]


def test_an_iteration_by_hand(six):
    terms, U = six
    start, codes, prototypes, weights = islice(algorithm_1(*six), 4)
    # beta = (1, 1): K-hat is 2 on the diagonal, 1 within a class, 0 across; K-tilde is
    # -1, 0 and 1 there.
    assert start[4].tolist() == [1, 1]
    # (7): Q = 2 * 2, and at row 0 c = 1/2 * -1 - 2 * 2 = -9/2 for its own prototype,
    # 1/2 * 1 - 0 for the other; at rows 1 and 2 c = 0 - 2 * 1. Codes 9/8, 1/2, 1/2.
    half = [9 / 8, 1 / 2, 1 / 2]
    np.testing.assert_allclose(codes[3], [[*half, 0, 0, 0], [0, 0, 0, *half]])
    # (9) of prototype 0: gamma gamma' = 81/64 + 1/2 = 113/64. gamma K-hat = (13/4, ...)
    # and gamma K-tilde = (-9/8, ...) at row 0, so c = -9/16 - 13/2 + 1/16 = -7, the
    # least; u = 7 / (2 * 113/64 * 2), and scaled to length 1 in K-hat: 1 / sqrt(2).
    np.testing.assert_allclose(prototypes[2], U / np.sqrt(2))
    u = pursuit(2 * 113 / 64 * 2 * np.eye(1), np.array([-7.0]), 1)
    assert u == pytest.approx([7 * 64 / (4 * 113)])
    # (11), H = codes / sqrt(2) at rows 0 and 3; 2 * 17/8 = 17/4 is the sum of codes:
    # kernel 0: rec = 6 - 2 * 17/4 / sqrt(2) + 2 * 113/64 / 2, dis = 0, ls = 0
    # kernel 1: rec = 6 - 2 * 9/4 / sqrt(2) + 113/64, dis = 2 / sqrt(2), ls = 2 * 6
    H, root = prototypes[2].T @ prototypes[3], np.sqrt(2)
    first = 6 - 17 / 2 / root + 113 / 64
    second = 6 - 9 / 2 / root + 113 / 64 + 0.5 * 2 / root + 0.25 * 12
    costs = terms.costs(terms.kernels, H)
    np.testing.assert_allclose(costs, [first, second])
    # (10): the corner of the cheaper kernel
    np.testing.assert_allclose(weights[4], [1, 0], atol=1e-12)
    # (4) adds tau times the sum of U, 2 / sqrt(2)
    value = terms.objective(SAME, prototypes[2], prototypes[3])
    assert value == pytest.approx(first + 0.0625 * 2 / root)


def test_costs_are_the_printed_sums(six):
    """(11) and (4) written out, for a random H and a random kernel."""
    terms, random = six[0], np.random.RandomState(0)
    U, codes = random.uniform(size=(2, 6)), random.uniform(size=(2, 6))
    root = random.normal(size=(6, 4))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    K, H = root @ root.T, U.T @ codes
    rec = np.trace(K @ (np.eye(6) - 2 * H) + codes.T @ U @ K @ U.T @ codes)
    dis = np.trace((1 - SAME * K) @ H)
    first, second, weights = terms.near
    pairs = zip(first, second, weights, strict=True)
    ls = sum(2 - 2 * K[i, s] if weight < 0 else K[i, s] for i, s, weight in pairs)
    assert terms.costs([K], H) == pytest.approx([rec + 0.5 * dis + 0.25 * ls])


def test_pursuit_by_hand():
    Q = np.array([[2.0, 1.0], [1.0, 2.0]])
    # -3 and -3: the first enters, x = 3/2; its slope leaves -3/2 for the second; then
    # 2 x + y = 3 = x + 2 y.
    np.testing.assert_allclose(pursuit(Q, np.array([-3.0, -3]), 1), [1.5, 0])
    np.testing.assert_allclose(pursuit(Q, np.array([-3.0, -3]), 2), [1, 1])
    assert not pursuit(Q, np.array([0.0, 1.0]), 2).any()
    # The second column depends on the first, so it may not enter.
    x = pursuit(np.ones((2, 2)), np.array([-2.0, -1]), 2)
    np.testing.assert_allclose(x, [2, 0])


def test_codes_are_as_good_as_those_of_our_solver():
    """With one entry (7) is solved exactly, by both. No row stands for two here."""
    ours, problem = alternate(WINE, n_prototypes=2, kappa=1.0, code_size=1)
    terms = terms_of(IMKPLClassifier(code_size=1), problem)
    codes = terms.best_codes(problem.K, problem.U)
    np.testing.assert_allclose(codes, ours.codes, atol=1e-9)
    value = terms.objective(problem.K, problem.U, codes)
    assert value == pytest.approx(ours.objective(), rel=1e-9)


@pytest.mark.parametrize("data", [IRIS, WINE], ids=["iris", "wine"])
def test_the_linear_programme_takes_one_kernel(data):
    X, y = data
    estimator = IMKPLClassifier(code_size=3, n_prototypes=3, kappa=3.0)
    problem = estimator.problem(X, y)
    steps = run_as_printed(estimator, problem, n_steps=4)
    assert [step.phase for step in steps[:4]] == [
        "start", "codes", "prototypes", "kernel weights",
    ]  # fmt: skip
    assert steps[2].arrays["beta"].tolist() == [1.0] * X.shape[1]
    for step in steps[3::3]:
        assert np.sort(step.arrays["beta"])[-2:] == pytest.approx([0, 1])
    # measured: 9 iterations on iris, accuracy .87 with one of four kernels
    last = steps[-1]
    accuracy = (last.model.predict(X) == y).mean()
    assert accuracy < estimator.fit(X, y).score(X, y)


def test_a_state_is_a_model_and_keeps_the_rows_in_their_order():
    order = np.random.RandomState(0).permutation(150)
    X, y = (part[order] for part in IRIS)
    estimator = IMKPLClassifier(code_size=1, n_prototypes=3)
    problem = estimator.problem(X, y)
    step = run_as_printed(estimator, problem, n_steps=3)[-1]
    # Section 4.4: the codes of inputs are those of (7) with lambda = 0.
    U, K = step.arrays["U"], terms_of(estimator, problem).mixed(step.arrays["beta"])
    codes = np.stack([pursuit(2 * U @ K @ U.T, c, 1) for c in -2 * K @ U.T])
    sorted_rows = step.model.activations(X)[problem.order]
    np.testing.assert_allclose(sorted_rows, codes, atol=1e-9)
    votes = problem.votes(U)
    assert (votes[step.assignment].argmax(axis=1) == y).mean() > 0.7
    scores = step.model.scores(X)[problem.order]
    np.testing.assert_allclose(scores, codes @ votes, atol=1e-9)


def test_only_the_ridge_on_weights_is_not_in_the_paper():
    assert "no term for even weights" in other_objective(IMKPLClassifier())
    for same in ({"kernel_weights": "lp"}, {"kappa": np.inf}):
        assert other_objective(IMKPLClassifier(**same)) == ""
