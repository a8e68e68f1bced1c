"""Times of rows: read from numbers or dates, and the parts that they make."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpcore.datasets import distinct_times, make_dataset, split
from tests.smpcore.datasets.cases import made, refused, said

ROLES = {"x": "feature", "y": "target", "when": "time", "who": "group"}


def dataset(when, who=None):
    n = len(when)
    columns = {"x": np.arange(n) * 0.5, "y": np.arange(n) % 2, "when": when}
    if who is not None:
        columns["who"] = who
    roles = {name: ROLES[name] for name in columns}
    return made(columns, roles=roles, task="classification")


def parts_of(division):
    return [division.train, division.validation, division.test]


@settings(deadline=None, max_examples=150)
@given(
    rows=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 9)), min_size=2),
    shares=st.tuples(st.sampled_from([0, 0.1, 0.3]), st.sampled_from([0, 0.2, 0.4])),
    grouped=st.booleans(),
)
def test_no_row_is_judged_before_a_row_that_trains(rows, shares, grouped):
    when, who = map(list, zip(*rows, strict=True))
    data = dataset(when, who if grouped else None)
    parts = parts_of(split(data, *shares))
    assert sorted(np.concatenate(parts)) == list(range(len(rows)))
    assert parts[0].size
    full = [part for part in parts if part.size]
    for earlier, later in pairwise(full):
        assert data.times[earlier].max() < data.times[later].min()
        if grouped:
            assert not np.intersect1d(data.groups[earlier], data.groups[later]).size
    if not grouped and len(set(when)) > 1 and round(shares[1] * len(rows)):
        assert parts[2].size, "different times can be parted"


def test_shares_are_kept_where_times_differ():
    days = pd.date_range("2020-01-01", periods=100).strftime("%Y-%m-%d")
    order = np.random.default_rng(0).permutation(100)
    division = split(dataset(days[order]), 0.2, 0.3, seed=5)
    assert [part.size for part in parts_of(division)] == [50, 20, 30]
    assert sorted(order[division.test]) == list(range(70, 100))
    assert "In time: training from '2020-01-01' to '2020-02-19'" in division.notices[0]
    assert "trained on the past, judged on what came after" in division.notices[0]


def test_ties_stay_on_one_side_of_the_nearest_cut():
    division = split(dataset([0] * 50 + [1] * 30 + [2] * 20), 0.2, 0.2)
    assert [part.size for part in parts_of(division)] == [50, 30, 20]
    division = split(dataset([3] * 10))
    assert [part.size for part in parts_of(division)] == [10, 0, 0]
    assert said(division, "No moment in 'when' parts the rows")


def test_groups_that_overlap_in_time_share_a_moment():
    times = np.array([0, 1, 2, 3, 4, 5, 6])
    assert distinct_times(times).tolist() == [0, 1, 2, 3, 4, 5, 6]
    groups = np.array([0, 1, 0, 2, 3, 3, 4])
    assert distinct_times(times, groups).tolist() == [0, 0, 0, 1, 2, 2, 3]
    division = split(dataset(list(range(20)), [0, 1] * 10))
    assert division.train.size == 20
    assert said(division, "without parting a group")


@pytest.mark.parametrize(
    "when",
    [
        ["2020-12-31", "2021-01-01", "2021-01-01 12:00", "2021-03"],
        ["31/12/2020", "01/01/2021", "01/02/2021", "01/03/2021"],
        ["12/31/2020", "01/01/2021", "01/02/2021", "01/13/2021"],
        ["2021-01-01T01:30:00+02:00", "2021-01-01T00:00:00Z", "2021-01-02", "2022"],
        ["9", "10", "11.5", "100"],
        [-3, 0, 2.5, 1e9],
    ],
)
def test_what_is_a_time(when):
    data = dataset(when)
    assert np.all(np.diff(data.times) > 0)
    assert not data.times.flags.writeable
    assert data.feature_columns == ["x"]


@pytest.mark.parametrize(
    "when, words",
    [
        (["2021-01-01", "2021-01-02", "soon", "later"], "row 3 holds 'soon'"),
        (["2021-01-01", "2021-02-30"], "row 2 holds '2021-02-30'"),
        (["2021-01-01", "01/02/2021"], "row 2 holds '01/02/2021'"),
        (["01/02/2021", "02/01/2021"], "day first or month first"),
        (["2021-01-01", None], "none in row 2"),
        ([1.0, np.inf, 2.0], "none in row 2"),
    ],
)
def test_what_is_no_time_is_refused(when, words):
    with refused(words):
        dataset(when)


def test_rows_are_counted_as_in_the_file_and_only_labelled_ones_need_a_time():
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4], "when": ["?", "2020", "2021", "no"]})
    frame["y"] = [None, "a", "b", "a"]
    data = made(frame, roles={"when": "ignore"})
    with refused("row 4 holds 'no'"):
        data.with_roles({"when": "time"})
    frame.loc[3, "when"] = "2022"
    assert made(frame, roles={"when": "time"}).n_samples == 3


def test_one_time_column_that_is_chosen_never_guessed():
    frame = pd.DataFrame({"a": ["2020-01-01", "2020-01-02"] * 9, "x": np.arange(18.0)})
    frame["b"], frame["y"] = frame["a"], ["p", "q"] * 9
    data = make_dataset(frame, "t")
    assert data.times is None
    ordered = data.with_roles({"a": "time"})
    assert ordered.digest != data.digest
    with refused("time should be given once"):
        ordered.with_roles({"b": "time"})


def test_no_row_trains_that_is_not_before_the_test_file():
    data = dataset(list(range(20)))
    later = pd.DataFrame({"x": [0.0, 1.0], "y": [0, 1], "when": [15, 30]})
    division = split(data.with_test(later), 0.2)
    assert division.test.tolist() == [20, 21]
    assert [division.train.size, division.validation.size] == [12, 3]
    assert said(division, "5 rows are in no part: they are not before")
