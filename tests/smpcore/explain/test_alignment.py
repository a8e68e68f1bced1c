"""Which steps the alignment kernel pairs, against all alignments of short series."""

import numpy as np
import pytest

from smpcore import IMKPLClassifier
from smpcore.explain import aligns_series, warping_path


def every_path(n, at=(0, 0)):
    """All alignments of two series of n steps."""
    if at == (n - 1, n - 1):
        yield [at]
        return
    for step in ((1, 1), (1, 0), (0, 1)):
        after = at[0] + step[0], at[1] + step[1]
        if max(after) < n:
            yield from ([at, *rest] for rest in every_path(n, after))


@pytest.mark.parametrize("channel", [0, 1])
def test_the_path_has_the_largest_product_of_all(channel):
    rng = np.random.default_rng(channel)
    X, y = rng.normal(size=(12, 10)), np.arange(12) % 2
    few = {"n_prototypes": 2, "max_iter": 2, "standardize": False}
    model = IMKPLClassifier(kernels="gak", n_channels=2, **few).fit(X, y).model_
    assert aligns_series(model)
    sigma, part = model.similarity.widths[channel], slice(5 * channel, 5 * channel + 5)
    for x, z in ((X[0], X[1]), (X[2], X[5]), (X[3], X[3])):
        e = np.exp(-(np.subtract.outer(x[part], z[part]) ** 2) / (2 * sigma**2))
        factor = e / (2 - e)
        products = [np.prod([factor[i, j] for i, j in p]) for p in every_path(5)]
        path = warping_path(model, x, z, channel)
        assert path[0].tolist() == [0, 0] and path[-1].tolist() == [4, 4]
        assert set(map(tuple, np.diff(path, axis=0))) <= {(1, 1), (1, 0), (0, 1)}
        assert np.prod([factor[i, j] for i, j in path]) == pytest.approx(max(products))


def test_another_similarity_aligns_nothing():
    X, y = np.random.default_rng(0).normal(size=(12, 4)), np.arange(12) % 2
    assert not aligns_series(IMKPLClassifier(n_prototypes=2).fit(X, y).model_)
