"""Files as people have them: right, asked about, or refused with the remedy.

What each of `FOLDER` holds stands in its ``meant.csv``, see `tests.bench.cases`; files
that would be long, and workbooks, are made here.
"""

import datetime as dt
from io import BytesIO
from pathlib import Path

import openpyxl
import pytest

from smpcore.datasets import read_table
from tests.bench.cases import judge, read_meant

FOLDER = Path(__file__).parent / "files"
MEANT = read_meant(FOLDER / "meant.csv")
N = 12


def _late(n, last, encoding="utf-8"):
    rows = "".join(f"{i},v{i % 7},{'pq'[i % 2]}\n" for i in range(n))
    return ("u,w,label\n" + rows).encode() + last.encode(encoding)


def _late_decimal():
    cells = [*map(str, range(5000)), *(f"{i},5" for i in range(60))]
    rows = "".join(f"{cell};{i % 4};{'pq'[i % 2]}\n" for i, cell in enumerate(cells))
    return ("u;n;label\n" + rows).encode()


def _late_width():
    first = "".join(f"{3 * i},{'pq'[i % 2]}\n" for i in range(300))
    then = "".join(f"{3 * i},{'pq'[i % 2]},{(i + 3) % 5 + 5}\n" for i in range(300))
    return ("u,w\n" + first + then).encode()


def _workbook(rows, merged=(), first=(0, 0), percent=""):
    book = openpyxl.Workbook()
    sheet, (down, right) = book.active, first
    for i, row in enumerate(rows, start=1 + down):
        for j, value in enumerate(row, start=1 + right):
            cell = sheet.cell(i, j)
            cell.value = value
            if percent and isinstance(value, float) and value < 1:
                cell.number_format = percent
            if isinstance(value, str) and value.startswith("#"):
                cell.data_type = "e"
    for cells in merged:
        sheet.merge_cells(cells)
    file = BytesIO()
    book.save(file)
    return file.getvalue()


def _clinic():
    days = (dt.datetime(2023, 2, 1 + i) for i in range(N))
    rows = [
        [f"c{i}", day, i / 50, "<3" if i % 5 == 0 else i * 0.75, 800.5 + i, "pq"[i % 2]]
        for i, day in enumerate(days)
    ]
    above = [["Ward report"], [], ["case", "stay", None, "blood", None, "label"]]
    names = [None, "from", "part", "iron", "fee", None]
    below = ["Total", None, None, None, 777, None]
    merged = "A1:F1", "B3:C3", "D3:E3"
    return _workbook([*above, names, *rows, below], merged, percent="0%")


def _formulas():
    start, hour = dt.datetime(2023, 2, 1, 9, 45), dt.timedelta(hours=1)
    rows = [
        [f"{40 + i:05}", f"{i:03}", start + i * hour, f"=B{i + 2}*3", "pq"[i % 2]]
        for i in range(N)
    ]
    return _workbook([["id", "code", "at", "share", "label"], *rows])


def _offset():
    names = ["city", 2016, 2017, dt.datetime(2018, 1, 1), "label"]
    rows = [[f"t{i}", 2.5 * i, 3 * i, i % 3, "pq"[i % 2]] for i in range(N)]
    return _workbook([names, *rows, [], ["Source: census"]], first=(5, 3))


def _text_numbers():
    rows = [
        [1.5 * i, f"{i}{'.,'[i % 2]}5", "#DIV/0!" if i % 5 == 0 else i, "pq"[i % 2]]
        for i in range(N)
    ]
    return _workbook([["u", "as_text", "err", "label"], *rows])


MADE = {
    "late_quote.csv": lambda: _late(3000, '3000,"k, l",p\n'),
    "late_decimal.csv": _late_decimal,
    "late_width.csv": _late_width,
    "late_encoding.csv": lambda: _late(9000, "1,Höhe,p\n2,Süd,q\n", "latin-1"),
    "clinic.xlsx": _clinic,
    "formulas.xlsx": _formulas,
    "offset.xlsx": _offset,
    "text_numbers.xlsx": _text_numbers,
}


@pytest.mark.parametrize("file", MEANT)
def test_a_file_is_right_or_asked_about_or_refused(file):
    data = MADE[file]() if file in MADE else (FOLDER / file).read_bytes()
    verdict = judge(data, file, MEANT[file])
    assert verdict.word in ("right", "asked", "refused"), verdict
    assert verdict.click != "wrong", verdict


def test_each_file_is_one_that_is_meant():
    files = {path.name for path in FOLDER.iterdir() if path.suffix != ".csv"}
    files |= {path.name for path in FOLDER.glob("*.csv")} - {"meant.csv"}
    assert files - {".gitattributes"} == {*MEANT} - {*MADE}


def test_a_sample_is_asked_for_of_bytes_that_are_no_parquet():
    data = read_table(b"a,b\n1,x\n2,y\n", "t.csv", sample=True)
    assert data.whole["a"].tolist() == [1, 2]
