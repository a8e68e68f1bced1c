"""MultiPrototypeSVC: scikit-learn's contract, and what the specification promises."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from smpcore import METHODS, PrototypeModel, SmpcoreError
from smpcore.errors import Caution
from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.mprotsvm import problem as mprotsvm_problem
from smpcore.methods.mprotsvm.fit import (
    Descent,
    Run,
    split_state,
    starts_anew,
)
from smpcore.methods.mprotsvm.problem import Monitor
from smpcore.methods.shared.gram import make_semidefinite
from smpcore.methods.shared.problem import SolverOptions
from tests.smpcore.methods.tables import CANCER, DIGITS, IRIS, WINE
from tests.smpcore.solvers.mprotsvm_oracle import judge_slowly


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
    model, kernel = fitted.model_, fitted.kernel
    scores = model.activations(CANCER[0])[np.argsort(problem.row)]
    own = model.prototype_labels == problem.y_encoded[:, None]
    best = np.where(own, scores, -np.inf).max(axis=1)
    rival = np.where(own, -np.inf, scores).max(axis=1)
    loss = fitted.C * problem.shares @ np.maximum(0, 1 - best + rival)
    assert loss <= slow.free * (1 + 1e-5)
    is_linear = kernel == "linear"
    kind = "direction" if is_linear else "mix of real cases"
    assert (model.kind_of_prototype, model.similarity.kind) == (kind, kernel)
    if not is_linear:
        assert not model.bias.any()
        assert len(model.anchors) == np.count_nonzero(fitted.state_.count)
    assert fitted.wins_.sum() == len(CANCER[1])
    classes = np.unique(CANCER[1], return_inverse=True)[1]
    tied = fitted.merged_[fitted.assignment_]
    np.testing.assert_array_equal(model.prototype_labels[tied], classes)
    assert set(tied) == set(range(model.n_prototypes))


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
    pruned = objective(fitted, *CANCER, fitted.C)
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
    tied = start.prototype_labels[start.assignment]
    np.testing.assert_array_equal(tied, problem.y_encoded)
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
    estimator = MultiPrototypeSVC(3, C=1.0, kernel=kernel)
    problem = estimator.problem(*WINE)
    descent = Descent(problem, 1.0, 1e-3, None, np.zeros(1, dtype=np.int64))
    seen = []
    monitor = Monitor(SolverOptions(), (0.0, 1.0))
    monitor.add = lambda look, sweeps, scores, last=False: seen.append(look)
    run = Run(descent, 5000, monitor)
    run.go()
    state, (_, look) = descent.save(run.best[0]), run.best
    assert run.finished and len(seen) > 2
    assert look.gap <= 1e-3 * look.objective
    certified = [s.free for s in seen if s.gap <= 1e-3 * s.objective]
    assert look.free == min(certified)
    assert look.free <= (1 + 1e-3) * min(s.free for s in seen)
    again = Descent(problem, 1.0, 1e-3, state, np.zeros(1, dtype=np.int64))
    there = again.certify()
    assert there.objective == pytest.approx(look.objective, rel=1e-9)
    stays = np.array_equal(again.seen.best, state.assignment)
    assert stays or there.objective - there.free <= 1e-3 * there.objective


def test_the_start_is_seen_before_rows_are_drawn():
    X, y = CANCER
    fits = [
        MultiPrototypeSVC(3, start=start, n_init=1) for start in ("random", "kmeans")
    ]
    objectives = [fit.fit(X, y).objective_ for fit in fits]
    assert objectives[0] != objectives[1]


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


X, y = StandardScaler().fit_transform(WINE[0]), WINE[1]
TRAIN, NEW = np.arange(len(y)) % 3 > 0, np.arange(len(y)) % 3 == 0
K = rbf_kernel(X[TRAIN], gamma=1 / 13)
BETWEEN = rbf_kernel(X[NEW], X[TRAIN], gamma=1 / 13)


def given(n_prototypes=1, **more):
    settings = {"kernel": "precomputed", "standardize": False, "C": 1.0} | more
    return MultiPrototypeSVC(n_prototypes, **settings)


def test_a_given_kernel_is_the_kernel_of_that_name():
    exact = {"tol": 1e-8, "max_iter": 100_000}
    named = MultiPrototypeSVC(1, C=1.0, kernel="rbf", standardize=False, **exact)
    named.fit(X[TRAIN], y[TRAIN])
    fitted = given(**exact).fit(K, y[TRAIN])
    assert fitted.objective_ == pytest.approx(named.objective_, rel=1e-6)
    assert fitted.automatic_.keys() == {"n_init"}
    scores = fitted.decision_function(BETWEEN)
    np.testing.assert_allclose(scores, named.decision_function(X[NEW]), atol=1e-4)


def test_the_model_scores_as_the_solver_does_and_names_its_rows():
    estimator = given(3)
    problem = estimator.problem(K, y[TRAIN])
    fitted = estimator.solve(problem)
    model = fitted.model_
    slow = judge_slowly(problem, fitted.state_, 1.0)
    assert fitted.objective_ == pytest.approx(slow.primal, rel=1e-5)
    assert model.kind_of_prototype == "mix of real cases"
    rows = np.flatnonzero(model.support)
    np.testing.assert_array_equal(np.sort(fitted.anchor_rows_), rows)
    np.testing.assert_array_equal(problem.row[problem.chosen], np.arange(len(K)))
    mixed = BETWEEN[:, fitted.anchor_rows_] @ model.mixing
    np.testing.assert_allclose(model.activations(BETWEEN), mixed, atol=1e-12)
    again = PrototypeModel.from_json(model.to_json())
    np.testing.assert_array_equal(again.predict(BETWEEN), fitted.predict(BETWEEN))
    assert fitted.score(BETWEEN, y[NEW]) > 0.95


SKEW = K.copy()
SKEW[0, 1] += 0.1
REFUSED = {
    r"X has 20 columns for 118 rows and should have a column": K[:, :20],
    "X differs from its transpose by 0.1 and should be symmetric": SKEW,
    "X has 0 on its diagonal.* turn distances": np.sqrt(np.maximum(2 - 2 * K, 0.0)),
    "X has -1 on its diagonal": -K,
    "gives values as large as 1e\\+15 .* divide X": 1e15 * K,
    "NaN": np.where(K < 1, K, np.nan),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_no_kernel_is_refused(words):
    with pytest.raises(SmpcoreError, match=words):
        given().fit(REFUSED[words], y[TRAIN])


def test_scaling_is_refused_and_so_are_other_rows():
    with pytest.raises(SmpcoreError, match="standardize=True would scale each column"):
        given(standardize=True).fit(K, y[TRAIN])
    with pytest.raises(SmpcoreError, match=r"20 features.* expecting 118"):
        given().fit(K, y[TRAIN]).predict(BETWEEN[:, :20])


def test_a_negative_eigenvalue_is_named_and_mended():
    wrong = np.where(K < 0.5, 0.0, 1.0)
    least = np.linalg.eigvalsh(wrong)[0]
    assert least < -0.1
    with pytest.warns(UserWarning, match="X has an eigenvalue of -.* none below 0"):
        fitted = given().fit(wrong, y[TRAIN])
    assert 0 <= fitted.gap_ <= fitted.tol * fitted.objective_
    mended = wrong.copy()
    with pytest.warns(UserWarning, match="raised by as much"):
        assert make_semidefinite(mended, "X") == pytest.approx(-least)
    assert np.linalg.eigvalsh(mended)[0] > -1e-9


EXACT = {"tol": 1e-7, "max_iter": 50_000}
KERNELS = [{"kernel": "rbf"}, {"kernel": "poly", "degree": 2}]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_landmarks_that_are_all_rows_are_the_kernel(kernel):
    X, y = WINE
    whole = MultiPrototypeSVC(1, C=1.0, **kernel, **EXACT).fit(X, y)
    fitted = MultiPrototypeSVC(1, C=1.0, landmarks=len(X), **kernel, **EXACT)
    fitted.fit(X, y)
    assert fitted.objective_ == pytest.approx(whole.objective_, rel=1e-4)
    apart = fitted.decision_function(X) - whole.decision_function(X)
    assert np.abs(apart).max() < 2e-2
    # Polynomials of degree 2 in 13 features are mixes of 14 * 15 / 2 of them.
    assert len(fitted.model_.anchors) == (len(X) if kernel["kernel"] == "rbf" else 105)
    assert "landmarks" not in fitted.automatic_


def objective(fitted, X, y, C):
    """Objective of a model from its definition, rows tied as they are."""
    model = fitted.model_
    K = model.similarity.values(model.anchors, model.anchors)
    norm = np.einsum("ir,ij,jr->", model.mixing, K, model.mixing)
    norm += model.bias @ model.bias
    scores, rows = model.activations(X), np.arange(len(y))
    own = scores[rows, fitted.merged_[fitted.assignment_]]
    rivals = np.where(model.prototype_labels == y[:, None], -np.inf, scores)
    slack = np.maximum(1.0 - own + rivals.max(axis=1), 0.0)
    return 0.5 * norm + C * slack.sum()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_objective_is_that_of_the_model_under_the_kernel(kernel):
    X, y = WINE
    fitted = MultiPrototypeSVC(2, C=0.5, landmarks=20, **kernel, tol=1e-6).fit(X, y)
    model = fitted.model_
    assert model.anchors.shape == (20, 13)
    assert model.kind_of_prototype == "mix of real cases"
    scaled = (X - model.center) / model.scale
    nearest = np.abs(scaled[:, None] - model.anchors).sum(axis=2).min(axis=0)
    np.testing.assert_allclose(nearest, 0.0, atol=1e-12)
    value = objective(fitted, X, y, 0.5)
    assert fitted.objective_ == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("q", [1, 2])
def test_few_rows_of_many_columns_are_read_as_the_rows_that_they_are_made_of(q):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, 200)), np.arange(40) % 2
    X[:20] += 0.3 * y[:20, None]
    X[30:34] = 2.0 * X[20:24]
    X[34:36] = X[2:4] - X[6:8]
    estimator = MultiPrototypeSVC(q, C=0.05, n_init=2, standardize=False, tol=1e-6)
    problem = estimator.problem(X, y)
    assert problem.mapped.shape == (40, 35)  # the rows' rank, with the bias
    np.testing.assert_allclose(
        problem.mapped @ problem.mapped.T, problem.X @ problem.X.T, atol=1e-9
    )
    wide = clone(estimator).fit(X, y)
    if q == 1:  # convex
        plain = estimator.fit(csr_array(X), y)
        assert plain.objective_ == pytest.approx(wide.objective_, rel=1e-5)
    rows = np.column_stack([X, np.ones(40)])
    M = np.column_stack([wide.model_.weights, wide.model_.bias])
    scores = rows @ M.T
    of_row = wide.model_.prototype_labels[None] == y[:, None]
    rival = np.where(of_row, -np.inf, scores).max(axis=1)
    slack = np.maximum(0.0, 1.0 + rival - scores[np.arange(40), wide.assignment_])
    objective = 0.5 * (M**2).sum() + 0.05 * slack.sum()
    assert objective == pytest.approx(wide.objective_, rel=1e-9)


@pytest.fixture
def no_gram(monkeypatch):
    """Rows are many: a Gram matrix takes too much memory, and landmarks are few."""
    monkeypatch.setattr(mprotsvm_problem, "MOST_GRAM_BYTES", 10_000)
    monkeypatch.setattr(mprotsvm_problem, "N_LANDMARKS", 20)


def test_a_far_row_leaves_no_other_landmark_out():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 10))
    y = X[:, 0] * X[:, 1] > 0
    X[0] = 40.0
    params = {"n_prototypes": 1, "kernel": "poly", "standardize": False}
    whole = MultiPrototypeSVC(**params, C=1.0).fit(X, y)
    fitted = MultiPrototypeSVC(**params, C=1.0, landmarks=300).fit(X, y)
    # Polynomials of degree 3 in 10 features are mixes of 286 of them.
    assert len(fitted.model_.anchors) == 286
    assert fitted.objective_ == pytest.approx(whole.objective_, rel=0.01)


def test_too_many_rows_to_compare_get_landmarks_and_a_caution(no_gram, monkeypatch):
    X, y = IRIS
    with pytest.warns(Caution, match="mixes of 20 landmarks; raise landmarks to come"):
        fitted = MultiPrototypeSVC(kernel="rbf").fit(X, y)
    assert fitted.automatic_["landmarks"] == 20 and fitted.score(X, y) > 0.9
    assert "landmarks" not in MultiPrototypeSVC().fit(X, y).automatic_
    monkeypatch.setattr(mprotsvm_problem, "MOST_MAP_BYTES", 10_000)
    with pytest.raises(SmpcoreError, match=r"landmarks=30 with 149 different .*fewer"):
        MultiPrototypeSVC(kernel="rbf", landmarks=30).fit(X, y)


def test_the_words_name_the_numbers_of_prototypes_that_start_anew():
    method = METHODS["mprotsvm"]
    *most, last = (str(n) for n in range(2, 21) if starts_anew(n))
    words = f"{', '.join(most)} and {last} prototypes"
    assert words in method.param("n_init").help
    assert words in " ".join(method.story.split())
