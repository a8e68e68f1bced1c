"""Recorded states of a fit: real models, of every method and task."""

import pickle
from dataclasses import fields

import numpy as np
import pytest

from smpcore import METHODS, SmpcoreError
from smpcore.datasets import load_dataset
from smpcore.datasets.display_names import plain_number
from smpcore.methods import (
    IMKPLClassifier,
    MultiPrototypeSVC,
    SMaLLClassifier,
    SMPClassifier,
    SuperSparseClassifier,
)

CASES = [(key, task) for key, method in METHODS.items() for task in method.estimators]


def rows(task):
    data = load_dataset("diabetes" if task == "regression" else "wine")
    X = data.frame[data.feature_columns].to_numpy(dtype=float)
    return X[::2], data.y[::2]


def fitted_with(key, task, **params):
    return METHODS[key].estimators[task](record=1, **params).fit(*rows(task))


def assert_same_model(one, other):
    for entry in fields(one):
        if entry.name in ("history", "similarity", "calibration"):
            continue
        a, b = getattr(one, entry.name), getattr(other, entry.name)
        np.testing.assert_array_equal(a, b, err_msg=entry.name)
    assert one.similarity == other.similarity


@pytest.mark.parametrize(("key", "task"), CASES)
def test_states_are_those_of_the_history_and_the_last_is_the_fitted_model(key, task):
    fitted = fitted_with(key, task)
    history, before = fitted.history_, None
    places = np.asarray(history.steps.places)
    assert 1 < len(places) <= 200 and (np.diff(places) > 0).all()
    for number, place in enumerate(places):
        state = history.state(number)
        assert state.objective == history.objective[place]
        assert state.model.history.objective[-1] == state.objective
        assert state.iteration == history.iteration[place] and state.phase
        sentence = state.sentence(before)
        assert sentence.startswith(f"Step {number}: ")
        numbers = {plain_number(state.objective, digits) for digits in (4, 6, 8)}
        assert any(number in sentence for number in numbers)
        assert ("gap" in sentence) == bool(np.isfinite(state.gap))
        before = state
    assert_same_model(state.model, fitted.model_)
    np.testing.assert_array_equal(state.fitted.assignment, fitted.assignment_)
    X, _ = rows(task)
    predicted = fitted.at_step(state).predict(X)
    np.testing.assert_array_equal(predicted, fitted.predict(X))
    assert places[-1] == len(history.objective) - 1


@pytest.mark.parametrize(
    "estimator",
    [
        MultiPrototypeSVC(record=1, kernel="rbf"),
        SMaLLClassifier(record=1, multiclass="ovr", k=2),
        SMaLLClassifier(record=1, k=13),
        SMPClassifier(4, record=1, reassign=True, tol=1e-5),
        SMPClassifier(2, record=3, solver="primal-dual", max_iter=5000),
        SuperSparseClassifier(record=1, similarity="laplacian"),
        IMKPLClassifier(record=1, kernels="rbf", n_prototypes=2, kappa=1.0),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_last_state_is_the_fitted_model_of_other_solvers(estimator):
    fitted = estimator.fit(*rows("classification"))
    assert_same_model(fitted.history_.step(-1), fitted.model_)


def test_an_objective_is_that_of_the_recorded_prototypes():
    X, y = rows("classification")
    few = SuperSparseClassifier(6, record=3)
    objective = few.objective(few.problem(X, y))
    history = few.fit(X, y).history_
    for number in (0, 2, -1):
        state = history.state(number)
        Z = history.steps.states[state.number]
        F = objective.refit(objective.similarities(Z))[0]
        assert F == pytest.approx(state.objective, rel=1e-9)


def test_moved_rows_are_counted_and_their_prototype_is_that_of_the_model():
    history = fitted_with("mprotsvm", "classification").history_
    for number in range(1, len(history.steps)):
        before, state = history.state(number - 1), history.state(number)
        moved = before.fitted.assignment != state.fitted.assignment
        into = set(state.assignment[moved])
        sentence = state.sentence(before)
        if not moved.any():
            assert "no row changed" in sentence
        elif len(into) == 1:
            place = into.pop() + 1
            assert f"{moved.sum()} row" in sentence
            assert f"changed to prototype {place};" in sentence + ";"
        else:
            assert f"{moved.sum()} rows changed prototype" in sentence


def test_nothing_is_recorded_unless_asked_for_and_what_is_can_be_pickled():
    X, y = rows("classification")
    history = SMPClassifier().fit(X, y).history_
    assert len(history.steps) == 0
    with pytest.raises(SmpcoreError, match=r"step=0 should be below 0.*record=1"):
        history.step(0)
    fitted = SMPClassifier(record=5).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert_same_model(again.history_.step(2), fitted.history_.step(2))
    assert "steps" not in fitted.model_.to_json()
