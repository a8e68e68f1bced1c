"""Changes and rules of models that are made by hand, where the answer is known."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from smpcore import PrototypeModel, SuperSparseRegressor, counterfactual
from smpcore.explain import rule_in_words
from smpcore.explain.flip import reduced
from smpcore.similarity import Similarity
from tests.shown.oracle import says


def by_hand(n_features=1, border=0.5):
    """Features between 0 and 1: the second class where their sum is above a border."""
    return PrototypeModel(
        center=np.zeros(n_features),
        scale=np.ones(n_features),
        low=np.zeros(n_features),
        high=np.ones(n_features),
        similarity=Similarity(),
        anchors=np.stack([np.zeros(n_features), np.ones(n_features)]),
        mixing=np.eye(2),
        bias=np.array([0.0, -border]),
        pooling="max",
        votes=np.eye(2),
        intercept=np.zeros(2),
        classes=np.arange(2),
        counts=np.ones(2, dtype=np.int64),
        feature_names=tuple(f"f{i}" for i in range(n_features)),
        sample_shape=(n_features,),
        kind_of_prototype="direction",
    )


@pytest.mark.parametrize("border", [0.3, 0.995])
def test_a_change_may_go_to_the_end_of_the_range(border):
    model = by_hand(border=border)
    found = counterfactual(model, np.zeros(1), bounds=(model.low, model.high))
    assert found.length == pytest.approx(border, abs=1e-5)
    assert found.x == pytest.approx([border], abs=1e-5)


def test_a_search_goes_as_near_as_it_can_and_keeps_whole_numbers():
    """A number of any value stops at its border, a whole one at the next whole one."""

    def flips(rows):
        return (rows[:, 0] > 0.3) & (rows[:, 1] > 1.5)

    blocks = [(slice(0, 1), True), (slice(1, 2), False)]
    start = np.array([1.0, 4.0])
    found = reduced(flips, np.zeros(2), start, blocks, lambda m: np.abs(m).sum(axis=1))
    assert found == pytest.approx([0.3, 2.0], abs=1e-5)


def test_the_rule_of_a_number_is_its_sum():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X @ [2.0, -1.0] + 3.0
    model = SuperSparseRegressor(similarity="linear").fit(X, y).model_
    (sentence,) = rule_in_words(model)
    slopes = LinearRegression().fit(X, y)
    says(
        sentence,
        "The prediction is # · x0 − # · x1 + #.",
        *(slopes.coef_[0], -slopes.coef_[1], slopes.intercept_),
    )
