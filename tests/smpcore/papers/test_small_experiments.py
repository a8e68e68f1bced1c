"""SMaLL's experiments, and the two baselines that no library has."""

import numpy as np
import pytest

from smpcore.papers.small.sparsity import forward, loss_and_gradients, squared_error

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 4))
CODES = RANDOM.integers(3, size=40)


def drawn(**shapes):
    return {name: RANDOM.normal(size=shape) for name, shape in shapes.items()}


BASELINES = {
    "ProtoNN": (
        drawn(W=(2, 4), B=(5, 2), Z=(5, 3)),
        lambda arrays: squared_error(arrays, X, np.eye(3)[CODES], 0.7),
    ),
    "Bonsai": (
        drawn(Z=(2, 4), W=(7, 3, 2), V=(7, 3, 2), theta=(3, 2)),
        lambda arrays: loss_and_gradients(arrays, X, CODES, 1.5, 0.1),
    ),
    "Bonsai, two classes": (
        drawn(Z=(2, 4), W=(3, 1, 2), V=(3, 1, 2), theta=(1, 2)),
        lambda arrays: loss_and_gradients(arrays, X, CODES % 2, 1.5, 0.0),
    ),
}


@pytest.mark.parametrize("name", BASELINES)
def test_gradients_are_slopes(name):
    arrays, function = BASELINES[name]
    gradients = function(arrays)[1]
    for which, slope in gradients.items():
        step = RANDOM.normal(size=slope.shape)
        ahead, behind = (
            function({**arrays, which: arrays[which] + h * step})[0]
            for h in (1e-6, -1e-6)
        )
        seen = (ahead - behind) / 2e-6
        assert (slope * step).sum() == pytest.approx(seen, rel=1e-5, abs=1e-8)


def test_a_row_takes_one_path_of_the_tree():
    arrays = BASELINES["Bonsai"][0]
    at = forward(arrays, X, np.inf)
    assert set(np.unique(at["reach"])) == {0.0, 1.0}
    assert (at["reach"].sum(axis=1) == 3).all()
    row = X[0] @ arrays["Z"].T
    node, score = 0, np.zeros(3)
    for _ in range(3):
        W, V = arrays["W"][node], arrays["V"][node]
        score += (W @ row) * np.tanh(V @ row)
        if node < 3:
            node = 2 * node + (2 if arrays["theta"][node] @ row > 0 else 1)
    np.testing.assert_allclose(at["scores"][0], score)
