"""GMLVQ as a baseline: its gradient, what it learns, and its errors on known data."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.model_selection import StratifiedKFold, cross_val_score

from smpcore.baselines import BASELINES
from smpcore.baselines.models import mean_cost
from smpcore.datasets import load_dataset, prepare
from smpcore.evaluation.sweep import measure_baseline


@pytest.mark.parametrize("n_matrices", [1, 5])
@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_those_of_the_cost(seed, n_matrices):
    rng = np.random.default_rng(seed)
    shape = n_matrices, 4, 4
    X, Z, omegas = (rng.normal(size=shape) for shape in ((30, 4), (5, 4), shape))
    weights = rng.uniform(size=30)
    weights /= weights.sum()
    own = rng.integers(3, size=30)[:, None] == np.array([0, 0, 1, 2, 2])
    value, of_Z, of_omega = mean_cost(Z, omegas, X, own, weights)

    def cost(flat):
        return mean_cost(
            flat[:20].reshape(5, 4), flat[20:].reshape(shape), X, own, weights
        )[0]

    numbers = approx_fprime(np.concatenate([Z.ravel(), omegas.ravel()]), cost, 1e-7)
    exact = np.concatenate([of_Z.ravel(), of_omega.ravel()])
    np.testing.assert_allclose(exact, numbers, atol=1e-5)
    # As printed: the distance of each pair by the matrix of its prototype.
    total = 0.0
    for x, same, weight in zip(X, own, weights, strict=True):
        d = [((omegas[r % n_matrices] @ (x - z)) ** 2).sum() for r, z in enumerate(Z)]
        plus, minus = min(np.array(d)[same]), min(np.array(d)[~same])
        total += weight * (plus - minus) / (plus + minus)
    assert value == pytest.approx(total)


def error_of(key, name):
    """Mean error over folds of a baseline with two prototypes of each class."""
    dataset = load_dataset(name)
    X = prepare(dataset, np.arange(dataset.n_samples)).transform(dataset.frame)
    folds = StratifiedKFold(5 if name != "digits" else 2, shuffle=True, random_state=0)
    model = BASELINES[key].estimator({"n_prototypes": 2})
    return 1 - cross_val_score(model, X, dataset.y, cv=folds).mean()


#: Nearest prototypes usually make 3-5, 1-3 and 4-7 % errors on the first three.
@pytest.mark.parametrize(
    ("key", "name", "most"),
    [
        *(("gmlvq", "iris", 0.06), ("gmlvq", "wine", 0.04), ("gmlvq", "digits", 0.07)),
        *(("local_gmlvq", "spirals", 0.06), ("local_gmlvq", "moons", 0.05)),
    ],
)
def test_errors_are_known_and_a_matrix_each_bends_what_one_cannot(key, name, most):
    assert error_of(key, name) <= most
    if key == "local_gmlvq":
        assert error_of("gmlvq", name) > most


def test_sizes_count_prototypes_and_the_distance():
    dataset = load_dataset("iris")
    preparation = prepare(dataset, np.arange(dataset.n_samples))
    X = preparation.transform(dataset.frame)
    fitted = BASELINES["gmlvq"].estimator({"n_prototypes": 2}).fit(X, dataset.y)
    sizes = measure_baseline(fitted, preparation)
    assert sizes == {"n_nonzeros": 6 * 4 + 16, "n_features": 4, "n_prototypes": 6}
    local = BASELINES["local_gmlvq"].estimator().fit(X, dataset.y)
    assert measure_baseline(local, preparation)["n_nonzeros"] == 3 * 4 + 3 * 16
    traces = (local[-1].omega_ ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(traces, 1.0)


@pytest.mark.filterwarnings("error")
def test_a_row_on_two_equal_prototypes_pulls_nothing():
    Z, own = np.ones((2, 2)), np.array([[True, False]])
    cost, of_Z, of_omega = mean_cost(
        Z, np.eye(2)[None], np.ones((1, 2)), own, np.ones(1)
    )
    assert cost == 0 and not of_Z.any() and not of_omega.any()
