"""SMaLLClassifier: bounds, supports, tasks of several classes, and what is refused."""

import time
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import ConvergenceWarning

from smpcore import SmpcoreError
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smallk import SMaLLClassifier
from smpcore.methods.smallk.fit import TaskSearch, draw_support, shares
from smpcore.methods.smallk.kernel_support_norm import (
    project_shares,
    squared_support_norm,
    sum_largest_squares,
    support_norm_prox,
)
from smpcore.methods.smallk.problem import SMaLLState
from smpcore.solvers.iterations import CONVERGED, DIVERGED, ITERATION_LIMIT, STOPPED
from tests.smpcore.methods.smallk_oracle import SparseCase, make_sparse_case
from tests.smpcore.methods.tables import CANCER, IRIS, WINE

REAL = {
    "cancer": (CANCER, {}),
    "cancer, the other class": (CANCER, {"positive_class": 0, "k": 5}),
    "cancer, no bias": (CANCER, {"bias": False, "lam": 0.1, "n_prototypes": 3}),
    "iris": (IRIS, {"k": 2}),
    "wine": (WINE, {"n_prototypes": 3, "lam": 0.01}),
    "wine, balanced": (WINE, {"class_weight": "balanced", "k": 1}),
    "cancer, max": (CANCER, {"loss": "max"}),
    "cancer, hinge": (CANCER, {"loss": "hinge"}),
    "wine, hinge": (WINE, {"loss": "hinge", "k": 2}),
}


@pytest.mark.parametrize("name", REAL)
def test_objectives_bound_and_support_are_what_they_say(name):
    data, params = REAL[name]
    fitted = SMaLLClassifier(**params)
    problem = fitted.problem(*data)
    fitted.solve(problem)
    case = SparseCase(problem, fitted._parameters(problem))
    relaxed, rounded = fitted.state_.relaxed[0], fitted.state_.rounded[0]
    assert fitted.relaxed_objective_ == pytest.approx(case.relaxed(relaxed), rel=1e-9)
    assert fitted.objective_ == pytest.approx(case.integer(rounded), rel=1e-9)
    assert fitted.bound_ == pytest.approx(fitted.objective_ - fitted.gap_, rel=1e-12)
    exact = 1e-7 if fitted.loss == "smooth" else 1e-5
    optimum = case.solve(exact, max_iter=50_000).objective[-1]
    assert optimum * (1 - 1e-3) <= fitted.bound_ <= optimum * (1 + 1e-9)
    assert optimum * (1 - exact) <= fitted.relaxed_objective_ <= optimum * (1 + 1e-3)
    assert fitted.relaxed_objective_ <= fitted.objective_ * (1 + 1e-3)
    assert (np.count_nonzero(fitted.model_.anchors, axis=1) <= fitted.k).all()
    support = rounded[:, : case.n_features] != 0
    best = case.solve(exact, support=support, max_iter=50_000).objective[-1]
    assert fitted.objective_ == pytest.approx(best, rel=2e-4)


def random_table(seed):
    """Two classes, 6 to 12 features, of which k are chosen, and λ from .03 on."""
    rng = np.random.default_rng(seed)
    k = 1 + seed % 3
    n = int(rng.integers(6, (12, 11, 7)[k - 1] + 1))
    X = rng.normal(size=(rng.integers(50, 120), n))
    X = X @ (np.eye(n) + rng.normal(size=(n, n)) / 3)
    y = X @ rng.normal(size=n) + X[:, 0] * X[:, 1] > 0
    lam = float(rng.choice([0.03, 0.1]))
    return X, y, SMaLLClassifier(k=k, lam=lam, bias=seed % 5 > 0)


