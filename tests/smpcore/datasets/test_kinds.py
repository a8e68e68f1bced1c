"""Files of other programs: what is in one comes, or a sentence says what to do."""

import gzip
import io
import json
import lzma
import sqlite3
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from smpcore.datasets import limits, read_frame, read_table
from tests.smpcore.datasets.cases import refused, said
from tests.smpcore.datasets.kinds import (
    FILES,
    TABLE,
    archive,
    arrow,
    database,
    matlab,
    old_workbook,
    open_document,
    rows_of,
    written,
)

TEXT = TABLE.to_csv(index=False).encode()


def values(data):
    return data.whole.to_numpy(object).tolist()


@pytest.mark.parametrize("name", ["t.{}", "t.txt", "T.CSV"])
@pytest.mark.parametrize("ending", FILES)
def test_what_a_file_is_decides_and_not_its_name(ending, name):
    table = read_table(FILES[ending], name.format(ending))
    expected = TABLE.to_numpy(object)
    assert pd.DataFrame(values(table)).equals(pd.DataFrame(expected.tolist()))
    assert table.target == list(table.whole)[-1]
    names = {"por": [*"ABY"], "mat": ["X_1", "X_2", "y"]}
    assert list(table.whole) == names.get(ending, [*"aby"])


@pytest.mark.parametrize("make", [old_workbook, open_document])
def test_a_sheet_is_chosen_in_each_kind_of_workbook(make):
    more = [["x", "y"], *([i, "ab"[i % 2]] for i in range(9))]
    data = make({"Notes": [["Report", "2024"]], "First": rows_of(), "Second": more})
    table = read_table(data, "t.xls")
    assert (table.reading.sheet, table.n_samples) == ("First", 8)
    assert "Sheet 'First' is read, not 'Notes', 'Second'." in table.notices
    again = read_table(data, "t.xls", **table.reading.options() | {"sheet": "Second"})
    assert again.n_samples == 9


def test_errors_of_a_workbook_are_missing_and_said():
    book, file = openpyxl.Workbook(), io.BytesIO()
    for i in range(9):
        book.active.append([i + 0.5 if i else "x", "pq"[i % 2] if i else "y"])
    book.active["A3"] = "#DIV/0!"
    book.save(file)
    table = read_table(file, "t.xlsx")
    assert np.isnan(table.whole["x"][1]) and table.whole["x"].dtype == float
    assert said(table, "1 cell of the workbook with an error", "counts as missing")


def test_few_cells_that_stand_for_too_many_are_refused():
    book, file = openpyxl.Workbook(), io.BytesIO()
    book.active["A1"], book.active["XFD1000000"] = "x", 1
    book.save(file)
    with refused("The table has 16,384 columns and would take"):
        read_table(file, "t.xlsx")
    sheet = open_document({"a": rows_of()})
    with zipfile.ZipFile(io.BytesIO(sheet)) as parts:
        files = {name: parts.read(name) for name in parts.namelist()}
    row = b"<table:table-row>"
    many = b'<table:table-row table:number-rows-repeated="2000000">'
    files["content.xml"] = files["content.xml"].replace(row, many)
    with refused("The table has 2,000,000 rows"):
        read_table(archive(files), "t.ods")


def test_a_header_of_orange_in_a_workbook_and_with_blanks():
    names, types, roles = ["id", "x", "kind"], ["string", "continuous", "discrete"], []
    body = [[f"n{i}", i * 0.5, "pq"[i % 2]] for i in range(9)]
    for roles in (["meta", "", "class"], ["", "", ""]):
        data = old_workbook({"a": [names, types, [r or None for r in roles], *body]})
        cells = [names, types, roles, *body]
        text = "\n".join(" , ".join(map(str, row)) for row in cells)
        for content, name in ((data, "t.xls"), (text.encode(), "t.csv")):
            table = read_table(content, name)
            assert table.n_samples == 9 and list(table.whole) == names
            assert table.roles == {"id": "ignore", "x": "feature", "kind": "target"}


LABELS = {"sex": {1: "male", 2: "female"}, "score": {1: "low", 9: "high"}}


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_labels_of_values_become_levels(ending):
    frame = pd.DataFrame(
        {
            "sex": [1.0, 2.0, 1.0, np.nan, 2.0, 1.0],
            "score": [1.0, 2.0, 3.0, 9.0, 5.0, 6.0],
            "day": pd.date_range("2024-02-28", periods=6),
            "y": [*"pqpqpq"],
        }
    )
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[ending]
    data = written(write, frame, variable_value_labels=LABELS)
    table = read_table(data, f"t.{ending}")
    expected = ["male", "female", "male", None, "female", "male"]
    assert table.whole["sex"].astype(object).where(
        frame["sex"].notna(), None
    ).tolist() == (expected)
    assert table.kinds["sex"] == "category" and table.kinds["score"] == "number"
    assert table.whole["score"].tolist() == [1, 2, 3, 9, 5, 6]
    assert table.whole["day"][1].startswith("2024-02-29")
    assert said(table, "Labels of values are read as levels: 'sex'.")
    assert said(table, "'score': 2 of its 6 values have labels ('low', 'high')")


