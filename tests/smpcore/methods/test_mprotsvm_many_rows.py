"""The multi-prototype SVM of rows too many to be solved one after the other."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from smpcore import MultiPrototypeSVC
from smpcore.methods.mprotsvm import many_rows
from smpcore.methods.mprotsvm import problem as svm_problem
from smpcore.methods.mprotsvm.kernel_smooth import smooth_change, smooth_rows
from smpcore.methods.shared import scaling
from tests.smpcore.methods.test_mprotsvm import objective
from tests.smpcore.methods.test_row_files import in_file

N = 6000


@pytest.fixture
def table():
    """Three classes, of which the last has two clouds."""
    random = np.random.default_rng(0)
    labels = random.integers(3, size=N)
    X = random.normal(size=(N, 5)) * [1, 2, 3, 1, 1] + 4.0
    X[:, 0] += 2.0 * (labels == 0)
    X[:, 1] += 3.0 * (labels == 1)
    X[:, 3] += np.where(labels == 2, random.choice([-3.0, 3.0], N), 0.0)
    return X, labels


@pytest.fixture
def many(monkeypatch):
    """A small table is as much as 200,000 rows are."""
    monkeypatch.setattr(many_rows, "MANY_ROWS", 1000)
    monkeypatch.setattr(svm_problem, "DRAWN", 1500)
    monkeypatch.setattr(svm_problem, "FEWEST", 100)


def in_memory(estimator, *data):
    with pytest.MonkeyPatch.context() as usual:
        usual.setattr(many_rows, "MANY_ROWS", 10 * N)
        return estimator.fit(*data)


@pytest.fixture
def scores():
    """Scores of rows of three classes with 2, 1 and 3 prototypes."""
    random = np.random.default_rng(1)
    F = random.normal(size=(120, 6))
    y_encoded = random.integers(3, size=120)
    limits = random.uniform(0.1, 2.0, size=120)
    return F, random.normal(size=F.shape), y_encoded, np.array([0, 2, 3, 6]), limits


def best_of(scores, i):
    """The smooth loss of a row and its masses, by a solver that knows no SVM."""
    F, tied, y_encoded, starts, limits, h = scores
    own = np.arange(*starts[y_encoded[i] : y_encoded[i] + 2])
    y = own[tied[i, own].argmax()]
    rivals = np.setdiff1d(np.arange(6), own)
    u = 1.0 - F[i, y] + F[i, rivals]
    found = minimize(
        lambda p: 0.5 * h * p @ p - p @ u,
        np.full(len(u), 0.1),
        jac=lambda p: h * p - u,
        bounds=[(0.0, None)] * len(u),
        constraints={"type": "ineq", "fun": lambda p: 1.0 - p.sum()},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    masses = np.zeros(6)
    masses[rivals] = -limits[i] * found.x
    masses[y] = limits[i] * found.x.sum()
    loss = limits[i] * max(0.0, u.max())
    free = limits[i] * max(0.0, 1.0 - F[i, own].max() + F[i, rivals].max())
    met = limits[i] * found.x @ u
    return masses, [loss, free, masses[y], met, -limits[i] * found.fun]


@pytest.mark.parametrize("h", [0.01, 0.5, 4.0])
def test_masses_attain_the_smooth_loss(scores, h):
    F, tied, *of_rows = scores
    masses = np.full(F.shape, np.nan)
    sums = smooth_rows(F, tied, *of_rows, h, masses)
    rows = [best_of((*scores, h), i) for i in range(len(F))]
    np.testing.assert_allclose(masses, [row[0] for row in rows], atol=1e-5)
    assert sums == pytest.approx(np.sum([row[1] for row in rows], axis=0), rel=1e-6)
    assert (masses.max(axis=1) <= of_rows[-1]).all()
    np.testing.assert_allclose(masses.sum(axis=1), 0.0, atol=1e-14)


@pytest.mark.parametrize("h", [0.01, 0.5, 4.0])
def test_the_gradient_and_its_change_are_those_of_the_smooth_loss(scores, h):
    F, tied, *of_rows = scores
    masses, moved = np.empty(F.shape), np.empty(F.shape)
    smooth_rows(F, tied, *of_rows, h, masses)
    step = 1e-7 * np.random.default_rng(2).normal(size=F.shape)
    after = smooth_rows(F + step, tied, *of_rows, h, moved)[4]
    before = smooth_rows(F - step, tied, *of_rows, h, moved)[4]
    assert after - before == pytest.approx(-2.0 * (masses * step).sum(), rel=1e-4)
    change = step.copy()
    smooth_rows(F + step, tied, *of_rows, h, moved)
    smooth_change(masses, of_rows[-1], h, change)
    # A row at whose kink the step ends changes otherwise.
    same = ((moved < 0) == (masses < 0)).all(axis=1)
    assert same.mean() > 0.99
    np.testing.assert_allclose(change[same], (moved - masses)[same], atol=1e-12)


@pytest.mark.parametrize("C", [0.001, 0.1, 10.0])
def test_one_prototype_of_a_class_is_certified(table, many, C):
    """The optimum that rows in memory come to lies between bound and objective."""
    X, labels = table
    exact = in_memory(MultiPrototypeSVC(1, C=C, tol=1e-5, max_iter=10**5), X, labels)
    fitted = MultiPrototypeSVC(1, C=C).fit(X, labels)
    assert fitted.history_.status_text == "converged"
    assert fitted.gap_ <= 1e-2 * fitted.objective_
    assert fitted.objective_ >= exact.objective_ * (1 - 1e-5)
    assert fitted.objective_ - fitted.gap_ <= exact.objective_
    assert objective(fitted, X, labels, C) == pytest.approx(fitted.objective_)
    assert (fitted.predict(X) == exact.predict(X)).mean() > 0.98


def test_several_prototypes_are_certified_for_their_assignments(table, many):
    X, labels = table
    fitted = MultiPrototypeSVC(3, C=0.1).fit(X, labels)
    assert fitted.history_.status_text == "converged"
    assert fitted.gap_ <= 1e-2 * fitted.objective_
    assert fitted.free_objective_ <= fitted.objective_
    assert fitted.objective_ - fitted.free_objective_ <= 1.1e-3 * fitted.objective_
    assert objective(fitted, X, labels, 0.1) == pytest.approx(fitted.objective_)
    assert fitted.wins_.sum() == N
    assert fitted.n_asked_ == 9
    usual = in_memory(MultiPrototypeSVC(3, C=0.1), X, labels)
    assert fitted.objective_ <= 1.05 * usual.objective_
    assert fitted.score(X, labels) > usual.score(X, labels) - 0.01


@pytest.mark.parametrize("n_prototypes", [1, 3])
def test_a_fit_from_a_file_is_that_from_memory(
    n_prototypes, table, many, tmp_path, monkeypatch
):
    X, labels = table
    usual = MultiPrototypeSVC(n_prototypes).fit(X, labels)
    monkeypatch.setattr(scaling, "MOST_COPY_BYTES", 10_000)
    rows = in_file(tmp_path, pd.DataFrame(X, columns=list("abcde")))
    fitted = MultiPrototypeSVC(n_prototypes).fit(rows, labels)
    # Conjugate gradients make much of the last digit that blocks of another size give.
    assert fitted.objective_ == pytest.approx(usual.objective_, rel=1e-3)
    assert fitted.gap_ <= 1e-2 * fitted.objective_
    assert fitted.n_features_in_ == 5
    assert (fitted.predict(rows) == usual.predict(X)).mean() > 0.99
    assert (fitted.assignment_ == usual.assignment_).mean() > 0.98
    # A row that changes its prototype counts twice.
    assert np.abs(fitted.wins_ - usual.wins_).sum() < 0.04 * N
    assert fitted.model_.tie == pytest.approx(usual.model_.tie, rel=0.05)


def test_weights_count_as_rows(table, many):
    X, labels = table
    weights = np.where(labels == 1, 2.0, 1.0)
    twice = np.concatenate([np.arange(N), np.flatnonzero(labels == 1)])
    one = MultiPrototypeSVC(1, tol=1e-3).fit(X, labels, weights)
    two = MultiPrototypeSVC(1, tol=1e-3).fit(X[twice], labels[twice])
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-3)
    balanced = MultiPrototypeSVC(1, class_weight={0: 1, 1: 2, 2: 1}, tol=1e-3)
    balanced.C = 0.1 * (N + (labels == 1).sum()) / N  # weights have a mean of 1
    balanced.fit(X, labels)
    assert balanced.objective_ == pytest.approx(two.objective_, rel=1e-3)


def test_a_fit_can_be_stopped_and_stepped_through(table, many):
    X, labels = table
    stopped = MultiPrototypeSVC(2)
    flag = np.ones(1, dtype=np.int64)
    stopped.solve(stopped.problem(X, labels), stop=flag)
    assert stopped.history_.status_text == "stopped"
    few = MultiPrototypeSVC(2, tol=1e-6, max_iter=2)
    with pytest.warns(UserWarning, match="max_iter=2"):
        few.fit(X, labels)
    assert few.n_iter_ == 2
    recorded = MultiPrototypeSVC(2, record=1).fit(X, labels)
    last = recorded.history_.step(-1)
    np.testing.assert_array_equal(last.weights, recorded.model_.weights)
