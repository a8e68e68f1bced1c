"""read_table: what is refused, what is mended, what is proposed. A sentence each."""

import io
import zipfile
from dataclasses import replace

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
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

BODY = "".join(f"{0.37 * i:.2f},{i * 7 % 11},{'xy'[i % 2]}\n" for i in range(20))
GOOD = "a,b,class\n" + BODY


def csv_of(text):
    return text.encode()


def wide_csv(n_columns, delimiter):
    names = delimiter.join(f"a_long_name_{i}" for i in range(n_columns))
    row = delimiter.join(["1.5"] * n_columns)
    return f"{names}\n{row}\n{row}\n".encode()


def zip_of(text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("table.csv", text)
    return buffer.getvalue()


def parquet_of(**columns):
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


ARFF = b"""% a comment
@relation r
@attribute a real
@attribute 'b c' {x, 'y z'}
@data
1.5,x
2.5,'y z'
"""

REFUSED_FILES = {
    "empty": (b"", "t.csv", "The file is empty"),
    "blank": (b"\n \n\n", "t.csv", "The file is empty"),
    "header only": (b"a,b,class\n", "t.csv", "a header but no rows"),
    "one column": (b"a\n1\n2\n", "t.csv", "one column only.*another delimiter"),
    "ragged": (
        b"a,b\n1,2\n3,4,5\n4,5\n",
        "t.csv",
        "Line 3 has 3 fields, most lines have 2",
    ),
    "open quote": (b'a,b\n"1,2\n3,4\n', "t.csv", "quotation mark is opened and never"),
    "zip": (zip_of(GOOD), "t.csv", "'t.csv' is a ZIP archive"),
    "gzip": (b"\x1f\x8b\x08\x00", "t.csv", "is a gzip archive"),
    "workbook": (b"\xd0\xcf\x11\xe0", "t.xls", "an old Excel workbook"),
    "zero bytes": (b"a,b\n\x00\x01\x00,2\n", "t.csv", "not a text table"),
    "half a character": (GOOD.encode("utf-16")[:-1], "t.csv", "not utf-16 text"),
    "too many rows": (b"1,2\n" * (MAX_ROWS + 2), "t.csv", "1,000,00. rows, at most"),
    "too many columns": (b"1," * 400_000 + b"2\n", "t.csv", "and would take 803 MB"),
    "no Parquet": (b"hello", "t.parquet", "Parquet file cannot be read"),
    "half a Parquet": (
        parquet_of(a=[1, 2], y=["p", "q"])[:200],
        "t.parquet",
        "cut off",
    ),
    "Parquet without rows": (
        *(parquet_of(a=pa.array([], pa.float64())), "t.parquet"),
        "Parquet file has no rows",
    ),
    "Parquet of lists": (
        parquet_of(a=[[1], [2]]),
        "t.parquet",
        "No column of the Parq",
    ),
    "ARFF without data": (ARFF[:60], "t.arff", "no @DATA line"),
    "half a row": (ARFF[:-9] + b"\n", "t.arff", r"line 7 \(Bad @DATA instance format"),
    "ARFF without rows": (
        ARFF[: ARFF.index(b"1.5")],
        "t.arff",
        "ARFF file has no rows",
    ),
    "unknown value": (ARFF + b"1,w\n", "t.arff", "line 8.*w not found in nominal"),
    "word for number": (ARFF + b"w,x\n", "t.arff", "line 8.*Invalid numerical value"),
    "per cent sign": (
        ARFF + b"1,'5 %d %s %'\n",
        "t.arff",
        "value 5 %d %s % not found.*line 8",
    ),
    "name twice": (
        *(ARFF.replace(b"'b c'", b"a"), "t.arff"),
        "already in use in line 3",
    ),
}


@pytest.mark.parametrize(
    ("data", "filename", "words"), REFUSED_FILES.values(), ids=REFUSED_FILES
)
def test_refused_files(data, filename, words):
    with pytest.raises(DatasetError, match=words):
        read_table(data, filename)


@pytest.mark.parametrize("delimiter", [",", " "])
def test_a_header_of_many_columns_is_read_whole(delimiter):
    frame, _, _ = read_frame(wide_csv(8_000, delimiter), "t.csv")
    assert frame.shape == (2, 8_000)
    assert frame.columns[-1] == "a_long_name_7999"


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
    with pytest.raises(DatasetError, match=words):
        read_table(GOOD.encode(), "t.csv", **options)


class Endless:
    """A file that says how large it is, and must not be read."""

    def __init__(self, size, seekable=True):
        self.size, self._seekable, self.asked = size, seekable, 0

    def seekable(self):
        return self._seekable

    def seek(self, offset, whence=0):
        return self.size if whence == 2 else offset

    def read(self, size):
        assert not self._seekable, "read although it is too large"
        self.asked = size
        return b"1" * size


def test_a_large_file_is_refused_before_it_is_read():
    with pytest.raises(DatasetError, match="has 200 MB, at most 50 MB"):
        read_table(Endless(200_000_000), "t.csv")
    stream = Endless(200_000_000, seekable=False)
    with pytest.raises(DatasetError, match="at most 50 MB"):
        read_table(stream, "t.csv")
    assert stream.asked == MAX_BYTES + 1


def test_small_files_that_expand_are_refused():
    words = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(100_000, np.int32)), pa.array(["x" * 100_000])
    )
    bomb = parquet_of(a=words, b=np.zeros(100_000))
    assert len(bomb) < 100_000
    with pytest.raises(DatasetError, match="expands to 10,000 MB"):
        read_table(bomb, "t.parquet")
    rows = parquet_of(a=np.zeros(2_000_000), b=np.zeros(2_000_000))
    assert len(rows) < 100_000
    with pytest.raises(DatasetError, match="2,000,000 rows"):
        read_table(rows, "t.parquet")


