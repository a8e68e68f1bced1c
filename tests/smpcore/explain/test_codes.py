"""How a code is found: real steps of the solver, which end at the model's own code."""

from dataclasses import replace

import numpy as np
import pytest

from smpcore import (
    IMKPLClassifier,
    PrototypeModel,
    SMPClassifier,
    SmpcoreError,
    load_dataset,
)
from smpcore.explain import code_states
from smpcore.similarity import Similarity
from tests.smpcore.solvers.test_nqp import slow_nqp


def rows(name):
    dataset = load_dataset(name)
    X = dataset.frame[dataset.feature_columns].to_numpy(dtype=float)
    return X[::3], dataset.y[::3]


@pytest.fixture(scope="module", params=["features", "rbf", "linear"])
def fitted(request):
    X, y = rows("wine")
    estimator = IMKPLClassifier(kernels=request.param, code_size=5, n_prototypes=8)
    return estimator.fit(X, y).model_, X


def alike(model, x):
    return replace(model, code_size=0, gram=None).activations(x[None])[0]


def test_the_last_state_is_the_models_own_code_bit_by_bit(fitted):
    model, X = fitted
    for x in X:
        states = code_states(model, x)
        last, own = states[-1], model.activations(x[None])
        np.testing.assert_array_equal(last.weights, own[0])
        np.testing.assert_array_equal(last.scores, model.scores(x[None])[0])
        assert model.classes[last.winner] == model.predict(x[None])[0]


def test_every_state_is_that_of_a_slow_search(fitted):
    model, X = fitted
    compared = 0
    for x in X[::5]:
        states = code_states(model, x)
        for limit in range(1, model.code_size + 1):
            slow, _ = slow_nqp(model.gram, -alike(model, x), limit)
            # A search with room for fewer entries ends where it first has so many.
            sizes = [np.count_nonzero(state.weights) for state in states]
            if limit in sizes:
                found = states[sizes.index(limit)].weights
                np.testing.assert_allclose(found, slow, rtol=1e-6, atol=1e-9)
                compared += 1
    assert compared > 20


def test_the_error_is_the_distance_in_feature_space_and_falls(fitted):
    model, X = fitted
    for x in X[::7]:
        scaled = (x[None] - model.center) / model.scale
        own = model.similarity.values(scaled, scaled).item()
        assert own == pytest.approx(1.0)
        states = code_states(model, x)
        assert states[0].error == 1.0 and not states[0].weights.any()
        assert (np.diff([state.error for state in states]) <= 1e-12).all()
        # By the training rows that the prototypes are mixed from, and not by gram.
        row = model.similarity.values(scaled, model.anchors)[0]
        K = model.similarity.values(model.anchors, model.anchors)
        for state in states:
            mix = model.mixing @ state.weights
            error = own - 2 * row @ mix + mix @ K @ mix
            assert state.error == pytest.approx(error, abs=1e-9)


def test_what_enters_and_leaves_is_said(fitted):
    model, X = fitted
    for x in X[::3]:
        states = code_states(model, x)
        assert states[0].entered == -1
        held = set()
        for state in states[1:]:
            assert state.entered not in held and held.issuperset(state.left)
            held = (held | {state.entered}) - set(state.left)
            assert held == set(np.flatnonzero(state.weights))


def test_a_prototype_that_turns_negative_leaves_by_hand():
    """Prototypes e1, e2 and (1, 1, 1) / sqrt(3); the input is (1, 1, -.1) / sqrt(2.01).

    The third is most like it (1.9 / sqrt(3) > 1) and enters first, then the first. Once
    the second is there, only a negative weight of the third would fit the last entry.
    """
    P = np.array([[1.0, 0, 0], [0, 1, 0], np.full(3, 3**-0.5)])
    model = PrototypeModel(
        center=np.zeros(3),
        scale=np.ones(3),
        low=-np.ones(3),
        high=np.ones(3),
        similarity=Similarity("linear"),
        anchors=P,
        mixing=np.eye(3),
        bias=np.zeros(3),
        pooling="sum",
        votes=np.array([[1.0, 0], [1, 0], [0, 1]]),
        intercept=np.zeros(2),
        classes=np.array([0, 1]),
        counts=np.ones(3, dtype=np.int64),
        feature_names=("a", "b", "c"),
        sample_shape=(3,),
        kind_of_prototype="mix of real cases",
        code_size=3,
        gram=P @ P.T,
    )
    length = 2.01**0.5
    states = code_states(model, np.array([1, 1, -0.1]) / length)
    assert [state.entered for state in states] == [-1, 2, 0, 1]
    assert [state.left for state in states] == [(), (), (), (2,)]
    assert [state.winner for state in states] == [0, 1, 1, 0]
    np.testing.assert_allclose(states[1].weights, [0, 0, 1.9 / 3**0.5 / length])
    assert states[1].error == pytest.approx(1 - 1.9**2 / 3 / 2.01)
    np.testing.assert_allclose(states[3].weights, np.array([1, 1, 0]) / length)
    assert states[3].error == pytest.approx(0.01 / 2.01)


def test_an_input_like_nothing_has_the_empty_code_alone():
    X, y = rows("moons")
    model = IMKPLClassifier(kernels="rbf", n_prototypes=3).fit(X, y).model_
    (state,) = code_states(model, np.array([1e6, 1e6]))
    assert state.error == 1.0 and state.entered == -1
    assert state.winner == model.fallback


def test_a_model_without_a_code_is_refused():
    X, y = rows("moons")
    model = SMPClassifier().fit(X, y).model_
    with pytest.raises(SmpcoreError, match="code_size above 0"):
        code_states(model, X[0])
