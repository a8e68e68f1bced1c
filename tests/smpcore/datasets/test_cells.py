"""A cell is the same number wherever it is read."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpcore import compile_model, quantise, read_table
from smpcore.codegen.inputs import _number
from smpcore.codegen.targets.python.source import emit_plain_python
from smpcore.datasets import as_numbers
from smpcore.datasets.cells import parse_cell
from smpcore.datasets.columns import parsed_numbers
from tests.smpcore.codegen.random_models import random_linear

NONE = math.nan
CELLS = {
    **{"0": 0.0, "-0": 0.0, "7": 7.0, "+7": 7.0, "007": 7.0, " 3 ": 3.0, "\t3": 3.0},
    **{"1.": 1.0, ".5": 0.5, "-.5": -0.5, "+.5": 0.5, "1.50": 1.5, "\u00a03": 3.0},
    **{"1e3": 1e3, "1E3": 1e3, "1e+3": 1e3, "1e-3": 1e-3, "1.e3": 1e3, ".5e1": 5.0},
    **{
        "1e-400": 0.0,
        "1e37": 1e37,
        "2.5e-7": 2.5e-7,
        "12345678901234567890": 2.0**63.4,
    },
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
CELLS["12345678901234567890"] = 12345678901234567890.0


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
    # In the column of new rows that Apply reads as text.
    column = pd.Series([text], dtype="str")
    np.testing.assert_array_equal(as_numbers(column)[0], wanted)
    # In generated code, and in what reads rows for its emulator.
    read = _number(text)
    np.testing.assert_array_equal(read if abs(read) <= 1e37 else NONE, wanted)
    assert exported["_count"](text, 0) == exported["_count"](wanted, 0)


def test_a_column_of_texts_is_numbers_only_if_each_cell_is():
    for text, wanted in CELLS.items():
        data = f'x,y\n"{text}",a\n"4",b\n'.encode()
        read = read_table(data, "cells.csv", decimal=".")
        number = not math.isnan(parse_cell(text)) and text not in CODES
        assert (read.kinds["x"] == "number") == number, (text, wanted)


@given(
    st.lists(st.text("0123456789+-.eEinftyINFTY\u0130 \t\v\x1c\x85\u2003x"), min_size=1)
)
def test_a_column_is_read_as_its_cells_are(texts):
    found = parsed_numbers(pd.Series(texts, dtype="str"))
    np.testing.assert_array_equal(found, [parse_cell(text) for text in texts])


def test_a_truth_value_is_no_number():
    assert math.isnan(_number(True)) and _number(3) == 3.0
