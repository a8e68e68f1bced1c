"""Tables as files: every value comes back, and no text becomes a formula."""

import io

import numpy as np
import openpyxl
import pandas as pd
import pytest

from smpcore.datasets import TABLE_WRITERS, writers
from smpcore.errors import DatasetError

HOSTILE = ["=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", "fine", "#N/A", None]


def frame():
    table = pd.DataFrame({"=cmd": pd.Series(HOSTILE, dtype="str"), "n": np.arange(9)})
    return table.assign(x=[0.5, np.nan, -1.5, 1e-9, 12345.678, 0, 1, 2, 3])


def write(title, table):
    return io.BytesIO(TABLE_WRITERS[title][1](table))


def test_csv_has_no_formula():
    back = pd.read_csv(write("CSV", frame()), keep_default_na=False, na_values=[""])
    assert list(back) == ["'=cmd", "n", "x"]
    quoted = [f"'{text}" for text in HOSTILE[:6]]
    assert back["'=cmd"].dropna().tolist() == [*quoted, "fine", "#N/A"]
    pd.testing.assert_series_equal(back["x"], frame()["x"])


def test_parquet_is_the_table_itself():
    pd.testing.assert_frame_equal(pd.read_parquet(write("Parquet", frame())), frame())


def test_every_text_of_a_sheet_is_text():
    sheet = openpyxl.load_workbook(write("Excel", frame())).active
    cells = [*sheet.iter_rows()]
    assert [c.value for c in cells[0]] == ["=cmd", "n", "x"]
    for row in cells:
        for cell in row:
            assert cell.data_type in ("s", "n")
            harmless = cell.data_type == "n" or cell.value in ("fine", "n", "x")
            assert cell.quotePrefix != harmless
    values = [row[0].value for row in cells[1:]]
    # A carriage return is a line break of XML.
    assert values == [text and text.replace("\r", "\n") for text in HOSTILE]
    numbers = pd.DataFrame([[c.value for c in row[1:]] for row in cells[1:]])
    np.testing.assert_array_equal(numbers.to_numpy(float), frame()[["n", "x"]])


def test_a_sheet_holds_what_excel_cannot():
    long, odd, number = "a" * 40_000, "a\x00b", 12_345_678_901_234_567
    table = pd.DataFrame({"a": [long, odd], "id": [number, 1], "x": [np.inf, 0]})
    sheet = openpyxl.load_workbook(write("Excel", table.astype({"a": object}))).active
    (first, last) = [*sheet.iter_rows(min_row=2, values_only=True)]
    assert first == (long[:32_767], str(number), "inf")
    assert last == ("a\ufffdb", 1, 0)


def test_too_many_rows_for_a_sheet_are_a_sentence(monkeypatch):
    monkeypatch.setattr(writers, "_MOST_ROWS", 7)
    with pytest.raises(DatasetError, match=r"holds at most 7 .*choose CSV or Parquet"):
        write("Excel", frame())
