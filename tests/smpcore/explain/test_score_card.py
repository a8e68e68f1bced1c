"""Cards of points: what is printed is what is computed, and it follows the model."""

import numpy as np
import pandas as pd
import pytest

from smpcore import (
    Dataset,
    SMaLLClassifier,
    SMPClassifier,
    SmpcoreError,
    SuperSparseClassifier,
    load_dataset,
    prepare,
    split,
)
from smpcore.explain import score_card


def fitted(name, estimator):
    data = load_dataset(name)
    rows = split(data).train
    preparation = prepare(data, rows)
    X = preparation.transform(data.frame)[rows]
    return estimator.fit(X, data.y[rows]), preparation, X


def by_hand(card, preparation, row):
    """Add the points of one row as a person reads them from the table."""
    frame, totals = card.to_frame(), card.start.copy()
    for name, lines in frame.groupby("column", sort=False):
        given = next(i for i in preparation.inputs if i.name == name)
        value = row[given.features]
        for place, words in zip(lines.index, lines["value"], strict=True):
            if holds(given, words.removesuffix(" *"), value):
                totals += card.points[place]
                break
        else:
            raise AssertionError(f"no line of {name} holds {value}")
    if card.threshold is not None:
        return card.classes[int(totals[0] >= card.threshold)]
    return totals


def holds(given, words, value):
    if given.kind == "category":
        return given.text(np.array([*np.zeros(given.first), *value])) == words
    if words == "any value":
        return True
    if words.startswith("<"):
        return value[0] < float(words.split()[-1])
    if words.startswith("≥"):
        return value[0] >= float(words.split()[1])
    low, _, _, high = words.split()
    return float(low) <= value[0] < float(high)


def check(card, preparation, X, model, least):
    """What is added by hand is what is computed, and mostly what the model says."""
    assert 0 <= card.points.min() <= card.points.max() <= 99
    for row in X[::9]:
        by_person = by_hand(card, preparation, row)
        if card.threshold is None:
            assert (card.start >= 0).all()
            np.testing.assert_array_equal(by_person, card.totals(row[None])[0])
            by_person = card.classes[by_person.argmax()]
        assert by_person == card.predict(row[None])[0]
    assert (card.predict(X) == model.predict(X)).mean() > least


@pytest.mark.parametrize(
    ("name", "k", "n_totals", "least"),
    [("breast_cancer", 3, 1, 0.95), ("breast_cancer", 1, 1, 0.9), ("iris", 2, 3, 0.85)],
)
def test_a_card_is_added_by_hand(name, k, n_totals, least):
    estimator = SMaLLClassifier(n_prototypes=1, k=k)
    model, preparation, X = fitted(name, estimator)
    card = score_card(model.model_, preparation, X)
    assert card.points.shape[1] == n_totals
    check(card, preparation, X, model, least)
    frame = card.to_frame()
    if n_totals == 1:
        assert f"{card.threshold} or more" in card.rule
        same = frame["column"] == frame["column"].shift()
        assert not (same & (frame["points"].diff() == 0)).any()
        assert len(frame) <= 8 * k
    else:
        names = zip(card.classes, card.start, strict=True)
        assert [*frame][2:] == [
            f"points for {name}" + f" (start with {start})" * bool(start)
            for name, start in names
        ]


def test_levels_and_missing_values_have_their_lines():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": random.integers(20, 80, 200).astype(float),
            "stage": random.choice(["I", "II", "III"], 200),
            "smoker": random.choice(["yes", "no"], 200),
        }
    )
    risk = frame["age"] / 20 + 2.0 * (frame["stage"] == "III")
    frame["ill"] = np.where(risk + (frame["smoker"] == "yes") > 4, "yes", "no")
    frame.loc[3, "age"] = np.nan
    roles = {"age": "feature", "stage": "feature", "smoker": "feature", "ill": "target"}
    data = Dataset("clinic", frame, roles, "classification")
    rows = split(data).train
    preparation = prepare(data, rows)
    X = preparation.transform(frame)[rows]
    model = SMPClassifier(n_prototypes=1, lam=1e-3, mu=1e-3).fit(X, data.y[rows])
    card = score_card(model.model_, preparation, X)
    table = card.to_frame()
    assert {"I", "II", "III"} <= set(table.loc[table["column"] == "stage", "value"])
    assert {"yes", "no"} == set(table.loc[table["column"] == "smoker", "value"])
    ages = table.loc[table["column"] == "age", "value"]
    assert ages.str.endswith(" *").sum() == 1
    check(card, preparation, X, model, 0.9)


@pytest.mark.parametrize(
    ("name", "estimator", "told"),
    [
        ("digits", SMPClassifier(), "this model has 20 and"),
        ("breast_cancer", SMPClassifier(n_prototypes=1), "more sparsity"),
        ("breast_cancer", SuperSparseClassifier(), "needs a linear classifier"),
    ],
)
def test_what_is_no_card_is_said(name, estimator, told):
    model, preparation, X = fitted(name, estimator)
    with pytest.raises(SmpcoreError, match=told):
        score_card(model.model_, preparation, X)