@pytest.mark.parametrize("seed", range(20))
def test_alternatives_are_those_that_enumeration_finds(seed):
    X, y, small = random_table(seed)
    problem = small.problem(X, y)
    every = SparseCase(problem, small._parameters(problem)).enumerated()
    best, within = min(every.values()), (0.05, 0.1, 0.2)[seed % 3]
    found = small.alternatives(small.problem(X, y), within=within, limit=10**5)
    assert found.complete
    assert found.ceiling == pytest.approx((1 + within) * best, rel=1e-6)
    sure, maybe = (
        {one for one, value in every.items() if value <= (1 + within) * best * edge}
        for edge in (1 - 1e-6, 1 + 1e-6)
    )
    assert sure <= set(found.supports) <= maybe
    assert len(set(found.supports)) == len(found.supports)
    values = [every[one] for one in found.supports]
    np.testing.assert_allclose(found.objectives, values, rtol=1e-6)
    assert (np.diff(found.objectives) >= 0).all()
    fitted = small.solve(problem)
    assert fitted.bound_ <= best * (1 + 1e-9)
    assert best * (1 - 1e-6) <= fitted.objective_ <= best * 1.001


def test_alternatives_that_are_cut_off_are_the_best_ones():
    X, y, small = random_table(4)
    every = small.alternatives(small.problem(X, y))
    some = small.alternatives(small.problem(X, y), limit=7)
    assert len(every.supports) > 7
    assert (every.complete, some.complete) == (True, False)
    assert some.supports == every.supports[:7]
    above = every.objectives / every.objectives[0] - 1
    assert every.proved == 0.05
    assert above[6] - 1e-9 <= some.proved <= above[7] + 1e-6
    stop = np.ones(1, dtype=np.int64)
    stopped = small.alternatives(small.problem(X, y), 0.05, 9, 9.0, stop)
    late = small.alternatives(small.problem(X, y), seconds=0.0)
    assert not (stopped.supports or stopped.complete or late.supports or late.complete)


def test_a_busy_machine_finds_as_many_alternatives(monkeypatch):
    """The clock ended the search: what is known depended on what others did."""
    X, y, small = random_table(7)
    refit = TaskSearch.refit

    def slow(*of):
        time.sleep(0.05)
        return refit(*of)

    monkeypatch.setattr(TaskSearch, "refit", slow)
    started = time.monotonic()
    found = small.alternatives(small.problem(X, y), within=0.2, limit=7, seconds=0.5)
    assert len(found.supports) == 7 and time.monotonic() - started > 0.5


@pytest.mark.parametrize("limit", [1, 3, 9, 30])
def test_all_alternatives_within_what_is_proved_are_listed(limit):
    """Also as the progress says it while the search goes on."""
    X, y, small = random_table(7)
    problem, progress = small.problem(X, y), np.zeros(1)
    every = SparseCase(problem, small._parameters(problem)).enumerated()
    found = small.alternatives(problem, 0.2, limit, progress=progress)
    assert not found.complete and 0 <= found.proved < 0.2
    assert progress[0] == pytest.approx(found.proved / 0.2)
    best = min(every.values())
    sure = {s for s, v in every.items() if v / best - 1 < found.proved - 1e-6}
    assert sure <= set(found.supports)
    assert (found.objectives <= (1 + found.proved) * best * (1 + 1e-6)).all()


