"""Cards of points: what is printed is what is computed, and it follows the model."""

import itertools

import numpy as np
import pandas as pd
import pytest

from smpcore import (
    SMaLLClassifier,
    SMPClassifier,
    SmpcoreError,
    SuperSparseClassifier,
    load_dataset,
    prepare,
    split,
)
from smpcore.datasets import make_dataset
from smpcore.explain import score_card
from smpcore.explain.score_card import _Search


def fitted(data, estimator):
    data = load_dataset(data) if isinstance(data, str) else data
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
        assert (card.start >= 0).all()
        np.testing.assert_array_equal(by_person, card.totals(row[None])[0])
        by_person = card.classes[by_person.argmax()]
        assert by_person == card.predict(row[None])[0]
    assert (card.predict(X) == model.predict(X)).mean() > least


@pytest.mark.parametrize(("name", "k"), [("iris", 2), ("wine", 2)])
def test_a_card_is_added_by_hand(name, k):
    estimator = SMaLLClassifier(n_prototypes=1, k=k)
    model, preparation, X = fitted(name, estimator)
    card = score_card(model.model_, preparation, X)
    assert card.points.shape[1] == 3
    check(card, preparation, X, model, 0.85)
    names = zip(card.classes, card.start, strict=True)
    assert [*card.to_frame()][2:] == [
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
    risk += frame["smoker"] == "yes"
    frame["ill"] = np.array(["no", "perhaps", "yes"])[np.digitize(risk, [3, 4.5])]
    frame.loc[3, "age"] = np.nan
    data = make_dataset(frame, "clinic", roles={"ill": "target"})
    estimator = SMPClassifier(n_prototypes=1, lam=1e-3, mu=1e-3)
    model, preparation, X = fitted(data, estimator)
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
        ("wine", SMPClassifier(n_prototypes=1), "more sparsity"),
        ("wine", SuperSparseClassifier(), "needs a linear classifier"),
        ("breast_cancer", SMaLLClassifier(n_prototypes=1, k=3), "explain.risk_score"),
    ],
)
def test_what_is_no_card_is_said(name, estimator, told):
    model, preparation, X = fitted(name, estimator)
    with pytest.raises(SmpcoreError, match=told):
        score_card(model.model_, preparation, X)


def small_card(seed):
    """A search for points up to 2 of three columns in four or five ranges."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.integers(0, 9, (80, 3)), columns=list("abc"))
    total = frame @ random.normal(size=3) + random.normal(size=80)
    frame["y"] = np.where(total > total.median(), "yes", "no")
    data = make_dataset(frame, "small", roles={"y": "target"})
    preparation = prepare(data, np.arange(80))
    X = preparation.transform(frame)
    model = SMaLLClassifier(n_prototypes=1, k=3).fit(X, data.y).model_
    search = _Search(model, list(preparation.inputs), X, 5)
    lines = [cut.lines(X) for cut in search.cuts]
    return search, lines, model.predict(X) == "yes"


def reached(points, lines, wanted):
    """Largest share of rows that are answered as wanted, at any threshold."""
    totals = sum(of[line] for of, line in zip(points, lines, strict=True))
    limits = np.arange(totals.max() + 2)
    return max(float(((totals >= limit) == wanted).mean()) for limit in limits)


def test_points_are_searched_as_whole_numbers():
    """Never worse than rounding, seldom than the best of all cards, never beyond it."""
    rounding, short = [], []
    for seed in range(15):
        search, lines, wanted = small_card(seed)
        card, values = search.card(2), [value[:, 1] for value in search.values]
        unit = max(np.ptp(value) for value in values) / 2
        rounded = [np.rint((v - v.min()) / unit).astype(int) for v in values]
        every = []
        for value in values:
            rising = itertools.combinations_with_replacement(range(3), len(value))
            step = 1 if value[-1] > value[0] else -1
            every.append([np.array(one)[::step] for one in rising if one[0] == 0])
        best = max(
            reached(points, lines, wanted) for points in itertools.product(*every)
        )
        assert card.agreement <= best <= search.bound
        rounding.append(card.agreement - reached(rounded, lines, wanted))
        short.append(best - card.agreement)
    assert min(rounding) >= 0 and np.mean(rounding) > 0.01
    assert np.count_nonzero(short) <= 3 and np.mean(short) < 0.01
