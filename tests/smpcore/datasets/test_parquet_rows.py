"""A Parquet file as an array that stays in its file, and what is refused."""

import pickle
import re

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from smpcore.datasets import parquet_rows
from smpcore.datasets.parquet_rows import ParquetRows
from smpcore.errors import DatasetError

NAMES = ["a", "b", "c"]


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(1000, 3))


@pytest.fixture
def saved(tmp_path, table):
    frame = pd.DataFrame(table, columns=NAMES).assign(kind="text")
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=70)
    return tmp_path / "rows.parquet"


def test_rows_are_those_of_the_table(saved, table):
    rows = ParquetRows(saved, NAMES)
    assert (rows.shape, rows.ndim, rows.dtype) == ((1000, 3), 2, np.float64)
    for part in (slice(0, 5), slice(60, 300), slice(995, 2000), slice(None), slice(0)):
        np.testing.assert_array_equal(rows[part], table[part])
    some = np.array([0, 3, 69, 70, 70, 500, 999])
    np.testing.assert_array_equal(rows[some], table[some])
    np.testing.assert_array_equal(rows[50:200, [2, 0]], table[50:200, [2, 0]])
    np.testing.assert_array_equal(np.asarray(rows), table)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(rows))[:9], table[:9])
    assert rows.frame(slice(2)).columns.tolist() == NAMES


def test_columns_come_in_the_order_asked_for(saved, table):
    np.testing.assert_array_equal(ParquetRows(saved, ["c", "a"])[:], table[:, [2, 0]])


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64, np.uint8])
def test_other_numbers_become_float64(tmp_path, kind):
    frame = pd.DataFrame({"a": np.arange(100).astype(kind)})
    frame.to_parquet(tmp_path / "rows.parquet")
    found = ParquetRows(tmp_path / "rows.parquet")[:]
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found[:, 0], np.arange(100))


def test_rows_that_follow_each_other_decode_each_group_once(saved, monkeypatch):
    rows, read = ParquetRows(saved, NAMES), []
    usual = pq.ParquetFile.read_row_group

    def counted(file, group, **options):
        read.append(group)
        return usual(file, group, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    for first in range(0, 1000, 16):
        rows[first : first + 16]
    assert read == list(range(15))


def written(folder, **columns):
    pd.DataFrame(columns).to_parquet(folder / "rows.parquet", row_group_size=2)
    return folder / "rows.parquet"


REFUSED = {
    "no such column": (["a", "d"], "has no column .*d.*; it has .*: name some of"),
    "text": (
        ["t"],
        "Column 't' of rows.parquet holds .*string and should hold numbers",
    ),
    "a null": (["b"], "Column 'b' of rows.parquet has no value in row 3; leave such"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_column_is_refused_with_its_place(tmp_path, case):
    columns, words = REFUSED[case]
    lacking = pd.array([1, 2, 3, None], dtype="Int64")
    path = written(tmp_path, a=[1.0, 2.0, 3.0, 4.0], b=lacking, t=list("wxyz"))
    with pytest.raises(DatasetError, match=words):
        ParquetRows(path, columns)[:]


def test_a_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "rows.parquet").write_bytes(b"a,b\n1,2\n")
    for name in ("rows.parquet", "nowhere.parquet"):
        with pytest.raises(DatasetError, match=f"{name} cannot be read as a Parquet"):
            ParquetRows(tmp_path / name)
    with pytest.raises(DatasetError, match="has no rows; choose one with rows"):
        ParquetRows(written(tmp_path, a=np.empty(0)))


def test_a_damaged_row_group_is_refused_when_it_is_read(saved):
    data = bytearray(saved.read_bytes())
    data[4 : len(data) // 2] = bytes(len(data) // 2 - 4)
    saved.write_bytes(data)
    with pytest.raises(DatasetError, match="Row 0 and those after it cannot be read"):
        ParquetRows(saved, NAMES)[:10]


def test_what_would_not_fit_into_memory_is_refused(saved, monkeypatch):
    monkeypatch.setattr(parquet_rows, "MOST_ARRAY_BYTES", 2000)
    rows = ParquetRows(saved, NAMES)
    with pytest.raises(DatasetError, match=r"1,000 rows of rows\.parquet would take"):
        np.asarray(rows)
    monkeypatch.setattr(parquet_rows, "MOST_ARRAY_BYTES", 1000)
    words = re.escape("A row group of rows.parquet has 70 rows")
    with pytest.raises(DatasetError, match=words + ".*row_group_size=100_000"):
        ParquetRows(saved, NAMES)


def test_rows_out_of_order_are_refused(saved):
    rows = ParquetRows(saved, NAMES)
    with pytest.raises(DatasetError, match="ascending order, from 0 on; sort the row"):
        rows[np.array([5, 3])]
    with pytest.raises(DatasetError, match=r"in steps of 2 .* use a step of 1"):
        rows[::2]
