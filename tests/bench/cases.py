"""Files as people have them, and what they mean: ``python -m tests.bench.files cases``.

``--data FOLDER`` holds the files. What they mean is a table, one line for each fact:
``meant.csv`` in the folder, else ``cases.csv`` beside this module. Its columns:

- what: "shape" (rows x columns, "?" is any), "names" (with | between; several lines are
  several ways; the empty name is nobody's), "number", "level", "missing", "date" and
  "duration" of a cell, "target", "role", "said" (a regular expression for what a notice
  or the words of the reading say), "ask" (it can be read in two ways: a cell, or the
  target), "refuse" (what the sentence names; beside other lines: it may also be read).
- row, column: of the table's rows, from 1; a column's name, its place #1, or @target.
- value: what is meant, with | between if several are right: those of one column's lines
  go together, the first with the first.

A file is *right* without a click, *asked* (a doubt of the reading, another delimiter
that may be right or a suggestion is about each line that does not hold), *said* (what
is wrong or lost stands in a notice), *silent*, *refused* rightly, *unread* (refused
though it is a table), *vague* (refused without the reason), or *crashed*. "Click" is
what holds after the first suggestion for each column is taken, or the page's other way
to read the file: right, wrong, or open, where a date or a question is left. A peer is
right if the table holds; it cannot ask, so either reading of an open cell is right, and
a date or an open cell kept as a text, too.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from smpcore.datasets import (
    CleaningStep,
    Dataset,
    Suggestion,
    apply_steps,
    read_table,
    shown,
    suggest_codes,
    with_step,
)
from smpcore.datasets.columns import converted
from smpcore.errors import SmpcoreError
from tests.bench.pollock import READERS, is_invented, same_name

TABLE = Path(__file__).with_suffix(".csv")
#: Endings of files that peers read as text, and beginnings of what is none.
_TEXTS = ".csv", ".tsv", ".tab", ".txt", ".data", ".test"
_NO_TEXT = b"@", b"%#"
_CELLS = "number", "level", "missing", "date", "duration", "ask"
_EPOCH = pd.Timestamp("2000-01-01")


class Line(NamedTuple):
    """A fact about a file: a row of the table."""

    file: str
    what: str
    row: str
    column: str
    value: str
    why: str

    def __str__(self) -> str:
        place = " ".join(filter(None, (self.column, self.row)))
        return f"{self.what} {place}: {self.value}".replace(" :", ":")

    @property
    def is_cell(self) -> bool:
        """Whether it is about a cell."""
        return self.what in _CELLS and bool(self.row)


class Table(NamedTuple):
    """What a reader made of a file."""

    frame: pd.DataFrame
    target: str = ""
    row_names: str = ""


class Ours(NamedTuple):
    """What this project made of a file, with every row."""

    dataset: Dataset
    suggestions: list[Suggestion]

    @property
    def table(self) -> Table:
        """Cells as the kinds of their columns want them."""
        dataset = self.dataset
        frame = dataset.frame
        if dataset.origin is not None:  # rows without a target are rows
            frame = apply_steps(dataset.origin.frame, dataset.cleaning)
        kinds = dataset.kinds
        cells = [converted(frame[name], kinds[name])[0] for name in frame]
        frame = pd.concat(cells, axis=1) if cells else frame
        row_names = dataset.reading.row_names if dataset.reading else ""
        return Table(frame, dataset.target, row_names)

    @property
    def words(self) -> list[str]:
        """All that is said about the file."""
        reading = self.dataset.reading
        return [*self.dataset.notices, *([reading.words()] if reading else [])]


def read_meant(table: Path) -> dict[str, list[Line]]:
    """Name of a file -> what it means."""
    meant = defaultdict(list)
    with table.open(encoding="utf-8", newline="") as file:
        for cells in csv.reader(file):
            if cells[0] != "file":
                meant[cells[0]].append(Line(*cells))
    return dict(meant)


def _has_names(table: Table, names: list[str]) -> bool:
    """Whether these are its names; a name that nobody wrote may be any number's."""
    if table.frame.shape[1] != len(names):
        return False
    pairs = zip(map(str, table.frame), names, strict=True)
    return all(
        (is_invented(name) or name == table.row_names)
        if not meant
        else name.strip() == meant
        or (not is_invented(meant) and same_name(name, meant))
        for name, meant in pairs
    )


