"""Duplicates across the split, and features that give the answer away."""

import numpy as np
import pandas as pd
import pytest

from smpcore.datasets import (
    find_duplicates,
    leaky_features,
    load_dataset,
    make_dataset,
    split,
)

RNG = np.random.default_rng(0)


def dataset(n=200, task=None, **columns):
    y = np.resize(["p", "q", "r"], n)
    frame = pd.DataFrame({"noise": RNG.normal(size=n), **columns, "y": y})
    roles = {**dict.fromkeys(frame, "feature"), "y": "target"}
    return make_dataset(frame, "t", roles=roles, task=task)


def test_rows_that_also_stand_in_training_are_counted():
    frame = pd.DataFrame({"a": RNG.normal(size=100), "b": None, "y": ["p", "q"] * 50})
    frame.loc[::2, "b"] = "u"
    data = make_dataset(frame, "t", roles={"y": "target"})
    division = split(data)
    assert find_duplicates(data, division) == 0
    frame.iloc[division.test[:3], :2] = frame.iloc[division.train[:3], :2].to_numpy()
    frame.iloc[division.validation[0], :2] = frame.iloc[
        division.train[5], :2
    ].to_numpy()
    frame.iloc[division.test[3], :2] = frame.iloc[division.test[4], :2].to_numpy()
    again = make_dataset(frame, "t", roles={"y": "target"})
    assert find_duplicates(again, division) == 4


def test_without_features_nothing_is_a_duplicate():
    data = load_dataset("moons").with_roles({"x1": "ignore", "x2": "ignore"})
    assert find_duplicates(data, split(data)) == 0
    assert leaky_features(data, split(data)) == []


def test_iris_is_known_to_repeat_a_flower():
    data = load_dataset("iris")
    repeated = [find_duplicates(data, split(data, seed=seed)) for seed in range(8)]
    assert max(repeated) == 1


Y = np.resize(["p", "q", "r"], 200)
CODE = np.resize([0.0, 1.0, 2.0], 200)
FLIPPED = np.where(np.arange(200) % 150 == 7, "q", Y)
LEAKS = {
    "a code": CODE,
    "a code with noise": CODE + RNG.uniform(-0.4, 0.4, 200),
    "a code with holes": np.where(np.arange(200) % 3 == 0, np.nan, CODE),
    "a word": np.char.add("w", Y),
    "a word with an error": np.char.add("w", FLIPPED),
}


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
def test_a_leak_is_named(leak):
    data = dataset(leak=leak)
    ((name, share),) = leaky_features(data, split(data))
    assert name == "leak"
    assert 0.99 <= share <= 1


HARMLESS = {
    "names": [f"n{i}" for i in range(200)],
    "numbers": np.arange(200.0),
    "often": np.where(np.arange(200) % 6 == 0, RNG.permutation(CODE), CODE),
    "constant": np.ones(200),
    "empty": np.full(200, np.nan),
}


@pytest.mark.parametrize("column", HARMLESS.values(), ids=HARMLESS)
def test_what_is_no_leak_is_not_named(column):
    data = dataset(column=column)
    assert leaky_features(data, split(data)) == []


def clinic(n=400):
    """Patients whose treatment follows from the diagnosis; a third come twice."""
    random = np.random.default_rng(1)
    sick = random.random(n) < 0.46
    treated = np.where(random.random(n) < 0.06, ~sick, sick)
    frame = pd.DataFrame(
        {
            "Patient ID": [f"p{i}" for i in np.arange(n) // 1.5],
            "pulse": 70 + 15 * sick + 12 * random.normal(size=n),
            "age": 60 + 9 * random.normal(size=n),
            "treatment after diagnosis": np.where(treated, "PCI", "none"),
            "y": np.where(sick, "sick", "healthy"),
        }
    )
    return frame


def test_a_feature_far_better_than_the_next_is_named():
    data = make_dataset(clinic(), "t", roles={"y": "target"})
    ((name, share),) = leaky_features(data, split(data))
    assert name == "treatment after diagnosis"
    assert 0.9 < share < 0.97


def test_a_rare_class_does_not_make_every_feature_telling():
    y = np.where(np.arange(1000) % 200 == 0, "rare", "usual")
    frame = pd.DataFrame({"a": RNG.normal(size=1000), "b": y == "rare", "y": y})
    data = make_dataset(frame, "t", roles={"y": "target"})
    assert leaky_features(data, split(data)) == [("b", 1.0)]


def test_the_highest_share_stands_first():
    data = dataset(second=LEAKS["a word with an error"], first=CODE)
    assert [name for name, _ in leaky_features(data, split(data))] == [
        "first",
        "second",
    ]


def test_a_regression_target_in_other_units_is_named():
    y = RNG.normal(size=100)
    frame = pd.DataFrame({"pounds": 2.2 * y + 1, "noise": RNG.normal(size=100)})
    frame["word"], frame["y"] = "u", y
    data = make_dataset(frame, "t", task="regression", roles={"y": "target"})
    assert [name for name, _ in leaky_features(data, split(data))] == ["pounds"]


def test_a_strong_cause_of_a_number_is_not_named():
    frame = pd.DataFrame({"a": RNG.normal(size=400), "b": RNG.normal(size=400)})
    frame["y"] = 2 * frame["a"] + 0.3 * frame["b"] + 0.3 * RNG.normal(size=400)
    data = make_dataset(frame, "t", task="regression", roles={"y": "target"})
    assert leaky_features(data, split(data)) == []


def test_few_rows_and_one_class_tell_nothing():
    data = make_dataset(pd.DataFrame({"a": [1.0, 2, 3], "y": ["p", "q", "p"]}), "t")
    assert leaky_features(data, split(data)) == []
    frame = pd.DataFrame({"a": np.arange(50.0) * 2, "y": ["p"] * 50})
    data = make_dataset(frame, "t", roles={"y": "target"})
    assert leaky_features(data, split(data)) == []


@pytest.mark.parametrize("key", ["iris", "wine", "breast_cancer", "digits", "diabetes"])
def test_bundled_sets_have_no_leak(key):
    data = load_dataset(key)
    assert leaky_features(data, split(data)) == []
