"""Dataset: frozen, hashed by every byte, with roles applied without loss."""

import pickle
import time
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpcore.datasets import (
    MOST_FORBIDDEN,
    Dataset,
    forbid,
    forbiddable,
    in_place,
    load_dataset,
    prepare,
    read_table,
    split,
)
from tests.smpcore.datasets.cases import made, refused, said

ROLES = {"a": "feature", "b": "feature", "y": "target"}


def table(a=(1.0, 2.5, np.nan), b=("u", None, "v"), y=("p", "q", "p")):
    return pd.DataFrame({"a": list(a), "b": list(b), "y": list(y)})


def dataset(frame=None, **changes):
    fields = {"name": "t", "roles": ROLES, "task": "classification", **changes}
    return Dataset(frame=table() if frame is None else frame, **fields)


def test_fields_are_derived_from_the_table():
    data = dataset()
    assert (data.n_samples, data.sample_shape) == (3, (2,))
    assert (data.feature_columns, data.target) == (["a", "b"], "y")
    assert dict(data.kinds) == {"a": "number", "b": "category", "y": "category"}
    assert data.y.tolist() == ["p", "q", "p"]
    assert data.y_encoded.tolist() == [0, 1, 0]
    assert data.classes.tolist() == ["p", "q"] and data.groups is None
    assert "3 rows, 2 features" in repr(data)


def test_nothing_in_it_can_be_changed():
    source = table()
    data = dataset(source)
    digest = data.digest
    with pytest.raises(FrozenInstanceError, match="task"):
        data.task = "regression"
    with pytest.raises(TypeError, match="item assignment"):
        data.roles["a"] = "ignore"
    for array in (data.y, data.y_encoded, data.classes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    source.loc[0, "a"] = 99
    for mine in (data.frame, data.whole):
        mine.loc[0, "a"] = 99
        mine["b"] = 99
    with pytest.raises(ValueError, match="read-only"):
        data.frame["a"].to_numpy()[0] = 99
    assert data.frame["a"][0] == 1.0
    assert replace(data).digest == digest


@pytest.mark.parametrize("key", ["iris", "digits", "diabetes", "moons"])
def test_pickle_and_replace_keep_everything(key):
    data = load_dataset(key)
    for copy in (pickle.loads(pickle.dumps(data)), replace(data, name="other")):
        assert copy.digest == data.digest
        assert copy.sample_shape == data.sample_shape
        pd.testing.assert_frame_equal(copy.frame, data.frame)


@pytest.mark.parametrize("rows", ["1,u,p\n2,,q\n", "1.5,u,p\nw,v,q\n", "1,u,p\n2,v,\n"])
def test_a_pickle_takes_each_column_once(rows):
    data = read_table(("a,b,y\n" + rows + "3,u,q\n" * 40).encode(), "t.csv")
    copy = pickle.loads(pickle.dumps(data))
    assert copy.n_bytes <= data.n_bytes
    pd.testing.assert_frame_equal(copy.whole, data.whole)
    digests = {one.with_roles({"b": "ignore"}).digest for one in (copy, data)}
    assert len(digests) == 1


NAMED = {"c": "feature", "b": "feature", "y": "target"}
CHANGES = {
    "value": lambda d: dataset(table(a=(1.0, 2.6, np.nan))),
    "missing": lambda d: dataset(table(a=(1.0, 2.5, 3.0))),
    "text": lambda d: dataset(table(b=("u", None, "w"))),
    "missing text": lambda d: dataset(table(b=("u", "", "v"))),
    "label": lambda d: dataset(table(y=("p", "q", "q"))),
    "order": lambda d: dataset(d.frame.iloc[::-1]),
    "fewer rows": lambda d: dataset(d.frame.iloc[:2]),
    "column order": lambda d: dataset(d.frame[["b", "a", "y"]]),
    "name": lambda d: dataset(d.frame.rename(columns={"a": "c"}), roles=NAMED),
    "roles": lambda d: d.with_roles({"a": "ignore"}),
    "kinds": lambda d: d.with_roles(kinds={"a": "category"}),
    "test rows": lambda d: replace(d, test_rows=np.array([2])),
    "other test rows": lambda d: replace(d, test_rows=np.array([1])),
    "sample shape": lambda d: replace(d, sample_shape=(2, 1)),
}


def test_digest_changes_with_every_content():
    data = dataset()
    digests = {name: change(data).digest for name, change in CHANGES.items()}
    assert data.digest not in digests.values()
    assert len(set(digests.values())) == len(digests)
    same = dataset(source="elsewhere", notices=("read",), name="other", private=True)
    assert data.digest == same.digest


def test_digest_tells_numbers_from_text_and_cells_from_their_joint():
    cells = ["ab", "c"], ["a", "bc"], ["1", "2"], [1, 2]
    frames = [pd.DataFrame({"a": two, "y": ["p", "q"]}) for two in cells]
    roles = {"a": "feature", "y": "target"}
    assert len({dataset(frame, roles=roles).digest for frame in frames}) == 4


numbers = st.floats(width=64, allow_infinity=False)
texts = st.one_of(st.none(), st.text(max_size=6).filter(lambda t: "\0" not in t))


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(st.tuples(numbers, texts, st.sampled_from("pqr")), min_size=1),
    data=st.data(),
)
def test_digest_changes_if_and_only_if_a_cell_changes(rows, data):
    frame = pd.DataFrame(rows, columns=["a", "b", "y"])
    before = dataset(frame)
    assert dataset(frame.copy()).digest == before.digest
    row = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.sampled_from([0, 1]))
    value = data.draw(numbers if column == 0 else texts)
    changed = [list(cells) for cells in rows]
    changed[row][column] = value
    after = dataset(pd.DataFrame(changed, columns=["a", "b", "y"]))
    old, new = (one.frame.iloc[row, column] for one in (before, after))
    same = repr(old) == repr(new)  # 0.0 and -0.0 are two numbers
    # A column of nothing but missing values has no type of its own.
    typed = [frame["b"].notna().any(), after.frame["b"].notna().any()]
    if all(typed):
        assert (after.digest == before.digest) == same


