"""MultiPrototypeSVC: scikit-learn's contract, and what the specification promises."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.svm import LinearSVC

from smpcore import SmpcoreError
from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.mprotsvm import problem as mprotsvm_problem
from smpcore.methods.mprotsvm.assignment import alternate, best_assignment
from smpcore.methods.mprotsvm.descent import Descent
from smpcore.methods.mprotsvm.monitor import Monitor
from smpcore.methods.mprotsvm.starts import split_state
from smpcore.methods.shared.problem import SolverOptions
from tests.smpcore.solvers.mprotsvm_oracle import judge_slowly, svc_parameters

IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIGITS = load_digits(return_X_y=True)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("data", [IRIS, WINE, DIGITS], ids=["iris", "wine", "digits"])
def test_one_prototype_is_the_crammer_singer_machine(data):
    X, y = data
    fitted = MultiPrototypeSVC(1, tol=1e-8, max_iter=100_000).fit(X, y)
    scaled = (X - fitted.model_.center) / fitted.model_.scale
    ones = np.column_stack([scaled, np.ones(len(X))])
    peer = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, C=0.1, tol=1e-8,
        max_iter=1_000_000,
    ).fit(ones, y)  # fmt: skip
    F, rows = ones @ peer.coef_.T, np.arange(len(X))
    ranked = np.sort(F, axis=1)
    own = F[rows, y].copy()
    rivals = F.copy()
    rivals[rows, y] = -np.inf
    slack = np.maximum(0, 1 - own + rivals.max(axis=1))
    primal = 0.5 * (peer.coef_**2).sum() + 0.1 * slack.sum()
    assert fitted.objective_ == pytest.approx(primal, rel=1e-6)
    # A row may be an exact tie at the optimum: two rivals with mass score alike.
    clear = ranked[:, -1] - ranked[:, -2] > 1e-6
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(fitted.predict(X)[clear], peer.predict(ones)[clear])


SETTINGS = {
    "default": {},
    "five": {"n_prototypes": 5, "C": 1.0},
    "no annealing": {"temperature": 0.0},
    "k-means": {"temperature": 0.0, "start": "kmeans"},
    "rbf": {"kernel": "rbf", "C": 1.0},
    "poly": {"kernel": "poly", "degree": 2},
    "balanced": {"class_weight": "balanced"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_said_of_a_fit_is_true_of_its_state(name):
    estimator = MultiPrototypeSVC(**SETTINGS[name])
    problem = estimator.problem(*CANCER)
    fitted = estimator.solve(problem)
    assert fitted.history_.status_text == "converged"
    assert 0 <= fitted.gap_ <= fitted.tol * fitted.objective_
    slow = judge_slowly(problem, fitted.state_, fitted.C)
    assert slow.infeasible <= 1e-9
    assert fitted.objective_ == pytest.approx(slow.primal, rel=1e-5)
    assert fitted.free_objective_ == pytest.approx(slow.free, rel=1e-5)
    assert fitted.gap_ == pytest.approx(slow.primal - slow.dual, rel=1e-3, abs=1e-4)
    assert fitted.free_objective_ <= fitted.objective_ * (1 + 1e-12)
    assert fitted.score(*CANCER) > 0.95
    model = fitted.model_
    assert fitted.wins_.sum() == len(CANCER[1])
    classes = np.unique(CANCER[1], return_inverse=True)[1]
    tied = fitted.merged_[fitted.assignment_]
    np.testing.assert_array_equal(model.prototype_labels[tied], classes)
    assert set(tied) == set(range(model.n_prototypes))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_the_model_scores_as_the_solver_does(kernel):
    svc = MultiPrototypeSVC(kernel=kernel, degree=2, C=0.5)
    problem = svc.problem(*WINE)
    fitted = svc.solve(problem)
    model = fitted.model_
    slow = judge_slowly(problem, fitted.state_, 0.5)
    F = model.activations(WINE[0])[np.argsort(problem.row)]
    own = model.prototype_labels == problem.y_encoded[:, None]
    best = np.where(own, F, -np.inf).max(axis=1)
    rival = np.where(own, -np.inf, F).max(axis=1)
    loss = 0.5 * problem.shares @ np.maximum(0, 1 - best + rival)
    assert loss <= slow.free * (1 + 1e-5)
    kinds = {"linear": "direction"}
    assert model.kind_of_prototype == kinds.get(kernel, "mix of real cases")
    assert model.similarity.kind == kernel
    if kernel != "linear":
        assert not model.bias.any()
        assert len(model.anchors) == np.count_nonzero(fitted.state_.count)


def test_dead_prototypes_are_removed_and_never_missed():
    estimator = MultiPrototypeSVC(10, C=3e-3)
    problem = estimator.problem(*CANCER)
    fitted = estimator.solve(problem)
    model = fitted.model_
    assert model.n_prototypes < fitted.n_asked_ == 20
    assert fitted.removal_reason == "removed, as they do not lower the objective"
    kept = np.flatnonzero(fitted.merged_ >= 0)
    tied = fitted.state_.assignment
    np.testing.assert_array_equal(fitted.assignment_, tied[problem.row])
    np.testing.assert_array_equal(kept, np.unique(tied))
    np.testing.assert_array_equal(fitted.merged_[kept], np.arange(len(kept)))
    W = np.column_stack([model.anchors, model.bias])
    F = problem.X @ W.T
    own = model.prototype_labels == problem.y_encoded[:, None]
    tied = F[np.arange(len(F)), fitted.merged_[fitted.state_.assignment]]
    slack = np.maximum(0, 1 - tied + np.where(own, -np.inf, F).max(axis=1))
    pruned = 0.5 * (W**2).sum() + fitted.C * problem.shares @ slack
    assert pruned <= fitted.objective_ * (1 + 1e-9)


def test_a_preview_starts_from_the_state():
    problem = MultiPrototypeSVC().problem(*DIGITS)
    fitted = MultiPrototypeSVC().solve(problem)
    near = MultiPrototypeSVC(C=0.12, temperature=0.0, tol=3e-2)
    warm, n_warm = near.solve(problem, fitted.state_).objective_, near.n_iter_
    cold = near.solve(problem)
    assert n_warm < cold.n_iter_
    assert warm < 1.2 * cold.objective_
    same = MultiPrototypeSVC(temperature=0.0).solve(problem, fitted.state_)
    assert same.n_iter_ == 0
    assert same.objective_ == pytest.approx(fitted.objective_, rel=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_dual_of_fewer_prototypes_starts_more(kernel):
    few, many = (MultiPrototypeSVC(q, kernel=kernel, temperature=0.0) for q in (1, 3))
    before = few.fit(*WINE)
    state, problem = before.state_, many.problem(*WINE)
    start = split_state(problem, state, 3)
    assert judge_slowly(problem, start, many.C).infeasible <= 1e-9
    np.testing.assert_array_equal(start.prototype_labels, problem.prototype_labels)
    np.testing.assert_array_equal(
        start.prototype_labels[start.assignment], problem.y_encoded
    )
    np.testing.assert_array_equal(start.value, state.value)
    sizes = np.bincount(start.assignment, minlength=9).reshape(3, 3)
    assert (sizes >= 0.1 * sizes.sum(axis=1, keepdims=True)).all()
    fitted = many.solve(problem, state)
    assert fitted.history_.status_text == "converged"
    assert fitted.objective_ <= before.objective_ * (1 + 1e-12)
    assert not start.fits(few.problem(*WINE))
    same = np.ones_like(problem.X)
    gram = None if kernel == "linear" else same @ same.T
    equal = replace(problem, X=same, gram=gram)
    assert split_state(equal, state, 3) is None


def test_a_dual_of_another_C_is_scaled_into_its_box():
    problem = MultiPrototypeSVC().problem(*WINE)
    state = MultiPrototypeSVC().solve(problem).state_
    for C in (1e-3, 3.0):
        fitted = MultiPrototypeSVC(C=C, temperature=0.0).solve(problem, state)
        assert judge_slowly(problem, fitted.state_, C).infeasible <= 1e-9


def test_a_small_class_gets_fewer_prototypes_and_a_warning():
    X, y = np.r_[IRIS[0][:60], IRIS[0][100:102]], np.r_[np.zeros(60), np.ones(2)]
    with pytest.warns(UserWarning, match=r"n_prototypes=5 is more .* class 1.0 gets 2"):
        fitted = MultiPrototypeSVC(5).fit(X, y)
    assert fitted.n_asked_ == 7
    assert np.bincount(fitted.model_.prototype_labels).max() <= 5
    assert fitted.model_.prototype_labels.sum() <= 2


def test_data_that_are_refused(monkeypatch):
    X, y = IRIS
    with pytest.raises(SmpcoreError, match=r"poly.* as large .* lower degree"):
        MultiPrototypeSVC(kernel="poly", degree=20, gamma=100.0).fit(X, y)
    with pytest.raises(SmpcoreError, match=r"rows of length .*standardize=True"):
        MultiPrototypeSVC(standardize=False).fit(1e9 * X, y)
    with pytest.raises(SmpcoreError, match=r"largest weight .*scale sample_weight"):
        MultiPrototypeSVC().fit(X, y, np.full(150, 1e20))
    monkeypatch.setattr(mprotsvm_problem, "MOST_GRAM_BYTES", 10_000)
    with pytest.raises(SmpcoreError, match=r"different rows .* MB .*kernel='linear'"):
        MultiPrototypeSVC(kernel="rbf", landmarks=0).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_what_is_kept_gets_better_until_no_move_pays(kernel):
    X, y = load_wine(return_X_y=True)
    estimator = MultiPrototypeSVC(3, C=1.0, kernel=kernel)
    problem = estimator.problem(X, y)
    parameters = svc_parameters(1.0)
    descent = Descent(problem, parameters, 1e-3, None, np.zeros(1, dtype=np.int64))
    seen = []
    monitor = Monitor(SolverOptions(), (0.0, 1.0))
    monitor.add = lambda look, sweeps, scores: seen.append(look)
    state, look, _, finished = alternate(descent, 5000, monitor)
    assert finished and len(seen) > 2
    assert look.gap <= 1e-3 * look.objective
    certified = [s.free for s in seen if s.gap <= 1e-3 * s.objective]
    assert look.free == min(certified)
    assert look.free <= (1 + 1e-3) * min(s.free for s in seen)
    again = Descent(problem, parameters, 1e-3, state, np.zeros(1, dtype=np.int64))
    there = again.certify()
    assert there.objective == pytest.approx(look.objective, rel=1e-9)
    stays = np.array_equal(best_assignment(again), state.assignment)
    assert stays or there.objective - there.free <= 1e-3 * there.objective


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf"}, {"start": "kmeans"}])
def test_more_prototypes_never_raise_the_objective(params):
    for X, y in (IRIS, WINE, (CANCER[0][::4], CANCER[1][::4])):
        fits = [MultiPrototypeSVC(q, C=0.3, **params).fit(X, y) for q in range(1, 6)]
        for name in ("objective_", "free_objective_"):
            assert (np.diff([getattr(fit, name) for fit in fits]) <= 0).all(), name
        for q, fit in enumerate(fits, 1):
            assert fit.gap_ <= fit.tol * fit.objective_
            assert np.bincount(fit.model_.prototype_labels).max() <= q
            assert fit.n_asked_ == q * len(fit.classes_)
