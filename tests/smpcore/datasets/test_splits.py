"""Split: disjoint, complete, repeatable; classes shared out, groups kept whole."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpcore.datasets import Dataset, load_dataset, split
from smpcore.errors import SmpcoreError
from tests.smpcore.datasets.cases import made, refused, said


def dataset(y, groups=None, task="classification"):
    frame = pd.DataFrame({"x": np.arange(len(y)) * 0.5, "y": y})
    roles = {"x": "feature", "y": "target"}
    if groups is not None:
        frame["g"] = groups
        roles["g"] = "group"
    return Dataset(name="t", frame=frame, roles=roles, task=task)


def parts_of(division):
    return [division.train, division.validation, division.test]


labels = st.lists(st.integers(0, 4), min_size=1, max_size=60)
shares = st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.3, 0.45])


@settings(deadline=None, max_examples=150)
@given(
    y=labels,
    validation=shares,
    test=shares,
    seed=st.integers(0, 2**32 - 1),
    task=st.sampled_from(["classification", "regression"]),
    n_groups=st.integers(0, 12),
)
def test_disjoint_complete_repeatable(y, validation, test, seed, task, n_groups):
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=len(y)) if n_groups else None
    data = dataset(y, groups, task)
    division = split(data, validation, test, seed)
    joint = np.concatenate(parts_of(division))
    assert sorted(joint) == list(range(len(y)))
    assert division.train.size
    for part in parts_of(division):
        assert np.all(np.diff(part) > 0)
        assert not part.flags.writeable
    assert split(data, validation, test, seed).key == division.key
    if groups is not None:
        for one, other in combinations(parts_of(division), 2):
            assert not np.intersect1d(data.groups[one], data.groups[other]).size
    if validation == 0:
        assert not division.validation.size


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=6), seed=st.integers(0, 99)
)
def test_every_class_trains_and_large_ones_are_everywhere(sizes, seed):
    y = np.repeat(np.arange(len(sizes)), sizes)
    division = split(dataset(y), seed=seed)
    for label, size in enumerate(sizes):
        counts = [np.count_nonzero(y[part] == label) for part in parts_of(division)]
        assert counts[0] > 0
        if size < 3:
            assert counts[1:] == [0, 0]
        if size >= 10 and sum(sizes) >= 10 * len(sizes):
            assert abs(counts[2] - 0.2 * size) <= 2
            assert abs(counts[1] - 0.2 * size) <= 2


def test_shares_are_kept():
    division = split(load_dataset("digits"), validation=0.15, test=0.25)
    assert [part.size for part in parts_of(division)] == [1078, 270, 449]
    assert (division.validation_share, division.test_share) == (0.15, 0.25)


def test_a_small_class_stays_in_training_and_is_said():
    y = [0] * 30 + [1] * 30 + [2] * 2
    division = split(dataset(y))
    assert {60, 61} <= set(division.train)
    assert "No row in the test part: class '2' (2 rows)." in division.notices


def test_many_absent_classes_are_counted_not_listed():
    y = np.repeat(np.arange(90), 4)
    division = split(dataset(y), validation=0.05, test=0.05)
    absent = 90 - len(np.unique(y[division.test]))
    told = next(text for text in division.notices if "test part" in text)
    assert told.endswith(f"(4 rows) and {absent - 5} more.")


def test_more_classes_than_rows_to_take():
    division = split(dataset(np.repeat(np.arange(8), 3)), validation=0.1, test=0.1)
    assert [part.size for part in parts_of(division)] == [20, 2, 2]


def test_empty_parts_are_said():
    division = split(dataset([0, 1]))
    assert division.train.tolist() == [0, 1]
    assert "The test part is empty." in division.notices
    division = split(dataset([0.5], task="regression"))
    assert "The validation part is empty." in division.notices
    division = split(dataset([0, 1] * 10, ["g"] * 20))
    assert division.train.size == 20 and "The test part is empty." in division.notices


def test_classes_are_balanced_over_groups():
    groups = np.random.default_rng(0).integers(40, size=2000)
    y = (groups % 4 == 0).astype(int)
    division = split(dataset(y, groups))
    for part in parts_of(division):
        assert abs(y[part].mean() - y.mean()) < 0.06
    assert abs(division.test.size - 400) < 60


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_many_groups_and_groups_of_a_regression(task):
    groups, y = np.random.default_rng(0).integers([[900], [3]], size=(2, 5000))
    assert abs(split(dataset(y, groups, task)).test.size - 1000) < 100


def test_a_test_file_is_the_test_part():
    columns = {"x": np.arange(20.0), "y": [0, 1] * 10}
    data = made(columns, roles={"x": "feature"})
    division = split(data.with_test(data.frame.iloc[:6]), validation=0.25)
    assert division.test.tolist() == list(range(20, 26))
    assert (division.validation.size, division.train.size) == (5, 15)


def test_groups_of_the_test_file_do_not_train():
    columns = {"x": np.arange(20.0), "g": np.repeat(list("abcd"), 5), "y": [0, 1] * 10}
    data = made(columns, roles={"x": "feature", "g": "group"})
    division = split(data.with_test(data.frame.iloc[:2]))
    assert "a" not in set(data.frame["g"][division.train])
    assert said(division, "5 rows are in no part")


def test_a_class_that_never_trains_is_said():
    data = made({"x": np.arange(20.0), "y": ["p", "q"] * 10}, roles={"x": "feature"})
    division = split(data.with_test(data.frame.iloc[:3].assign(y="r")))
    assert said(division, "so no model can predict: class 'r'")


REFUSED = [
    ({"validation": -0.1}, "validation=-0.1 should be a share"),
    ({"test": float("nan")}, "test=nan should be a share"),
    ({"test": 1.0}, "test=1.0 should be a share"),
    ({"validation": 0.6, "test": 0.6}, "at least 5 % of the rows for training"),
    ({"seed": -1}, "seed=-1 should be a whole number"),
    ({"seed": 0.5}, "seed=0.5 should be a whole number"),
    ({"seed": 2**32}, "seed=4294967296 should be"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_refused(options, words):
    with refused(words, SmpcoreError):
        split(dataset([0, 1] * 10), **options)


def test_key_tells_parts_apart():
    data = load_dataset("iris")
    keys = {split(data, seed=seed).key for seed in range(5)}
    keys |= {split(data, validation=0.1).key, split(data, test=0.1).key}
    assert len(keys) == 7


def test_a_thinned_part_keeps_shares_and_every_class():
    y = np.repeat([0, 1, 2, 3], [600, 300, 99, 1])
    data = made({"x": np.arange(1000.0), "y": y.astype(str)}, roles={"x": "feature"})
    whole = split(data, 0.0, 0.0)
    thin = whole.thinned(y, 100, True)
    assert np.isin(thin.train, whole.train).all() and (np.diff(thin.train) > 0).all()
    sizes = np.bincount(y[thin.train])
    assert (np.abs(sizes - [60, 30, 10, 1]) <= 1).all()
    np.testing.assert_array_equal(thin.train, whole.thinned(y, 100, True).train)
    assert whole.thinned(y, 1000, True) is whole and thin.key != whole.key
    drawn = np.random.default_rng(0).normal(size=1000)
    numbers = drawn[whole.thinned(drawn, 50, False).train]
    assert len(numbers) == 50
    levels = np.linspace(0, 1, 9)
    found = np.quantile(numbers, levels) - np.quantile(drawn, levels)
    assert np.abs(found).max() < 0.1, "quantiles stay"
    half = replace(whole, train=whole.train[:600], censored=whole.train[600:])
    few = half.thinned(y, 60, True).censored
    assert len(few) == 40 and set(few) < set(half.censored)


def test_rows_come_and_go():
    division = split(load_dataset("moons", n_samples=50))
    more = division.with_row(50)
    assert more.train[-1] == 50
    assert more.key != division.key
    for row in (0, 13, 49):
        less = division.without_row(row)
        assert sorted(np.concatenate(parts_of(less))) == list(range(49))
        for before, after in zip(parts_of(division), parts_of(less), strict=True):
            kept = before[before != row]
            assert np.array_equal(np.delete(np.arange(50), row)[after], kept)
