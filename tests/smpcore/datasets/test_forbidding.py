"""Features that are forbidden: which there are, and what is left without them."""

import numpy as np
import pandas as pd
import pytest

from smpcore import load_dataset, prepare, split
from smpcore.datasets import MOST_FORBIDDEN, forbid, forbiddable, in_place, make_dataset
from smpcore.errors import DatasetError


@pytest.fixture
def mixed():
    """A table with a category, a hole and a group."""
    frame = pd.DataFrame(
        {
            "age": [1.0, np.nan, 3.0, 4.0, 5.0, 6.0],
            "town": ["a", "b", "c", "a", "b", "c"],
            "height": [2.0, 1.0, 4.0, 3.0, 6.0, 5.0],
            "id": ["p", "p", "q", "q", "r", "s"],
            "y": ["n", "j", "n", "j", "n", "j"],
        }
    )
    return make_dataset(frame, "people", roles={"y": "target", "id": "group"})


def test_a_category_goes_with_all_its_levels(mixed):
    assert forbiddable(mixed) == {n: [n] for n in ("age", "town", "height")}
    without = forbid(mixed, ["town"])
    preparation = prepare(without, np.arange(6))
    assert preparation.feature_names == ("age", "height")
    assert prepare(mixed, np.arange(6)).n_features == 5


def test_rows_targets_and_groups_stay(mixed):
    without = forbid(mixed, ["age"])
    assert np.array_equal(without.y, mixed.y)
    assert np.array_equal(without.groups, mixed.groups)
    assert split(without).key == split(mixed).key
    assert without.digest != mixed.digest
    assert forbid(mixed, ["town"]).digest != without.digest


def test_what_was_forbidden_is_allowed_again(mixed):
    without = forbid(mixed, ["age", "town"])
    assert forbid(without, ["height"]).feature_columns == ["age", "town"]
    again = forbid(without, ())
    assert (again.digest, again.forbidden) == (mixed.digest, ())


def test_a_missing_value_of_it_does_not_count(mixed):
    preparation = prepare(forbid(mixed, ["age"]), np.arange(6))
    assert list(preparation.report(mixed.frame)["missing"]) == [0, 0]


def test_it_is_what_ignoring_the_column_is(mixed):
    ignored = prepare(mixed.with_roles({"age": "ignore"}), np.arange(6))
    assert prepare(forbid(mixed, ["age"]), np.arange(6)).key == ignored.key


def test_a_picture_keeps_its_shape_and_shows_a_gap():
    digits = load_dataset("digits")
    columns = digits.feature_columns
    without = forbid(digits, columns[10:12])
    assert without.sample_shape == digits.sample_shape == (8, 8)
    X = prepare(without, np.arange(100)).transform(without.frame)
    whole = in_place(without, X[:3])
    assert whole.shape == (3, 64)
    assert np.flatnonzero(np.isnan(whole).any(axis=0)).tolist() == [10, 11]
    X_all = prepare(digits, np.arange(100)).transform(digits.frame)
    kept = np.setdiff1d(np.arange(64), [10, 11])
    assert np.array_equal(whole[:, kept], X_all[:3, kept])
    assert not in_place(without, X[:3], 0.0)[:, 10:12].any()
    assert in_place(digits, X_all) is X_all


def test_of_series_a_whole_channel_goes():
    series = load_dataset("series")
    names = series.channels
    assert list(forbiddable(series)) == names
    without = forbid(series, names[1:3])
    n_times = series.sample_shape[1]
    assert len(without.feature_columns) == (len(names) - 2) * n_times
    assert without.sample_shape == series.sample_shape
    assert without.channels == names


def test_of_one_channel_each_moment_can_go():
    series = load_dataset("series")
    first = series.feature_columns[: series.sample_shape[1]]
    frame = series.frame[[*first, series.target]]
    roles = {series.target: "target"}
    one = make_dataset(frame, "one", roles=roles)
    assert forbid(one, first[:1]).feature_columns == first[1:]


@pytest.mark.parametrize(
    "names, match",
    [
        (["size"], "'people' has no feature 'size' to forbid; it has 'age'"),
        (["id"], "no feature 'id' to forbid"),
        (["y"], "no feature 'y' to forbid"),
        (["age", "town", "height"], "allow at least one of them"),
    ],
)
def test_what_cannot_be_forbidden(mixed, names, match):
    with pytest.raises(DatasetError, match=match):
        forbid(mixed, names)


def test_too_many():
    frame = pd.DataFrame(np.eye(MOST_FORBIDDEN + 3)).rename(columns="c{}".format)
    dataset = make_dataset(frame.assign(y=["a"] * 50 + ["b"] * 53), "wide")
    with pytest.raises(DatasetError, match="at most 100 can be"):
        forbid(dataset, dataset.feature_columns[: MOST_FORBIDDEN + 1])


def test_another_role_ends_it(mixed):
    without = forbid(mixed, ["age"])
    assert without.with_roles({"age": "feature"}).forbidden == ()
