"""Columns of other rows beside those of training, by pandas."""

import numpy as np
import pandas as pd
import pytest

from smpcore.datasets import make_dataset, prepare
from smpcore.evaluation import column_drift


def tables(n=300, seed=0):
    rng = np.random.default_rng(seed)
    old = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "dose": rng.normal(1, 0.1, n),
            "site": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]),
            "same": np.full(n, 3.0) + rng.integers(2, size=n),
            "y": rng.choice(["no", "yes"], n),
        }
    )
    new = old.sample(200, random_state=1).reset_index(drop=True)
    new["age"] += 12
    new.loc[:49, "age"] = np.nan
    new["site"] = rng.choice(["a", "b", "new"], 200, p=[0.2, 0.3, 0.5])
    new.loc[:9, "site"] = None
    new["dose"] = np.nan
    return old, new


def prepared(frame):
    dataset = make_dataset(frame, "t", roles={"y": "target"})
    return prepare(dataset, np.arange(len(frame)))


def drifted():
    old, new = tables()
    preparation = prepared(old)
    lines = column_drift(old, new, preparation.inputs)
    return old, new, lines


def test_numbers_have_a_standardised_difference():
    old, new, lines = drifted()
    line = lines.set_index("column").loc["age"]
    gap = new["age"].mean() - old["age"].mean()
    size = gap / np.sqrt((old["age"].var(ddof=0) + new["age"].var(ddof=0)) / 2)
    assert line["size"] == pytest.approx(size)
    assert line["difference"] == f"{size:+.2f} SD"
    for side, of in (("training", old["age"]), ("file", new["age"])):
        assert line[side] == f"{of.mean():.4g} (median {of.median():.4g})"
    assert line["missing in file"] == 0.25 and line["missing in training"] == 0


def test_categories_have_the_largest_change_of_a_share():
    old, new, lines = drifted()
    line = lines.set_index("column").loc["site"]
    before, after = (t["site"].value_counts(normalize=True) for t in (old, new))
    assert line["size"] == pytest.approx(after["new"])
    assert line["difference"] == f"new: 0.0 % to {100 * after['new']:.1f} %"
    assert line["training"] == f"a ({100 * before['a']:.1f} %)"
    assert line["file"] == f"a ({100 * after['a']:.1f} %)"
    assert line["missing in file"] == pytest.approx(0.05)


def test_the_largest_is_first_and_a_column_without_values_last():
    _, _, lines = drifted()
    assert lines["column"].tolist() == ["age", "site", "same", "dose"]
    last = lines.iloc[-1]
    assert np.isnan(last["size"]) and last["file"] == "no values"
    assert last["missing in file"] == 1


def test_weights_count_as_that_many_equal_rows():
    old, new = tables()
    columns = prepared(old).inputs
    draw = np.random.default_rng(5)
    counts = [draw.integers(0, 4, len(table)) for table in (old, new)]
    weighted = column_drift(old, new, columns, counts)
    repeated = (
        table.loc[np.repeat(table.index, count)].reset_index(drop=True)
        for table, count in zip((old, new), counts, strict=True)
    )
    pd.testing.assert_frame_equal(weighted, column_drift(*repeated, columns))
    assert not weighted.equals(column_drift(old, new, columns))


def test_constants_differ_or_do_not():
    old, _ = tables()
    preparation = prepared(old)
    columns = [c for c in preparation.inputs if c.kind == "number"]
    alike = pd.DataFrame({c.name: np.ones(5) for c in columns})
    assert (column_drift(alike, alike, columns)["difference"] == "none").all()
    other = column_drift(alike, alike + 1, columns)
    assert (other["difference"] == "another constant").all()