def test_an_alternative_is_the_model_of_its_supports():
    X, y, small = random_table(3)
    found = small.alternatives(small.problem(X, y), within=0.3)
    names = [f"column {i}" for i in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    for place in (0, len(found.supports) - 1):
        chosen = found.supports[place]
        named = [[names[f] for f in features] for features in chosen]
        fitted = SMaLLClassifier(**small.get_params() | {"tol": 1e-6})
        fitted = fitted.set_params(supports=named).fit(frame, y)
        assert fitted.objective_ == pytest.approx(found.objectives[place], rel=1e-6)
        assert fitted.bound_ <= found.objectives[0]
        model = found.models[place]
        np.testing.assert_allclose(fitted.model_.anchors, model.anchors, atol=5e-3)
        np.testing.assert_array_equal(model.anchors[1:], found.weights[place])
        used = [tuple(np.flatnonzero(row)) for row in found.weights[place]]
        assert tuple(used) == chosen
        again = small.set_params(supports=chosen).fit(X, y)
        np.testing.assert_allclose(again.model_.anchors, model.anchors, atol=0.05)


@pytest.mark.parametrize("supports", [[[0]], [["a"], ["b"]], [[0, 1], [2]], [[0], [9]]])
def test_supports_that_do_not_fit_are_left_out(supports):
    small = SMaLLClassifier(k=1, supports=supports)
    with pytest.warns(UserWarning, match="supports do not name k features .* chooses"):
        fitted = small.fit(CANCER[0][:, :9], CANCER[1])
    free = SMaLLClassifier(k=1).fit(CANCER[0][:, :9], CANCER[1])
    np.testing.assert_array_equal(fitted.model_.anchors, free.model_.anchors)


@pytest.mark.parametrize(
    ("params", "data", "match"),
    [
        ({}, IRIS, "found for two classes"),
        ({"loss": "max"}, CANCER, "found for two classes"),
        ({"k": 30}, CANCER, "k=30 leaves no choice among 30 features; use a k from 1"),
        ({"supports": "a"}, CANCER, r"supports should be None or lists .* \[\[0, 3\]"),
    ],
)
def test_alternatives_refuse_what_they_are_not_for(params, data, match):
    small = SMaLLClassifier(**params)
    with pytest.raises(SmpcoreError, match=match):
        small.alternatives(small.problem(*data))


def test_alternatives_refuse_a_search_that_ends_before_it_begins():
    small = SMaLLClassifier()
    with pytest.raises(SmpcoreError, match=r"seconds=-1\.0 should be a number"):
        small.alternatives(small.problem(*CANCER), seconds=-1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_swap_that_the_bound_rules_out_does_not_pay(n_classes):
    case = make_sparse_case(3, n=8, k=3, n_classes=n_classes, m=90)
    task, n = case.problem.tasks[0], case.n_features
    search = TaskSearch(case.problem, task, case.parameters, SolverOptions(1e-3))
    (start, *_) = search.round_and_refit(
        case.solve(1e-6), np.random.RandomState(0), None
    )
    screen, support = search.screen(start), start.W[:, :n] != 0
    worth, ruled_out = search.worth(start.objective[-1]), 0
    for j in range(task.first, len(support)):
        for out, into in product(*map(np.flatnonzero, (support[j], ~support[j]))):
            if screen.gains[j, into] - screen.gains[j, out] > screen.slack:
                continue
            ruled_out += 1
            swapped = support.copy()
            swapped[j, [out, into]] = False, True
            assert case.solve(1e-7, support=swapped).objective[-1] >= worth
    assert ruled_out > 10


@pytest.mark.parametrize("table", [CANCER, WINE, IRIS])
def test_what_was_given_up_is_not_the_model(table):
    for k in (1, 2, 3):
        fitted = SMaLLClassifier(2, k=k).fit(*table)
        assert fitted.history_.status == CONVERGED, k


def test_nothing_more_is_tried_where_the_first_refit_is_certified(monkeypatch):
    rows, refits = CANCER, []
    refit = TaskSearch.refit

    def counted(search, *arguments):
        refits.append(search.parameters.k)
        return refit(search, *arguments)

    monkeypatch.setattr(TaskSearch, "refit", counted)
    small = SMaLLClassifier(k=24, lam=0.1).fit(*rows)
    assert refits == [24] and small.gap_ <= small.tol * small.objective_
    loose = SMaLLClassifier(k=2, lam=0.03).fit(*rows)
    assert len(refits) > 10 and loose.gap_ > loose.tol * loose.objective_


def test_no_swap_of_a_feature_lowers_the_objective():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n_rows, n = rng.integers(60, 200), rng.integers(6, 12)
        X = rng.normal(size=(n_rows, n)) @ (np.eye(n) + rng.normal(size=(n, n)) / 2)
        y = X @ rng.normal(size=n) + X[:, 0] * X[:, 1] > 0
        size, k, power = rng.integers(1, 4), rng.integers(1, 5), rng.uniform(-3, -1)
        small = SMaLLClassifier(size, k=k, lam=10**power)
        problem = small.problem(X, y)
        (W,) = small.solve(problem).state_.rounded
        case = SparseCase(problem, small._parameters(problem))
        for j, out in zip(*np.nonzero(W[:, :n]), strict=True):
            for into in np.flatnonzero(W[j, :n] == 0):
                support = W[:, :n] != 0
                support[j, [out, into]] = False, True
                other = case.solve(1e-5, support=support, ceiling=small.objective_)
                assert other.objective[-1] >= small.objective_ * (1 - 1e-3), seed


@pytest.mark.parametrize(("positive", "place"), [(None, 0), ("benign", 3)])
def test_the_negative_class_has_one_row_of_zeros(positive, place):
    """An input is of the positive class if one prototype scores above 0."""
    X, y = CANCER[0], np.array(["benign", "malignant"])[CANCER[1]]
    fitted = SMaLLClassifier(3, positive_class=positive).fit(X, y)
    model, labels = fitted.model_, fitted.model_.prototype_labels
    assert model.n_prototypes == fitted.n_asked_ == 4
    assert (np.diff(labels) >= 0).all()
    zeros = ~model.anchors.any(axis=1) & (model.bias == 0)
    assert np.flatnonzero(zeros).tolist() == [place]
    np.testing.assert_array_equal(labels[fitted.assignment_], CANCER[1])
    assert set(fitted.assignment_) == {0, 1, 2, 3}
    assert fitted.wins_.sum() == len(y)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    best = (scaled @ model.anchors.T + model.bias)[:, ~zeros].max(axis=1)
    sides = fitted.decision_function(X) + model.tie
    np.testing.assert_allclose(sides, best if place == 0 else -best, atol=1e-9)
    assert fitted.score(X, y) > 0.92


@pytest.mark.parametrize("data", [IRIS, WINE], ids=["iris", "wine"])
def test_one_against_the_rest_is_a_sum_of_two_class_problems(data):
    X, y = data
    params = {"n_prototypes": 1, "k": 2, "tol": 1e-7}
    fitted = SMaLLClassifier(multiclass="ovr", **params).fit(X, y)
    alone = [
        SMaLLClassifier(**params).fit(X, np.where(y == c, 1, -1)) for c in range(3)
    ]
    for name in ("relaxed_objective_", "objective_", "bound_", "gap_"):
        total = sum(getattr(single, name) for single in alone)
        assert getattr(fitted, name) == pytest.approx(total, rel=1e-6)
    rows = [single.model_.anchors[1] for single in alone]
    np.testing.assert_allclose(fitted.model_.anchors, rows, atol=1e-3)
    for multiclass in ("joint", "ovr"):
        several = SMaLLClassifier(k=3, multiclass=multiclass, lam=0.01).fit(X, y)
        model = several.model_
        assert model.n_prototypes == several.n_asked_ == 6
        np.testing.assert_array_equal(model.prototype_labels[several.assignment_], y)
        assert several.score(X, y) > 0.9


def test_random_supports_hit_a_feature_as_often_as_its_share():
    rng = np.random.RandomState(0)
    share = shares(rng.normal(size=(2, 9)) ** 3, 4)
    drawn = np.array([draw_support(share, rng) for _ in range(20000)])
    assert drawn.sum(axis=2).max() <= 4
    np.testing.assert_allclose(drawn.mean(axis=0), share, atol=0.015)
    np.testing.assert_array_equal(drawn[:, share == 1], True)
    assert not draw_support(np.zeros((50, 5)), rng).any()


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_a_path_of_k_falls(multiclass):
    small, state, relaxed = SMaLLClassifier(n_draws=0, multiclass=multiclass), None, []
    problem = small.problem(*WINE)
    assert small.bounds(problem) == {"k": (1, 13), "lam": (1e-3, 1.0)}
    for k in range(1, 14):
        state = small.set_params(k=k).solve(problem, state).state_
        relaxed.append(small.relaxed_objective_)
        assert small.gap_ >= 0
    assert (np.diff(relaxed) <= 1e-3 * np.array(relaxed[:-1])).all()
    assert small.gap_ <= 1e-3 * small.objective_


def test_an_unfinished_relaxation_says_how_far_it_came():
    with pytest.warns(ConvergenceWarning, match="relaxation certified to"):
        paper = SMaLLClassifier(solver="mirror-prox", max_iter=50).fit(*CANCER)
    assert paper.bound_ <= SMaLLClassifier().fit(*CANCER).objective_


@pytest.mark.parametrize(
    "params",
    [{}, {"bias": False}, {"multiclass": "ovr", "k": 2}, {"tol": 1e-9, "lam": 1e-3}],
    ids=str,
)
def test_the_history_is_the_relaxation_and_then_the_rounded_model(params):
    data = CANCER if "tol" in params else IRIS
    fitted = SMaLLClassifier(record=1, **params).fit(*data)
    history, steps = fitted.history_, fitted.history_.steps
    n_steps, is_long = fitted.n_iter_ + 1, data is CANCER
    assert 100 < len(steps) <= 200 < n_steps if is_long else len(steps) == n_steps
    assert not steps.states[0].any()
    W = np.column_stack([fitted.model_.anchors, fitted.model_.bias])
    np.testing.assert_array_equal(steps.states[-1], W)
    assert len(history.iteration) == n_steps
    assert history.objective[-1] == fitted.objective_
    assert history.gap[-1] == fitted.gap_
    if "multiclass" in params:
        return
    assert [name for _, name in history.phases][: fitted.k < 4] == ["relaxed"]
    last = np.flatnonzero(history.iteration < history.phases[1][0])[-1]
    assert history.objective[last] == fitted.relaxed_objective_
    assert history.gap[last] <= fitted.tol * fitted.relaxed_objective_


def test_k_beyond_the_features_is_clipped_and_said():
    with pytest.warns(UserWarning, match="k=9 is more than the 4 features; k=4 is"):
        clipped = SMaLLClassifier(k=9).fit(*IRIS)
    full = SMaLLClassifier(k=4).fit(*IRIS)
    np.testing.assert_array_equal(clipped.model_.anchors, full.model_.anchors)
    assert full.gap_ <= 1e-3 * full.objective_
    assert full.history_.phases == ()


@pytest.mark.parametrize("params", [{}, {"bias": False}, {"multiclass": "ovr"}])
def test_without_features_the_bias_decides(params):
    with pytest.warns(UserWarning, match="k=0 leaves no feature"):
        silent = SMaLLClassifier(k=0, **params).fit(*IRIS)
    assert not silent.model_.anchors.any()
    assert silent.gap_ <= 1e-3 * silent.objective_
    assert silent.model_.bias.any() == params.get("bias", True)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.filterwarnings("ignore:n_prototypes=")
def test_nothing_to_learn_from_is_learned(bias):
    X, y = np.ones((20, 5)), np.arange(20) % 4 == 0
    fitted = SMaLLClassifier(bias=bias).fit(X, y)
    assert not fitted.model_.anchors.any()
    assert not fitted.predict(X).any()
    assert fitted.gap_ <= 1e-3 * fitted.objective_


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"k": -1}, "k=-1 should be a whole number of at least 0; change k"),
        ({"lam": 0}, "lam=0 should be a number above 0"),
        ({"n_draws": -2}, "n_draws=-2 should be a whole number of at least 0"),
        ({"multiclass": "ova"}, "multiclass='ova' should be one of 'joint', 'ovr'"),
        ({"solver": "newton"}, "solver='newton' should be one of 'fista'"),
        ({"positive_class": "x"}, r"positive_class='x' should be a class of y \(0, 1"),
        ({"solver": "mirror-prox", "loss": "max"}, "'mirror-prox' is for loss='smo"),
    ],
)
def test_what_is_refused(params, words):
    with pytest.raises(SmpcoreError, match=words):
        SMaLLClassifier(**params).fit(*IRIS)


