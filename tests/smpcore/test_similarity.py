import numpy as np
import pytest

from smpcore import SmpcoreError, similarity
from smpcore.similarity import Similarity

RNG = np.random.default_rng(0)
X, Z = RNG.uniform(size=(7, 4)), RNG.uniform(size=(3, 4))
WORDS = {
    "linear": lambda x, z: x @ z,
    "rbf": lambda x, z: np.exp(-0.7 * ((x - z) ** 2).sum()),
    "poly": lambda x, z: (0.7 * x @ z + 0.5) ** 3,
    "laplacian": lambda x, z: np.exp(-0.7 * np.abs(x - z).sum()),
    "cosine": lambda x, z: x @ z / np.linalg.norm(x) / np.linalg.norm(z),
    "ncc": lambda x, z: np.corrcoef(x, z)[0, 1],
    "intersection": lambda x, z: np.minimum(x, z).sum() / np.maximum(x, z).sum(),
    "features": lambda x, z: (W * np.exp(-((x - z) ** 2) / D)).sum(),
    "callable": lambda x, z: np.tanh(x[0] * z[1]),
}
W, D = np.array([0.0, 1.0, 2.0, 0.5]), np.array([1.0, 0.3, 2.0, 1.5])


def _similarity(kind):
    more = {}
    if kind == "features":
        more = {"weights": tuple(W), "widths": tuple(D)}
    if kind == "callable":
        more = {"function": lambda X, A: np.tanh(np.outer(X[:, 0], A[:, 1]))}
    return Similarity(kind, gamma=0.7, degree=3, coef0=0.5, **more)


@pytest.mark.parametrize("kind", WORDS)
def test_values_are_those_of_the_definition(kind):
    wanted = [[WORDS[kind](x, z) for z in Z] for x in X]
    np.testing.assert_allclose(_similarity(kind).values(X, Z), wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", WORDS)
def test_similarities_are_mixed_in_tiles_where_they_are_many(kind, monkeypatch):
    chosen, mixing = _similarity(kind), RNG.normal(size=(3, 2))
    monkeypatch.setattr(similarity, "TILE", (2, 2))
    whole = chosen.mixed(X, Z, mixing)
    np.testing.assert_array_equal(whole, chosen.values(X, Z) @ mixing)
    monkeypatch.setattr(similarity, "MOST_AT_ONCE", 20)
    np.testing.assert_allclose(chosen.mixed(X, Z, mixing), whole, rtol=1e-12)


@pytest.mark.parametrize("kind", ["cosine", "ncc", "intersection"])
def test_rows_of_zeros_are_like_nothing(kind):
    values = _similarity(kind).values(np.zeros((1, 4)), Z)
    assert (values == 0).all()
    assert np.isfinite(
        _similarity(kind).values(np.zeros((1, 4)), np.zeros((1, 4)))
    ).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gamma": 0.0}, "gamma=0.0 should be a number above 0"),
        ({"gamma": np.nan}, "gamma=nan should be a number above 0"),
        ({"coef0": -1.0}, "coef0=-1.0 should be a number of at least 0"),
        ({"degree": 0}, "degree=0 should be 1, 2, 3 or more"),
        ({"degree": 1.5}, "degree=1.5 should be 1, 2, 3 or more"),
        ({"weights": (1.0,)}, "weights and widths should be as many"),
        ({"weights": (-1.0,), "widths": (1.0,)}, "weights should be numbers"),
        ({"weights": (1.0,), "widths": (0.0,)}, "widths should be numbers above 0"),
        ({"kind": "callable"}, "function should be given for kind='callable' only"),
        ({"function": len}, "function should be given for kind='callable' only"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(options, words):
    with pytest.raises(SmpcoreError, match=words):
        Similarity(**options)