def test_what_a_user_declares_missing_is_missing():
    frame = TABLE.assign(b=[1.0, 99.0, 3.0, 97.0, 5.0, 6.0, -1.0, 8.0])
    ranges = {"b": [{"lo": 97, "hi": 99}, -1]}
    data = written(pyreadstat.write_sav, frame, missing_ranges=ranges)
    b = read_table(data, "t.sav").whole["b"]
    assert np.array_equal(b, [1, np.nan, 3, np.nan, 5, 6, np.nan, 8], equal_nan=True)


RECORDS = [
    {"a": i + 0.5, "at": {"x": i, "y": {"z": 1}}, "l": [1], "c": "pq"[i % 2]}
    for i in range(4)
]
JSON = {
    "records": TABLE.to_json(orient="records"),
    "columns": TABLE.to_json(),
    "split": TABLE.to_json(orient="split"),
    "schema": TABLE.to_json(orient="table", index=False),
    "index": TABLE.to_json(orient="index"),
    "lists of columns": json.dumps(TABLE.astype(object).to_dict(orient="list")),
    "wrapped": json.dumps(
        {"n": 8, "rows": json.loads(TABLE.to_json(orient="records"))}
    ),
    "UTF-16": TABLE.to_json(orient="records"),
    "rows": TABLE.to_json(orient="values"),
    "rows below names": json.dumps(
        [["a", "b", "y"], *json.loads(TABLE.to_json(orient="values"))]
    ),
}


@pytest.mark.parametrize("kind", JSON)
def test_json_in_each_order(kind):
    data = JSON[kind].encode("utf-16" if kind == "UTF-16" else "utf-8")
    frame, reading, _ = read_frame(data, "t.json")
    assert reading.format == "JSON"
    last = frame[frame.columns[-3:]].set_axis([*"aby"], axis=1)
    assert np.array_equal(last["a"], TABLE["a"])
    assert np.array_equal(last["b"], TABLE["b"], equal_nan=True)
    assert last["y"].tolist() == TABLE["y"].tolist()


def test_no_cell_of_a_list_is_lost_below_fewer_names():
    rows = [["a", "y"], *([i, "pq"[i % 2], i * i] for i in range(8))]
    table = read_table(json.dumps(rows).encode(), "t.json")
    assert table.whole.shape == (9, 3), "the first is a row like the others"


@pytest.mark.parametrize("end", ["]", "\n"])
def test_a_number_of_json_that_nobody_reads_is_said(end):
    record = f'{{"a": {"9" * 5_000}, "y": "u"}}'
    data = f"[{record}]" if end == "]" else f"{record}\n{record}\n"
    with refused("a whole number of more than 4,300 digits; write it in quotation"):
        read_table(data.encode(), "t.json")


def test_one_level_of_a_record_is_taken_apart():
    table = read_table(json.dumps(RECORDS).encode(), "t.json")
    assert list(table.whole) == ["a", "at.x", "c"]
    assert said(table, "neither numbers nor text", "'at.y', 'l'")


