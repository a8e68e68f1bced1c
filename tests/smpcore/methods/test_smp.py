"""SMPClassifier: exact optima, ends of sliders, starts, rounds, and what is merged."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from smpcore import SMPClassifier, SmpcoreError
from smpcore.methods.shared import scaling
from smpcore.methods.shared.linear import largest_eigenvalue
from smpcore.methods.shared.starts import cluster_rows, each_row
from smpcore.methods.smp import interior
from smpcore.methods.smp import problem as problems
from smpcore.methods.smp.interior import Interior
from smpcore.methods.smp.problem import BEYOND, SMPState, equal_prototypes, merged_rows
from smpcore.solvers.iterations import CONVERGED, DIVERGED, ITERATION_LIMIT, STOPPED
from smpcore.solvers.losses import LOSSES
from tests.smpcore.methods.smp_oracle import Case, make_case
from tests.smpcore.methods.tables import CANCER, IRIS, WINE

SCALES = np.random.default_rng(0).normal(size=(200, 9))
SCALES = (
    SCALES * np.repeat([1e3, 1.0, 1e-3], 3),
    (SCALES[:, 0] + SCALES[:, 3] * SCALES[:, 6] + 0.5 * SCALES[:, 4] > 0).astype(int)
    + (SCALES[:, 1] > 0.8),
)
RAW = {"standardize": False}
MIXED = IRIS[0] * [1e3, 1.0, 1e-3, 1.0], IRIS[1]
LONG = 1e3 * IRIS[0], IRIS[1]
WIDE = np.random.default_rng(1).normal(size=(60, 200))
WIDE = WIDE, (WIDE[:, :5].sum(axis=1) + WIDE[:, 5] > 0).astype(int)
REAL = {
    "wine, two each": (WINE, {"lam": 0.01}),
    "wine, one each": (WINE, {"n_prototypes": 1, "lam": 0.0}),
    "wine, five each": (WINE, {"n_prototypes": 5, "mu": 0.002, "eta": 0.5}),
    "wine without ridge": (WINE, {"eta": 0.0}),
    "wine, max": (WINE, {"lam": 0.01, "loss": "max"}),
    "wine, hinge": (WINE, {"lam": 0.01, "loss": "hinge"}),
    "iris, no bias": (IRIS, {"bias": False, "lam": 0.05}),
    "iris, no bias, hinge": (IRIS, {"bias": False, "lam": 0.05, "loss": "hinge"}),
    "iris, weights": (IRIS, {"class_weight": {0: 5.0, 2: 0.5}}),
    "iris, a prototype per row": (
        tuple(part[::5] for part in IRIS),
        {"start": "each", "lam": 1e-3},
    ),
    "cancer": (CANCER, {"lam": 0.01}),
    "wine, unequal": (
        WINE,
        {"class_prototypes": {0: 1, 2: 4}, "class_lam": {1: 20.0, 2: 0.1}, "lam": 0.01},
    ),
    "scales, one each": (SCALES, RAW | {"n_prototypes": 1}),
    "scales": (SCALES, RAW),
    "scales, max": (SCALES, RAW | {"loss": "max"}),
    "scales, hinge": (SCALES, RAW | {"loss": "hinge"}),
    "scales, by Algorithm 2": (SCALES, RAW | {"solver": "primal-dual"}),
}
#: Few examples or raw columns: steps along gradients are not enough.
REAL |= {
    f"{name}, {loss}": (data, {"loss": loss} | params)
    for loss in LOSSES
    for name, data, params in (
        ("cancer, not fused", CANCER, {"lam": 0.0}),
        ("wide, no ridge", WIDE, {"eta": 0.0}),
        ("mixed columns", MIXED, RAW),
        ("columns times 1000", LONG, RAW),
    )
}


@pytest.mark.parametrize("name", REAL)
def test_objective_is_the_interior_point_optimum(name):
    (X, y), params = REAL[name]
    printed = params.get("solver") == "primal-dual"
    limits = {"tol": 1e-6, "max_iter": 20_000} if printed else {"tol": 3e-7}
    estimator = SMPClassifier(**limits | params)
    weight = 1.0 + np.arange(len(y)) % 3 if "weights" in name else None
    problem = estimator.problem(X, y, weight)
    fitted = estimator.solve(problem)
    case = Case(problem, estimator)
    optimum = case.solve_exactly()
    assert fitted.objective_ == pytest.approx(case.objective(fitted.state_.W), rel=1e-9)
    assert fitted.gap_ <= estimator.tol * fitted.objective_
    exact = 1e-6 if "1000" in name else 1e-7  # the other method's own digits
    assert optimum * (1 - exact) <= fitted.objective_ <= optimum * (1 + 1e-6)
    assert fitted.objective_ - fitted.gap_ <= optimum * (1 + 1e-7)


@pytest.mark.parametrize(
    ("n_prototypes", "class_lam"), [(2, None), (3, {1: 10.0}), (5, None)]
)
@pytest.mark.parametrize("data", [IRIS, WINE], ids=["iris", "wine"])
def test_from_the_end_of_lam_on_all_prototypes_of_a_class_are_one(
    data, n_prototypes, class_lam
):
    estimator = SMPClassifier(n_prototypes, class_lam=class_lam, tol=1e-6)
    problem = estimator.problem(*data)
    low, high = estimator.bounds(problem)["lam"]
    assert 0 < low < high
    for lam in (high, 5 * high):
        fused = estimator.set_params(lam=lam).solve(problem)
        np.testing.assert_array_equal(fused.merged_, problem.prototype_labels)
        np.testing.assert_array_equal(fused.model_.counts, n_prototypes)
    apart = estimator.set_params(lam=0.1 * high).solve(problem)
    sizes = np.bincount(apart.model_.prototype_labels)
    assert sizes.sum() > 3
    if class_lam:  # this class is fused before the others
        assert sizes[1] == 1


@pytest.mark.parametrize(
    ("params", "share"),
    [({}, 0.97), ({"bias": False}, 0.97), ({"loss": "hinge"}, 0.4)],
    ids=str,
)
@pytest.mark.parametrize("data", [IRIS, WINE, CANCER], ids=["iris", "wine", "cancer"])
def test_from_the_end_of_mu_on_all_features_are_off(data, params, share):
    tol = 1e-3 if "loss" in params else 1e-8
    estimator = SMPClassifier(**params, tol=tol)
    problem = estimator.problem(data[0][::2], data[1][::2])
    low, high = estimator.bounds(problem)["mu"]
    assert 0 < low < high
    silent = estimator.set_params(mu=1.001 * high).solve(problem)
    assert np.abs(silent.model_.anchors).max() < 1e-9
    assert silent.model_.n_prototypes == 2 + (data is not CANCER)
    speaking = estimator.set_params(mu=share * high).solve(problem)
    assert np.abs(speaking.model_.anchors).max() > 1e-9


def test_ends_of_the_sliders_where_there_is_nothing_to_do():
    X, y = IRIS
    assert SMPClassifier(1).bounds(SMPClassifier(1).problem(X, y))["lam"] == (1e-4, 0.4)
    with pytest.warns(UserWarning, match="class 0 gets 1"):
        flat = SMPClassifier().problem(np.ones_like(X), y)
    assert SMPClassifier().bounds(flat)["mu"] == (1e-4, 0.4)


def test_classes_have_their_own_numbers_of_prototypes_and_factors():
    X, y = CANCER  # 212 rows of class 0, 357 of class 1
    both = SMPClassifier(4, class_prototypes="balanced", class_lam="balanced")
    balanced = both.problem(X, y)
    assert np.bincount(balanced.prototype_labels).tolist() == [3, 5]
    assert balanced.fusion[0] / balanced.fusion[-1] == pytest.approx(212 / 357)
    by_class = SMPClassifier(4, class_prototypes={1: 1}).problem(X, y)
    assert np.bincount(by_class.prototype_labels).tolist() == [4, 1]
    with pytest.raises(SmpcoreError, match=r"class_prototypes\[1\]=0 should be a who"):
        SMPClassifier(class_prototypes={1: 0}).problem(X, y)
    with pytest.raises(SmpcoreError, match="class_lam names the class 7"):
        SMPClassifier(class_lam={7: 1.0}).problem(X, y)


def test_a_prototype_per_row_and_fusion_decides():
    X, y = IRIS[0][::3], IRIS[1][::3]
    each = SMPClassifier(start="each")
    problem = each.problem(X, y)
    assert len(problem.prototype_labels) == len(X)
    high, left = each.bounds(problem)["lam"][1] / BEYOND, []
    for share in (0.01, 0.3, 1.0):
        fitted = each.set_params(lam=share * high).solve(problem)
        left.append(len(fitted.model_.counts))
        assert fitted.model_.counts.sum() == fitted.wins_.sum() == len(X)
        assert fitted.merged_objective_ == pytest.approx(fitted.objective_, rel=1e-3)
    assert left[0] > left[1] > left[2] == 3


def test_too_many_pairs_are_refused_with_their_size():
    X = np.random.default_rng(0).normal(size=(6000, 30))
    with pytest.raises(SmpcoreError, match=r"6000 prototypes .* GiB .*kmeans"):
        SMPClassifier(start="each").fit(X, np.arange(6000) % 2)


def test_reassigning_lowers_the_objective_round_by_round():
    moved = SMPClassifier(4, tol=1e-6, reassign=True, record=1)
    problem = moved.problem(*WINE)
    plain, moved = SMPClassifier(4, tol=1e-6).solve(problem), moved.solve(problem)
    history, W = moved.history_, moved.state_.W
    assert moved.objective_ < plain.objective_
    assert history.iteration[-1] == moved.n_iter_ > plain.n_iter_
    assert (np.diff(history.iteration) >= 0).all()
    ends = history.objective[history.gap <= 1e-6 * history.objective]
    assert len(ends) > 1 and (np.diff(ends) <= 1e-6 * ends[:-1]).all()
    again = Case(replace(problem, assignment=moved.assignment_), moved)
    assert again.objective(W) == pytest.approx(moved.objective_)
    scores = problem.X @ W.T
    scores[problem.prototype_labels != problem.y_encoded[:, None]] = -np.inf
    chosen = scores[np.arange(len(scores)), moved.assignment_]
    np.testing.assert_allclose(chosen, scores.max(axis=1), atol=1e-6)
    # The recorded states are those of all rounds, and end with the fitted one.
    assert moved.n_iter_ > 200 == len(history.steps)
    for state, wanted in (
        (0, (0 * W, problem.assignment)),
        (-1, (W, moved.assignment_)),
    ):
        for part, value in zip(history.steps.states[state], wanted, strict=True):
            np.testing.assert_array_equal(part, value)


def test_model_merges_what_fusion_made_equal():
    estimator = SMPClassifier(3, tol=1e-6)
    problem = estimator.problem(*IRIS)
    high = estimator.bounds(problem)["lam"][1] / BEYOND
    fitted = estimator.set_params(lam=0.6 * high).solve(problem)
    model, labels = fitted.model_, problem.prototype_labels
    assert 3 < model.n_prototypes < 9
    np.testing.assert_array_equal(model.counts, np.bincount(fitted.merged_))
    np.testing.assert_array_equal(model.prototype_labels[fitted.merged_], labels)
    W = np.column_stack([model.anchors, model.bias])[fitted.merged_]
    np.testing.assert_allclose(W, fitted.state_.W, atol=2e-3 * np.abs(W).max())
    assert fitted.merged_objective_ == pytest.approx(fitted.objective_, rel=1e-5)


def test_equality_of_prototypes_is_passed_on_and_the_largest_bias_stays():
    W, labels = np.array([[1.0], [1.0009], [1.0018], [2.0], [1.0]]), [0, 0, 0, 0, 1]
    groups = [equal_prototypes(s * W, np.array(labels), 1).tolist() for s in (2, 0)]
    assert groups == [[0, 0, 0, 1, 2], [0, 0, 0, 0, 1]]
    W = np.array([[1.0, 0.5], [1.0, 0.8], [0.0, 2.0], [3.0, 0.0]])
    group = equal_prototypes(W, np.array([0, 0, 0, 1]), 1)
    assert group.tolist() == [0, 0, 1, 2]
    np.testing.assert_array_equal(merged_rows(W, group, 1), W[1:])


@pytest.mark.parametrize("n", [3, 600])
def test_largest_eigenvalue(n):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(700, n)) + 0.3, rng.uniform(size=700)
    largest = np.linalg.eigvalsh((X.T * weights) @ X)[-1]
    assert largest * (1 - 1e-9) <= largest_eigenvalue(X, weights) <= 1.06 * largest


def test_starts_tie_rows_to_prototypes_of_their_class():
    """Clusters do not depend on the order of rows, nor on whether they are repeated."""
    rng = np.random.default_rng(0)
    X, y_encoded = rng.normal(size=(100, 3)), rng.integers(3, size=100)
    times = rng.integers(3, size=100)
    weights = times / times.sum()
    ties = each_row(y_encoded, weights), cluster_rows(X, y_encoded, weights, 4, 0)
    for assignment, labels in ties:
        assert (np.diff(labels) >= 0).all()
        np.testing.assert_array_equal(labels[assignment], y_encoded)
        assert set(assignment[weights > 0]) == set(range(len(labels)))
    assert len(ties[0][1]) == (weights > 0).sum()
    order = rng.permutation(np.repeat(np.arange(100), times))
    equal = np.full(len(order), 1 / len(order))
    again, _ = cluster_rows(X[order], y_encoded[order], equal, 4, 0)
    np.testing.assert_array_equal(ties[1][0][order], again)


@pytest.mark.parametrize("kind", ["sparse", "blocks"])
def test_columns_have_units_however_rows_are_read(kind, monkeypatch):
    X, y = WINE
    estimator = SMPClassifier(standardize=False, mu=0.05, tol=1e-5, max_iter=3000)
    dense = estimator.problem(X, y)
    if kind == "blocks":
        monkeypatch.setattr(scaling, "MOST_COPY_BYTES", 1)
    read = estimator.problem(csr_array(X) if kind == "sparse" else X, y)
    assert not isinstance(read.X, np.ndarray)
    np.testing.assert_allclose(read.units, dense.units)
    read = replace(read, assignment=dense.assignment)
    objective = estimator.solve(dense).objective_
    with pytest.warns(ConvergenceWarning):  # rows that are read have no Newton steps
        assert estimator.solve(read).objective_ == pytest.approx(objective, rel=0.01)


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


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", EXACT)
def test_kernels_come_to_the_interior_point_optimum(name, loss):
    case = EXACT[name].but(loss=loss)
    solution = case.solve(3e-7, max_iter=2000)
    assert solution.status == CONVERGED
    certified(case, solution, 1 + 1e-6)


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


@pytest.mark.parametrize("most", [0, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_where_newton_steps_come_to_nothing_the_others_go_on(loss, most, monkeypatch):
    monkeypatch.setattr(interior, "MOST_STEPS", most)
    monkeypatch.setattr(problems, "steps_before", lambda *_: 5)
    case = EXACT["p=2"].but(loss=loss)
    solution = case.solve(1e-3, record=1)
    assert solution.status == CONVERGED and solution.n_iter > 5 + most
    certified(case, solution, 1 + 1e-3)
    objectives = [case.objective(step) for step in solution.steps]
    assert solution.objective[: len(objectives)] == pytest.approx(objectives, rel=1e-9)
    assert case.solve(1e-9, max_iter=9).objective[-1] <= solution.objective[5]


def test_newton_steps_stop_and_never_raise_the_objective(monkeypatch):
    monkeypatch.setattr(problems, "steps_before", lambda *_: 5)
    case, stop, step = (
        EXACT["p=5"].but(loss="max"),
        np.zeros(1, np.int64),
        Interior.step,
    )
    solution = case.solve(1e-9, record=1)
    assert solution.status == CONVERGED
    assert (np.diff(solution.objective[5:-1]) <= 0).all()
    np.testing.assert_array_equal(solution.steps[-1], solution.W)
    monkeypatch.setattr(Interior, "step", lambda *a: (step(*a), stop.fill(1)))
    stopped = case.solve(1e-9, stop=stop)
    assert (stopped.status, stopped.n_iter) == (STOPPED, 6)
    assert stopped.objective[-1] == pytest.approx(case.objective(stopped.W), rel=1e-9)


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
def test_stop_limit_progress_record_and_divergence(solver):
    case, progress = EXACT["p=2"].but(solver=solver), np.zeros(1)
    stopped = case.solve(1e-9, stop=np.ones(1, np.int64), progress=progress)
    assert (stopped.status, stopped.n_iter, progress[0]) == (STOPPED, 0, 1.0)
    limited = case.solve(1e-9, max_iter=7, record=3)
    assert (limited.status, limited.n_iter) == (ITERATION_LIMIT, 7)
    objectives = [case.objective(step) for step in limited.steps]
    assert limited.objective[[0, 3, 6, 7]] == pytest.approx(objectives, rel=1e-12)
    assert case.solve(1e-3, max_iter=0).objective == pytest.approx([np.log(5)])
    X = case.X.copy()
    X[3, 1] = np.nan
    with np.errstate(invalid="ignore"):
        assert case.but(X=X).solve(1e-3).status == DIVERGED


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


def test_newton_steps_change_the_columns_that_count_of_however_many():
    case = make_case(1, m=60, n=700, sizes=(1, 1), mu=0.05, eta=0.0)
    solution = case.solve(1e-6)
    assert solution.status == CONVERGED and solution.n_iter <= 20
    np.testing.assert_array_equal(solution.W[0], -solution.W[1])


@pytest.mark.parametrize("mu", [0.1, 0.01, 0.001])
def test_few_newton_steps_solve_l1_logistic_regression_of_correlated_columns(mu):
    case = make_case(1, m=200, n=8, sizes=(1, 1), mu=mu, eta=0.0)
    case.X[:, 1] = case.X[:, 0] + 0.01 * case.X[:, 1]
    solution = case.solve(1e-6)
    assert solution.status == CONVERGED and solution.n_iter <= 12