def _place(line: Line, lines: list[Line], table: Table) -> int:
    """Place of the line's column in the table."""
    names = next((one.value.split("|") for one in lines if one.what == "names"), [])
    if line.column == "@target":
        return [*table.frame].index(table.target)
    if line.column.startswith("#") and line.column not in names:
        return int(line.column[1:]) - 1
    if [*map(str, table.frame)].count(line.column) == 1:
        return [*map(str, table.frame)].index(line.column)
    return names.index(line.column)


def _ways(line: Line) -> list[str]:
    return line.value.split(" | ") if line.value else [line.what]


def _sort(line: Line, way: str) -> str:
    """What the cell of a line is to be, if it is read in this way."""
    if way == "missing":
        return way
    if line.what != "ask":
        return line.what
    with suppress(ValueError):
        return "number" if float(way) == float(way) else ""
    return "date" if re.fullmatch(r"\d{4}-\d\d-\d\d.*", way) else "level"


def _days(way: str) -> float:
    return (pd.Timestamp(way) - _EPOCH) / pd.Timedelta(1, "D")


def _is_number(cell: Any) -> bool:
    return isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool)


def _is_near(cell: Any, *wanted: float) -> bool:
    return _is_number(cell) and bool(np.isclose(float(cell), wanted, 1e-6, 1e-9).any())


def _is_date(cell: Any, way: str) -> bool:
    if _is_number(cell):
        return _is_near(cell, _days(way))
    if isinstance(cell, (dt.date, np.datetime64)):
        return pd.Timestamp(cell).tz_localize(None) == pd.Timestamp(way)
    return False


def _is_duration(cell: Any, way: str) -> bool:
    seconds = pd.Timedelta(way).total_seconds()
    if isinstance(cell, dt.time):
        return cell.isoformat() == f"{way:0>8}"
    if isinstance(cell, (dt.timedelta, np.timedelta64)):
        return pd.Timedelta(cell).total_seconds() == seconds
    return _is_near(cell, *(seconds / unit for unit in (1, 60, 3600, 86400)))


def _is_level(cell: Any, way: str) -> bool:
    if _is_number(cell) and float(cell).is_integer():
        cell = int(cell)
    return " ".join(str(cell).split()) == way


_HOLDS = {
    "number": lambda cell, way: _is_near(cell, float(way)),
    "level": _is_level,
    "missing": lambda cell, way: bool(pd.isna(cell)),
    "date": _is_date,
    "duration": _is_duration,
}


def _is_kept(line: Line, cell: Any) -> bool:
    """Whether a date or an open cell is a text yet, from which nothing is lost."""
    return line.what in ("date", "duration", "ask") and isinstance(cell, str)


def wrong_lines(table: Table, lines: list[Line], kept: bool = False) -> list[Line]:
    """The lines that do not hold in a table, cells that are asked about included."""
    wrong, by_column = [], defaultdict(list)
    shapes = [line.value.split(" x ") for line in lines if line.what == "shape"]
    frame = table.frame
    for line in lines:
        if line.what == "shape":
            pairs = zip(shapes[0], map(str, frame.shape), strict=True)
            if any(meant not in ("?", is_) for meant, is_ in pairs):
                wrong.append(line)
        elif line.is_cell:
            by_column[line.column].append(line)
    named = [line for line in lines if line.what == "names"]
    if named and not any(_has_names(table, line.value.split("|")) for line in named):
        wrong.append(named[0])
    for some in by_column.values():
        n_ways = max(len(_ways(line)) for line in some)
        each = [_wrong_cells(table, lines, some, i, kept) for i in range(n_ways)]
        wrong += min(each, key=len)
    return wrong


def _wrong_cells(
    table: Table, lines: list[Line], some: list[Line], number: int, kept: bool
) -> list[Line]:
    """Lines of one column that do not hold if the ways of this number are meant."""
    wrong = []
    for line in some:
        way = _ways(line)[min(number, len(_ways(line)) - 1)]
        try:
            cell = table.frame.iat[int(line.row) - 1, _place(line, lines, table)]
        except (IndexError, ValueError):
            wrong.append(line)
            continue
        holds = _HOLDS[_sort(line, way)](cell, way)
        if not (holds or (kept and _is_kept(line, cell))):
            wrong.append(line)
    return wrong


