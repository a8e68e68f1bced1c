"""The reduced objective and its solver, held to the definitions and to slow peers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    make_moons,
)

from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.supersparse.problem import (
    Box,
    Objective,
    evaluate,
)
from smpcore.methods.supersparse.removal import column_costs
from smpcore.methods.supersparse.rows import standard_rows
from smpcore.methods.supersparse.starts import choose_start
from smpcore.similarity import SMOOTH, Similarity
from smpcore.solvers.coefficients import LEAST_PIVOT, solve_spd
from smpcore.solvers.iterations import CONVERGED, DIVERGED, ITERATION_LIMIT, STOPPED

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


def slow_derivative(kind, x, z, g=0.6, p=3, c0=0.7):
    """ds(x, z) / dz of one row, written out."""
    if kind == "rbf":
        return 2 * g * (x - z) * np.exp(-g * ((x - z) ** 2).sum())
    if kind == "laplacian":
        return g * np.sign(x - z) * np.exp(-g * np.abs(x - z).sum())
    if kind == "linear":
        return x
    if kind == "poly":
        return p * g * (g * x @ z + c0) ** (p - 1) * x
    if kind == "intersection":
        low, high = np.minimum(x, z).sum(), np.maximum(x, z).sum()
        return (z < x) / high - (z >= x) * low / high**2
    if kind == "ncc":
        x, z = x - x.mean(), z - z.mean()
    xu, zu = x / np.linalg.norm(x), z / np.linalg.norm(z)
    return (xu - (xu @ zu) * zu) / np.linalg.norm(z)


@pytest.mark.parametrize("kind", SMOOTH)
def test_objective_and_gradient_are_those_of_the_definition(kind):
    rows, how, Z = case(kind)
    F, G, B, b = evaluate(Objective(rows, how, 1e-3), Z)
    assert F == pytest.approx(slow_objective(rows, how, 1e-3, Z), rel=1e-12)
    S = how.values(rows.cases, Z)
    W = 2 * (rows.weights[:, None] * (S @ B + b - rows.Y.T)) @ B.T
    slow = [
        sum(W[i, j] * slow_derivative(kind, rows.cases[i], Z[j]) for i in range(N))
        for j in range(M)
    ]
    np.testing.assert_allclose(G, slow, rtol=1e-8, atol=1e-8 * np.abs(G).max())


@pytest.mark.parametrize("kind", SMOOTH)
@pytest.mark.parametrize("seed", range(3))
def test_gradient_agrees_with_finite_differences(kind, seed):
    rows, how, Z = case(kind, seed)
    along = np.random.default_rng(seed).normal(size=Z.shape)
    step = 1e-6
    F = [slow_objective(rows, how, 1e-3, Z + s * step * along) for s in (-1, 1)]
    _, G, _, _ = evaluate(Objective(rows, how, 1e-3), Z)
    slope = (F[1] - F[0]) / (2 * step)
    assert (G * along).sum() == pytest.approx(slope, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("lam", [0.0, 1e-6, 1e-2])
def test_equation_4_is_the_centred_form(lam):
    rows, how, Z = case()
    S = how.values(rows.cases, Z)
    B, b = literal_equation_4(S, rows.Y.T, rows.weights, lam)
    for found in (
        evaluate(Objective(rows, how, lam), Z)[2:],
        Objective(rows, None, lam).refit(S)[1:3],
    ):
        np.testing.assert_allclose(found[0], B, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(found[1], b, rtol=1e-8, atol=1e-9)


def test_coefficients_are_stationary():
    rows, how, Z = case()
    S = how.values(rows.cases, Z)
    _, _, B, b = evaluate(Objective(rows, how, 1e-3), Z)
    residuals = rows.weights[:, None] * (S @ B + b - rows.Y.T)
    np.testing.assert_allclose(S.T @ residuals + 1e-3 * B, 0.0, atol=1e-12)
    np.testing.assert_allclose(residuals.sum(axis=0), 0.0, atol=1e-12)


@given(seed=st.integers(0, 10**6), size=st.sampled_from([1e-4, 1e-2, 1.0]))
def test_no_other_coefficients_are_better(seed, size):
    rows, how, Z = case()
    S = how.values(rows.cases, Z)
    F, _, B, b = evaluate(Objective(rows, how, 1e-3), Z)
    rng = np.random.default_rng(seed)
    other = omega(
        S,
        rows,
        1e-3,
        B + size * rng.normal(size=B.shape),
        b + size * rng.normal(size=b.shape),
    )
    assert other >= F - 1e-13


def test_outputs_do_not_disturb_each_other():
    rows, how, Z = case()
    _, G, B, b = evaluate(Objective(rows, how, 1e-3), Z)
    total = np.zeros_like(G)
    for output in range(C):
        alone = replace(rows, Y=np.ascontiguousarray(rows.Y[output : output + 1]))
        _, G_alone, B_alone, b_alone = evaluate(Objective(alone, how, 1e-3), Z)
        np.testing.assert_allclose(B_alone[:, 0], B[:, output], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(b_alone[0], b[output], rtol=1e-9, atol=1e-12)
        total += G_alone
    np.testing.assert_allclose(total, G, rtol=1e-9, atol=1e-12)


def test_order_of_prototypes_and_of_rows_does_not_matter():
    rows, how, Z = case()
    F, G, B, b = evaluate(Objective(rows, how, 1e-3), Z)
    turn, mix = np.roll(np.arange(M), 1), np.random.default_rng(1).permutation(N)
    mixed = replace(
        rows,
        X=rows.X[mix],
        cases=rows.cases[mix],
        sizes=rows.sizes[mix],
        Y=np.ascontiguousarray(rows.Y[:, mix]),
        weights=rows.weights[mix],
    )
    F_turned, G_turned, B_turned, b_turned = evaluate(
        Objective(mixed, how, 1e-3), Z[turn]
    )
    assert F_turned == pytest.approx(F, rel=1e-13)
    np.testing.assert_allclose(G_turned, G[turn], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(B_turned, B[turn], rtol=1e-9)
    np.testing.assert_allclose(b_turned, b, rtol=1e-9)


def test_rbf_does_not_see_shifts_and_turns():
    rows, how, Z = case()
    rng = np.random.default_rng(2)
    turn, shift = np.linalg.qr(rng.normal(size=(D, D)))[0], rng.normal(size=D)
    targets = rows.Y.T * rows.unit + rows.middle
    moved = standard_rows(rows.cases @ turn + shift, targets, rows.weights, "rbf")
    F, G, _, _ = evaluate(Objective(rows, how, 1e-3), Z)
    F_moved, G_moved, _, _ = evaluate(Objective(moved, how, 1e-3), Z @ turn + shift)
    assert F_moved == pytest.approx(F, rel=1e-10)
    np.testing.assert_allclose(G_moved, G @ turn, atol=1e-9)


def test_scaled_and_shifted_targets_scale_the_objective_only():
    rows, how, Z = case()
    stretched = replace(rows, Y=-2.5 * rows.Y + 7.0)
    F, G, B, b = evaluate(Objective(rows, how, 1e-3), Z)
    F_new, G_new, B_new, b_new = evaluate(Objective(stretched, how, 1e-3), Z)
    assert F_new == pytest.approx(2.5**2 * F, rel=1e-10)
    np.testing.assert_allclose(G_new, 2.5**2 * G, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(B_new, -2.5 * B, rtol=1e-7)
    np.testing.assert_allclose(b_new, -2.5 * b + 7.0, rtol=1e-7)


def test_a_whole_weight_is_that_many_rows():
    rng = np.random.default_rng(3)
    X, Y, count = (
        rng.normal(size=(N, D)),
        rng.normal(size=(N, C)),
        rng.integers(0, 4, N),
    )
    weighted = standard_rows(X, Y, count / count.sum(), "rbf")
    alike = np.full(count.sum(), 1 / count.sum())
    repeated = standard_rows(X.repeat(count, 0), Y.repeat(count, 0), alike, "rbf")
    assert weighted.unit == pytest.approx(repeated.unit, rel=1e-12)
    Z = X[:M] + 0.1
    first = evaluate(Objective(weighted, similarity("rbf"), 1e-3), Z)
    second = evaluate(Objective(repeated, similarity("rbf"), 1e-3), Z)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(sorted(SMOOTH)))
def test_objective_is_bounded_and_rises_with_lam_and_falls_with_prototypes(seed, kind):
    rows, how, Z = case(kind, seed)
    ridges = [0.0, 1e-6, 1e-4, 1e-2, 1.0, 1e6]
    found = [evaluate(Objective(rows, how, lam), Z)[0] for lam in ridges]
    assert 0 <= found[0] and found[-1] <= C * (1 + 1e-12)
    assert (np.diff(found) >= -1e-12).all()
    grown = [
        evaluate(Objective(rows, how, 1e-4), Z[:size])[0] for size in range(1, M + 1)
    ]
    assert (np.diff(grown) <= 1e-12).all()


def test_cost_of_a_column_is_exact():
    rows, how, Z = case()
    S = how.values(rows.cases, Z)
    centred = S - rows.weights @ S
    A = centred.T @ (rows.weights[:, None] * centred) + 1e-3 * np.eye(M)
    costs = column_costs(A, centred.T @ (rows.weights[:, None] * rows.Y.T))
    whole = Objective(rows, None, 1e-3).refit(S)[0]
    for j in range(M):
        without = Objective(rows, None, 1e-3).refit(np.delete(S, j, axis=1))[0]
        assert costs[j] == pytest.approx(without - whole, rel=1e-9)


@pytest.mark.parametrize("kind", SMOOTH)
def test_equal_prototypes_have_equal_gradients(kind):
    rows, how, Z = case(kind)
    Z[1] = Z[0]
    _, G, _, _ = evaluate(Objective(rows, how, 1e-3), Z)
    np.testing.assert_allclose(G[0], G[1], rtol=1e-9, atol=1e-12)
    assert not np.allclose(G[0], G[2])


def test_all_rows_as_prototypes_are_kernel_ridge_with_the_squared_kernel():
    rows, how, _ = case(n=25, c=1)
    rows = replace(rows, weights=np.full(25, 1 / 25))
    K = how.values(rows.cases, rows.cases)
    centred = K - K.mean(axis=0)
    squared = centred @ centred.T
    y = rows.Y[0] - rows.Y[0].mean()
    wanted = squared @ np.linalg.solve(squared + 25 * 1e-3 * np.eye(25), y)
    _, B, b, _ = Objective(rows, None, 1e-3).refit(K)
    np.testing.assert_allclose(K @ B[:, 0] + b - rows.Y[0].mean(), wanted, atol=1e-11)
    _, _, B, b = evaluate(Objective(rows, how, 1e-3), rows.cases)
    np.testing.assert_allclose(K @ B[:, 0] + b - rows.Y[0].mean(), wanted, atol=1e-11)


def test_equations_without_rank_are_still_solved():
    A = np.ones((3, 3))
    B = np.ones((1, 3))
    solve_spd(A, B)
    assert np.isfinite(B).all()
    assert A[2, 2] ** 2 == pytest.approx(LEAST_PIVOT)


def real(name):
    """Standardised rows and targets of five kinds."""
    X, y = {
        "moons": lambda: make_moons(200, noise=0.2, random_state=0),
        "cancer": lambda: load_breast_cancer(return_X_y=True),
        "iris": lambda: load_iris(return_X_y=True),
        "digits": lambda: tuple(part[:400] for part in load_digits(return_X_y=True)),
        "diabetes": lambda: load_diabetes(return_X_y=True),
    }[name]()
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    classes = np.unique(y)
    targets = y[:, None].astype(float)
    if name != "diabetes":
        targets = 2.0 * (y[:, None] == classes[len(classes) == 2 :]) - 1.0
    how = Similarity("rbf", gamma=1 / X.shape[1])
    return standard_rows(X, targets, np.full(len(y), 1 / len(y)), "rbf"), how


REAL = ["moons", "cancer", "iris", "digits", "diabetes"]


@pytest.mark.parametrize("name", REAL)
def test_objective_is_as_low_as_that_of_peers_from_the_same_start(name):
    rows, how = real(name)
    d, lam = rows.X.shape[1], 1e-4
    plain = limits(d, tol=1e-5, max_iter=200)
    random = np.random.RandomState(0)
    start = choose_start(Objective(rows, how, lam), 10, "kmeans", *plain, random)
    ours = Objective.solve(Objective(rows, how, lam), start, *plain)

    def flat(v):
        F, G, _, _ = evaluate(Objective(rows, how, lam), v.reshape(start.shape))
        return F, G.ravel()

    options = {"maxiter": ours.n_iter, "ftol": 1e-15, "gtol": 1e-12, "maxcor": 10}
    peer = minimize(flat, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    assert ours.objective[-1] <= 1.02 * peer.fun


@pytest.mark.parametrize("name", REAL)
def test_history_falls_and_ends_where_the_model_is(name):
    rows, how = real(name)
    d = rows.X.shape[1]
    found = Objective.solve(
        Objective(rows, how, 1e-4), rows.cases[:7] + 0.01, *limits(d, tol=1e-5)
    )
    assert (np.diff(found.objective) <= 0).all()
    assert len(found.objective) == found.n_iter + 1
    F, _, B, b = evaluate(Objective(rows, how, 1e-4), found.Z)
    assert found.objective[-1] == F
    np.testing.assert_array_equal(found.B, B)
    np.testing.assert_array_equal(found.intercept, b)


@pytest.mark.parametrize("kind", SMOOTH)
def test_gradient_vanishes_where_the_solver_stops(kind):
    rows, how, Z = case(kind, c=1, m=1)
    found = Objective.solve(
        Objective(rows, how, 1e-2), Z, *limits(tol=1e-15, max_iter=3000)
    )
    _, start, _, _ = evaluate(Objective(rows, how, 1e-2), Z)
    _, G, _, _ = evaluate(Objective(rows, how, 1e-2), found.Z)
    assert found.objective[-1] < found.objective[0]
    if kind not in ("laplacian", "intersection", "linear", "poly"):  # kinks, no minimum
        assert np.linalg.norm(G) < 1e-4 * np.linalg.norm(start)


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

    def flat(v):
        F, G, _, _ = evaluate(Objective(rows, how, 1e-5), v.reshape(Z.shape))
        return F, G.ravel()

    options = {"ftol": 1e-12, "gtol": 1e-12, "maxiter": 300}
    ends = list(zip(np.tile(low, M), np.tile(high, M), strict=True))
    more = {"jac": True, "method": "L-BFGS-B", "bounds": ends, "options": options}
    further = minimize(flat, inside.Z.ravel(), **more)
    assert inside.objective[-1] <= further.fun * (1 + 1e-6)
    peer = minimize(flat, np.clip(Z, low, high).ravel(), **more)
    assert inside.objective[-1] <= 1.02 * peer.fun


def test_planted_prototypes_are_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    planted = np.array([[0.5, 0.2], [-0.6, -0.4]])
    how = Similarity("rbf", gamma=2.0)
    y = how.values(X, planted) @ np.array([1.0, -1.5]) + 0.3
    rows = standard_rows(X, y[:, None], np.full(300, 1 / 300), "rbf")
    found = Objective.solve(
        Objective(rows, how, 1e-9), planted + 0.2, *limits(2, tol=1e-12, max_iter=2000)
    )
    assert found.objective[-1] < 1e-7
    np.testing.assert_allclose(found.Z, planted, atol=2e-3)


def test_statuses_steps_and_progress():
    rows, how, Z = case()
    done = Objective.solve(Objective(rows, how, 1e-2), Z, *limits(tol=1e-4))
    assert done.status == CONVERGED
    progress = np.zeros(1)
    short = Objective.solve(
        Objective(rows, how, 1e-3), Z, *limits(max_iter=4, record=2, progress=progress)
    )
    assert (short.status, short.n_iter, len(short.steps)) == (ITERATION_LIMIT, 4, 3)
    np.testing.assert_array_equal(short.steps[0], Z)
    np.testing.assert_array_equal(short.steps[-1], short.Z)
    assert progress[0] == 1.0
    stop = np.ones(1, dtype=np.int64)
    halted = Objective.solve(Objective(rows, how, 1e-3), Z, *limits(stop=stop))
    assert (halted.status, halted.n_iter) == (STOPPED, 0)
    np.testing.assert_array_equal(halted.Z, Z)
    endless = replace(rows, Y=rows.Y * np.inf)
    lost = Objective.solve(Objective(endless, how, 1e-3), Z, *limits())
    assert lost.status == DIVERGED