GROUPS = {"a": "group", "b": "group", "y": "target"}
REFUSED = [
    ({"roles": {**ROLES, "y": "ignore"}}, "No column has the role target"),
    ({"roles": {**ROLES, "a": "target"}}, "2 columns have it"),
    ({"roles": {**ROLES, "a": "label"}}, "should be one of feature"),
    ({"roles": {**ROLES, "z": "feature"}}, "'z', which the table"),
    ({"roles": {"a": "feature", "y": "target"}}, "'b' are absent"),
    ({"roles": GROUPS}, "role group should be given once"),
    ({"kinds": dict.fromkeys("aby", "category")}, "stored"),
    ({"frame": table(y=("p", None, "q"))}, "a value in every row"),
    ({"frame": table().set_axis(["a", "a", "y"], axis=1)}, "different texts"),
]


@pytest.mark.parametrize(("changes", "words"), REFUSED)
def test_refused(changes, words):
    with refused(words):
        dataset(**changes)


def test_labels_are_whole_numbers_text_or_real_numbers():
    frame = table(y=(2.0, 0.0, 2.0))
    assert dataset(frame).y.tolist() == [2, 0, 2]
    assert dataset(frame).y.dtype == np.int64
    assert dataset(frame, task="regression").y.dtype == np.float64
    assert dataset(frame, task="regression").classes is None
    assert dataset(table(y=(0.5, 1.0, 0.5))).y.tolist() == ["0.5", "1", "0.5"]


def test_a_long_label_does_not_fill_the_memory():
    frame = table(y=("p", "x" * 20_000_000, "p"))
    with refused("should hold short class labels"):
        _ = dataset(frame).y


@pytest.mark.parametrize(("first", "n"), [("u", 3), (None, 2)])
def test_groups_are_numbered_and_rows_without_a_group_are_one(first, n):
    roles = {"a": "feature", "b": "group", "y": "target"}
    data = dataset(table(b=(first, None, "v")), roles=roles)
    assert len(set(data.groups)) == n


def wild():
    columns = {
        "a": ["1.5", "oops", "2.5", "3.5"],
        "b": [1.0, np.inf, 3.0, 1e38],
        "y": ["p", "q", None, "p"],
        "z": [1.0, 2.0, 3.0, np.nan],
    }
    return made(columns, kinds={"a": "number"})


