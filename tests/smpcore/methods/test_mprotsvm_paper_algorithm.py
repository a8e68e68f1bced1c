"""The multi-prototype SVM's paired steps and search by hand, and against our solver."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from smpcore import MultiPrototypeSVC, SmpcoreError
from smpcore.methods.mprotsvm.paper_algorithm import (
    Dual,
    draw_assignment,
    dual_of,
    run_as_printed,
    search,
    sweep,
)
from tests.smpcore.methods.tables import IRIS

#: Rows x with a bias, K = x y + 1. Prototypes 0 and 1 are of class 0, 2 of class 1.
X = np.array([0.0, -2.0, 2.0, 1.0, -1.0, 3.0])
LABELS = np.array([1, 0, 0, 1, 1, 0])
TIED = np.array([2, 0, 1, 2, 2, 1])


@pytest.fixture
def six():
    rival = np.array([[c == 1, c == 1, c == 0] for c in LABELS])
    return Dual(np.outer(X, X) + 1.0, rival, np.full(6, 1 / 32))


def test_a_sweep_by_hand(six):
    A, psi = sweep(six, np.zeros((6, 3)), TIED)
    # Every row takes all of C = 1/32, in 64ths:
    # x = 0, k = 1: gradients 1 and 1. All 2 to prototype 0; then 1 - 2 - 2 and 1 - 2 in
    #   64ths more: half of it moves on. (1, 1). M_0 = M_1 = (0, -1), M_2 = (0, 2).
    # x = -2 at 0: 64 + 1 + 2 = 67, 67/640 > 1/32. M_0 = (-4, 1), M_2 = (4, 0).
    # x = 2 at 1: 64 + 1 + 8 = 73. M_1 = (4, 1), M_2 = (0, -2).
    # x = 1: f = -3, 5, -2: gradients 63 and 71, all to 1. M_1 = (2, -1), M_2 = (2, 0).
    # x = -1: f = 5, -3, -2: 71 and 63, all to 0. M_0 = (-2, -1), M_2 = (0, 2).
    # x = 3 at 1: f_1 = 5, f_2 = 2: 61. M_1 = (8, 1), M_2 = (-6, 0).
    np.testing.assert_array_equal(
        64 * A, [[1, 1, 0], [0, 0, 2], [0, 0, 2], [0, 2, 0], [2, 0, 0], [0, 0, 2]]
    )
    M = six.signed(A, TIED).T @ np.c_[X, np.ones(6)]
    np.testing.assert_allclose(64 * M, [[-2, -1], [8, 1], [-6, 0]], atol=1e-12)
    assert psi == pytest.approx(73 / 64)
    # (6): 1/2 (5 + 65 + 36) / 64^2. Slacks, in 64ths, of f = -2x - 1, 8x + 1, -6x:
    # 64 - 0 + 1, 64 - 3 + 12, 64 - 17 - 12, 64 + 6 + 9, 64 - 6 + 1, 64 - 25 - 18
    slack = (65 + 73 + 35 + 79 + 59 + 21) / 64
    assert six.primal(A, TIED) == pytest.approx(53 / 4096 + slack / 32)


def test_the_assignment_law_by_hand(six):
    F = np.zeros((6, 3))
    F[1] = [18 / 64, 0, 0]
    # Slacks of row 1: 1 - 18/64 and 1. With T = C * 18/64 / log 3 the second has a
    # third of the first's probability; rows of class 1 have one prototype.
    T = 18 / 64 / 32 / np.log(3)
    random = np.random.RandomState(0)
    drawn = np.array([draw_assignment(six, F, TIED, T, random) for _ in range(4000)])
    assert (drawn[:, 1] == 0).mean() == pytest.approx(0.75, abs=0.03)
    assert (drawn[:, 2] == 0).mean() == pytest.approx(0.5, abs=0.03)
    assert (drawn[:, [0, 3, 4]] == 2).all()
    # The hard rule keeps ties where they are.
    assert draw_assignment(six, F, TIED, 0.0, random).tolist() == TIED.tolist()
    moved = draw_assignment(six, F[:, [1, 0, 2]], TIED, 0.0, random)
    assert moved.tolist() == [2, 1, 1, 2, 2, 1]


def test_rows_that_move_lose_their_variables(six):
    random, before, n_moved = np.random.RandomState(1), None, 0
    states = [*search(six, TIED, 3, (1.0, 0.8, 1e-3), random)]
    for _, phase, A, tied, _T in states:
        assert (A >= 0).all() and (A.sum(axis=1) <= 1 / 32 + 1e-15).all()
        assert not A[~six.rival].any()
        if phase == "assignment":
            moved = tied != before[1]
            assert not A[moved].any()
            np.testing.assert_array_equal(A[~moved], before[0][~moved])
            n_moved += moved.sum()
        before = A, tied
    assert n_moved > 0 and states[-1][-1] == 0.0


def test_with_one_prototype_each_it_is_the_optimum_that_our_solver_certifies():
    X, y = (part[::3] for part in IRIS)
    estimator = MultiPrototypeSVC(1, C=0.1, temperature=0.0, tol=1e-5)
    steps = run_as_printed(estimator, estimator.problem(X, y), n_steps=1000)
    estimator.fit(X, y)
    # measured: 67 states; 2.03086 by both
    assert steps[-1].iteration < 1000
    assert steps[-1].objective == pytest.approx(estimator.objective_, rel=1e-4)
    assert steps[-1].objective >= estimator.objective_ - estimator.gap_


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_annealing_ends_and_is_a_model(kernel):
    X, y = make_moons(60, noise=0.15, random_state=0)
    hot = {"temperature": 10.0, "cooling": 0.8}
    estimator = MultiPrototypeSVC(3, kernel=kernel, tol=1e-3, **hot)
    problem = estimator.problem(X, y)
    steps = run_as_printed(estimator, problem, n_steps=1000)
    last, estimator = steps[-1], estimator.fit(X, y)
    assert last.iteration < 1000 and last.arrays["T"] == 0.0
    # T = 10 .8^t down to C / 50 = .002: 39 temperatures
    temperatures = {float(s.arrays["T"]) for s in steps}
    assert len(temperatures) == 40
    assert estimator.objective_ < 1.001 * last.objective < 1.5 * estimator.objective_
    B = dual_of(problem, 0.1).signed(last.arrays["A"], last.arrays["tied"])
    K = dual_of(problem, 0.1).K
    mapped = problem.row  # of each training row among the distinct ones
    within = 1e-4 if kernel == "rbf" else 1e-9
    np.testing.assert_allclose(last.model.activations(X), (K @ B)[mapped], atol=within)
    own = problem.prototype_labels[last.assignment]
    assert (own == y).all()


def test_a_start_of_another_class_is_refused():
    X, y = make_moons(20, random_state=0)
    estimator = MultiPrototypeSVC(2)
    problem = estimator.problem(X, y)
    start = problem.assignment.copy()
    start[3] = (start[3] + 2) % 4
    with pytest.raises(SmpcoreError, match=r"start\[3\]=\d should be a prototype of"):
        run_as_printed(estimator, problem, start=start)
    with pytest.raises(SmpcoreError, match="should hold a whole number for each"):
        run_as_printed(estimator, problem, start=start[:5])
