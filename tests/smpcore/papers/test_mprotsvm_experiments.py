"""The multi-prototype SVM's experiments, and the two LVQ that no library has."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from smpcore.datasets import load_dataset
from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.mprotsvm.paper_algorithm import dual_of
from smpcore.papers import EXPERIMENTS, Place, Trial, by_name, table_of
from smpcore.papers.mprotsvm import annealing, bound, tables
from smpcore.papers.mprotsvm.lvq import LVQ21, OLVQ1, lvq21_step, olvq1_step

SAME = np.array([True, False])


def test_a_step_of_olvq1_by_hand():
    Z, lengths = np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([0.2, 0.2])
    olvq1_step(Z, lengths, 0.3, np.array([1.0, 1.0]), SAME)
    np.testing.assert_allclose(Z, [[0.2, 0.2], [4.0, 0.0]])
    np.testing.assert_allclose(lengths, [0.2 / 1.2, 0.2])
    # The other one is nearer and of another class: it goes away, with longer steps.
    olvq1_step(Z, lengths, 0.3, np.array([3.0, 0.0]), SAME)
    np.testing.assert_allclose(Z, [[0.2, 0.2], [4.2, 0.0]])
    np.testing.assert_allclose(lengths, [0.2 / 1.2, 0.25])
    olvq1_step(Z, lengths, 0.3, np.array([4.2, 0.0]), SAME)
    np.testing.assert_allclose(lengths, [0.2 / 1.2, 0.3])  # 1/3, but no longer than .3


def test_a_step_of_lvq21_by_hand():
    Z = np.array([[0.0], [4.0]])
    lvq21_step(Z, 0.1, np.array([1.0]), SAME)  # 1 to 3, below .7 / 1.3: no step
    np.testing.assert_array_equal(Z, [[0.0], [4.0]])
    lvq21_step(Z, 0.1, np.array([1.8]), SAME)
    np.testing.assert_allclose(Z, [[0.18], [4.22]])
    lvq21_step(Z, 0.1, np.array([2.0]), np.array([True, True]))
    np.testing.assert_allclose(Z, [[0.18], [4.22]])
    Z = np.array([[0.0], [4.0], [100.0]])
    lvq21_step(Z, 0.1, np.array([2.2]), np.array([True, False, True]))
    np.testing.assert_allclose(Z, [[0.22], [4.18], [100.0]])


#: Largest error of three folds: nearest prototypes make 4-6, 2-5 and 2-5 %.
ERRORS = {"iris": (load_iris, 1.0, 0.08), "wine": (load_wine, 1.0, 0.07)}
ERRORS["digits"] = load_digits, 16.0, 0.06


@pytest.mark.parametrize("kind", [OLVQ1, LVQ21])
@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_nearest_prototypes(name, kind):
    load, largest, most = ERRORS[name]
    X, y = load(return_X_y=True)
    X = X / largest if name == "digits" else StandardScaler().fit_transform(X)
    errors = []
    for a, b in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        fitted = kind(3, length=0.03).fit(X[a], y[a])
        errors.append(np.mean(fitted.predict(X[b]) != y[b]))
        assert len(fitted.Z_) == 3 * len(np.unique(y))
    assert np.mean(errors) <= most
    again = kind(3, length=0.03).fit(X[a], y[a])
    np.testing.assert_array_equal(again.Z_, fitted.Z_)


def test_rows_are_divided_as_the_paper_says():
    dataset = load_dataset("digits")
    drawn = tables.divided(dataset, tables.Division(1000, 300, largest=True), 0)
    assert len(drawn.X) == 1000 and len(drawn.X_test) == 300
    assert drawn.X.max() == 1.0
    other = tables.divided(dataset, tables.Division(1000, 300, largest=True), 1)
    assert (drawn.y != other.y).any()
    first = tables.divided(dataset, tables.Division(1000, 797, drawn=False), 0)
    np.testing.assert_array_equal(first.y, dataset.y[:1000])
    np.testing.assert_array_equal(first.y_test, dataset.y[1000:])
    spread = first.X.std(axis=0)
    assert np.isclose(spread, 1.0).sum() > 40 and np.isin(spread.round(9), [0, 1]).all()


def test_a_model_of_the_table_has_an_error_for_each_number(monkeypatch):
    monkeypatch.setattr(tables, "COUNTS", (1, 2))
    monkeypatch.setitem(tables.DIVISIONS, "wine", tables.Division(120, 58))
    dataset = load_dataset("wine")
    experiment = by_name(EXPERIMENTS, "mprotsvm-table-2a")
    for model in tables.MODELS:
        outcome = experiment.run(Trial("wine", model, 0), dataset)
        if model in tables.KERNELS:
            errors = [outcome.measures[tables.ERROR]]
        else:
            places, errors = zip(*outcome.curves[tables.ERROR].items(), strict=True)
            assert places == (1.0, 2.0)
        assert max(errors) < 0.15
        assert outcome.measures[tables.SPEED] > 0


def test_the_objective_with_best_assignments_is_that_of_the_fit():
    X, y = load_wine(return_X_y=True)
    fitted = MultiPrototypeSVC(1, annealing.C, tol=1e-6)
    problem = fitted.problem(X, y)
    fitted.solve(problem)
    M = np.column_stack([fitted.model_.anchors, fitted.model_.bias]).T
    assert annealing.best_objective(problem, M) == pytest.approx(
        fitted.free_objective_, rel=1e-9
    )


def test_both_searches_lower_the_objective():
    dataset = load_dataset("circles", n_samples=120)
    experiment = by_name(EXPERIMENTS, "mprotsvm-annealing")
    for model in (*annealing.PRINTED, *annealing.SOLVERS):
        outcome = experiment.run(Trial("circles", model, 0), dataset)
        curve = dict(outcome.curves["objective with best assignments"])
        assert curve[150.0] < 0.8 * curve[2.0]
        assert outcome.measures["test error"] < 0.5


def test_the_slack_bounds_the_error_whatever_the_assignment():
    X, y = load_iris(return_X_y=True)
    svc = MultiPrototypeSVC(2, C=0.01)
    problem = svc.problem(X, y)
    fitted = svc.solve(problem)
    xi, wrong = bound.slacks(fitted, X, y), fitted.predict(X) != y
    assert wrong.any()
    assert (xi[wrong] >= 1.0 - 1e-9).all() and (xi[~wrong].min(axis=1) < 1.0).all()
    B = np.column_stack([fitted.model_.anchors, fitted.model_.bias]).T
    if fitted.model_.n_prototypes == len(problem.prototype_labels):
        slow = dual_of(problem, 0.01).slacks(problem.X @ B)
        np.testing.assert_allclose(xi, slow[problem.row], atol=1e-9)


def test_what_the_text_says_of_the_steps_is_measured():
    dataset = load_dataset("iris")
    experiment = by_name(EXPERIMENTS, "mprotsvm-bound")
    outcome = experiment.run(Trial("iris", bound.PRINTED, 0), dataset)
    assert outcome.measures["assignments"] > 3
    assert outcome.measures["no sweep lowers the Lagrangian"] == 1.0
    curves = experiment.run(Trial("iris", bound.OURS, 0), dataset).curves
    whole, mean, wrong = (np.array([*c.values()]) for c in [*curves.values()][:3])
    assert (whole >= mean).all() and (mean >= wrong).all()


def test_no_table_is_without_a_measurement_or_its_reason(tmp_path):
    for one in EXPERIMENTS:
        if one.paper != "mprotsvm":
            continue
        statuses = set(table_of(one, Place(tmp_path))["status"])
        assert statuses and "not measured" not in statuses, one.name
        assert {s for s in statuses if s.startswith("needs the file")} == set()
