"""How stable prototypes are, on models and data where the answer is known."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from smpcore import (
    METHODS,
    SMPClassifier,
    SmpcoreError,
    load_dataset,
    prepare,
    stability,
)
from smpcore.datasets import make_dataset
from smpcore.evaluation import TrainingRows, match_prototypes, measure, refits
from smpcore.evaluation.stability import redraw
from tests.shown import oracle
from tests.smpcore.codegen.models import random_linear


@pytest.fixture(scope="module", params=METHODS)
def fitted(request):
    return oracle.fit(request.param, "iris")


def test_a_model_is_stable_beside_itself(fitted):
    model = fitted.model
    found = stability(model, [model, model])
    np.testing.assert_allclose(found.cosines, 1.0)
    np.testing.assert_array_equal(found.recovered(0.999), 1.0)
    assert set(np.unique(found.selected)) <= {0.0, 1.0}
    known = ~np.isnan(found.agrees)
    np.testing.assert_array_equal(found.agrees[known], 1.0)
    assert (found.substitute == -1).all()


def test_stop_ends_it(fitted):
    stop, rows = np.zeros(1, dtype=np.int64), TrainingRows(fitted.X, fitted.y)

    def found():
        make = partial(clone, fitted.estimator)
        return refits(make, rows, n_refits=50, stop=stop)

    for _ in found():
        stop[0] = 1
    assert not list(found())


@pytest.fixture(scope="module")
def turns():
    """A model of the first of two features, one of the second, and one turned."""
    model = oracle.fit("smp", "moons").model
    weights = np.zeros_like(model.anchors)
    weights[:, 0] = 1.0
    model = replace(model, anchors=weights, mixing=np.eye(len(weights)))
    swapped = replace(model, anchors=weights[:, ::-1].copy())
    turned = replace(model, anchors=-weights)
    return model, swapped, turned


def test_a_swapped_feature_is_the_substitute(turns):
    model, swapped, turned = turns
    found = stability(model, 10 * [model, model, swapped, turned])
    np.testing.assert_array_equal(found.selected[:, 0], 0.75)
    np.testing.assert_allclose(found.agrees[:, 0], 2 / 3)
    np.testing.assert_array_equal(found.substitute[:, 0], 1)
    np.testing.assert_array_equal(found.without[:, 0], 10)


@pytest.mark.parametrize(("kept", "swapped_refits"), [(91, 9), (9, 91), (3, 1)])
def test_few_refits_tell_no_substitute(turns, kept, swapped_refits):
    model, swapped, _ = turns
    found = stability(model, kept * [model] + swapped_refits * [swapped])
    assert (found.substitute == -1).all()
    np.testing.assert_array_equal(found.without[:, 0], swapped_refits)


@pytest.mark.parametrize(("gained", "told"), [(2, -1), (3, 1)])
def test_a_gain_within_its_error_tells_no_substitute(turns, gained, told):
    """Of 10 refits without the feature; gained / 10 less two errors is about 0."""
    model, swapped, _ = turns
    empty = replace(model, anchors=np.zeros_like(model.anchors))
    others = 30 * [model] + gained * [swapped] + (10 - gained) * [empty]
    found = stability(model, others)
    np.testing.assert_array_equal(found.substitute[:, 0], told)


def test_columns_are_counted_with_their_levels_together():
    """Features 0 and 1 are the levels of one column of three: red, then blue."""
    frame = pd.DataFrame({"hue": ["red", "blue", "green"] * 2, "x": range(6), "y": 0})
    frame["y"] = [0, 1] * 3
    preparation = prepare(make_dataset(frame, "t", roles={"y": "target"}), range(6))
    assert preparation.column_of_feature.tolist() == [0, 0, 0, 1]
    names, rows = preparation.feature_names, ((0, 0, 1, 0), (1, 0, 0, 0), (0, 0, 0, 1))
    red, blue, number, both = (
        random_linear(4, 2, 1, anchors=np.tile(row, (2, 1)), feature_names=names)
        for row in np.array([*rows, (0.5, 0, 1, 0)], dtype=float)
    )
    n = red.n_prototypes
    found = stability(red, [red, blue, both, number], preparation)
    np.testing.assert_allclose(found.selected, [[0.75, 0.25]] * n)
    np.testing.assert_allclose(found.agrees, [[2 / 3, 0.0]] * n)
    np.testing.assert_array_equal(found.without, [[1, 3]] * n)
    sizes = measure(both, preparation, on_chip=False)
    assert (sizes["n_features"], sizes["n_nonzeros"]) == (1, 2 * n)


def test_groups_stay_together_and_classes_stay():
    y = np.repeat([0, 1, 1, 0], 5)
    groups = np.repeat(np.arange(10), 2)
    for seed in range(20):
        rows = redraw(y, groups, seed)
        assert len(np.unique(y[rows])) == 2
        counts = np.bincount(rows, minlength=20)
        np.testing.assert_array_equal(counts[::2], counts[1::2])
    with pytest.raises(SmpcoreError, match="a class with so few rows"):
        redraw(np.r_[np.zeros(5000), np.arange(1, 60)], None, 0)
    with pytest.raises(SmpcoreError, match="at least one refit"):
        stability(None, [])


def permuted(model, order):
    """The same model with its prototypes in another order, or without some."""
    order = np.asarray(order)
    parts = {"mixing": model.mixing[:, order], "bias": model.bias[order]}
    parts |= {"votes": model.votes[order], "counts": model.counts[order]}
    if model.gram is not None:
        parts["gram"] = model.gram[np.ix_(order, order)]
    return replace(model, **parts)


def test_prototypes_are_matched_whatever_their_order(fitted):
    model = fitted.model
    order = np.random.default_rng(0).permutation(model.n_prototypes)
    partners, similarities = match_prototypes(model, permuted(model, order))
    np.testing.assert_allclose(similarities, 1.0)
    shapes = match_prototypes(model, model)[0]
    np.testing.assert_array_equal(shapes, np.arange(model.n_prototypes))
    expected = np.argsort(order)
    unique = np.unique(model.mixing, axis=1).shape[1] == model.n_prototypes
    if unique:
        np.testing.assert_array_equal(partners, expected)


def test_a_prototype_that_is_gone_has_no_partner_or_an_unlike_one(fitted):
    model = fitted.model
    of_class = np.bincount(model.prototype_labels)[model.prototype_labels]
    if of_class.max() == 1:
        pytest.skip("a class needs a prototype")
    gone = int(of_class.argmax())
    rest = np.delete(np.arange(model.n_prototypes), gone)
    partners, similarities = match_prototypes(model, permuted(model, rest))
    assert partners[gone] == -1 and np.isnan(similarities[gone])
    np.testing.assert_allclose(similarities[rest], 1.0)
    np.testing.assert_array_equal(rest[partners[rest]], rest)


def test_features_are_matched_by_name():
    table = load_dataset("iris")
    frame = table.frame[table.feature_columns]
    model, turned, fewer = (
        SMPClassifier().fit(columns, table.y).model_
        for columns in (frame, frame[frame.columns[::-1]], frame.iloc[:, 1:])
    )
    assert (match_prototypes(model, turned)[1] > 0.99).all()
    assert np.isfinite(match_prototypes(model, fewer)[1]).all()
