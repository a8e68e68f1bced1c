"""What all printed algorithms have in common."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from smpcore import METHODS, PrototypeModel, SmpcoreError
from smpcore.papers import PRINTED

X, Y = make_moons(40, noise=0.1, random_state=0)


def problem_of(key, **values):
    estimator = METHODS[key].estimators["classification"](**values)
    return estimator, estimator.problem(X, Y)


@pytest.mark.parametrize("key", PRINTED)
def test_states_are_frozen_models_from_the_start_on(key):
    steps = PRINTED[key](*problem_of(key), n_steps=4)
    assert steps[0].iteration == 0 and steps[0].phase == "start"
    iterations = [step.iteration for step in steps]
    assert iterations == sorted(iterations) and max(iterations) >= 2
    for step in steps:
        assert np.isfinite(step.objective) and step.phase
        assert isinstance(step.model, PrototypeModel)
        assert {*step.model.predict(X)} <= {0, 1}
        assert step.model.history.objective[-1] == step.objective
        assert step.assignment.shape == (40,)
        assert step.assignment.max() < step.model.n_prototypes
        for array in (*step.arrays.values(), step.assignment):
            assert not array.flags.writeable
        with pytest.raises(AttributeError):
            step.objective = 0.0
        with pytest.raises(TypeError):
            step.arrays["new"] = np.zeros(1)


@pytest.mark.parametrize("key", PRINTED)
def test_the_same_seed_gives_the_same_states(key):
    runs = [PRINTED[key](*problem_of(key, random_state=5), n_steps=5) for _ in "ab"]
    assert len(runs[0]) == len(runs[1])
    for one, two in zip(*runs, strict=True):
        assert one.objective == two.objective
        for name, array in one.arrays.items():
            np.testing.assert_array_equal(array, two.arrays[name])


@pytest.mark.parametrize("key", PRINTED)
def test_bad_requests_are_refused_in_words(key):
    estimator, problem = problem_of(key)
    with pytest.raises(SmpcoreError, match="n_steps=-1 should be a whole number"):
        PRINTED[key](estimator, problem, n_steps=-1)
    other = "smp" if key != "smp" else "imkpl"
    with pytest.raises(SmpcoreError, match=r"take the one that estimator\.problem"):
        PRINTED[key](estimator, problem_of(other)[1])
    with pytest.raises(SmpcoreError, match="start has the shape"):
        PRINTED[key](estimator, problem, start=np.zeros((1, 7)))


@pytest.mark.parametrize("key", PRINTED)
def test_a_raised_flag_ends_the_algorithm_after_its_first_state(key):
    whole = PRINTED[key](*problem_of(key), n_steps=2)
    stop = np.ones(1, dtype=np.int64)
    stopped = PRINTED[key](*problem_of(key), n_steps=2, stop=stop)
    assert 1 <= len(stopped) < len(whole)
    assert stopped[0].objective == whole[0].objective