def test_a_file_object_is_read_from_its_beginning():
    stream = io.BytesIO(GOOD.encode())
    stream.read(7)
    assert read_table(stream, "t.csv").n_samples == 20
    assert read_table(stream, "../../etc/t.csv").name == "t"


UNFIT = {
    "one row": ("a,b,class\n1,2,x\n", {}, "has 1 row with a target"),
    "one class": (
        "a,class\n1,x\n2,x\n",
        {},
        r"one class only in the target 'class' \('x'\)",
    ),
    "500 classes": (
        "a,class\n" + "".join(f"{i % 7},k{i % 500}\n" for i in range(1000)),
        {"roles": {"class": "target"}},
        "has 500 classes, at most 100 are possible; choose another target.",
    ),
    "500 whole numbers": (
        "a,class\n" + "".join(f"{i % 7},{i % 500}\n" for i in range(1000)),
        {"task": "classification"},
        "choose another target or the task regression",
    ),
    "equal rows": ("a,b,class\n1,u,x\n1,u,y\n", {}, "same feature values in every row"),
    "no feature": (GOOD, {"roles": {"a": "ignore", "b": "ignore"}}, "role feature"),
    "one value": (
        *(
            "a,b\n1,2.5\n2,2.5\n3,2.5\n",
            {"roles": {"b": "target"}, "task": "regression"},
        ),
        "one value only in the target 'b'",
    ),
}


@pytest.mark.parametrize(("text", "options", "words"), UNFIT.values(), ids=UNFIT)
def test_tables_that_can_be_shown_but_not_fitted(text, options, words):
    data = read_table(text.encode(), "t.csv", **options)
    division = split(data)
    with pytest.raises(DatasetError, match=words):
        check_fit(data)
    with pytest.raises(DatasetError, match=r"feature|row|class|target"):
        check_fit(data, division)


def test_another_target_mends_a_table():
    data = read_table(b"a,b,class\n1,0,x\n2,1,x\n3,0,x\n4,1,x\n", "t.csv")
    check_fit(data.with_roles({"b": "target"}))


def test_the_training_part_alone_is_looked_at():
    data = read_table(GOOD.encode(), "t.csv")
    division = split(data)
    for rows, words in (([3], "training part has 1 row"), ([0, 2], "one class only")):
        with pytest.raises(DatasetError, match=words):
            check_fit(data, replace(division, train=np.array(rows)))


HOSTILE = (
    *('q"q', "*/ #include", "<script>alert(1)</script>", "two\nlines", "é\u202e名"),
    *("n" * 10_000, "'; DROP TABLE", "a,b"),
)


def test_hostile_column_names_are_data():
    quoted = ['"' + name.replace('"', '""') + '"' for name in HOSTILE]
    rows = "".join(
        f"{','.join(str(i * j + j) for j in range(8))},{'xy'[i % 2]}\n"
        for i in range(4)
    )
    data = read_table((",".join(quoted) + ",class\n" + rows).encode(), "t.csv")
    assert data.feature_columns == [name[:200] for name in HOSTILE]
    assert "Column names were cut to 200 characters." in data.notices
    assert all(len(notice) < 400 for notice in data.notices)