REFUSED = [
    (
        b'[{"a": 1, "b": 2},\n{"a": 2 "b": 3}]',
        "json",
        "damaged in line 2 .*correct that",
    ),
    (b'{"a": 1, "b": "x"}\n{"a": 2, "b": \n', "jsonl", "damaged in line 2"),
    (b'{"a": [1, 2], "b": 3}', "json", "The JSON is no table; save it as a list"),
    (b"[" * 100_000, "json", "JSON file cannot be read|one column|no rows"),
    (b'{"a":' * 90_000 + b"1" + b"}" * 90_000, "json", "JSON file cannot be read"),
    (
        b"MATLAB 7.3 MAT-file, Platform" + b"\0" * 600,
        "mat",
        "save.file, variables, '-v7",
    ),
    (b"%PDF-1.7\n", "pdf", "'t.pdf' is a PDF document, not a table; copy"),
    (
        archive({"[Content_Types].xml": "", "word/document.xml": ""}),
        "docx",
        "is a Word doc",
    ),
    (archive({"read.me": "text", "a/b.txt~": ""}), "zip", "no table .'read.me'"),
    (archive({}), "zip", "no table .it is empty"),
    (gzip.compress(gzip.compress(TEXT)), "gz", "holds another archive; unpack it"),
    (gzip.compress(b"RDX3\nX\n\0\0\0\3"), "rds", "is an R object; in R, write.csv"),
    (b"\x80\4\x95\0", "pkl", "a pickle of Python, which could run anything"),
    (b"CREATE TABLE t (x int);\nINSERT INTO t VALUES (1);", "txt", "list of SQL comm"),
    (b"age: continuous.\nsex: f, m.\n", "names", "description of columns.*one .zip"),
    (b"<?xml version='1.0'?><a/>", "xml", "is an XML file, not a table; save"),
    (b"<table border=1><tr><td>1</td></tr></table>", "xls", "is a web page"),
    (b"\\begin{tabular}{ll}\na & b \\\\\n1 & 2 \\\\\n", "txt", "a text of LaTeX"),
    (b"- age: 4\n  town: x\n- age: 5\n  town: y\n", "csv", "is a YAML file"),
    (b"1,3 1:2 2:3\n2 1:1\n", "svm", r"several labels each \(1,3\)"),
]


@pytest.mark.parametrize(("data", "ending", "words"), REFUSED, ids=range(len(REFUSED)))
def test_a_file_of_another_kind_is_named(data, ending, words):
    with refused(words):
        read_table(data, f"t.{ending}")


def test_a_text_may_begin_as_a_program_s_file():
    for word in ("ID3", "RIFF", "ORC", "BZh", "SIMPLE", "MZ"):
        text = f"{word},b\n" + "".join(f"{i},{'pq'[i % 2]}\n" for i in range(9))
        assert read_table(text.encode(), "t.csv").n_samples == 9


def test_a_table_of_a_database_is_chosen_and_nothing_in_it_is_run():
    more = pd.DataFrame({"x": range(9), "z <b>": [*"ababababa"]})
    data = database(empty=TABLE[:0], **{'first "one"': TABLE}, second=more)
    with sqlite3.connect(":memory:") as connection:
        connection.deserialize(data)
        connection.execute("CREATE VIEW v AS SELECT 1 AS a, 2 AS b")
        connection.execute("ALTER TABLE second ADD COLUMN picture BLOB")
        connection.execute("UPDATE second SET picture = x'00ff'")
        connection.commit()
        data = connection.serialize()
    table = read_table(data, "t.db")
    assert table.reading.sheet == 'first "one"'
    assert table.reading.other_sheets == ("empty", "second")
    assert said(table, "Table 'first \"one\"' is read, not 'empty', 'second'")
    table = read_table(data, "t.db", sheet="second")
    assert list(table.whole) == ["x", "z <b>"] and table.n_samples == 9
    assert said(table, "neither numbers nor text: 'picture'")


def test_a_column_that_a_database_computes_is_refused():
    with sqlite3.connect(":memory:") as connection:
        rule = "AS (hex(zeroblob(2000000)))"
        connection.execute(f"CREATE TABLE t (a int, b {rule})")
        connection.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (3,)])
        connection.commit()
        data = connection.serialize()
    with refused("The database cannot be read.*save the table as CSV"):
        read_table(data, "t.sqlite")


def test_a_database_beside_its_log_is_read_as_it_stands(tmp_path):
    path = tmp_path / "t.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    TABLE.to_sql("t", connection, index=False)
    connection.close()
    assert path.read_bytes()[18:20] == b"\2\2"
    assert read_table(path.read_bytes(), "t.db").n_samples == 8


def test_arrays_of_matlab_with_a_row_each_are_columns():
    X = np.arange(24.0).reshape(8, 3)
    data = matlab(gnd=np.arange(8)[None] % 2, fea=X, about="text", s={"a": 1})
    table = read_table(data, "t.mat")
    assert list(table.whole) == ["fea_1", "fea_2", "fea_3", "gnd"]
    assert table.target == "gnd" and table.whole["gnd"].tolist() == [0, 1] * 4
    assert said(table, "neither numbers nor text: 'about', 's'")


