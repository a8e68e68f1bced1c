"""Text tables: whatever delimiter, decimals, encoding and line ends, the same table."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpcore.datasets import DELIMITERS, ENCODINGS, read_frame, read_table
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
    encoding=st.sampled_from([e for e in ENCODINGS if "é".encode(e, "ignore")]),
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
        assert read(text).reading.header == header


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


@pytest.mark.parametrize(
    "cells",
    [
        ["0012345", "12345", "7"],
        ["9007199254740993", "9007199254740992", "1"],
        ["1205", "12E5", "1299"],
    ],
)
def test_numbers_that_name_something_stay_as_they_are_written(cells):
    rows = [cells[i % 3] for i in range(12)]
    data = read(
        "key,b,y\n" + "".join(f"{c},{i},{'pq'[i % 2]}\n" for i, c in enumerate(rows))
    )
    assert data.whole["key"].tolist() == rows
    assert data.roles["key"] == "ignore"
    assert any("it looks like an identifier that repeats" in n for n in data.notices)
    grouped = data.with_roles(roles={"key": "group"})
    assert len(set(grouped.groups)) == 3
    frame, *_ = read_frame(b"key,b\n1e3,1\n1.50,2\n", "t.csv", written=("key",))
    assert frame["key"].tolist() == ["1e3", "1.50"]


#: Kind of file -> its text, and the names, rows and part of a notice that it becomes.
KINDS = {
    "titles": ("Report,,\n,,\na,b,y\n1,2,p\n3,4,q\n", "a b y", 2, "2 lines above"),
    "names in a comment": ("# a, b\n0.1, 2\n0.3, 4\n", "# a|b", 2, ""),
    "two rows of names": (
        "length,width,y\ncm,mm,-\n1,2,p\n3,4,q\n5,6,p\n",
        "length cm|width mm|y -",
        3,
        "joined from 2 rows",
    ),
    "a note below": (
        "a,b,y\n1,2,p\n3,4,q\nSource: us\n",
        "a b y",
        2,
        "1 row at the end",
    ),
    "a short last row": ("a,b,y\n1,2,p\n3,4,q\n5,6\n", "a b y", 3, "Too few cells"),
    "another table": (
        "a,b,y\n1,2,p\n3,4,q\nk,m\n5,6\n7,8\n",
        "a b y",
        2,
        "3 rows at the end are left out, as another table",
    ),
    "the names again": (
        "a,b,y\n1,2,p\n3,4,q\na,b,y\n5,6,p\n",
        "a b y",
        2,
        "2 rows at the end are left out, as another table",
    ),
    "one name too few": ("a,y\nr1,2,p\nr2,4,q\n", "row a y", 2, "names of rows"),
    "one name too many": (
        "a,b,y,z\n1,2,p\n3,4,q\n5,6,p\n",
        "a b y z",
        3,
        "1 name more",
    ),
    "a text without quotes": (
        "a,t,b\n1,u,2\n2,v,3\n3,w, x,4\n4,z,5\n",
        "a t b",
        4,
        "those of a text without quotation marks are joined: row 3",
    ),
    "empty rows": ("a,b,y\n1,2,p\n,,\n3,4,q\n", "a b y", 2, "1 row without any value"),
}


@pytest.mark.parametrize(
    ("text", "names", "n_rows", "words"), KINDS.values(), ids=KINDS
)
def test_a_file_of_any_kind_is_read_and_what_is_unusual_is_said(
    text, names, n_rows, words
):
    frame, reading, notices = read_frame(text.encode(), "t.csv")
    assert list(frame) == names.split("|" if "|" in names else " ")
    assert len(frame) == n_rows
    assert words in " ".join(notices) and bool(words) == bool(notices)
    again, *_ = read_frame(text.encode(), "t.csv", **reading.options())
    pd.testing.assert_frame_equal(again, frame)


ENCODED = {
    "cp1250": "č,n\n1,Žena\n2,muž\n",
    "cp1251": "имя,n\n1,жена\n2,муж\n3,дети и ещё слова\n",
    "shift_jis": "値,数\n1,東\n2,西\n",
    "gb18030": "数值,名称\n1,北京市民\n2,上海市民\n",
    "utf-16-le": "a,b\n1,é\n2,è\n",
    "utf-16-be": "a,b\n1,é\n2,è\n",
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_an_encoding_without_a_mark_is_found(encoding):
    text = ENCODED[encoding]
    frame, reading, _ = read_frame(text.encode(encoding), "t.csv")
    assert reading.encoding == encoding
    assert list(frame) == text.splitlines()[0].split(",")


def test_a_byte_that_is_no_utf_8_is_named_and_the_rest_stays():
    data = "a,y\n1,café\n2,cafX\n".encode().replace(b"X", b"\xe9")
    frame, reading, notices = read_frame(data, "t.csv")
    assert frame["y"].tolist() == ["café", "caf\ufffd"]
    assert reading.encoding == "utf-8" and "line 3 ('2,caf" in notices[0]


def test_points_part_thousands_beside_decimal_commas_and_that_is_said():
    frame, reading, notices = read_frame(
        b"x;n;m;y\n1.234;1,5;0.125;a\n2.345;2,5;0.5;b\n", "t.csv"
    )
    assert reading.decimal == ","
    assert frame["x"].tolist() == [1234, 2345]
    assert frame["n"].tolist() == [1.5, 2.5]
    assert frame["m"].tolist() == [0.125, 0.5]
    assert "'x': 1.234 is read as 1234" in notices[0] and len(notices) == 1


@pytest.mark.parametrize(
    ("last", "is_total"), [("all,15,7.5", 1), ("Total:,99,", 1), ("e,14,7.5", 0)]
)
def test_a_row_of_totals_is_said_and_leaves_by_the_footer(last, is_total):
    text = f"site,n,x\na,1,2.5\nb,2,3.5\nc,3,1\nd,9,0.5\n{last}\n"
    frame, reading, notices = read_frame(text.encode(), "t.csv")
    assert (reading.totals, len(frame)) == (is_total, 5)
    assert ("looks like a total" in " ".join(notices)) == bool(is_total)
    frame, *_ = read_frame(text.encode(), "t.csv", footer=reading.totals)
    assert len(frame) == 5 - is_total


def test_a_delimiter_and_a_mark_within_a_text_are_left_there():
    """As JSON in a cell: a wrong reading dropped the blank."""
    frame, *_ = read_frame(b'a,t\n1,"{""k"": [1, 2], ""m"": 3}"\n2, "u, v"\n', "t.csv")
    assert frame["t"].tolist() == ['{"k": [1, 2], "m": 3}', "u, v"]