def test_empty_and_repeated_names_become_different():
    data = read_table(b"a,,a,a (2),\n1,2,3,4,x\n2,3,4,5,y\n", "t.csv")
    assert list(data.frame) == ["a", "column 2", "a (3)", "a (2)", "column 5"]
    assert any("'column 2', 'a (3)', 'column 5'" in notice for notice in data.notices)


def test_names_that_are_no_text_become_text():
    frame = pd.DataFrame([[1, 2, "x"], [2, 3, "y"]], columns=[1, None, ("t", 2)])
    assert list(make_dataset(frame, "t").frame) == ["1", "column 2", "('t', 2)"]


def test_text_in_a_number_column_names_column_row_and_value():
    text = (
        "a,class\n"
        + "".join(f"{i * 0.3},{'xy'[i % 2]}\n" for i in range(9))
        + "abc,x\n"
    )
    data = read_table(text.encode(), "t.csv")
    assert data.kinds["a"] == "number"
    assert np.isnan(data.frame["a"][9])
    words = (
        "Column 'a' holds text instead of numbers in row 10 ('abc'); treated as missing"
    )
    assert any(words in notice for notice in data.notices)


def test_a_column_of_half_text_becomes_a_category():
    values = ["0.1", "0.2", "0.3", "0.4", "low", "high"]
    text = "a,class\n" + "".join(f"{v},{'xy'[i % 2]}\n" for i, v in enumerate(values))
    data = read_table(text.encode(), "t.csv")
    assert data.kinds["a"] == "category"
    assert any("because of the text in row 5 ('low')" in n for n in data.notices)


def test_classes_that_are_numbers_and_words_stay_classes():
    text = "a,class\n" + "".join(f"{i},{i % 3 or 'other'}\n" for i in range(40))
    data = read_table(text.encode(), "t.csv")
    assert data.classes.tolist() == ["1", "2", "other"]
    assert data.n_samples == 40


def table(**columns):
    return make_dataset(pd.DataFrame(columns), "t")