def test_queries_of_libsvm_are_a_group():
    rows = "".join(f"{i % 2} qid:{i // 3} 1:{i}.5 3:2\n" for i in range(12))
    for name in ("t.svm", "t.txt"):
        table = read_table(rows.encode(), name)
        assert table.roles["qid"] == "group" and table.target == "target"
        assert table.whole["qid"].tolist() == [i // 3 for i in range(12)]
        assert said(table, "Rows of one query (qid) stay together")


def test_tables_of_uci_have_the_names_beside_them():
    rows = "".join(f"{i}, State-gov, {'<>'[i % 2]}50K.\n" for i in range(20, 40))
    names = "| classes\n>50K, <=50K.\n\nage: continuous.\nworkclass: Private, Local.\n"
    files = {"a/adult.test": "|1x3 Cross validator\n" + rows, "a/adult.names": names}
    data = archive({**files, "__MACOSX/._adult.data": rows, "a/Index": "text"})
    table = read_table(data, "adult.zip")
    assert list(table.whole) == ["age", "workclass", "class"]
    assert {*table.whole["class"]} == {"<50K", ">50K"} and table.n_samples == 20
    assert said(table, "full stop at the end of each row is left out")
    assert said(table, "those of the .names file")
    assert table.reading.filename == "adult.zip"


def test_a_table_within_an_archive_is_chosen():
    small = TEXT[: TEXT[:-1].rindex(b"\n") + 1]  # one row less
    data = archive({"large.csv": TEXT, "small.csv": small, "../up.csv": small[:-1]})
    table = read_table(data, "t.zip")
    assert table.reading.sheet == "large.csv" and table.n_samples == 8
    assert table.reading.other_sheets == ("small.csv",)  # one above the folder is none
    assert read_table(data, "t.zip", sheet="small.csv").n_samples == 7
    assert read_table(data, "t.zip", sheet="../up.csv").n_samples == 8
    inner = archive({"book.xls": FILES["xls"]})
    assert read_table(inner, "t.zip").reading.sheet == "Data"


def _locked():
    """An archive that says it needs a password."""
    data = bytearray(archive({"t.csv": TEXT}))
    data[6] |= 1
    data[data.rindex(b"PK\1\2") + 8] |= 1
    return bytes(data)


ZEROS = b"0" * 60_000_000
BOMBS = [
    (gzip.compress(ZEROS), "csv.gz", "expands to more than 50 MB"),
    (lzma.compress(ZEROS, preset=0), "csv.xz", "expands to more than 50 MB"),
    (pa.compress(ZEROS, "zstd", asbytes=True), "zst", "expands to more than 50 MB"),
    (archive({"t.csv": ZEROS}, zipfile.ZIP_DEFLATED), "zip", "expands to more than 50"),
    (_locked(), "zip", "is locked by a password"),
]


@pytest.mark.parametrize(("data", "ending", "words"), BOMBS, ids=range(len(BOMBS)))
def test_what_becomes_too_large_is_not_unpacked(data, ending, words):
    with refused(words):
        read_table(data, f"t.{ending}")


def test_what_is_packed_within_a_file_is_bounded(monkeypatch):
    wide = pd.DataFrame({f"x{i}": np.zeros(60_000) for i in range(20)})
    packed = (
        arrow(wide, compression="zstd"),
        written(pyreadstat.write_sav, wide, compress=True),
    )
    arrays = matlab(X=wide.to_numpy())
    assert max(map(len, (*packed, arrays))) < 500_000
    monkeypatch.setattr(limits, "MAX_EXPANDED", 9_000_000)
    with refused("The Arrow file expands to 10 MB, at most 9 MB"):
        read_table(packed[0], "t.arrow")
    monkeypatch.setattr(limits, "MAX_TABLE_BYTES", 9_000_000)
    with refused("20 columns and would take 10 MB in memory, at most 9 MB"):
        read_table(packed[1], "t.zsav")
    monkeypatch.setattr("smpcore.datasets.matlab_files.MAX_EXPANDED", 9_000_000)
    with refused("The MATLAB file expands to 9 MB"):
        read_table(arrays, "t.mat")


def test_names_in_a_file_stay_data():
    name = "<img src=x onerror=alert(1)>"
    records = json.dumps([{name: i, "y": "pq"[i % 2]} for i in range(8)])
    assert list(read_table(records.encode(), "t.json").whole) == [name, "y"]
    rows = [[name, "y"], *([i, "pq"[i % 2]] for i in range(9))]
    book = read_table(open_document({"<b>../a": rows}), "../../t.ods")
    assert list(book.whole) == [name, "y"] and book.reading.sheet == "<b>../a"
    assert book.name == "t" and book.reading.filename == "t.ods"
    inner = read_table(archive({"book.xlsx": _workbook()}), "t.zip")
    assert inner.n_samples == 8


def _workbook():
    file = io.BytesIO()
    TABLE.to_excel(file, index=False)
    return file.getvalue()
