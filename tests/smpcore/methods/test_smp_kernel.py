"""Both SMP solvers: certificates, exact optima, and how a fit ends."""

from itertools import product

import numpy as np
import pytest

from smpcore.methods.smp.problem import SMPState
from smpcore.solvers.iterations import CONVERGED, DIVERGED, ITERATION_LIMIT, STOPPED
from tests.smpcore.methods.smp_oracle import make_case

#: Problems that are solved exactly; name -> case.
EXACT = {
    "p=2": make_case(0),
    "p=1": make_case(1, sizes=(1, 1, 1), lam=0.0),
    "p=5": make_case(2, m=90, sizes=(5, 5), lam=0.02, mu=0.005),
    "unequal classes": make_case(3, sizes=(1, 2, 4), lam=0.02),
    "no bias": make_case(4, bias=False),
    "eta=0": make_case(5, mu=0.02, eta=0.0),
    "mu=0": make_case(6, m=80, mu=0.0, eta=0.0, lam=0.03),
    "lam=0": make_case(7, lam=0.0),
    "weights": make_case(8, weighted=True),
    "copies": make_case(9, sizes=(1, 2, 3), copies=True),
    "each": make_case(10, m=24, sizes=(8, 8, 8), lam=0.002),
    "factors": make_case(17, sizes=(2, 3), copies=True).but(
        fusion=np.repeat([0.3, 4.0], (2, 3))
    ),
    "two": make_case(18, sizes=(1, 1), weighted=True, lam=0.0),
    "two, eta=0": make_case(19, sizes=(1, 1), mu=0.02, eta=0.0),
    "two, mu=0": make_case(20, m=80, n=3, sizes=(1, 1), mu=0.0, eta=0.0),
    "two, copies": make_case(21, sizes=(1, 1), copies=True),
    "all fused": make_case(11, lam=3.0),
    "all zero": make_case(12, mu=2.0),
}
SOLVERS = "spg", "primal-dual"


def certified(case, solution, farthest):
    """Whether a solution is what it says, and this far above the optimum at most."""
    optimum, last = case.solve_exactly(), solution.objective[-1]
    assert len(solution.objective) == len(solution.gap) == solution.n_iter + 1
    assert last == pytest.approx(case.objective(solution.W), rel=1e-9)
    assert last - solution.gap[-1] <= optimum * (1 + 1e-7)
    assert optimum * (1 - 1e-6) <= last <= optimum * farthest
    sizes = np.abs(solution.Y).sum(axis=1)
    assert (sizes <= case.radius * (1 + 1e-12)).all()


@pytest.mark.parametrize("loss", ["smooth", "max", "hinge"])
@pytest.mark.parametrize("name", EXACT)
def test_objective_is_the_interior_point_optimum(name, loss):
    case, tol = EXACT[name].but(loss=loss), 3e-7 if loss == "smooth" else 9e-4
    solution = case.solve(tol, max_iter=20000)
    assert solution.status == CONVERGED
    certified(case, solution, 1 + 1e-6 if loss == "smooth" else 1 + 1e-3)


#: Steps along subgradients end near the optimum, and not much nearer.
FARTHEST = {"smooth": 1 + 2e-6, "max": 1.03, "hinge": 1.1}


@pytest.mark.parametrize(
    ("name", "loss"),
    [("copies", "smooth"), *product(("p=2", "unequal classes", "weights"), FARTHEST)],
)
def test_the_papers_algorithm_comes_to_the_same(name, loss):
    case = EXACT[name].but(loss=loss, solver="primal-dual")
    tol, most = (1e-6, 30000) if loss == "smooth" else (1e-3, 3000)
    certified(case, case.solve(tol, max_iter=most), FARTHEST[loss])


@pytest.mark.parametrize("name", ["p=2", "p=5", "weights", "copies"])
def test_a_warm_start_saves_steps(name):
    case = EXACT[name]
    solved = case.solve(1e-3)
    start = SMPState(solved.W, solved.Y)
    assert case.solve(1e-3, start).n_iter == 0 < 5 < solved.n_iter
    moved = case.but(mu=0.012, eta=1.0, lam=1.25 * case.lam)
    warm = moved.solve(1e-3, start)
    assert warm.status == CONVERGED and warm.n_iter < moved.solve(1e-3).n_iter


@pytest.mark.parametrize("solver", SOLVERS)
def test_stop_limit_progress_and_record(solver):
    case, progress = EXACT["p=2"].but(solver=solver), np.zeros(1)
    stopped = case.solve(1e-9, stop=np.ones(1, np.int64), progress=progress)
    assert (stopped.status, stopped.n_iter, progress[0]) == (STOPPED, 0, 1.0)
    limited = case.solve(1e-9, max_iter=7, record=3)
    assert (limited.status, limited.n_iter) == (ITERATION_LIMIT, 7)
    objectives = [case.objective(step) for step in limited.steps]
    assert limited.objective[[0, 3, 6, 7]] == pytest.approx(objectives, rel=1e-12)
    assert case.solve(1e-3, max_iter=0).objective == pytest.approx([np.log(5)])


@pytest.mark.parametrize(
    ("max_iter", "every"), [(199, 1), (201, 2), (399, 2), (900, 8)]
)
def test_recorded_steps_are_spread_over_the_whole_fit(max_iter, every):
    case = EXACT["p=2"].but(solver="primal-dual")
    solution = case.solve(1e-15, max_iter=max_iter, record=1)
    steps, n_iter = solution.steps, solution.n_iter
    assert n_iter == max_iter and 100 < len(steps) <= 200
    places = every * np.arange(len(steps))
    assert n_iter - 2 * every < places[-2] < n_iter
    places[-1] = n_iter
    objectives = [case.objective(step) for step in steps]
    assert solution.objective[places] == pytest.approx(objectives, rel=1e-12)
    np.testing.assert_array_equal(steps[-1], solution.W)


def test_a_problem_with_infinite_numbers_is_given_up():
    X = EXACT["p=2"].X.copy()
    X[3, 1] = np.nan
    with np.errstate(invalid="ignore"):
        assert EXACT["p=2"].but(X=X).solve(1e-3).status == DIVERGED


@pytest.mark.parametrize("mu", [0.1, 0.01, 0.001])
def test_few_newton_steps_solve_l1_logistic_regression_of_correlated_columns(mu):
    case = make_case(1, m=200, n=8, sizes=(1, 1), mu=mu, eta=0.0)
    case.X[:, 1] = case.X[:, 0] + 0.01 * case.X[:, 1]
    solution = case.solve(1e-6)
    assert solution.status == CONVERGED and solution.n_iter <= 12