NUMBERS = np.round(np.random.default_rng(0).normal(size=30), 3)
CLASSES = np.resize(["x", "y", "z"], 30)
IGNORED = {
    "id": (
        {"id": np.random.default_rng(0).permutation(30)},
        "looks like an identifier",
    ),
    "camel": ({"PassengerId": np.arange(30) ** 2}, "looks like an identifier"),
    "repeated id": ({"patient_id": np.arange(30) // 3}, "its rows stay together"),
    "names": ({"who": [f"n{i}" for i in range(30)]}, "every value is different"),
    "counter": ({"c": np.arange(5, 35)}, "it counts the rows"),
    "dates": ({"when": [f"2020-01-{i + 1:02d}" for i in range(30)]}, "like a date"),
    "German dates": ({"when": [f"{i + 1}.1.2020" for i in range(30)]}, "like a date"),
    "times": ({"when": pd.date_range("2020", periods=30)}, "like a date"),
    "empty": ({"e": [None] * 30}, "it is empty"),
}


@pytest.mark.parametrize(("column", "words"), IGNORED.values(), ids=IGNORED)
def test_proposed_as_ignore(column, words):
    (name,) = column
    data = table(**column, a=NUMBERS, b=CLASSES)
    assert data.roles[name] == "ignore"
    assert any(
        f"Column '{name}' is not used: " in n and words in n for n in data.notices
    )
    assert data.with_roles({name: "feature"}).roles[name] == "feature"
    used = make_dataset(
        data.whole, "t", roles={name: "feature"}, kinds={name: "category"}
    )
    assert used.roles[name] == "feature"


def test_a_long_text_column_is_not_used():
    words = [f"w{i}" for i in range(150)] * 2
    data = table(t=words, a=np.linspace(0, 1, 300), y=["p", "q"] * 150)
    assert data.roles["t"] == "ignore"
    assert any("it has 150 different texts" in notice for notice in data.notices)


TARGETS = {
    "by name": (
        {"Class": CLASSES, "a": NUMBERS, "b": CLASSES},
        "Class",
        "classification",
    ),
    "numbers by name": ({"y": NUMBERS, "b": CLASSES}, "y", "regression"),
    "last if it names classes": (
        {"a": CLASSES, "b": NUMBERS, "c": CLASSES},
        "c",
        "classification",
    ),
    "last with few whole numbers": (
        {"a": NUMBERS, "b": np.arange(30) % 3},
        "b",
        "classification",
    ),
    "last words before numbers": ({"a": CLASSES, "b": NUMBERS}, "a", "classification"),
    "last numbers": ({"a": NUMBERS, "b": NUMBERS * 2}, "b", "regression"),
    "many whole numbers": (
        {"a": NUMBERS, "b": np.arange(30) * 3 % 25},
        "b",
        "regression",
    ),
}


@pytest.mark.parametrize(("columns", "target", "task"), TARGETS.values(), ids=TARGETS)
def test_target_and_task_are_guessed(columns, target, task):
    data = table(**columns)
    assert (data.target, data.task) == (target, task)


def test_a_table_of_nothing_but_names_can_be_shown():
    names = [f"n{i}" for i in range(30)]
    data = table(first=names, second=names[::-1])
    assert data.target == "second"
    with pytest.raises(DatasetError, match="No column has the role feature"):
        check_fit(data)


def test_an_empty_table_cannot_be_shown():
    with pytest.raises(DatasetError, match="No column has the role target"):
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
    assert data.task == "classification"
    assert len(data.classes) == 40


def test_parquet_columns_become_numbers_or_text():
    data = parquet_of(
        whole=pa.array([1, None, 3], pa.int32()),
        half=pa.array([0.5, 1.5, 2.5], pa.float32()),
        exact=pa.array([1, 2, 3]).cast(pa.decimal128(30, 2)),
        flag=[True, None, False],
        word=pa.array(["u", None, "u"]).dictionary_encode(),
        when=pa.array([1, 2, 3], pa.timestamp("s")),
        nothing=pa.nulls(3),
        lists=[[1], [2], [3]],
        target=["p", "q", "p"],
    )
    read = read_table(data, "t.parquet")
    assert read.reading.format == "Parquet"
    assert read.feature_columns == ["whole", "half", "exact", "flag", "word"]
    assert read.frame["flag"].fillna("").tolist() == ["True", "", "False"]
    assert read.frame["whole"].fillna(0).tolist() == [1, 0, 3]
    assert any("neither numbers nor text: 'lists'" in notice for notice in read.notices)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_same_table_from_either_format(suffix):
    frame = pd.DataFrame(
        {"a": NUMBERS, "b": CLASSES, "n": np.arange(30) % 4, "y": CLASSES}
    )
    buffer = io.BytesIO()
    getattr(frame, f"to_{suffix}")(buffer, index=False)
    read = read_table(buffer, f"t.{suffix}")
    assert read.digest == make_dataset(frame, "t").digest
    assert read.private


FILES = {
    "t.csv": GOOD.encode(),
    "t.arff": ARFF,
    "t.parquet": parquet_of(a=[1.5, 2.5], b=["u", "v"], y=["p", "q"]),
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


def workbook(*rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def test_the_first_sheet_of_a_workbook_is_a_table_like_any_other():
    rows = [[f"00{i}", 0.5 * i, "pq"[i % 2]] for i in range(12)]
    data = read_table(workbook(["Report"], ["key", "x", "y"], *rows), "t.xlsx")
    assert data.reading.format == "Excel" and data.reading.skip == 1
    assert data.whole["key"].tolist() == [row[0] for row in rows]
    assert data.whole["x"].tolist() == [row[1] for row in rows]


def test_rows_of_libsvm_are_read_with_zeros_where_nothing_stands():
    data = read_table(b"+1 1:0.5 3:1.2\n-1 2:0.1 3:0.7\n+1 1:0.9\n", "t.data")
    assert data.whole.to_numpy().tolist() == [
        [0.5, 0.0, 1.2, 1],
        [0.0, 0.1, 0.7, -1],
        [0.9, 0.0, 0.0, 1],
    ]
    assert (data.target, data.reading.format) == ("target", "LibSVM")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<!DOCTYPE html><html>404, not found</html>", "a web page.*save the table"),
        (
            b"PK\x03\x04" + b"\0" * 26 + b"mimetypeapplication/vnd.oasis.opendocument"
            b".spreadsheet",
            "OpenDocument sheet.*save it as .xlsx",
        ),
        (b"PK\x03\x04 xl/workbook.xml", "damaged, or locked; save its sheet as CSV"),
    ],
)
def test_files_that_are_no_table_are_named_with_a_remedy(data, words):
    with pytest.raises(DatasetError, match=words):
        read_table(data, "t.csv" if data[:1] == b"<" else "t.xlsx")
