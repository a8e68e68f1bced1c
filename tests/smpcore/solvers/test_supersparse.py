"""The reduced objective and its solver, held to the definitions and to slow peers."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize

from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.supersparse.fit import Search
from smpcore.methods.supersparse.problem import Box, Objective, evaluate, standard_rows
from smpcore.similarity import SMOOTH, Similarity
from smpcore.solvers.coefficients import LEAST_PIVOT, WIDTH, solve_spd
from tests.smpcore.methods.tables import CANCER, DIABETES, DIGITS, IRIS, MOONS

N, D, M, C = 40, 5, 4, 3


def similarity(kind):
    return Similarity(kind, gamma=0.6, degree=3, coef0=0.7)


def case(kind="rbf", seed=0, n=N, d=D, m=M, c=C):
    """Rows, a similarity and prototypes; nothing is negative, nothing is equal."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.2, 1.0, size=n)
    X, targets = rng.uniform(0.1, 1.0, size=(n, d)), rng.normal(size=(n, c))
    rows = standard_rows(X, targets, weights / weights.sum(), kind)
    return rows, similarity(kind), rng.uniform(0.1, 1.0, size=(m, d))


def limits(d=D, **more):
    box = {"low": np.full(d, -np.inf), "high": np.full(d, np.inf), "radius": 0.0}
    box |= {name: more.pop(name) for name in list(more) if name in box}
    return Box(**box), SolverOptions(**({"tol": 1e-9, "max_iter": 300} | more))


def literal_equation_4(S, Y, u, lam):
    """Coefficients and intercept as the paper writes them, intercept not eliminated."""
    n, m = S.shape
    P = np.column_stack([S, np.ones(n)])
    left = P.T @ (u[:, None] * P) + lam * np.diag([1.0] * m + [0.0])
    solved = np.linalg.solve(left, P.T @ (u[:, None] * Y))
    return solved[:m], solved[m]


def omega(S, rows, lam, B, b):
    left = S @ B + b - rows.Y.T
    return rows.weights @ (left**2).sum(axis=1) + lam * (B**2).sum()


def slow_objective(rows, how, lam, Z):
    S = how.values(rows.cases, Z)
    B, b = literal_equation_4(S, rows.Y.T, rows.weights, lam)
    return omega(S, rows, lam, B, b)


def assert_gradient(G, value, Z, step, **within):
    """G is that of a function at Z: its slopes along some directions are G's."""
    for along in np.random.default_rng(2).normal(size=(3, *Z.shape)):
        slope = (value(Z + step * along) - value(Z - step * along)) / (2 * step)
        assert (G * along).sum() == pytest.approx(slope, **within)


@pytest.mark.parametrize("kind", SMOOTH)
def test_objective_coefficients_and_gradient_are_those_of_the_definition(kind):
    for seed in range(3):
        rows, how, Z = case(kind, seed)
        objective = Objective(rows, how, 1e-3)
        F, G, B, b = evaluate(objective, Z)
        assert F == pytest.approx(slow_objective(rows, how, 1e-3, Z), rel=1e-12)
        S = how.values(rows.cases, Z)
        expected = literal_equation_4(S, rows.Y.T, rows.weights, 1e-3)
        for found in ((B, b), objective.refit(S)[1:3]):
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)
        slow = partial(slow_objective, rows, how, 1e-3)
        assert_gradient(G, slow, Z, 1e-6, rel=1e-5, abs=1e-8)


def test_equations_without_rank_are_still_solved():
    A = np.ones((3, 3))
    B = np.ones((1, 3))
    solve_spd(A, B)
    assert np.isfinite(B).all()
    assert A[2, 2] ** 2 == pytest.approx(LEAST_PIVOT)


DIGITS_400 = tuple(part[:400] for part in DIGITS)
REAL = {"moons": MOONS, "cancer": CANCER, "iris": IRIS, "digits": DIGITS_400}
REAL["diabetes"] = DIABETES


def real(name):
    """Standardised rows and targets of five kinds."""
    X, y = REAL[name]
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    classes = np.unique(y)
    targets = y[:, None].astype(float)
    if name != "diabetes":
        targets = 2.0 * (y[:, None] == classes[len(classes) == 2 :]) - 1.0
    how = Similarity("rbf", gamma=1 / X.shape[1])
    return standard_rows(X, targets, np.full(len(y), 1 / len(y)), "rbf"), how