#: Problems that are solved exactly; name -> case.
EXACT = {
    "k=1, p=1": make_sparse_case(0, k=1, p=1),
    "k=2, p=2": make_sparse_case(1),
    "k=3, p=3, no bias": make_sparse_case(2, k=3, p=3, bias=False),
    "k=4, p=4, weights": make_sparse_case(3, k=4, p=4, weighted=True),
    "k=5, little ridge": make_sparse_case(4, k=5, lam=0.003),
    "few positives": make_sparse_case(5, positive=0.15),
    "much ridge, no bias": make_sparse_case(6, lam=1.0, bias=False, m=40),
    "three classes": make_sparse_case(7, n_classes=3, positive=0.7),
    "four classes, no bias": make_sparse_case(8, n_classes=4, p=1, k=1, bias=False),
    "three classes, weights": make_sparse_case(
        9, n_classes=3, p=3, k=3, lam=0.01, weighted=True
    ),
}
NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
VECTORS = hnp.arrays(np.float64, st.integers(2, 30), elements=NUMBERS)
SHARE = st.floats(0.01, 0.99)


def some_k(v, share):
    """A number of weights from 1 to one less than there are."""
    return 1 + int(share * (len(v) - 1))


def norm_and_shares(v, k):
    shares = np.empty(len(v))
    return squared_support_norm(v, k, shares, np.empty((2, len(v)))), shares


