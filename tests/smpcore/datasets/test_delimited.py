"""Text tables: whatever delimiter, decimals, encoding and line ends, the same table."""

from collections import Counter
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from openpyxl import Workbook

from smpcore.datasets import read_frame, read_table
from tests.smpcore.datasets.cases import refused, said
from tests.smpcore.datasets.dirty_files import KINDS, drawn, verdict
from tests.smpcore.datasets.first_rows import named_by_numbers, nameless


def read(text, encoding="utf-8", **options):
    return read_table(text.encode(encoding), "t.csv", **options)


def test_every_setting_can_be_overridden():
    text = "a;b;y\n1,5;2;p\n2,5;3;q\n"
    settings = {"delimiter": ";", "decimal": ".", "encoding": "latin-1"}
    settings["header"] = False
    data = read_table(text.encode(), "t.csv", **settings)
    reading = data.reading
    assert {name: getattr(reading, name) for name in settings} == settings
    assert data.whole.iloc[1].tolist() == ["1,5", "2", "p"]
    assert list(data.frame) == ["column 1", "column 2", "column 3"]


CELLS = "0012345 12345 7", "9007199254740993 9007199254740992 1", "1205 12E5 1299"


@pytest.mark.parametrize("cells", CELLS)
def test_numbers_that_name_something_stay_as_they_are_written(cells):
    rows = cells.split() * 4
    lines = [f"{c},{i},{'pq'[i % 2]}" for i, c in enumerate(rows)]
    data = read("\n".join(["key,b,y", *lines]))
    assert data.whole["key"].tolist() == rows
    assert data.roles["key"] == "ignore"
    assert said(data, "it looks like an identifier that repeats")
    grouped = data.with_roles(roles={"key": "group"})
    assert len(set(grouped.groups)) == 3
    frame, *_ = read_frame(b"key,b\n1e3,1\n1.50,2\n", "t.csv", written=("key",))
    assert frame["key"].tolist() == ["1e3", "1.50"]


NO_MARKS = "a,t,b\n1,u,2\n2,v,3\n3,w, x,4\n4,z,5\n"
ABY = "a,b,y\n1,2,p\n3,4,q\n"
UNITS = "length,width,y\ncm,mm,-\n1,2,p\n3,4,q\n5,6,p\n"
#: Text of a file, names and number of rows that it becomes, and part of a notice.
UNUSUAL = [
    ("Report,,\n,,\n" + ABY, "a b y", 2, "2 lines above"),
    ("# a, b\n0.1, 2\n0.3, 4\n", "# a|b", 2, ""),
    (UNITS, "length cm|width mm|y -", 3, "joined from 2 rows"),
    (ABY + "Source: us\n", "a b y", 2, "1 row at the end"),
    (ABY + "5,6\n", "a b y", 3, "Too few cells"),
    (ABY + "k,m\n5,6\n7,8\n", "a b y", 2, "3 rows at the end are left out, as another"),
    (ABY + "a,b,y\n5,6,p\n", "a b y", 2, "2 rows at the end are left out, as another"),
    ("a,y\nr1,2,p\nr2,4,q\n", "row a y", 2, "names of rows"),
    ("a,b,y,z\n1,2,p\n3,4,q\n5,6,p\n", "a b y z", 3, "1 name more"),
    (NO_MARKS, "a t b", 4, "those of a text without quotation marks are joined: row 3"),
    ("a,b,y\n1,2,p\n,,\n3,4,q\n", "a b y", 2, "1 row without any value"),
]


@pytest.mark.parametrize(("text", "names", "n_rows", "words"), UNUSUAL)
def test_a_file_of_any_kind_is_read_and_what_is_unusual_is_said(
    text, names, n_rows, words
):
    frame, reading, notices = read_frame(text.encode(), "t.csv")
    assert list(frame) == names.split("|" if "|" in names else " ")
    assert len(frame) == n_rows
    assert words in " ".join(notices) and bool(words) == bool(notices)
    again, *_ = read_frame(text.encode(), "t.csv", **reading.options())
    pd.testing.assert_frame_equal(again, frame)


NAMED = [["state", "2021"], ["country", "2019", "2020"], ["state", "2021", "party"]]
NAMED += ["patient", "0", "15", "60", "label"], ["id", "1", "2", "label"]
NAMED += ["900", "150", "460"], ["date", "2019", "2020"], ["nr", "2019", "2020"]


def below(names, n_rows):
    """Rows that such names may stand above: numbers above numbers."""
    cells = {"state": "S{}", "country": "C{}", "patient": "p{}", "id": "i{}"}
    cells |= {"date": "2024-02-{:02}", "nr": "{}"}
    for i in range(n_rows):
        other = {"party": "ab"[i % 2], "label": "ab"[i % 2]}
        numbers = (f"{(7 * i + 5 * k) % 23 - 3.5}" for k in range(len(names)))
        row = [cells.get(n, other.get(n, "")).format(i + 1) for n in names]
        yield [one or number for one, number in zip(row, numbers, strict=True)]


