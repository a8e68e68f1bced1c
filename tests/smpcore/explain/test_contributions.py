"""What an answer is made of, and what prototypes are beside real rows."""

import numpy as np
import pytest

from smpcore import (
    METHODS,
    SmpcoreError,
    contributions,
    facts_of_prototypes,
    load_dataset,
    nearest_examples,
    prepare,
    rule_in_words,
    split,
    wins,
)
from smpcore.explain import contrasts

DATA = ("moons", "iris", "digits", "series")


@pytest.fixture(scope="module", params=DATA)
def rows(request):
    dataset = load_dataset(request.param)
    train = split(dataset).train[:250]
    X = prepare(dataset, train).transform(dataset.frame.iloc[train])
    return X, dataset.y[train], dataset.codes[train]


@pytest.fixture(scope="module", params=METHODS)
def model(request, rows):
    method = METHODS[request.param]
    return method.estimator(method.defaults()).fit(*rows[:2]).model_


def lead_of(model, x):
    first, second = np.sort(model.scores(x[None])[0])[::-1][:2]
    return first - second


def test_exact_parts_add_up_to_the_lead(model, rows):
    for x in rows[0][:40]:
        for by in (None, "prototype"):
            found = contributions(model, x, by)
            assert found.exact
            assert found.lead == pytest.approx(lead_of(model, x), abs=1e-10)
            assert found.parts.sum() + found.rest == pytest.approx(
                found.lead, abs=1e-10
            )
            assert found.winner == model.scores(x[None])[0].argmax()


def test_parts_of_features_add_up_or_say_that_they_do_not(model, rows):
    for x in rows[0][:10]:
        found = contributions(model, x, "feature")
        assert len(found.parts) in (model.n_features, len(model.similarity.weights))
        if found.exact:
            assert found.parts.sum() + found.rest == pytest.approx(found.lead, abs=1e-6)
        else:
            assert found.rule.startswith("An approximation")


def test_the_nearest_examples_are_the_likest(model, rows):
    X = rows[0]
    near = nearest_examples(model, X, 4)
    assert near.shape == (model.n_prototypes, 4)
    if not model.code_size:
        said = model.activations(X)
        for j, places in enumerate(near):
            assert said[places[0], j] == said[:, j].max()
            assert said[places[3], j] >= np.sort(said[:, j])[-4]


def test_every_represented_row_is_won_once(model, rows):
    X, _, codes = rows
    counts = wins(model, X, codes)
    assert counts.shape == (model.n_prototypes, model.n_outputs)
    spoken = model.represented(X)
    np.testing.assert_array_equal(
        counts.sum(axis=0), np.bincount(codes[spoken], minlength=model.n_outputs)
    )


def test_facts_are_of_the_training_rows(model, rows):
    X, _, codes = rows
    facts = facts_of_prototypes(model, X, codes)
    assert len(facts) == model.n_prototypes
    for j, fact in enumerate(facts):
        if model.kind_of_prototype != "invented case":
            assert np.isnan(fact.distance)
            assert fact.outside == ()
            continue
        case = model.anchors[model.mixing[:, j].argmax()]
        apart = np.linalg.norm((X - model.center) / model.scale - case, axis=1)
        assert fact.distance == pytest.approx(apart.min(), abs=1e-9)
        out = (model.prototypes[j] < X.min(axis=0)) | (
            model.prototypes[j] > X.max(axis=0)
        )
        assert set(fact.outside) <= set(np.flatnonzero(out))


def test_an_opposing_weight_is_against_the_class_difference(model, rows):
    X, _, codes = rows
    if not model.is_linear:
        return
    weights = contrasts(model)
    for j, fact in enumerate(facts_of_prototypes(model, X, codes)):
        own = codes == model.owner[j]
        apart = X[own].mean(axis=0) - X[~own].mean(axis=0)
        for f in fact.opposing:
            assert weights[j, f] * apart[f] < 0


def test_the_rule_names_features_and_classes(model):
    words = " ".join(rule_in_words(model))
    assert all(str(label) in words for label in model.classes[:2])
    if model.is_linear:
        used = np.flatnonzero(model.support)
        assert any(model.feature_names[f] in words for f in used)


def test_the_rule_of_two_classes_decides_like_the_model():
    """A short sentence is the whole truth: its numbers are read back and tried."""
    dataset = load_dataset("moons")
    X = prepare(dataset, np.arange(dataset.n_samples)).transform(dataset.frame)
    method = METHODS["smallk"]
    values = {**method.defaults(), "n_prototypes": 2, "k": 1}
    model = method.estimator(values).fit(X, dataset.y).model_
    head, *tests, last = rule_in_words(model)
    positive, negative = head.split(",")[0], last.split(" ")[0]
    if not head.endswith("holds:"):
        tests = [head.partition("if ")[2].rstrip(".")]
    answers = np.full(len(X), negative, dtype=object)
    for test in tests:
        left, _, right = test.replace("−", "-").rpartition(
            " > " if " > " in test else " ≥ "
        )
        number, name = left.split(" · ")
        above = float(number) * X[:, model.feature_names.index(name)] > float(right)
        answers[above] = positive
    same = answers == model.predict(X).astype(str)
    assert same.mean() > 0.99  # four digits of the threshold


def test_a_wrong_call_is_a_sentence(model):
    with pytest.raises(SmpcoreError, match="x should have shape"):
        contributions(model, np.zeros(3000))
    with pytest.raises(SmpcoreError, match="by='row' should be"):
        contributions(model, np.zeros(model.n_features), "row")
