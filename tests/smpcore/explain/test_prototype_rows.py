"""Typical rows, and what makes them another prototype's, beside plain loops."""

import numpy as np
import pytest

from smpcore import load_dataset
from smpcore.datasets import make_dataset
from smpcore.explain import other_winners, typical_rows, unit_effects
from tests.shown import oracle


@pytest.fixture(scope="module", params=["smallk", "smp", "mprotsvm", "imkpl"])
def fitted(request):
    """A model of a table with numbers and a category."""
    iris = load_dataset("iris")
    frame = iris.frame.assign(colour=np.resize(["red", "green", "blue"], len(iris.y)))
    dataset = make_dataset(frame[[*frame.columns[-1:], *iris.frame.columns]], "colours")
    fit = oracle.Fit(request.param, "colours", dataset)
    return fit.model, fit.preparation, fit.X[fit.parts["train"]]


def test_medoids_are_chosen_as_plain_loops_choose_them(fitted):
    model, _, X = fitted
    used = model.support
    Z = (X / model.scale)[:, used]
    places, shares = typical_rows(model, X, 3)

    def cost(chosen):
        return sum(min(np.linalg.norm(z - Z[i]) for i in chosen) for z in Z)

    for n in range(1, len(places) + 1):
        best = min(cost([*places[: n - 1], i]) for i in range(len(X)))
        assert cost(places[:n]) == pytest.approx(best)
    assert shares.sum() == pytest.approx(1.0)
    near = [np.linalg.norm(Z - Z[i], axis=1) for i in places]
    assert shares[0] == pytest.approx(np.mean(np.argmin(near, axis=0) == 0))
    assert len(typical_rows(model, np.repeat(X[:1], 9, axis=0))[0]) == 1


def winner(model, x):
    """The prototype with the most for the class that is predicted."""
    activations = model.activations(x[None])[0]
    label = list(model.classes).index(model.predict(x[None])[0])
    votes = model.votes[:, label]
    own = activations * votes if model.pooling == "sum" else activations
    return int(np.argmax(np.where(votes != 0, own, -np.inf)))


def test_the_nearest_value_of_a_column_that_gives_a_row_to_another(fitted):
    model, preparation, X = fitted
    for x in X[::29]:
        changes = other_winners(model, preparation, x, X)
        here = winner(model, x)
        places = [place for place, _, _ in changes]
        assert len(set(places)) == len(places)
        for place, spec in enumerate(preparation.inputs):
            sizes = {}
            for values in np.unique(X[:, spec.features], axis=0):
                row = x.copy()
                row[spec.features] = values
                if winner(model, row) != here:
                    size = np.linalg.norm((row - x) / model.scale)
                    sizes[size] = row
            assert (place in places) == bool(sizes)
            if sizes:
                _, row, other = changes[places.index(place)]
                size = np.linalg.norm((row - x) / model.scale)
                assert size == pytest.approx(min(sizes))
                assert other == winner(model, row) != here


def test_steps_and_levels_add_what_they_say(fitted):
    model, preparation, X = fitted
    if not model.is_linear:
        pytest.skip("its prototypes are cases")
    weights = model.weights[0] / model.scale
    effects = unit_effects(weights, preparation, X)
    assert {e.feature for e in effects} == set(np.flatnonzero(weights))
    for effect in effects:
        x = X[0].copy()
        before, x[effect.feature] = x @ weights, X[0, effect.feature] + effect.step
        assert x @ weights - before == pytest.approx(effect.points)
        assert effect.column.name in effect.words
        assert effect.level in effect.words