@pytest.mark.parametrize("name", REAL)
def test_objective_is_as_low_as_that_of_peers_from_the_same_start(name):
    rows, how = real(name)
    d, lam = rows.X.shape[1], 1e-4
    plain = limits(d, tol=1e-5, max_iter=200)
    random = np.random.RandomState(0)
    search = Search(Objective(rows, how, lam), 10, *plain, random, "kmeans")
    start, _ = search.choose_start()
    ours = Objective.solve(Objective(rows, how, lam), start, *plain)

    def flat(v):
        F, G, _, _ = evaluate(Objective(rows, how, lam), v.reshape(start.shape))
        return F, G.ravel()

    options = {"maxiter": ours.n_iter, "ftol": 1e-15, "gtol": 1e-12, "maxcor": 10}
    peer = minimize(flat, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    assert ours.objective[-1] <= 1.02 * peer.fun


def test_box_and_ball_hold_at_every_step():
    for kind, box, radius in [
        ("rbf", (0.3, 0.6), 0.0),
        ("linear", (-np.inf, np.inf), 0.9),
        ("intersection", (0.0, 0.5), 0.0),
    ]:
        rows, how, Z = case(kind)
        low, high = np.full(D, box[0]), np.full(D, box[1])
        more = {"low": low, "high": high, "radius": radius, "record": 1}
        found = Objective.solve(Objective(rows, how, 1e-4), Z, *limits(**more))
        assert (found.steps >= low).all() and (found.steps <= high).all()
        assert (np.diff(found.objective) <= 0).all()
        if radius:
            length = np.linalg.norm(found.steps, axis=2)
            assert length.max() <= radius + 1e-12
            assert length[-1].max() == pytest.approx(radius)
        else:
            assert ((found.Z == low) | (found.Z == high)).any()


def test_a_box_is_heeded_while_solving_not_only_afterwards():
    rows, how, Z = case()
    low, high = np.full(D, 0.3), np.full(D, 0.6)
    inside = Objective.solve(Objective(rows, how, 1e-5), Z, *limits(low=low, high=high))
    free = Objective.solve(Objective(rows, how, 1e-5), Z, *limits())
    clipped = evaluate(Objective(rows, how, 1e-5), np.clip(free.Z, low, high))[0]
    assert free.objective[-1] <= inside.objective[-1] < clipped


def insensitive_case(seed=0, kind="rbf", epsilon=0.2, lam=1e-3):
    """An objective with weights and outliers, and prototypes."""
    rng = np.random.default_rng(seed)
    X, weights = rng.uniform(0.1, 1.0, size=(60, 4)), rng.uniform(0.2, 1.0, size=60)
    y = np.sin(4 * X[:, :1]) + 0.3 * rng.standard_t(1.5, size=(60, 1))
    rows = standard_rows(X, y, weights / weights.sum(), kind)
    how = Similarity(kind, gamma=2.0, degree=3, coef0=0.7)
    return Objective(rows, how, lam, epsilon), rng.uniform(0.1, 1.0, size=(5, 4))


def exact(objective, Z, rounded):
    """What an interior-point method gives, with the kink or with it rounded."""
    S, beta, b = objective.similarities(Z), cp.Variable(len(Z)), cp.Variable()
    errors = cp.abs(S @ beta + b - objective.rows.Y[0]) - objective.free
    beyond = cp.pos(errors)
    loss = WIDTH / 2 * cp.huber(beyond / WIDTH, 1) if rounded else beyond
    ridge = objective.lam * cp.sum_squares(beta)
    problem = cp.Problem(cp.Minimize(objective.rows.weights @ loss + ridge))
    problem.solve(solver="CLARABEL")
    return problem.value


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7])
def test_coefficients_are_the_best_and_the_rounded_kink_costs_little(epsilon):
    objective, Z = insensitive_case(epsilon=epsilon)
    F = evaluate(objective, Z)[0]
    assert F == pytest.approx(exact(objective, Z, rounded=True), rel=1e-7)
    assert 0 <= exact(objective, Z, rounded=False) - F <= WIDTH / 2


@pytest.mark.parametrize("kind", SMOOTH)
def test_the_gradient_is_the_slope_of_the_objective(kind):
    objective, Z = insensitive_case(1, kind)
    G = evaluate(objective, Z)[1]
    assert_gradient(G, lambda Z: evaluate(objective, Z)[0], Z, 1e-5, rel=1e-3, abs=1e-7)
