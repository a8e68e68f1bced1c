"""Somebody sets by hand how a text file is read, and takes dates and totals as told."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd

from tests.walks.tables import upload
from tests.walks.test_own_table import facts
from tests.walks.visit import Visit

N = 24


def _lines() -> list[str]:
    """Two titles, names, rows with a date and a decimal comma, a total and a note."""
    rng = np.random.default_rng(3)
    counts = rng.integers(10, 90, N)
    rows = [
        f"{n % 28 + 1:02}/{n % 12 + 1:02}/2021;{count};{n + 1},5;{('ano', 'ne')[n % 2]}"
        for n, count in enumerate(counts.tolist())
    ]
    total = f";{counts.sum()};{sum(n + 1.5 for n in range(N)):g};ne".replace(".", ",")
    return [
        "Zpráva;;;",
        "Ústav;;;",
        "Den;Počet;Váha;Závěr č",
        *rows,
        total,
        "Zdroj: úřad;;;",
    ]


DATA = "\r\n".join(_lines()).encode("cp1250")


def expected(**options) -> pd.DataFrame:
    """The same file as pandas reads it when it is told everything."""
    options = {"sep": ";", "encoding": "cp1250", "skiprows": 2, **options}
    return pd.read_csv(io.BytesIO(DATA), engine="python", dtype=str, **options)


def shows(visit: Visit, table: pd.DataFrame) -> None:
    """Whether the page has the rows and the last name of a table."""
    visit.reads(f"Target: {table.columns[-1]}")
    assert facts(visit)["Rows"] == len(table)


def test_each_part_of_the_reading_is_set_by_hand_and_dates_become_days(visit):
    upload(visit, "mereni.csv", DATA)
    visit.reads("2 lines skipped, ; between cells, decimal comma, names in line 3")
    shows(visit, expected(skipfooter=1))
    visit.unfold("Read with")
    visit.click("button", "Leave out 1 row at the end")
    shows(visit, expected(skipfooter=2))
    visit.choose("Rows left out at the end", "5")
    shows(visit, expected(skipfooter=5))
    visit.choose("Encoding", "cp1252")
    shows(visit, expected(skipfooter=5, encoding="cp1252"))
    visit.choose("Encoding", "cp1250")
    visit.choose("Rows of names", "0")
    visit.reads("no names")
    assert facts(visit)["Rows"] == len(expected(skipfooter=5)) + 1
    visit.choose("Rows of names", "1")
    visit.choose("Lines skipped", "3")
    shows(visit, expected(skiprows=3, skipfooter=5))
    visit.choose("Lines skipped", "2")
    visit.choose("Delimiter", ",")
    visit.reads("one cell more")
    visit.choose("Delimiter", ";")
    shows(visit, expected(skipfooter=5))
    visit.click("button", "Read as days")
    visit.reads("Den: dates become days since 2000-01-01 (written %d/%m/%Y)")
    visit.click("button", "Undo").reads("is 1 January 2021")


def test_the_other_table_of_a_file_is_read_instead(visit):
    first = [f"{n},{n % 7},{'ab'[n % 2]}" for n in range(120)]
    second = [f"{n}.5,{n % 5},u{n % 3},{'cd'[n % 2]}" for n in range(30)]
    texts = ["length,width,kind", *first, "", "Part two", "depth,step,site,sort"]
    upload(visit, "two.csv", "\n".join([*texts, *second]).encode())
    visit.reads("Target: kind")
    assert facts(visit)["Rows"] == 120
    visit.unfold("Read with")
    visit.click("button", "Read the table from line 124 instead")
    visit.reads("123 lines skipped, , between cells, names in line 124")
    visit.reads("Target: sort")
    assert facts(visit)["Rows"] == 30
    visit.choose("Lines skipped", "as detected")
    visit.reads("Target: kind")
    assert facts(visit)["Rows"] == 120


def test_what_a_point_is_can_be_said_for_each_column(visit):
    rows = (
        f"{1 + n}.{234 + n};{n},5;{n}.{100 + n};{'ab'[n % 2]}" for n in range(1, 24)
    )
    upload(visit, "points.csv", "\n".join(["x;n;z;y", *rows]).encode())
    visit.reads("Column 'x': 2.235 is read as 2235")
    visit.click("button", "x: read 2.235 as 2.235")
    visit.reads("Column 'x': 2.235 is read as 2.235")
    visit.reads("Column 'z': 1.101 is read as 1101")
    visit.click("button", "x: read 2.235 as 2235")
    visit.reads("Column 'x': 2.235 is read as 2235")


def test_names_that_are_years_are_taken_by_a_click_and_data_given_back(visit):
    rows = [f"S{n},{7 * n % 29 - 14.5},{'ab'[n % 2]}" for n in range(24)]
    upload(visit, "years.csv", "\n".join(["state,2021,party", *rows]).encode())
    visit.reads("Target: party")
    assert facts(visit)["Rows"] == 24
    assert "though it may be names" not in visit.text()
    rows = [f"{n * n % 17},{n * 5 % 13},{n * 3 % 11}" for n in range(9, 30)]
    upload(visit, "bare.csv", "\n".join(["5,6,7", *rows]).encode())
    visit.reads("is read as names, though it may be data")
    visit.click("button", "First row is data")
    visit.reads("Target: column 3")
    assert facts(visit)["Rows"] == 22


def test_amounts_are_offered_with_what_they_become_fitted_and_applied(visit):
    value = [
        n % 9 + 1 + (n % 7 + 1) / 10 if n % 2 else (300 + n) / 1000 for n in range(60)
    ]
    rows = [
        f"€{v:.1f}M,{300 + n}k,{'ab'[n % 2]}"
        if n % 2
        else f"€{1000 * v:.0f}K,{n % 9 + 1}.5M,{'ab'[n % 2]}"
        for n, v in enumerate(value)
    ]
    upload(visit, "money.csv", "\n".join(["value,installs,kind", *rows]).encode())
    visit.reads("€300K → 300000")  # the smallest and the largest, before a click
    visit.reads("→ 9500000")
    visit.reads("0 of 60 cells become missing")
    visit.click("button", "Read as numbers")
    visit.reads("value: numbers are read out of texts (60 of 60 rows")
    visit.click("button", "Read as numbers")
    visit.reads("installs: numbers are read out of texts (k, M, ... stand for zeros)")
    visit.click("button", "Undo")
    visit.reads("installs: '1.5M', '301k' … are numbers")
    visit.click("button", "Read as numbers")
    visit.go("Apply")
    # The same amounts in other notations, which the model must read alike.
    other = [f"{v:.3f}".replace(".", ",") + " Mio €" for v in value]
    new = [
        f"{one};{300 + n if n % 2 else (n % 9 + 1.5) * 1000:g}k;{'ab'[n % 2]}"
        for n, one in enumerate(other)
    ]
    visit.upload(
        "New rows", "neu.csv", "\n".join(["value;installs;kind", *new]).encode()
    )
    table = pd.read_csv(io.BytesIO(visit.take("All predictions as CSV")))
    assert len(table) == 60
    assert (table["answer"] == ["ab"[n % 2] for n in range(60)]).mean() > 0.95


def test_a_column_that_may_be_read_in_two_ways_is_asked_about(visit):
    rows = [f"{129 + n},{n % 10}73;{n % 5};{'ab'[n % 3 % 2]}" for n in range(40)]
    upload(visit, "amounts.csv", "\n".join(["amount;n;kind", *rows]).encode())
    visit.reads("129,073 → 129073")
    visit.reads("129,073 → 129.073")
    visit.click("button", "A comma stands before decimals")
    visit.reads("amount: numbers are read out of texts (decimal comma)")
    visit.click("button", "Undo")
    visit.click("button", "A comma parts thousands")
    visit.reads("amount: numbers are read out of texts (40 of 40 rows)")


def test_marks_of_missing_values_are_counted_and_chosen_anew(visit):
    rows = [
        f"{'k.A.' if n % 10 == 3 else n / 10};{['NA', 'EU', 'APAC'][n % 3]};"
        f"{['ASS', 'k.A.', 'keins', 'Ibu'][n % 4]};{'ab'[n % 2]}"
        for n in range(40)
    ]
    text = "\n".join(["x;region;drug;kind", *rows]).encode()
    upload(visit, "marks.csv", text)
    visit.reads("'k.A.' is read as missing (14 cells of 'x', 'drug').")
    visit.reads("NA is read as a level of its own")
    visit.click("button", "region: NA is missing")
    visit.reads("NA is read as a missing value")
    visit.unfold("Read with")
    visit.reads("Read as missing")
