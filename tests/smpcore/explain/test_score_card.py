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


def test_two_classes_have_one_total_and_a_threshold():
    estimator = SMaLLClassifier(n_prototypes=1, k=3)
    model, preparation, X = fitted("breast_cancer", estimator)
    card = score_card(model.model_, preparation, X)
    assert card.points.shape[1] == 1
    assert 0 <= card.points.min() <= card.points.max() <= 99
    assert f"{card.threshold} or more" in card.rule
    for row in X[::17]:
        predicted = card.predict(row[None])[0]
        assert by_hand(card, preparation, row) == predicted
    assert (card.predict(X) == model.predict(X)).mean() > 0.95


def test_three_classes_have_three_totals():
    model, preparation, X = fitted("iris", SMaLLClassifier(n_prototypes=1, k=2))
    card = score_card(model.model_, preparation, X)
    assert [*card.to_frame()][2:] == [
        f"points for {name} (start with {start})" if start else f"points for {name}"
        for name, start in zip(
            ("setosa", "versicolor", "virginica"), card.start, strict=True
        )
    ]
    assert (card.start >= 0).all()
    for row in X[::7]:
        totals = by_hand(card, preparation, row)
        np.testing.assert_array_equal(totals, card.totals(row[None])[0])
        assert card.predict(row[None])[0] == card.classes[totals.argmax()]
    assert (card.predict(X) == model.predict(X)).mean() > 0.85


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
    for row in X[::9]:
        assert by_hand(card, preparation, row) == card.predict(row[None])[0]
    assert (card.predict(X) == model.predict(X)).mean() > 0.9


def test_points_and_ranges_are_as_few_as_do(monkeypatch):
    model, preparation, X = fitted("breast_cancer", SMaLLClassifier(1, k=1))
    card = score_card(model.model_, preparation, X)
    frame = card.to_frame()
    assert not (frame["points"].diff() == 0).any()  # equal neighbours are one line
    assert len(frame) <= 8


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