def _wrong_here(ours: Ours, lines: list[Line]) -> list[Line]:
    """Likewise of this project: roles and what is said, too; no open cells."""
    table, dataset = ours.table, ours.dataset
    sure = [line for line in lines if line.what not in ("ask", "refuse")]
    wrong = wrong_lines(table, sure)
    for line in sure:
        holds = True
        if line.what == "said":
            words = "\n".join(ours.words)
            holds = re.search(line.value, words, re.IGNORECASE) is not None
        elif line.what in ("target", "role"):
            with suppress(IndexError, ValueError):
                name = table.frame.columns[_place(line, lines, table)]
                wanted = line.value or "target"
                holds = dataset.roles[name] in wanted.split("|")
        if not holds:
            wrong.append(line)
    return wrong


def _doubts(ours: Ours) -> dict[str, Any]:
    """What the reading itself holds to be open."""
    parts = vars(ours.dataset.reading or object).items()
    return {name: of for name, of in parts if of and name.startswith("doubtful")}


def _column(line: Line, lines: list[Line], ours: Ours) -> str:
    """The name here of the column that a line is about; empty: of none."""
    table = ours.table
    with suppress(IndexError, ValueError):
        return str(table.frame.columns[_place(line, lines, table)])
    return ""


def is_asked(line: Line, lines: list[Line], ours: Ours) -> bool:
    """Whether the app offers something about what a line says."""
    doubts, ways = _doubts(ours), _ways(line)
    if len(ways) > 1 and any(all(way in words for way in ways) for words in ours.words):
        return True
    if line.what == "target" or (line.what == "ask" and not line.row):
        name = _column(line, lines, ours)
        return any("is a guess" in t and shown(name) in t for t in ours.dataset.notices)
    if not line.is_cell or not (name := _column(line, lines, ours)):
        return False
    named = (of for of in doubts.values() if isinstance(of, tuple))
    return any(one.step.column == name for one in ours.suggestions) or any(
        name in (one if isinstance(one, tuple) else (one,))
        for of in named
        for one in of
    )


def is_said(line: Line, lines: list[Line], ours: Ours) -> bool:
    """Whether a notice says that what this line is about is wrong or lost."""
    notices = ours.dataset.notices
    if line.what == "shape" and line.value.split(" x ")[0].isdigit():
        rows = abs(int(line.value.split(" x ")[0]) - len(ours.table.frame))
        lost = rf"(?<![\w.,]){rows:,} (more )?(row|line)"
        return rows > 0 and any(re.search(lost, words) for words in notices)
    name = _column(line, lines, ours)
    if line.what in ("shape", "names", "said", "role") or not name:
        return False
    return any(shown(name) in words for words in notices)


def _remedies(ours: Ours) -> list[dict[str, Any]]:
    """Other ways to read the file that the page offers for it."""
    reading = ours.dataset.reading
    ways: list[dict[str, Any]] = [{"delimiter": sign} for sign in reading.close]
    if reading.doubtful_names:
        ways.append({"header": 1 - min(1, reading.header)})
    if reading.totals:
        ways.append({"footer": reading.footer + reading.totals})
    return ways


def accepted(ours: Ours) -> Ours | None:
    """After the first suggestion for each column is taken; None: there is none."""
    dataset, seen = ours.dataset, set()
    for one in ours.suggestions:
        name = one.step.column
        if name in seen or one.step in (*dataset.cleaning, CleaningStep(name)):
            continue
        seen.add(name)
        kinds = {name: "number"} if one.as_number else {}
        roles = {name: "feature"} if one.step.date_use else {}
        steps = with_step(dataset.cleaning, one.step)
        with suppress(SmpcoreError):
            dataset = dataset.with_roles(roles, kinds=kinds, cleaning=steps)
    return Ours(dataset, []) if seen else None


class Verdict(NamedTuple):
    """What became of a file, after a click, and why."""

    word: str
    click: str
    why: str