@given(VECTORS, SHARE)
def test_norm_is_the_published_formula_and_its_shares_attain_it(v, share):
    case = make_sparse_case().but(k=some_k(v, share))
    value, shares = norm_and_shares(v, case.k)
    assert value == pytest.approx(case.squared_norm(v), rel=1e-9)
    assert ((shares >= 0) & (shares <= 1)).all()
    assert shares.sum() <= case.k * (1 + 1e-12)
    some = np.abs(v) > 1e-100 * max(1.0, np.abs(v).max())
    assert (v[some] ** 2 / shares[some]).sum() == pytest.approx(value, rel=1e-9)


@given(VECTORS, SHARE, st.floats(1e-3, 1e3))
def test_prox_solves_its_optimality_conditions(v, share, beta):
    """x is the prox iff x . z = beta |x|^2 and |z|_dual^2 = beta^2 |x|^2, z = v - x."""
    k, n = some_k(v, share), len(v)
    v = np.where(np.abs(v) < 1e-140, 0.0, v)  # smaller ones are `NEGLIGIBLE`
    x, sizes = np.empty(n), np.empty((2, n))
    support_norm_prox(v, beta, k, sizes, x)
    value, _ = norm_and_shares(x, k)
    scale = max((v**2).sum(), 1e-300)
    assert x @ (v - x) == pytest.approx(beta * value, rel=1e-6, abs=1e-9 * scale)
    largest = sum_largest_squares(v - x, k, sizes)
    assert largest == pytest.approx(np.sort((v - x) ** 2)[-k:].sum(), rel=1e-12)
    assert largest == pytest.approx(beta**2 * value, rel=1e-6, abs=1e-9 * scale)


