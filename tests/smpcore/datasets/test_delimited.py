"""Text tables: whatever delimiter, decimals, encoding and line ends, the same table."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpcore.datasets import DELIMITERS, ENCODINGS, read_table
from smpcore.errors import DatasetError

TEXT = "length,width,kind\n" + "".join(
    f"{0.25 * i + 0.5},{i % 7 + 0.125},{'éa' if i % 2 else 'b'}\n" for i in range(12)
)


def read(text, encoding="utf-8", **options):
    return read_table(text.encode(encoding), "t.csv", **options)


PLAIN = read(TEXT)
VARIANTS = {
    "semicolons": (TEXT.replace(",", ";"), "utf-8"),
    "tabs": (TEXT.replace(",", "\t"), "utf-8"),
    "bars": (TEXT.replace(",", "|"), "utf-8"),
    "blanks": (TEXT.replace(",", "   "), "utf-8"),
    "decimal commas": (TEXT.replace(",", ";").replace(".", ","), "utf-8"),
    "byte order mark": (TEXT, "utf-8-sig"),
    "utf-16": (TEXT, "utf-16"),
    "utf-32": (TEXT, "utf-32"),
    "latin-1": (TEXT, "latin-1"),
    "CRLF": (TEXT.replace("\n", "\r\n"), "utf-8"),
    "CR": (TEXT.replace("\n", "\r"), "utf-8"),
    "blank lines": (TEXT.replace("\n", "\n\n"), "utf-8"),
    "no last line end": (TEXT.rstrip(), "utf-8"),
    "announced": ("sep=;\n" + TEXT.replace(",", ";"), "utf-8"),
    "blanks after commas": (TEXT.replace(",", ", "), "utf-8"),
    "quotes after blanks": (TEXT.replace(",b", ', "b"'), "utf-8"),
    "all quoted": ('"' + TEXT.replace(",", '","').replace("\n", '"\n"')[:-1], "utf-8"),
}


@pytest.mark.parametrize(("text", "encoding"), VARIANTS.values(), ids=VARIANTS)
def test_the_same_table(text, encoding):
    data = read(text, encoding)
    assert data.digest == PLAIN.digest
    assert data.target == "kind"
    assert data.notices == ()


def test_what_was_detected_is_said():
    text = TEXT.replace(",", ";").replace(".", ",")
    reading = read(text, "latin-1").reading
    assert (reading.format, reading.delimiter, reading.decimal) == ("CSV", ";", ",")
    assert reading.encoding == "cp1252"
    assert reading.header
    assert read(TEXT, "utf-16").reading.encoding == "utf-16"


def test_every_setting_can_be_overridden():
    text = "a;b;y\n1,5;2;p\n2,5;3;q\n"
    settings = {
        "delimiter": ";",
        "decimal": ".",
        "encoding": "latin-1",
        "header": False,
    }
    data = read_table(text.encode(), "t.csv", **settings)
    reading = data.reading
    assert {name: getattr(reading, name) for name in settings} == settings
    assert data.whole.iloc[1].tolist() == ["1,5", "2", "p"]
    assert list(data.frame) == ["column 1", "column 2", "column 3"]


@settings(deadline=None, max_examples=80)
@given(
    numbers=st.lists(
        st.floats(-1e9, 1e9, allow_nan=False).map(lambda v: round(v, 4)),
        min_size=3,
        max_size=20,
    ),
    words=st.lists(st.text("abcé ,;|\t\"'\n.0", max_size=6), min_size=20, max_size=20),
    delimiter=st.sampled_from([d for d in DELIMITERS if d != "whitespace"]),
    decimal=st.sampled_from([".", ","]),
    encoding=st.sampled_from(ENCODINGS),
    line_end=st.sampled_from(["\n", "\r\n"]),
)
def test_round_trip(numbers, words, delimiter, decimal, encoding, line_end):
    frame = pd.DataFrame({"x": numbers, "word": words[: len(numbers)]})
    frame["y"] = np.resize(["p", "q"], len(frame))
    body = io.StringIO()
    frame.to_csv(
        body,
        sep=delimiter,
        decimal=decimal,
        index=False,
        quoting=csv.QUOTE_NONNUMERIC if delimiter != decimal else csv.QUOTE_ALL,
        lineterminator=line_end,
    )
    data = read_table(
        body.getvalue().encode(encoding),
        "t.csv",
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        header=True,
        kinds={"word": "category"},
        roles={"word": "feature"},
    )
    whole = data.whole
    np.testing.assert_array_equal(whole["x"], frame["x"])
    words = [w.strip() for w in frame["word"]]
    back = ["" if pd.isna(word) else str(word) for word in data.frame["word"]]
    expected = [w if not _is_number(w, decimal) else None for w in words]
    for got, wanted in zip(back, expected, strict=True):
        if wanted is not None and wanted not in ("?",):
            assert got.replace("\r\n", "\n") == wanted.replace("\r\n", "\n")


def _is_number(word, decimal):
    try:
        float(word.replace(decimal, "."))
        return True
    except ValueError:
        return False


HEADERS = {
    "names over numbers": ("a,b\n1,2\n3,4\n", True),
    "numbers only": ("1,2\n3,4\n5,6\n", False),
    "words that come again": ("u,v\nu,w\nx,v\n", False),
    "words that do not": ("a,b\nu,w\nx,v\n", True),
    "values over numbers": ("1.5,x\n2.5,y\n3.5,x\n", False),
    "one line": ("a,b\n", True),
}


@pytest.mark.parametrize(("text", "header"), HEADERS.values(), ids=HEADERS)
def test_header_is_detected(text, header):
    if text == "a,b\n":
        with pytest.raises(DatasetError, match="a header but no rows"):
            read(text)
    else:
        assert read(text).reading.header is header


def test_missing_words_and_missing_fields():
    data = read("a,b,y\n1,,p\nNA,u,q\n?,null,p\n4,v,q\n")
    assert data.frame["a"].isna().tolist() == [False, True, True, False]
    assert data.frame["b"].isna().tolist() == [True, False, True, False]


def test_thousands_points_in_a_file_with_decimal_commas():
    data = read("a;b;c;y\n1.234,5;0.5;1,5;p\n2,5;1.25;2,5;q\n1.000;2;3,5;p\n")
    assert data.reading.decimal == ","
    assert data.frame["a"].tolist() == [1234.5, 2.5, 1000.0]
    assert data.frame["b"].tolist() == [0.5, 1.25, 2.0]


def test_rows_with_names_as_r_writes_them():
    data = read('"a","b","y"\n"1",1.5,2,"p"\n"2",2.5,3,"q"\n')
    assert data.feature_columns == ["a", "b"]
    assert data.roles["row"] == "ignore"


def test_rows_that_end_with_a_delimiter():
    for header in ("a,b,y", "a,b,y,"):
        data = read(f"{header}\n1.5,2,p,\n2.5,3,q,\n")
        assert data.feature_columns == ["a", "b"]
        assert data.target == "y"


def test_whole_numbers_beyond_the_exact_ones_stay_real():
    data = read("a,b,y\n9007199254740992,1,p\n1,2,q\n")
    assert data.frame["a"].dtype == np.float64
    assert data.frame["b"].dtype == np.int64
