"""A cell is the same number wherever it is read, and as it is shown and written."""

import io
import math
import re

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpcore import compile_model, quantise, read_table
from smpcore.codegen.targets.python.source import emit_plain_python
from smpcore.datasets import TABLE_WRITERS, as_numbers, plain_number, writers
from smpcore.datasets.cells import parse_cell
from smpcore.datasets.columns import parsed_numbers
from smpcore.datasets.notation import MARKS
from tests.smpcore.codegen.models import random_linear
from tests.smpcore.datasets.cases import refused

NONE = math.nan
CELLS = {
    **{"0": 0.0, "-0": 0.0, "7": 7.0, "+7": 7.0, "007": 7.0, " 3 ": 3.0, "\t3": 3.0},
    **{"1.": 1.0, ".5": 0.5, "-.5": -0.5, "+.5": 0.5, "1.50": 1.5, "\u00a03": 3.0},
    **{"1e3": 1e3, "1E3": 1e3, "1e+3": 1e3, "1e-3": 1e-3, "1.e3": 1e3, ".5e1": 5.0},
    **{"1e-400": 0.0, "1e37": 1e37, "2.5e-7": 2.5e-7},
    **{"12345678901234567890": 12345678901234567890.0},
    **{"1e400": NONE, "-1e400": NONE, "1e38": NONE, "inf": NONE, "-Infinity": NONE},
    **{"1_000": NONE, "1 000": NONE, "1,5": NONE, "1,000": NONE, "1'000": NONE},
    **{"0x10": NONE, "0b1": NONE, "0o7": NONE, "1L": NONE, "1f": NONE, "1d3": NONE},
    **{"True": NONE, "true": NONE, "False": NONE, "yes": NONE, "no": NONE, "t": NONE},
    **{"2024-01-01": NONE, "1/2": NONE, "12:30": NONE, "01.02.2024": NONE},
    **{"1+2": NONE, "--1": NONE, "+-1": NONE, "1-": NONE, "e5": NONE, "1e": NONE},
    **{".": NONE, "-": NONE, "1.2.3": NONE, "5%": NONE, "$5": NONE, "½": NONE},
    **{"٣": NONE, "３": NONE, "1j": NONE, "(1)": NONE, "nil": NONE, "<1": NONE},
}
#: They name something, so that a table keeps them as they are written.
CODES = ("007", "12345678901234567890", "1e3", "1E3", "1e37", "1e38", "1e400")


@pytest.fixture(scope="module")
def exported():
    """What the exported Python makes of the text of a cell: an integer, or missing."""
    quant = quantise(compile_model(random_linear(1, 2, 1, 1.0)), 16)
    module = {}
    exec(emit_plain_python(quant), module)
    return module


@pytest.mark.parametrize("text", CELLS)
def test_a_cell_is_the_same_number_everywhere(exported, text):
    wanted = CELLS[text]
    # In a table: beside a number, so that the column may be one of numbers.
    data = f'x,y\n"{text}",a\n"{text}",b\n1,a\n2,b\n'.encode()
    table = read_table(data, "cells.csv", decimal=".", kinds={"x": "number"})
    np.testing.assert_array_equal(float(table.frame["x"].iloc[0]), wanted)
    # In new rows, as Apply reads them and as an emulator does.
    column = pd.Series([text], dtype="str")
    np.testing.assert_array_equal(as_numbers(column)[0], wanted)
    # In generated code.
    assert exported["_count"](text, 0) == exported["_count"](wanted, 0)


def test_a_column_of_texts_is_numbers_only_if_each_cell_is():
    for text, wanted in CELLS.items():
        data = f'x,y\n"{text}",a\n"4",b\n'.encode()
        read = read_table(data, "cells.csv", decimal=".")
        is_mark = text.strip() in MARKS  # of a missing value, beside a number
        number = is_mark or (not math.isnan(parse_cell(text)) and text not in CODES)
        assert (read.kinds["x"] == "number") == number, (text, wanted)