@pytest.mark.parametrize("v", [[0.0, 0, 0], [3.0, 0, 0], [2.0, 2, 2], [1e-200, 1, 0]])
def test_prox_and_norm_of_zeros_and_ties(v):
    v, x = np.array(v), np.empty(3)
    for k in (1, 2):
        support_norm_prox(v, 0.5, k, np.empty((2, 3)), x)
        assert (np.abs(x) <= np.abs(v)).all()
        value, shares = norm_and_shares(v, k)
        equal = len(set(v)) == 1
        assert value == pytest.approx(v.sum() ** 2 / k if equal else v.max() ** 2)
        assert shares.sum() <= k


@given(VECTORS, SHARE)
def test_projection_on_shares_is_the_nearest(v, share):
    """No feasible point lies on the other side of it than what is projected."""
    k, e = some_k(v, share), v / 1e5
    near = e.copy()
    project_shares(near, k, np.empty((2, len(v))))
    assert ((near >= 0) & (near <= 1)).all()
    assert near.sum() <= k + 1e-9
    rng = np.random.default_rng(0)
    for _ in range(5):
        other = rng.uniform(size=len(v))
        other *= min(1.0, k / other.sum())
        assert (e - near) @ (other - near) <= 1e-9 * (1 + np.abs(e).sum())


