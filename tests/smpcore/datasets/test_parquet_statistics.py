"""Statistics of all rows of a Parquet file, one row group after the other."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from smpcore import SmpcoreError
from smpcore.datasets import file_statistics
from smpcore.datasets.columns import as_text
from smpcore.datasets.parquet import read_parquet


def flags():
    return np.zeros(1, dtype=np.int64), np.zeros(1)


@pytest.fixture
def frame():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(1e6, 2.0, size=(230, 2)), columns=list("ab"))
    frame.loc[:120, "a"] = np.nan
    frame["b"] = frame["b"].astype(np.float32)
    label = pd.Series(random.choice(["x", "y"], 230, p=[0.8, 0.2]), dtype=object)
    label[5] = None
    return frame.assign(whole=np.arange(230), empty=np.nan, label=label)


def test_they_are_those_of_the_table_in_memory(tmp_path, frame):
    path = tmp_path / "t.parquet"
    frame.to_parquet(path, row_group_size=50)
    stop, progress = flags()
    found = file_statistics(path, "label", stop, progress)
    assert progress[0] == 1 and found.n_rows == 230
    columns = found.columns.set_index("column")
    assert columns["count"].to_dict() == frame.count().to_dict()
    assert columns["missing"].to_dict() == frame.isna().sum().to_dict()
    numbers = frame.drop(columns="label").astype(np.float64)
    for name, expected in (
        ("mean", numbers.mean()),
        ("standard deviation", numbers.std(ddof=0)),
        ("min", numbers.min()),
        ("max", numbers.max()),
    ):
        got = columns.loc[list(numbers), name]
        np.testing.assert_allclose(got, expected, rtol=1e-10)
    assert np.isnan(columns.loc["label", "mean"])
    assert found.class_counts == frame["label"].value_counts().to_dict()


def test_decimals_are_numbers(tmp_path):
    path, prices = tmp_path / "t.parquet", [Decimal("1.5"), None, Decimal("2.5")]
    pd.DataFrame({"price": prices}).to_parquet(path)
    row = file_statistics(path, None, *flags()).columns.iloc[0]
    assert (row["missing"], row["mean"], row["standard deviation"]) == (1, 2.0, 0.5)


@pytest.mark.parametrize(
    ("classes", "names"),
    [
        ([1.0, np.nan, 2.0, 1.0], {"1": 2, "2": 1}),
        ([True, False, True, True], {"True": 3, "False": 1}),
        (pd.to_datetime(["2026-01-02"] * 2), {"2026-01-02 00:00:00.000000": 2}),
        (pd.Categorical(["x", "y", "x"], ["w", "x", "y"]), {"x": 2, "y": 1}),
    ],
    ids=["numbers", "truths", "times", "categories"],
)
def test_classes_are_called_as_in_the_table(tmp_path, classes, names):
    path = tmp_path / "t.parquet"
    pd.Series(classes, name="kind").to_frame().to_parquet(path, row_group_size=2)
    frame, _ = read_parquet(path.read_bytes())
    assert {*names} == {*as_text(frame["kind"].dropna())}
    assert file_statistics(path, "kind", *flags()).class_counts == names


def test_means_too_far_apart_for_a_square_have_an_infinite_deviation(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": np.repeat([1e200, -1e200], 50)}).to_parquet(
        path, row_group_size=50
    )
    row = file_statistics(path, None, *flags()).columns.iloc[0]
    assert row["mean"] == 0 and row["max"] == 1e200
    assert np.isinf(row["standard deviation"])


def test_it_ends_when_it_is_asked_to(tmp_path, frame):
    frame.to_parquet(tmp_path / "t.parquet")
    assert (
        file_statistics(tmp_path / "t.parquet", None, *(np.ones(1), flags()[1])) is None
    )


def test_a_damaged_file_is_refused(tmp_path, frame):
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    data = path.read_bytes()
    path.write_bytes(data[:100] + bytes(1_000) + data[1_100:])
    with pytest.raises(SmpcoreError, match="cut off or damaged"):
        file_statistics(path, None, *flags())