SIGNS = "0123456789+-.eEinftyINFTY\u0130 \t\v\x1c\x85\u2003x"


@given(st.lists(st.text(SIGNS), min_size=1))
def test_a_column_is_read_as_its_cells_are(texts):
    found = parsed_numbers(pd.Series(texts, dtype="str"))
    np.testing.assert_array_equal(found, [parse_cell(text) for text in texts])


def test_a_truth_value_is_no_number():
    mixed = pd.Series([True, 3], dtype=object)
    np.testing.assert_array_equal(as_numbers(mixed), [NONE, 3.0])


KNOWN = [
    *((1745.3, 3, "1745"), (-1_234_567.8, 3, "-1234568"), (12.3456, 4, "12.35")),
    *((0.00012345, 3, "0.000123"), (1.5e-7, 3, "1.5e-07"), (999.96, 4, "1000")),
    *((0.99999, 3, "1"), (-0.0, 4, "0"), (np.float32(2), 4, "2")),
    *((np.inf, 4, "inf"), (1e15, 4, "1e+15")),
]


@pytest.mark.parametrize(("value", "digits", "text"), KNOWN)
def test_known_numbers(value, digits, text):
    assert plain_number(value, digits) == text


@given(
    st.floats(-1e14, 1e14).filter(lambda v: v == 0 or abs(v) > 1e-300),
    st.integers(1, 8),
)
def test_it_is_the_number_to_its_digits(value, digits):
    back = float(plain_number(value, digits))
    assert abs(back - value) <= 0.5001 * 10.0 ** (1 - digits) * abs(value)
    if abs(value) >= 1:
        assert "e" not in plain_number(value, digits)
        assert abs(back - value) <= 0.5


HOSTILE = ["=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", "fine", "#N/A", None]


def frame():
    table = pd.DataFrame({"=cmd": pd.Series(HOSTILE, dtype="str"), "n": np.arange(9)})
    return table.assign(x=[0.5, np.nan, -1.5, 1e-9, 12345.678, 0, 1, 2, 3])


def write(title, table):
    return io.BytesIO(TABLE_WRITERS[title][1](table))


def test_csv_has_no_formula():
    back = pd.read_csv(write("CSV", frame()), keep_default_na=False, na_values=[""])
    assert list(back) == ["'=cmd", "n", "x"]
    quoted = ["'" + re.sub(r"([\t\r])=", r"\1'=", text) for text in HOSTILE[:6]]
    assert back["'=cmd"].dropna().tolist() == [*quoted, "fine", "#N/A"]
    pd.testing.assert_series_equal(back["x"], frame()["x"])


def test_csv_has_no_formula_where_a_spreadsheet_parts_cells_at_another_sign():
    """Those of many countries part them at semicolons, also within quotation marks."""
    texts = {"a;=1+1": "a;'=1+1", "b\t@SUM(A1)": "b\t'@SUM(A1)", "c;d; -1": "c;d; -1"}
    back = pd.read_csv(write("CSV", pd.DataFrame({"n": [1, 2, 3], "u;+1": [*texts]})))
    assert list(back) == ["n", "u;'+1"]
    assert back["u;'+1"].tolist() == [*texts.values()]


@pytest.mark.parametrize("sign", "=+-@＝＋－＠")
def test_csv_has_no_formula_at_the_start_of_a_line_or_in_full_width(sign):
    formula = f"{sign}cmd|' /C calc'!A0"
    texts = [formula, f"\n{formula}", f"a\n{formula}", f"a\r\n{formula}", f";{formula}"]
    data = TABLE_WRITERS["CSV"][1](pd.DataFrame({f"x\n{sign}": texts, "n": 1}))
    text = data.decode("utf-8")
    assert not re.search(rf"(^|[\r\n;\t,\"]){re.escape(sign)}", text)
    assert text.count(f"'{sign}") == 6


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
    with refused(r"holds at most 7 .*choose CSV or Parquet"):
        write("Excel", frame())