def judge(data: bytes, filename: str, lines: list[Line]) -> Verdict:
    """What this project makes of a file.

    Parameters
    ----------
    data, filename : bytes, str
        The file.
    lines : list of Line
        What it means.
    """

    def again(**options: Any) -> Ours:
        dataset = read_table(data, filename, **options)
        return Ours(dataset, suggest_codes(dataset))

    refusals = [line for line in lines if line.what == "refuse"]
    try:
        ours = again()
    except SmpcoreError as error:
        named = [re.search(line.value, str(error), re.I) for line in refusals]
        word = "refused" if any(named) else "vague" if named else "unread"
        return Verdict(word, "", str(error))
    except Exception as error:  # what a visitor sees as an internal error
        return Verdict("crashed", "", f"{type(error).__name__}: {error}")
    rest = [line for line in lines if line.what != "refuse"]
    if refusals and not rest:
        return Verdict("silent", "", f"read as {ours.table.frame.shape}, not refused")
    verdict = judge_table(ours, rest)
    if verdict.word in ("said", "silent"):
        for options in _remedies(ours):
            with suppress(SmpcoreError):
                other = judge_table(again(**options), rest)
                if other.word in ("right", "asked"):
                    return Verdict("asked", other.click or "right", verdict.why)
    return verdict


def judge_table(ours: Ours, lines: list[Line]) -> Verdict:
    """What was made of a file that is a table."""
    open_ = [line for line in lines if line.what == "ask"]
    wrong = [*_wrong_here(ours, lines), *open_]
    for what in ("shape", "names"):  # what else is wrong follows from it
        wrong = [line for line in wrong if line.what == what] or wrong
    unasked = [line for line in wrong if not is_asked(line, lines, ours)]
    silent = [line for line in unasked if not is_said(line, lines, ours)]
    word = "silent" if silent else "said" if unasked else "asked" if wrong else "right"
    why = silent or unasked or [line for line in wrong if line not in open_]
    after, click = accepted(ours), ""
    if after is not None:
        after_it = wrong_lines(after.table, lines)
        rest = wrong_lines(after.table, lines, kept=True)
        click = "wrong" if rest else "open" if after_it else "right"
        why = why or after_it
    return Verdict(word, click, "; ".join(map(str, why[:3])))


def judge_peer(name: str, path: Path, lines: list[Line]) -> str:
    """What a peer makes of a file, right or wrong; empty if it is no text table."""
    no_text = path.read_bytes()[:2].startswith(_NO_TEXT)
    if path.suffix not in _TEXTS or no_text:
        return ""
    refused = any(line.what == "refuse" for line in lines)
    rest = [line for line in lines if line.what != "refuse"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            frame = READERS[name](path)
        except BaseException as error:  # whatever a peer raises, a panic of Rust too
            if isinstance(error, KeyboardInterrupt):
                raise
            return "right" if refused else "wrong"
        if not rest:
            return "wrong"
        if not isinstance(frame.index, pd.RangeIndex):  # names of rows
            blank = [""] * frame.index.nlevels
            frame = frame.reset_index(names=blank, allow_duplicates=True)
        lines = [line for line in rest if line.column != "@target"]
        return "wrong" if wrong_lines(Table(frame), lines, kept=True) else "right"


def report(folder: Path, names: Iterable[str] = ()) -> None:
    """Print what each reader makes of each file.

    Parameters
    ----------
    folder : Path
        Of the files, perhaps with a table of what they mean.
    names : iterable of str
        Only these files.
    """
    own = folder / "meant.csv"
    meant = read_meant(own if own.exists() else TABLE)
    chosen = [file for file in names or meant if (folder / file).exists()]
    meant = {file: meant[file] for file in chosen}
    peers = [name for name in READERS if name != "this project"]
    counts: dict[str, Counter] = defaultdict(Counter)
    print(f"{'':34}{'':9}{'click':7}" + "".join(f"{name:11}" for name in peers))
    for file, lines in meant.items():
        path = folder / file
        verdict = judge(path.read_bytes(), file, lines)
        others = {name: judge_peer(name, path, lines) for name in peers}
        row = f"{file:34}{verdict.word:9}{verdict.click:7}"
        row += "".join(f"{others[name]:11}" for name in peers)
        print(f"{row}{verdict.why[:150]}".rstrip(), flush=True)
        counts["this project"][verdict.word] += 1
        counts["click"][verdict.click] += 1
        for name, word in others.items():
            counts[name][word] += 1
    for name, found in counts.items():
        words = (f"{n} {word}" for word, n in found.most_common() if word)
        print(f"{name:13}{', '.join(words)}")


def main(arguments: list[str]) -> None:
    """Print the verdicts of a folder."""
    parser = argparse.ArgumentParser(prog="tests.bench.files cases")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args(arguments)
    report(chosen.data, chosen.names)
