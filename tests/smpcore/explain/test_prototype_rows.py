"""Typical rows, and what makes them another prototype's, beside plain loops."""

from dataclasses import replace

import numpy as np
import pytest

from smpcore import METHODS, load_dataset
from smpcore.datasets import make_dataset
from smpcore.explain import (
    facts_of_prototypes,
    heaviest_cases,
    other_winners,
    typical_rows,
    unit_effects,
)
from tests.shown import oracle

#: Of each pair the first is above the second in all rows, and not by chance.
IN_ORDER = (
    ("petal length (cm)", "petal width (cm)"),
    ("sepal length (cm)", "petal length (cm)"),
)


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
    """A petal stays longer than it is wide, as in all rows."""
    model, preparation, X = fitted
    place = preparation.feature_names.index
    above, below = zip(*((place(a), place(b)) for a, b in IN_ORDER), strict=True)
    n_kept = 0
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
                    if (row[[*above]] < row[[*below]]).any():
                        n_kept += 1
                        continue
                    size = np.linalg.norm((row - x) / model.scale)
                    sizes[size] = row
            assert (place in places) == bool(sizes)
            if sizes:
                _, row, other = changes[places.index(place)]
                size = np.linalg.norm((row - x) / model.scale)
                assert size == pytest.approx(min(sizes))
                assert other == winner(model, row) != here
    assert n_kept


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


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_shares_of_a_mix_are_of_the_absolute_weights(kernel):
    """Cases for and against a class cancel, also where their sum is nearly 0."""
    fit, row = oracle.fit("mprotsvm", "wine"), METHODS["mprotsvm"]
    values = row.defaults("classification") | {"kernel": kernel}
    model = row.estimator_for(fit.table, values).fit(fit.X, fit.y).model_
    mixing = np.array(model.mixing)
    assert (mixing < 0).any() and (mixing > 0).any()
    mixing[:, 0] -= mixing[:, 0].sum() / len(mixing)
    model = replace(model, mixing=mixing)
    cases, shares = heaviest_cases(model, 5)
    _, whole = heaviest_cases(model, len(mixing))
    np.testing.assert_allclose(np.abs(whole).sum(axis=1), 1.0)
    for j, weights in enumerate(mixing.T):
        largest = sorted(range(len(weights)), key=lambda i: -abs(weights[i]))[:5]
        expected = weights[largest] / sum(map(abs, weights))
        np.testing.assert_allclose(shares[j], expected)
        assert [*np.abs(weights[cases[j]])] == [*np.abs(weights[largest])]
    assert (heaviest_cases(replace(model, mixing=0 * mixing), 5)[0] == -1).all()


def test_a_value_of_a_case_beyond_the_training_range_is_named():
    """Not one that rounding has put there, below or above."""
    fit = oracle.fit("supersparse", "wine")
    model, X = fit.model, fit.X[fit.parts["train"]]
    values = model.prototypes[np.abs(model.mixing).argmax(axis=0)]
    for name, sign in ("low", 1), ("high", -1):
        limits = {"low": X.min(axis=0) - 1, "high": X.max(axis=0) + 1}
        moved = limits[name]
        moved[:2] = values[0, :2] + sign * np.array([1e-12, 1e-3]) * abs(values[0, :2])
        beyond = np.maximum(limits["low"] - values, values - limits["high"]) > 1e-6
        facts = facts_of_prototypes(replace(model, **limits), X, np.zeros(len(X), int))
        for fact, case in zip(facts, beyond, strict=True):
            assert set(fact.outside) - {0} == {*np.flatnonzero(case)} - {0}
        assert {*facts[0].outside} & {0, 1} == {1}


def test_a_case_with_a_negative_share_is_the_one_that_is_looked_at():
    """Distance and range are of the only case of a prototype, whatever its sign."""
    fit = oracle.fit("supersparse", "wine")
    X, y = fit.X[fit.parts["train"]], np.zeros(len(fit.parts["train"]), int)
    turned = replace(fit.model, mixing=-fit.model.mixing)
    pairs = zip(
        *(facts_of_prototypes(m, X, y) for m in (fit.model, turned)), strict=True
    )
    assert all(a.distance == b.distance for a, b in pairs)