def test_rows_without_a_target_come_back_with_another_target():
    data = wild()
    assert data.n_samples == 3
    assert said(data, "1 of 4 rows have no value of the target 'y'")
    other = data.with_roles({"z": "target"}, task="regression")
    assert other.roles["y"] == "feature" and other.y.tolist() == [1.0, 2.0, 3.0]
    again = other.with_roles({"y": "target"})
    assert (again.digest, again.task) == (data.digest, "classification")


def test_words_and_enormous_numbers_are_missing_and_words_come_back_as_a_category():
    data = wild()
    assert np.isnan(data.frame["a"][1])
    assert said(data, "Column 'a' holds text instead of numbers in row 2 ('oops');")
    assert data.with_roles(kinds={"a": "category"}).frame["a"][1] == "oops"
    assert data.frame["b"].isna().tolist() == [False, True, True]
    words = "'b' is infinite or beyond 1e+37, too large to compute with, in row 2"
    assert said(data, words)


def test_constant_columns_are_said():
    data = made({"a": [1, 1], "b": [1, 2], "y": ["p", "q"]})
    assert said(data, "nothing to learn from: 'a'")


def first_file():
    columns = {"a": [1.0, 2, 3], "b": ["u", "v", "u"], "y": [0, 1, 0]}
    return made(columns, kinds={"y": "number"})


def with_second(data=None, **columns):
    return (data or first_file()).with_test(pd.DataFrame(columns))


def test_a_second_file_stands_last_and_is_the_test_part():
    data = with_second(y=[1, 0], b=["v", "w"], more=[1, 2], a=[5, 6])
    assert data.private
    assert data.test_rows.tolist() == [3, 4]
    assert data.frame["a"].tolist() == [1, 2, 3, 5, 6]
    assert said(data, "not used, because not in the data: 'more'")
    assert said(data, "column 'b' has values that the data do not have: 'w'")
    iris = load_dataset("iris")
    both = iris.with_test(iris.frame.iloc[:5])
    assert both.test_rows.tolist() == list(range(150, 155))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"A": [1], "b": ["u"], "y": [1]}, r"no column 'a'.*it has 'A', 'b', 'y'"),
        ({"a": [], "b": [], "y": []}, "test file has no rows"),
    ],
)
def test_a_second_file_of_other_columns_or_no_rows_is_refused(columns, words):
    with refused(words):
        with_second(**columns)


def test_new_classes_and_words_of_a_second_file_are_said():
    data = with_second(a=["x", "2"], b=["u", "u"], y=[7, None])
    assert data.test_rows.tolist() == [3]
    words = "Test file: Column 'a' holds text instead of numbers in row 1"
    assert said(data, words) and said(data, "'7'; no model can predict them")


def test_a_second_test_file_replaces_the_first():
    once = with_second(a=[5.0], b=["u"], y=[1])
    twice = with_second(with_second(a=[5.0], b=["w"], y=[1]), a=[5.0], b=["u"], y=[1])
    assert (twice.digest, twice.notices) == (once.digest, once.notices)


def test_roles_can_change_after_a_second_file():
    data = with_second(a=[5.0, 6.0], b=["u", None], y=[1, 0])
    data = data.with_roles({"b": "target"})
    assert data.y.tolist() == ["u", "v", "u", "u"]
    assert data.test_rows.tolist() == [3]


def test_drawn_points_replace_the_rows():
    moons = load_dataset("moons")
    drawn = moons.with_points(np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([1, 0]))
    assert drawn.private and drawn.open_test
    assert drawn.y.tolist() == [1, 0]
    assert drawn.frame["x2"].tolist() == [1.0, 3.0]
    assert drawn.digest != moons.digest
    empty = moons.with_points(np.empty((0, 2)), np.array([], np.int64))
    assert empty.n_samples == empty.classes.size == 0


def test_points_are_drawn_on_two_numbers_only():
    with refused("two features that are numbers"):
        load_dataset("iris").with_points(np.zeros((1, 2)), np.array(["setosa"]))
    iris = load_dataset("iris")
    names, labels = iris.feature_columns, np.array(["setosa", "virginica"])
    two = iris.with_roles(dict.fromkeys(names[2:], "ignore"))
    drawn = two.with_points(np.ones((2, 2)), labels)
    assert list(drawn.frame) == [*names[:2], "class"]


def test_memory_counts_the_rows_left_out():
    data = wild()
    assert data.n_bytes > replace(data, origin=None).n_bytes > 0