def as_workbook(rows):
    book, file = Workbook(), BytesIO()
    for row in rows:
        numbers = [pd.to_numeric(cell, errors="coerce") for cell in row]
        pairs = zip(row, numbers, strict=True)
        book.active.append([c if n != n else float(n) for c, n in pairs])
    book.save(file)
    return file.getvalue(), "t.xlsx"


@pytest.mark.parametrize("excel", [False, True])
@pytest.mark.parametrize("n_rows", [3, 5, 30])
@pytest.mark.parametrize("names", NAMED, ids=",".join)
def test_names_that_are_numbers_are_not_lost_in_silence(names, n_rows, excel):
    rows = [names, *below(names, n_rows)]
    text = "".join(",".join(row) + "\n" for row in rows).encode()
    file = as_workbook(rows) if excel else (text, "t.csv")
    frame, reading, notices = read_frame(*file)
    assert reading.doubtful_names == ("though it may be" in " ".join(notices))
    assert list(frame) == names or reading.doubtful_names
    frame, reading, notices = read_frame(*file, header=1)
    assert list(frame) == names and len(frame) == n_rows
    assert not reading.doubtful_names and not notices


def read_first_row(rows):
    text = "".join(",".join(row) + "\n" for row in rows).encode()
    _, reading, notices = read_frame(text, "t.csv")
    assert reading.doubtful_names == ("though it may be" in " ".join(notices))
    return reading.header, reading.doubtful_names


def test_a_row_of_numbers_is_taken_as_names_by_all_its_columns():
    drawn = [named_by_numbers(np.random.default_rng([56, i])) for i in range(200)]
    read = Counter(read_first_row([names, *rows]) for names, rows in drawn)
    assert not read[0, False] and read[0, True] <= 8 and read[1, False] >= 170, read


def test_rows_without_names_stay_data():
    drawn = [nameless(np.random.default_rng([56, i])) for i in range(200)]
    read = Counter(map(read_first_row, drawn))
    assert not read[1, False] and read[1, True] <= 4 and read[0, False] >= 180, read


FIRST_ROWS = ["5,6,7\n1,9,2\n8,3,3\n4,4,9\n", "ann,rome\nbob,oslo\ncy,bonn\n"]
FIRST_ROWS += ["unknown,red,?\n5,blue,2.5\n6,red,?\n7,red,1\n"]


@pytest.mark.parametrize("text", FIRST_ROWS)
def test_a_first_row_of_data_is_not_lost_in_silence_as_names(text):
    _, reading, notices = read_frame(text.encode(), "t.csv")
    assert reading.doubtful_names
    assert not reading.header or "is read as names, though it may be" in notices[0]
    frame, reading, notices = read_frame(text.encode(), "t.csv", header=0)
    assert len(frame) == text.count("\n") and not notices


SURE = ["a,b,y\n1,2,p\n3,4,q\n", "1.5,2,a\n2.5,1,b\n3.5,2,a\n0.5,9,b\n"]
SURE += ["k,y\n" + "u,p\nv,q\n" * 3, "5.1,3.5\n4.9,3.0\n6.2,2.9\n4.7,3.9\n"]


@pytest.mark.parametrize("text", SURE)
def test_what_is_sure_to_be_names_or_data_is_not_doubted(text):
    assert not read_frame(text.encode(), "t.csv")[1].doubtful_names


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("form", ["0,{:03}", ",{:03}", "{},5E-03", "-{},137;0,5"])
def test_a_decimal_comma_is_known_by_what_no_thousands_have(form, sign):
    form, more = (*form.split(";"), "7")[:2]
    rows = [[form.format(100 + 13 * i), more, "pq"[i % 2]] for i in range(20)]
    lines = [sign.join(f'"{cell}"' for cell in row) for row in rows]
    frame, reading, _ = read_frame("\n".join(["x y z", *lines]).encode(), "t.csv")
    assert reading.decimal == ","
    numbers = [float(row[0].replace(",", ".")) for row in rows]
    assert frame.iloc[:, 0].tolist() == numbers


def test_points_beside_numbers_below_a_thousand_part_thousands():
    cells = ["585", "990", "1.234", "12.001", "7"]
    lines = "\n".join(f"{cell},{'pq'[i % 2]}" for i, cell in enumerate(cells * 3))
    frame, _, notices = read_frame(f"x,y\n{lines}\n".encode(), "t.csv")
    assert frame["x"][:5].tolist() == [585, 990, 1234, 12001, 7]
    assert "1.234 is read as 1234" in notices[0]
    frame, *_ = read_frame(f"x,y\n{lines}\n".encode(), "t.csv", points=("x",))
    assert frame["x"][2] == 1.234


