"""How many dirty CSV files are read right: ``python -m tests.bench.files pollock``.

``--data FOLDER`` is a folder of the Pollock survey: ``csv`` (the files as they were
found), ``clean`` (what they hold, by hand) and ``parameters``; a folder ``polluted`` in
it, with the same three, is reported apart. Each reader, with nothing said about the
file, is *right* if `is_right` says so, *refuses*, or is *wrong*. This project's wrong
ones are *in silence* unless `is_said`.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from smpcore.datasets import DELIMITERS, QUOTES, read_frame
from smpcore.errors import SmpcoreError

#: Files whose truth contradicts what this project does on purpose.
CONTRADICTIONS = {
    "permanent_secretary_and_director_general_expenses_and_hospitality_april_to_june_"
    "2012.csv": "several tables in one; the truth joins them",
    "20170320-ePC_Data-Travel-Stationery.csv": (
        "two tables in one; the truth joins them"
    ),
    "Note_4_Staff_costs_-_Average_number_of_persons_employed_13-14.csv": (
        "names joined by hand over five lines"
    ),
    "Feb-2016.csv": "the truth keeps a note below the table as a row",
    "Sustainability_-_Water_consumption_P_56.csv": "a title joined to the first name",
}
_INVENTED = re.compile(r"|(col_|column_?|column )\d+|unnamed: \d+|_\d+|\d+")


class Truth(NamedTuple):
    """A table's number of rows and its names."""

    n_rows: int
    names: list[str]


def truth_of(folder: Path, name: str) -> Truth:
    """What a file holds, by hand; a header is told apart by the parameters."""
    parameters = folder / "parameters" / f"{name}_parameters.json"
    n_header = int(json.loads(parameters.read_text())["header_lines"])
    text = (folder / "clean" / name).read_text(encoding="utf-8", errors="replace")
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    if not rows:
        return Truth(0, [])
    if n_header or all(map(is_invented, rows[0])):
        return Truth(len(rows) - 1, rows[0])
    return Truth(len(rows), [""] * len(rows[0]))


def is_invented(name: str) -> bool:
    """Whether nobody wrote this name: it is empty or numbers the column."""
    return _INVENTED.fullmatch(name.strip().lower()) is not None


def is_right(frame: pd.DataFrame, truth: Truth, row_names: str = "") -> bool:
    """Whether a table has the rows and the names of the truth.

    Names compare after trimming, without the ending " (2)" of a repeated one and with
    every run of blanks as one; invented names match each other. A column that was
    proposed as names of rows does not count where the truth has none.
    """
    names = [str(name) for name in frame]
    if len(names) == len(truth.names) + 1 and row_names:
        names.remove(row_names)
    if len(frame) != truth.n_rows or len(names) != len(truth.names):
        return False
    return all(map(same_name, names, truth.names))


def same_name(name: str, wanted: str) -> bool:
    """Whether two names are alike but for blanks, signs and a number of repetition."""
    if is_invented(name) and is_invented(wanted):
        return True
    plain = [re.sub(r"\W+", " ", one).strip()[:80] for one in (name, wanted)]
    again = re.sub(r"( \(\d+\)|_duplicated_\d+|_\d+|\.\d+)$", "", name)
    return plain[0] == plain[1] or re.sub(r"\W+", " ", again).strip()[:80] == plain[1]


def _ours(path: Path) -> pd.DataFrame:
    frame, reading, _ = read_frame(path.read_bytes(), path.name)
    frame.attrs["row names"] = reading.row_names
    return frame


def _pandas(path: Path) -> pd.DataFrame:
    return pd.read_csv(path)


def _duckdb(path: Path) -> pd.DataFrame:
    import duckdb

    return duckdb.read_csv(str(path)).df()


def _polars(path: Path) -> pd.DataFrame:
    import polars

    table = polars.read_csv(path)
    return pd.DataFrame(table.to_dict(as_series=False)).set_axis(table.columns, axis=1)


def _clevercsv(path: Path) -> pd.DataFrame:
    import clevercsv

    return clevercsv.read_dataframe(str(path))


#: Parts of the reading that the Data page names, and what else they may be.
_PARTS = {
    "delimiter": DELIMITERS,
    "header": range(6),
    "skip": range(40),
    "footer": range(40),
    "quote": QUOTES,
}


def is_said(path: Path, truth: Truth) -> bool:
    """Whether the page names the very decision that is wrong, with a remedy.

    That is a part of the reading that it states for this file, and that another choice
    of its control makes right.
    """
    _, reading, _ = read_frame(path.read_bytes(), path.name)
    for part, values in _PARTS.items():
        stated = part in ("delimiter", "header") or getattr(reading, part)
        for value in values if stated else ():
            with suppress(SmpcoreError):
                frame, *_ = read_frame(path.read_bytes(), path.name, **{part: value})
                if is_right(frame, truth, reading.row_names):
                    return True
    return False


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    "this project": _ours,
    "DuckDB": _duckdb,
    "pandas": _pandas,
    "Polars": _polars,
    "CleverCSV": _clevercsv,
}


def verdict(
    read: Callable[[Path], pd.DataFrame], path: Path, truth: Truth
) -> tuple[str, str]:
    """ "right", "refused" or "wrong", and what was read instead."""
    try:
        frame = read(path)
    except SmpcoreError as error:
        return "refused", str(error)
    except Exception as error:  # whatever a rival raises
        return "refused", type(error).__name__
    if is_right(frame, truth, frame.attrs.get("row names", "")):
        return "right", ""
    wrong = [
        (a, b)
        for a, b in zip(frame, truth.names, strict=False)
        if not same_name(str(a), b)
    ]
    shape = f"{frame.shape}, not {(truth.n_rows, len(truth.names))}"
    return "wrong", f"{shape} {wrong[:2]}"


def report(folder: Path, apart: dict[str, str]) -> None:
    """Print what each reader makes of a folder's files, and this project's others."""
    names = sorted(path.name for path in (folder / "csv").iterdir())
    truths = {name: truth_of(folder, name) for name in names}
    names = [name for name in names if truths[name].n_rows]
    counted = [name for name in names if name not in apart]
    print(f"{folder.name}: {len(counted)} files, {len(names) - len(counted)} apart")
    for reader, read in READERS.items():
        told = {n: verdict(read, folder / "csv" / n, truths[n]) for n in names}
        counts = Counter(told[name][0] for name in counted)
        words = ", ".join(f"{counts[w]} {w}" for w in ("right", "refused", "wrong"))
        print(f"  {reader:<13}{words} ({counts['right'] / len(counted):.0%} right)")
        if read is _ours:
            for name, (word, why) in told.items():
                if word != "right":
                    if word == "wrong" and not is_said(
                        folder / "csv" / name, truths[name]
                    ):
                        word = "SILENT"
                    why += f"; apart: {apart[name]}" if name in apart else ""
                    print(f"    {word:<8}{name[:50]:<51}{why[:200]}")


def main(arguments: list[str]) -> None:
    """Print the survey's files and the systematic ones."""
    parser = argparse.ArgumentParser(prog="tests.bench.files pollock")
    parser.add_argument("--data", type=Path, required=True)
    folder = parser.parse_args(arguments).data
    report(folder, CONTRADICTIONS)
    if (folder / "polluted").is_dir():
        report(folder / "polluted", {})