def test_memory_of_ten_thousand_columns_is_counted_quickly():
    frame = pd.DataFrame(np.ones((20, 10_000))).add_prefix("c").assign(y=[*"ab"] * 10)
    data = read_table(frame.to_csv(index=False).encode(), "t.csv")
    before = time.process_time()
    n_bytes = data.n_bytes
    assert time.process_time() - before < 0.1
    numbers = 20 * 10_000 * data.frame["c0"].dtype.itemsize
    assert numbers <= n_bytes <= 2 * numbers + 2_000


def test_a_number_to_predict_is_cut_at_the_mean_of_all_rows():
    dataset = load_dataset("diabetes")
    cut = dataset.two_classes()
    y = dataset.y
    assert cut.task == "classification"
    assert (cut.y == np.where(y < y.mean(), "P", "N")).all()
    assert cut.digest not in (dataset.digest, load_dataset("iris").digest)
    assert cut.digest == dataset.two_classes().digest
    assert f"below {y.mean():.6g}" in cut.notices[-1]
    assert dataset.task == "regression"
    with refused("should be a number to be cut"):
        cut.two_classes()


def test_a_table_of_two_classes_can_have_other_roles():
    table = made({"a": [1.5, 2, 3, 4], "b": list("uvuv"), "y": [0.5, 1, 2, 9]})
    other = table.two_classes().with_roles({"a": "ignore"})
    assert (other.feature_columns, other.y.tolist()) == (["b"], ["P", "P", "P", "N"])


def test_rows_are_numbered_as_in_the_file():
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4, 5], "y": ["p", None, "q", None, "q"]})
    dataset = made(frame)
    assert dataset.row_numbers(np.arange(3)).tolist() == [1, 3, 5]
    again = pickle.loads(pickle.dumps(forbid(dataset, [])))
    assert again.row_numbers([2]).tolist() == [5]
    assert dataset.with_roles({"y": "feature", "a": "target"}).row_numbers(4) == 5
    number = made(frame.assign(y=[1, None, 2, 3, 4]))
    assert number.two_classes().row_numbers([1, 3]).tolist() == [3, 5]
    both = dataset.with_test(pd.DataFrame({"a": [6.0, 7.0], "y": [None, "p"]}))
    assert both.row_numbers(both.test_rows).tolist() == [7]


@pytest.fixture
def mixed():
    """A table with a category, a hole and a group."""
    columns = {
        "age": [1.0, np.nan, 3.0, 4.0, 5.0, 6.0],
        "town": list("abcabc"),
        "height": [2.0, 1.0, 4.0, 3.0, 6.0, 5.0],
        "id": list("ppqqrs"),
        "y": list("njnjnj"),
    }
    return made(columns, roles={"id": "group"})


def test_a_category_goes_with_all_its_levels(mixed):
    assert forbiddable(mixed) == {n: [n] for n in ("age", "town", "height")}
    without = forbid(mixed, ["town"])
    assert prepare(without, np.arange(6)).feature_names == ("age", "height")
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
    for again in (forbid(without, ()), without.with_roles(mixed.roles)):
        assert (again.digest, again.forbidden) == (mixed.digest, ())


def test_it_is_what_ignoring_the_column_is(mixed):
    preparation = prepare(forbid(mixed, ["age"]), np.arange(6))
    ignored = prepare(mixed.with_roles({"age": "ignore"}), np.arange(6))
    assert preparation.key == ignored.key


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
    one = made(series.frame[[*first, series.target]], series.target)
    assert forbid(one, first[:1]).feature_columns == first[1:]


@pytest.mark.parametrize(
    "names, match",
    [
        (["size"], "'t' has no feature 'size' to forbid; it has 'age'"),
        (["id"], "no feature 'id' to forbid"),
        (["y"], "no feature 'y' to forbid"),
        (["age", "town", "height"], "allow at least one of them"),
    ],
)
def test_what_cannot_be_forbidden(mixed, names, match):
    with refused(match):
        forbid(mixed, names)


def test_too_many():
    frame = pd.DataFrame(np.eye(MOST_FORBIDDEN + 3)).rename(columns="c{}".format)
    dataset = made(frame.assign(y=["a"] * 50 + ["b"] * 53))
    with refused("at most 100 can be"):
        forbid(dataset, dataset.feature_columns[: MOST_FORBIDDEN + 1])