@pytest.mark.parametrize("n_rows", [9, 40, 9_000])
@pytest.mark.parametrize("between", ["", "\n", "\nSecond part\n", ",,\n\n"])
def test_the_table_below_is_read_instead_from_its_line(n_rows, between):
    rows = [f'{n},"u\nv{n % 7}",p' for n in range(n_rows)]
    second = "k,l,m,z\n" + "".join(f"2.5,{n},w {n},q\n" for n in range(7))
    text = "\n".join(["By us", "a,b,y", *rows, between + second])
    frame, reading, _ = read_frame(text.encode(), "t.csv")
    assert len(frame) == n_rows
    options = {"skip": reading.next_table}
    below, read_so, notices = read_frame(text.encode(), "t.csv", **options)
    pd.testing.assert_frame_equal(below, read_frame(second.encode(), "t.csv")[0])
    assert (read_so.skip, read_so.next_table) == (reading.next_table, 0)
    again, *_ = read_frame(text.encode(), "t.csv", **read_so.options())
    pd.testing.assert_frame_equal(below, again)
    assert "lines above the table are skipped" in notices[0]


def test_a_note_is_no_table_to_read_instead_and_all_lines_cannot_be_skipped():
    text = "a,b,y\n1,2,p\n3,4,q\nSource: us, them\n"
    assert read_frame(text.encode(), "t.csv")[1].next_table == 0
    with refused("Nothing stands below the 4 lines"):
        read_frame(text.encode(), "t.csv", skip=4)
    with refused("one column, or no rows"):
        read_frame(b"t,u\nv,w\n\na,b,c\n1,2,x\n3,4,y\n5,6,z\n", "t.csv", skip=0)


def test_a_byte_that_is_no_utf_8_is_named_and_the_rest_stays():
    data = "a,y\n1,café\n2,cafX\n".encode().replace(b"X", b"\xe9")
    frame, reading, notices = read_frame(data, "t.csv")
    assert frame["y"].tolist() == ["café", "caf\ufffd"]
    assert reading.encoding == "utf-8" and "line 3 ('2,caf" in notices[0]


def test_points_part_thousands_beside_decimal_commas_and_that_is_said():
    text = b"x;n;m;y\n1.234;1,5;0.125;a\n2.345;2,5;0.5;b\n"
    frame, reading, notices = read_frame(text, "t.csv")
    assert reading.decimal == ","
    assert frame[["x", "n", "m"]].T.to_numpy().tolist() == [
        *([1234, 2345], [1.5, 2.5], [0.125, 0.5])
    ]
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


def test_a_cell_as_long_as_a_file_is_read_in_a_row_of_any_width():
    long = "x" * 200_000
    text = f"a,b,y\n1,{long},p\n2,v,q\n3,{long}\n4,w,q\n"
    frame, _, notices = read_frame(text.encode(), "t.csv")
    assert frame["b"].tolist() == [long, "v", long, "w"]
    assert "Too few cells" in notices[0] and len(notices[0]) < 200


N_FILES = 4
#: Kinds that leave a doubt even to a reader: is the last line a case, or a note?
DOUBTFUL = {"note below two columns", "keys and values above"}
DOUBTFUL |= {"title with delimiters", "thousands with points only"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_a_kind_is_read_as_it_was_meant(kind):
    each = [verdict(*drawn(kind, 40, number)) for number in range(N_FILES)]
    words = Counter(word for word, _ in each)
    assert words["right"] >= N_FILES - (kind in DOUBTFUL), each
    assert not words["silent"]


@pytest.mark.parametrize("mark", ["#", "%", "//"])
def test_remarks_below_the_names_do_not_take_them_away(mark):
    rows = [f"{i / 2},{i * i},{'pq'[i % 2]}" for i in range(20)]
    lines = ["age,size,kind", f"{mark} checked", *rows[:9], f"{mark} again", *rows[9:]]
    data = read_table("\n".join(lines).encode(), "t.csv")
    assert list(data.whole) == ["age", "size", "kind"]
    assert data.whole["size"].tolist() == [i * i for i in range(20)]
    assert any("as a comment: row 1" in notice for notice in data.notices)


@pytest.mark.parametrize("sign", ["~", "\x1f"])
def test_rarer_signs_between_cells(sign):
    rows = [f"{i / 2}{sign}{i * i}{sign}{'pq'[i % 2]}" for i in range(20)]
    text = "\n".join([sign.join(["age", "size", "kind"]), *rows])
    data = read_table(text.encode(), "t.csv")
    assert (list(data.whole), data.reading.delimiter) == (["age", "size", "kind"], sign)
