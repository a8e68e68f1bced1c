"""Rows of a data set are recognised in another table, and only those."""

import numpy as np
import pandas as pd
import pytest

from smpcore import load_dataset, prepare, split
from smpcore.datasets import make_dataset
from smpcore.evaluation import known_rows, match_columns


def parts_of(dataset, frame, division=None):
    division = division or split(dataset)
    preparation = prepare(dataset, division.train)
    X = preparation.transform(dataset.frame)
    renamed = {name: None for name in dataset.feature_columns if name not in frame}
    matched = match_columns(frame, preparation, dataset.target, renamed)
    return known_rows(dataset, division, preparation, X, matched)


@pytest.mark.parametrize("data", ["wine", "diabetes"])
def test_each_row_is_found_in_its_part(data):
    dataset, division = load_dataset(data), split(load_dataset(data))
    shuffled = dataset.frame.sample(frac=1.0, random_state=0)
    for frame in (
        shuffled,
        shuffled.drop(columns=dataset.target),
        shuffled.drop(columns=dataset.feature_columns[3]),
    ):
        found = parts_of(dataset, frame)
        for part in ("train", "validation", "test"):
            rows = frame.index[found == part]
            assert sorted(rows) == getattr(division, part).tolist()
    first = dataset.feature_columns[0]
    near = shuffled.assign(**{first: np.nextafter(shuffled[first], np.inf)})
    assert (parts_of(dataset, near) == "").all()


@pytest.fixture
def small():
    """Few values, a category and a gap: rows repeat, also with another label."""
    frame = pd.DataFrame({"a": np.arange(60) % 3, "kind": ["u", "v"] * 30})
    frame["b"] = np.where(np.arange(60) == 7, np.nan, np.arange(60) % 7)
    frame["y"] = ["yes", "no", "no"] * 20
    roles = dict.fromkeys(["a", "kind", "b"], "feature") | {"y": "target"}
    return make_dataset(frame, "small", roles=roles)


def test_a_row_of_the_test_part_is_one_wherever_else_it_is(small):
    division = split(small)
    found = parts_of(small, small.frame, division)
    values = small.frame.fillna({"b": small.frame["b"].iloc[division.train].median()})
    keys = values.apply(tuple, axis=1)
    closed = keys.isin(set(keys.iloc[division.test]))
    assert closed.sum() > len(division.test)
    np.testing.assert_array_equal(found == "test", closed)


def test_another_label_is_another_row_and_none_is_not_compared(small):
    frame = small.frame.drop_duplicates(["a", "kind", "b"])
    turned = frame.assign(y=np.where(frame["y"] == "yes", "no", "yes"))
    assert (parts_of(small, turned) == "").all()
    for labels in ("never seen", None):
        assert (parts_of(small, frame.assign(y=labels)) != "").all()


def test_rows_in_no_part_are_told_apart():
    dataset = load_dataset("iris")
    division = split(dataset).without_row(0)
    found = parts_of(dataset, dataset.frame.iloc[[149, 0]], division)
    assert found[0] == "left out"


def test_without_any_value_nothing_is_compared(small):
    frame = pd.DataFrame({"y": ["yes", "no"]})
    assert (parts_of(small, frame) == "").all()
