"""read_table: what is refused, what is mended, what is proposed. A sentence each."""

import io
import zipfile
from dataclasses import replace

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpcore.datasets import (
    MAX_BYTES,
    MAX_ROWS,
    check_fit,
    make_dataset,
    prepare,
    read_frame,
    read_table,
    split,
)
from smpcore.errors import DatasetError
from tests.smpcore.datasets.cases import parquet, refused, said

BODY = "".join(f"{0.37 * i:.2f},{i * 7 % 11},{'xy'[i % 2]}\n" for i in range(20))
GOOD = "a,b,class\n" + BODY


def read(text, **options):
    return read_table(text.encode(), "t.csv", **options)


def rows_of(cells, classes="xy"):
    """Lines of cells and classes."""
    return "".join(f"{c},{classes[i % len(classes)]}\n" for i, c in enumerate(cells))


def zip_of(text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("table.csv", text)
    return buffer.getvalue()


ARFF = b"% a comment\n@relation r\n@attribute a real\n@attribute 'b c' {x, 'y z'}\n"
ARFF += b"@data\n1.5,x\n2.5,'y z'\n"
SHEET = (
    b"PK\x03\x04"
    + b"\0" * 26
    + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"
)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
TAKEN = ARFF.replace(b"'b c'", b"a")
REFUSED_FILES = [
    (b"", "csv", "The file is empty"),
    ("t.csv", "csv", "not its name"),
    (b"\n \n\n", "csv", "The file is empty"),
    (b"a,b,class\n", "csv", "one column, or no rows"),
    (b"a\n1\n2\n", "csv", "one column only.*another delimiter"),
    (b"a,b\n1,2\n3,4,5\n4,5\n", "csv", "Line 3 has 3 fields, most lines have 2"),
    (b'a,b\n"1,2\n3\n', "csv", "quotation mark is opened and never"),
    (zip_of(GOOD)[:90], "csv", "archive 't.csv' cannot be read, it seems to be cut"),
    (b"\x1f\x8b\x08\x00", "csv", "archive 't.csv' cannot be read.*pack it again"),
    (OLE, "xls", "'t.xls' is a document of an old Office program"),
    (b"<!DOCTYPE html><html>404", "csv", "a web page.*save the table"),
    (SHEET, "xlsx", "The workbook is damaged, or locked; save its sheet as CSV"),
    (b"PK\x03\x04 xl/workbook.xml", "xlsx", "damaged, or locked; save its sheet as"),
    (b"a,b\n\x00\x01\x00,2\n", "csv", "not a text table"),
    (GOOD.encode("utf-16")[:-1], "csv", "not utf-16 text"),
    (b"1,2\n" * (MAX_ROWS + 2), "csv", "1,000,00. rows, at most"),
    (b"PAR1 hello", "parquet", "Parquet file cannot be read"),
    (b"hello", "parquet", "one column, or no rows"),
    (parquet({"a": [1, 2], "y": ["p", "q"]})[:200], "parquet", "cut off"),
    (parquet({"a": pa.array([], pa.float64())}), "parquet", "Parquet file has no rows"),
    (parquet({"a": [[1], [2]]}), "parquet", "No column of the Parq"),
    (ARFF[:60], "arff", "no @DATA line"),
    (ARFF[:-9] + b"\n", "arff", r"line 7 \(Bad @DATA instance format"),
    (ARFF[: ARFF.index(b"1.5")], "arff", "ARFF file has no rows"),
    (ARFF + b"1,w\n", "arff", "line 8.*w not found in nominal"),
    (ARFF + b"w,x\n", "arff", "line 8.*Invalid numerical value"),
    (ARFF + b"1,'5 %d %s %'\n", "arff", "value 5 %d %s % not found.*line 8"),
    (TAKEN, "arff", "already in use in line 3"),
]


@pytest.mark.parametrize(
    ("data", "ending", "words"), REFUSED_FILES, ids=[case[2] for case in REFUSED_FILES]
)
def test_refused_files(data, ending, words):
    with refused(words):
        read_table(data, f"t.{ending}")


@pytest.mark.parametrize("delimiter", [",", " "])
def test_a_header_of_many_columns_is_read_whole(delimiter):
    names, row = [f"{'long' * 40}{i}" for i in range(900)], ["1.5"] * 900
    lines = [delimiter.join(cells) for cells in (names, row, row)]
    frame, _, _ = read_frame("\n".join(lines).encode(), "t.csv")
    assert frame.shape == (2, 900) and frame.columns[-1] == names[-1]


REFUSED_SETTINGS = [
    ({"delimiter": "ab"}, "delimiter='ab' should be one sign"),
    ({"delimiter": '"'}, "should be one sign"),
    ({"delimiter": ";"}, "another delimiter than ';'"),
    ({"decimal": "x"}, "decimal='x' should be"),
    ({"encoding": "zip"}, "encoding='zip' should be one of 'utf-8'"),
    ({"roles": {"q": "target"}}, "roles names 'q'.*its columns are 'a', 'b', 'class'"),
    ({"roles": {"b": "label"}}, r"roles\['b'\]='label' should be one of"),
    ({"roles": {"a": "target", "b": "target"}}, "role target should be given once"),
    ({"roles": {"class": "ignore", "a": "ignore", "b": "ignore"}}, "choose the column"),
    ({"kinds": {"b": "date"}}, r"kinds\['b'\]='date' should be one of"),
    ({"task": "regression"}, "should be a number for regression"),
    ({"task": "x"}, "task='x' should be one of"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED_SETTINGS)
def test_refused_settings(options, words):
    with refused(words):
        read(GOOD, **options)


class Endless:
    """A file that says how large it is, and must not be read."""

    def __init__(self, size, seekable=True):
        self.size, self.seekable, self.asked = size, lambda: seekable, 0

    def seek(self, offset, whence=0):
        return self.size if whence == 2 else offset

    def read(self, size):
        assert not self.seekable(), "read although it is too large"
        self.asked = size
        return b"1" * size


def test_a_large_file_is_refused_before_it_is_read():
    with refused("has 200 MB, at most 50 MB"):
        read_table(Endless(200_000_000), "t.csv")
    stream = Endless(200_000_000, seekable=False)
    with refused("at most 50 MB"):
        read_table(stream, "t.csv")
    assert stream.asked == MAX_BYTES + 1


def test_a_file_object_is_read_from_its_beginning():
    stream = io.BytesIO(GOOD.encode())
    stream.read(7)
    assert read_table(stream, "t.csv").n_samples == 20
    assert read_table(stream, "../../etc/t.csv").name == "t"


def many(n_labels, prefix=""):
    return "a,class\n" + "".join(
        f"{i % 7},{prefix}{i % n_labels}\n" for i in range(1000)
    )


NUMBERS_IN_B = {"roles": {"b": "target"}, "task": "regression"}
UNFIT = [
    ("a,b,class\n1,2,x\n", {}, "has 1 row with a target"),
    ("a,class\n1,x\n2,x\n", {}, r"one class only in the target 'class' \('x'\)"),
    (
        *(many(500, "k"), {"roles": {"class": "target"}}),
        "has 500 classes, at most 100 are possible; choose another target.",
    ),
    (
        *(many(500), {"task": "classification"}),
        "choose another target or the task regression",
    ),
    ("a,b,class\n1,u,x\n1,u,y\n", {}, "same feature values in every row"),
    (GOOD, {"roles": {"a": "ignore", "b": "ignore"}}, "role feature"),
    ("a,b\n1,2.5\n2,2.5\n3,2.5\n", NUMBERS_IN_B, "one value only in the target 'b'"),
]


@pytest.mark.parametrize(
    ("text", "options", "words"), UNFIT, ids=[words for *_, words in UNFIT]
)
def test_tables_that_can_be_shown_but_not_fitted(text, options, words):
    data = read(text, **options)
    division = split(data)
    with refused(words):
        check_fit(data)
    with refused(r"feature|row|class|target"):
        check_fit(data, division)


def test_the_training_part_alone_is_looked_at():
    data = read(GOOD)
    division = split(data)
    for rows, words in (([3], "training part has 1 row"), ([0, 2], "one class only")):
        with refused(words):
            check_fit(data, replace(division, train=np.array(rows)))


HOSTILE = (
    *('q"q', "*/ #include", "<script>alert(1)</script>", "two\nlines", "é\u202e名"),
    *("n" * 10_000, "'; DROP TABLE", "a,b"),
)


def test_hostile_column_names_are_data():
    quoted = ['"' + name.replace('"', '""') + '"' for name in HOSTILE]
    cells = [",".join(str(i * j + j) for j in range(8)) for i in range(4)]
    data = read(",".join(quoted) + ",class\n" + rows_of(cells))
    assert data.feature_columns == [name[:200] for name in HOSTILE]
    assert "Column names were cut to 200 characters." in data.notices
    assert all(len(notice) < 400 for notice in data.notices)


def test_names_become_texts_that_differ():
    data = read("a,,a,a (2),\n1,2,3,4,x\n2,3,4,5,y\n")
    assert list(data.frame) == ["a", "column 2", "a (3)", "a (2)", "column 5"]
    assert said(data, "'column 2', 'a (3)', 'column 5'")
    frame = pd.DataFrame([[1, 2, "x"], [2, 3, "y"]], columns=[1, None, ("t", 2)])
    assert list(make_dataset(frame, "t").frame) == ["1", "column 2", "('t', 2)"]


def test_a_column_of_half_text_becomes_a_category():
    data = read("a,class\n" + rows_of(["0.1", "0.2", "0.3", "0.4", "low", "high"]))
    assert data.kinds["a"] == "category"
    assert said(data, "because of the text in row 5 ('low')")


def test_classes_that_are_numbers_and_words_stay_classes():
    data = read("a,class\n" + rows_of(range(40), classes=["other", 1, 2]))
    assert data.classes.tolist() == ["1", "2", "other"] and data.n_samples == 40


def table(**columns):
    return make_dataset(pd.DataFrame(columns), "t")


NUMBERS = np.round(np.random.default_rng(0).normal(size=30), 3)
CLASSES = np.resize(["x", "y", "z"], 30)
COUNTED = np.random.default_rng(0).permutation(30)
#: A column's name, its cells, and why it is proposed as one that is not used.
IGNORED = [
    ("id", COUNTED, "looks like an identifier"),
    ("PassengerId", np.arange(30) ** 2, "looks like an identifier"),
    ("patient_id", np.arange(30) // 3, "its rows stay together"),
    ("Kunden-Nr", np.arange(30) * 37 % 31, "looks like an identifier"),
    ("who", [f"n{i}" for i in range(30)], "every value is different"),
    ("c", np.arange(5, 35), "it counts the rows"),
    ("day", [f"2020-01-{i + 1:02d}" for i in range(30)], "like a date"),
    ("Tag", [f"{i + 1}.1.2020" for i in range(30)], "like a date"),
    ("when", pd.date_range("2020", periods=30), "like a date"),
    ("e", [None] * 30, "it is empty"),
]


@pytest.mark.parametrize(
    ("name", "cells", "words"), IGNORED, ids=[x[0] for x in IGNORED]
)
def test_proposed_as_ignore(name, cells, words):
    data = table(**{name: cells}, a=NUMBERS, b=CLASSES)
    assert data.roles[name] == "ignore"
    assert said(data, f"Column '{name}' is not used: ", words)
    assert data.with_roles({name: "feature"}).roles[name] == "feature"
    chosen = {"roles": {name: "feature"}, "kinds": {name: "category"}}
    assert make_dataset(data.whole, "t", **chosen).roles[name] == "feature"


def test_a_long_text_column_is_not_used():
    words = [f"w{i}" for i in range(150)] * 2
    data = table(t=words, a=np.linspace(0, 1, 300), y=["p", "q"] * 150)
    assert data.roles["t"] == "ignore" and said(data, "it has 150 different texts")


#: Columns, the target that is guessed, and its task: c classification, r regression.
TARGETS = [
    ({"Class": CLASSES, "a": NUMBERS, "b": CLASSES}, "Class", "c"),  # by its name
    ({"y": NUMBERS, "b": CLASSES}, "y", "r"),
    ({"a": CLASSES, "b": NUMBERS, "c": CLASSES}, "c", "c"),  # the last names classes
    ({"a": NUMBERS, "b": np.arange(30) % 3}, "b", "c"),
    ({"a": CLASSES, "b": NUMBERS}, "a", "c"),  # words before numbers
    ({"a": NUMBERS, "b": NUMBERS * 2}, "b", "r"),
    ({"a": NUMBERS, "b": np.arange(30) * 3 % 25}, "b", "r"),  # many whole numbers
]


@pytest.mark.parametrize(("columns", "target", "task"), TARGETS)
def test_target_and_task_are_guessed(columns, target, task):
    data = table(**columns)
    assert (data.target, data.task[0]) == (target, task)


def test_a_table_of_nothing_but_names_can_be_shown():
    names = [f"n{i}" for i in range(30)]
    data = table(first=names, second=names[::-1])
    assert data.target == "second"
    with refused("No column has the role feature"):
        check_fit(data)


def test_an_empty_table_cannot_be_shown():
    with refused("No column has the role target"):
        table(a=[None] * 12, b=[None] * 12)


def test_booleans_are_categories_and_few_whole_numbers_stay_numbers():
    data = table(t=[True, False, True] * 10, n=np.arange(30) % 4, y=CLASSES)
    assert dict(data.kinds) == {"t": "category", "n": "number", "y": "category"}
    assert set(data.frame["t"]) == {"True", "False"}


def test_nominal_numbers_of_an_arff_file_stay_classes():
    values = ",".join(map(str, range(40)))
    rows = "".join(f"{i * 0.5},{i % 40}\n" for i in range(80))
    text = f"@relation r\n@attribute a real\n@attribute c {{{values}}}\n@data\n{rows}"
    data = read_table(text.encode(), "t.arff")
    assert data.task == "classification" and len(data.classes) == 40


@pytest.mark.parametrize("stored", [True, False])
def test_parquet_columns_become_numbers_or_text(stored):
    columns = {
        "whole": pa.array([1, None, 3], pa.int32()),
        "half": pa.array([0.5, 1.5, 2.5], pa.float32()),
        "exact": pa.array([1, 2, 3]).cast(pa.decimal128(30, 2)),
        "flag": [True, None, False],
        "word": pa.array(["u", None, "u"]).dictionary_encode(),
        "bytes": pa.array(["ä".encode(), None, b"b"], pa.binary()),
        "when": pa.array([1, 2, 3], pa.timestamp("s")),
        "nothing": pa.nulls(3),
        "lists": [[1], [2], [3]],
        "picture": pa.array([b"\xff\xd8", b"\xff\xd9", b"x"], pa.binary()),
        "took": pa.array([1500, None, 0], pa.duration("ms")),
        "target": pa.array([b"p", b"q", b"p"], pa.large_binary()),
    }
    read = read_table(parquet(columns, store_schema=stored), "t.parquet")
    assert read.reading.format == "Parquet" and read.target == "target"
    features = ["whole", "half", "exact", "flag", "word", "bytes", "took"]
    assert read.feature_columns == features
    assert {*columns} - {*read.roles} == {"lists", "picture"}
    known = read.frame[features].astype(object).where(read.frame[features].notna(), "")
    assert known["flag"].tolist() == ["True", "", "False"]
    assert known["whole"].tolist() == [1, "", 3]
    assert known["bytes"].tolist() == ["ä", "", "b"]
    assert known["took"].tolist() == [1.5 if stored else 1500.0, "", 0]
    assert said(read, "seconds: 'took'") == stored
    assert said(read, "neither numbers nor text: 'lists', 'picture'")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_same_table_from_either_format(suffix):
    columns = {"a": NUMBERS, "b": CLASSES, "n": np.arange(30) % 4, "y": CLASSES}
    frame, buffer = pd.DataFrame(columns), io.BytesIO()
    getattr(frame, f"to_{suffix}")(buffer, index=False)
    read = read_table(buffer, f"t.{suffix}")
    assert read.digest == make_dataset(frame, "t").digest
    assert read.private


FILES = {
    "t.csv": GOOD.encode(),
    "t.arff": ARFF,
    "t.parquet": parquet({"a": [1.5, 2.5], "b": ["u", "v"], "y": ["p", "q"]}),
}


@settings(deadline=None, max_examples=150)
@given(
    filename=st.sampled_from(sorted(FILES)),
    cuts=st.lists(st.floats(0, 1), min_size=1, max_size=4),
    pieces=st.lists(st.binary(max_size=6), min_size=4, max_size=4),
)
def test_a_damaged_file_is_a_table_or_a_sentence(filename, cuts, pieces):
    data = bytearray(FILES[filename])
    for cut, piece in zip(cuts, pieces, strict=False):
        place = int(cut * len(data))
        data[place : place + len(piece) // 2] = piece
    try:
        table = read_table(bytes(data), filename)
        division = split(table)
        check_fit(table, division)
        X = prepare(table, division.train).transform(table.frame)
    except DatasetError as error:
        assert str(error).endswith(".")
    else:
        assert np.isfinite(X).all()


def test_the_first_sheet_of_a_workbook_is_a_table_like_any_other():
    rows = [[f"00{i}", 0.5 * i, "pq"[i % 2]] for i in range(12)]
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in (["Report"], ["key", "x", "y"], *rows):
        book.active.append(row)
    book.save(file)
    data = read_table(file, "t.xlsx")
    assert data.reading.format == "Excel" and data.reading.skip == 1
    assert data.whole["key"].tolist() == [row[0] for row in rows]
    assert data.whole["x"].tolist() == [row[1] for row in rows]


def test_a_title_page_is_no_table_and_another_sheet_can_be_asked_for():
    book, file = openpyxl.Workbook(), io.BytesIO()
    for title, n in (("First", 3), ("Second", 9)):
        for row in [["x", "y"], *([i, "ab"[i % 2]] for i in range(n))]:
            (book[title] if title in book else book.create_sheet(title)).append(row)
    book.active.append(["Report", "2024"])
    book.move_sheet(book.copy_worksheet(book["Second"]), -2)
    book["Second Copy"].sheet_state = "hidden"
    book.save(file)
    data = read_table(file, "t.xlsx")
    assert (data.reading.sheet, data.n_samples) == ("First", 3)
    assert (
        "Sheet 'First' is read, not 'Sheet', 'Second Copy', 'Second'." in data.notices
    )
    data = read_table(file, "t.xlsx", sheet="Second")
    assert data.n_samples == 9 and data.reading.options()["sheet"] == "Second"


def test_a_word_below_identifiers_makes_them_no_numbers():
    for form in ("0{:03d}", "{}"):
        rows = "".join(f"{form.format(i * 37 % 97)},{i},p\n" for i in range(40))
        data = read_table(f"Pat-ID,n,y\n{rows}Summe,780,q\n".encode(), "t.csv")
        assert said(data, "'Pat-ID' is not used: it looks like an identifier")


def test_notices_of_many_columns_are_counted():
    numbers = {f"g{i}": [*map(str, np.arange(40) / 7), "AML"] for i in range(90)}
    empty = {f"e{i}": [None] * 41 for i in range(70)}
    data = table(**numbers, **empty, y=[*"pq"] * 20 + ["p"])
    assert len(data.notices) == 26
    assert said(data, "78 more columns hold text instead of numbers, or numbers too")
    assert said(data, "58 more columns are not used, or read as a category")


def test_rows_of_libsvm_are_read_with_zeros_where_nothing_stands():
    data = read_table(b"+1 1:0.5 3:1.2\n-1 2:0.1 3:0.7\n+1 1:0.9\n", "t.data")
    expected = [[0.5, 0, 1.2, 1], [0, 0.1, 0.7, -1], [0.9, 0, 0, 1]]
    assert data.whole.to_numpy().tolist() == expected
    assert (data.target, data.reading.format) == ("target", "LibSVM")