def certified(case, solution, farthest):
    """Whether a solution is what it says, and this far above the optimum at most."""
    optimum, last = case.solve_exactly(), solution.objective[-1]
    assert solution.status == CONVERGED
    assert len(solution.objective) == len(solution.gap) == solution.n_iter + 1
    assert last == pytest.approx(case.relaxed(solution.W), rel=1e-9)
    assert optimum * (1 - 1e-6) <= last <= optimum * farthest
    assert (solution.objective - solution.gap <= optimum * (1 + 1e-7)).all()
    assert not solution.W[: case.first].any()


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("loss", ["smooth", "max", "hinge"])
@pytest.mark.parametrize("name", EXACT)
def test_relaxation_is_the_interior_point_optimum(name, loss):
    case, tol = EXACT[name].but(loss=loss), 3e-7 if loss == "smooth" else 1e-4
    solution = case.solve(tol, max_iter=20_000)
    certified(case, solution, 1 + 1e-6 if loss == "smooth" else 1 + 1.01e-4)


@pytest.mark.parametrize("name", ["k=2, p=2", "three classes", "few positives"])
def test_mirror_prox_comes_to_the_same_relaxation(name):
    case = EXACT[name].but(lam=0.2, solver="mirror-prox")
    certified(case, case.solve(1e-3), 1 + 1e-3)


@pytest.mark.parametrize("name", ["k=2, p=2", "few positives", "three classes"])
def test_refits_are_ridge_optima(name):
    case = EXACT[name]
    chosen = np.random.default_rng(0).uniform(size=(case.shape[0], case.n_features))
    support = chosen.argsort(axis=1) < case.k
    support[: case.first] = False
    solution = case.solve(1e-8, support=support)
    assert solution.status == CONVERGED
    last = solution.objective[-1]
    assert last == pytest.approx(case.integer(solution.W), rel=1e-10)
    assert last == pytest.approx(case.solve_exactly(support), rel=1e-7)
    assert not solution.W[:, : case.n_features][~support].any()
    given_up = case.solve(1e-8, support=support, ceiling=0.9 * last)
    assert given_up.status == ITERATION_LIMIT and given_up.n_iter < solution.n_iter


def test_a_warm_start_at_the_solution_is_done_at_once():
    case = EXACT["three classes"]
    cold = case.solve(1e-4)
    warm = case.solve(1e-4, state=SMaLLState((cold.W,), (), (cold.curvature,)))
    assert warm.n_iter <= 1 < 5 < cold.n_iter
    assert warm.objective[-1] == pytest.approx(cold.objective[-1], rel=1e-4)


@pytest.mark.parametrize("solver", ["fista", "mirror-prox"])
def test_statuses_progress_and_recorded_steps(solver):
    case = make_sparse_case(1).but(solver=solver)
    stop, progress = np.ones(1, dtype=np.int64), np.zeros(1)
    stopped = case.solve(1e-9, stop=stop, progress=progress)
    assert (stopped.status, stopped.n_iter, progress[0]) == (STOPPED, 0, 1.0)
    limited = case.solve(1e-9, max_iter=4, record=2)
    assert (limited.status, limited.n_iter) == (ITERATION_LIMIT, 4)
    assert limited.steps.shape == (3, *case.shape)
    np.testing.assert_array_equal(limited.steps[-1], limited.W)
    case.X[:] = np.nan
    assert case.solve(1e-9).status == DIVERGED
