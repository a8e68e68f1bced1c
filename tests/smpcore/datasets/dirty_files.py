"""Dirty text tables of every kind, drawn from a seed, with what they hold.

A file is written from a table, so that its truth is known whatever a reader makes of
it. Each kind changes one thing; delimiter, quotes and line ends vary beside it.
``python -m tests.smpcore.datasets.dirty_files SEED FILES`` prints what is read of each.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from smpcore.datasets import make_dataset, read_frame, suggest_codes
from smpcore.datasets.cleaning import apply_steps
from smpcore.datasets.columns import as_numbers
from smpcore.errors import SmpcoreError

_WORDS = (
    "amber basin cedar delta ember fjord grove heath inlet jetty knoll ledge marsh "
    "north ocean pines quarry ridge shore thicket upland valley willow yonder"
).split()
_NAMES = (
    "age weight length site group speed status height colour city pressure depth "
    "volume batch operator method grade route region sample"
).split()
_ACCENTS = {
    "cp1252": "größe café naïve señor übung élan".split(),
    "cp1250": "žena muž čáp šíp větší říše".split(),
    "cp1251": "жена муж дети слово больше город".split(),
    "shift_jis": "東京 大阪 京都 名前 年齢 場所".split(),
    "gb18030": "北京 上海 广州 名称 数值 地点".split(),
}


@dataclass
class Truth:
    """What a file holds; no names: it has none. ``refused``: it is no table."""

    names: list[str]
    columns: list[list[float] | list[str]]
    refused: bool = False
    row_names: bool = False

    @property
    def n_rows(self) -> int:
        """Rows of data."""
        return len(self.columns[0])


@dataclass
class Style:
    """How cells become lines."""

    delimiter: str = ","
    quote: str = '"'
    quoting: str = "minimal"
    doubled: bool = True
    decimal: str = "."
    end: str = "\n"
    encoding: str = "utf-8"
    padding: bool = False

    def cell(self, value: Any) -> str:
        """One cell as it is written."""
        if isinstance(value, float):
            if math.isnan(value):
                return ""
            text = str(int(value)) if value.is_integer() else repr(value)
            text = text.replace(".", self.decimal)
            return self.quoted(text) if self.quoting == "all" else self.safe(text)
        if self.quoting in ("all", "text") and value:
            return self.quoted(value)
        return self.safe(value)

    def safe(self, text: str) -> str:
        """Quoted where it has to be."""
        sign = self.delimiter.strip(" ") or " "
        special = any(one in text for one in (sign, self.quote, "\n") if one)
        return self.quoted(text) if special and self.quote else text

    def quoted(self, text: str) -> str:
        """Between quotation marks."""
        mark = self.quote
        inner = text.replace(mark, mark * 2 if self.doubled else "\\" + mark)
        return f"{mark}{inner}{mark}"

    def line(self, cells: list[Any]) -> str:
        """A row."""
        written = [self.cell(cell) for cell in cells]
        if self.padding:
            written = [f"{cell:>12}" for cell in written]
        return self.delimiter.join(written)


@dataclass
class File:
    """A file under construction: lines above, names, rows and lines below."""

    names: list[str]
    columns: list[Any]
    style: Style = field(default_factory=Style)
    above: list[str] = field(default_factory=list)
    header: list[list[str]] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    change: Callable[[int, str], str] = lambda place, line: line
    truth_names: list[str] | None = None
    row_names: bool = False

    def rows(self) -> list[list[Any]]:
        """Cells of each row."""
        return [list(row) for row in zip(*self.columns, strict=True)]

    def written(self) -> bytes:
        """The file."""
        style = self.style
        lines = [*self.above, *(style.line(row) for row in self.header)]
        lines += [self.change(n, style.line(row)) for n, row in enumerate(self.rows())]
        text = style.end.join([*lines, *self.below]) + style.end
        return text.encode(style.encoding)

    def truth(self) -> Truth:
        """What it holds."""
        names = self.names if self.truth_names is None else self.truth_names
        return Truth(names, self.columns, row_names=self.row_names)


def _numbers(rng: np.random.Generator, n: int) -> list[float]:
    digits = int(rng.integers(0, 5))
    values = rng.normal(rng.choice([0, 20, 300]), rng.choice([1, 30]), n)
    return [float(value) for value in np.round(values, digits) + 0.0]


def _counts(rng: np.random.Generator, n: int) -> list[float]:
    return [float(value) for value in rng.integers(0, rng.choice([9, 300, 90_000]), n)]


def _levels(rng: np.random.Generator, n: int) -> list[str]:
    return [str(one) for one in rng.choice(rng.choice(_WORDS, 3, replace=False), n)]


def _phrases(rng: np.random.Generator, n: int) -> list[str]:
    sizes = rng.integers(1, 5, n)
    return [" ".join(map(str, rng.choice(_WORDS, size))) for size in sizes]


def _dates(rng: np.random.Generator, n: int) -> list[str]:
    form = rng.choice(["{:04}-{:02}-{:02}", "{2:02}/{1:02}/{0:04}", "{2}.{1}.{0}"])
    days = rng.integers([1990, 1, 13], [2025, 13, 28], (n, 3)).tolist()
    return [str(form).format(*day) for day in days]


def table(rng: np.random.Generator, makers: tuple = ()) -> File:
    """A file of an ordinary table: at least one column of numbers and one of words."""
    n_rows = int(rng.integers(5, 60))
    drawn = rng.choice(5, int(rng.integers(0, 6)), p=[0.3, 0.25, 0.2, 0.15, 0.1])
    all_makers = [_numbers, _counts, _levels, _phrases, _dates]
    makers = makers or (_numbers, _levels, *(all_makers[one] for one in drawn))
    makers = tuple(makers[place] for place in rng.permutation(len(makers)))
    columns: list[Any] = [make(rng, n_rows) for make in makers]
    if rng.random() < 0.4:  # some values are missing
        for column in columns:
            for place in np.flatnonzero(rng.random(n_rows) < rng.choice([0, 0.1])):
                column[place] = "" if isinstance(column[0], str) else math.nan
    for place in range(n_rows):  # no row is empty
        if all(column[place] in ("",) or column[place] != column[place]
               for column in columns):  # fmt: skip
            for column in columns:
                column[place] = column[place] or "amber"
                if column[place] != column[place]:
                    column[place] = 7.0
    names = [str(name) for name in rng.choice(_NAMES, len(columns), replace=False)]
    style = Style(
        delimiter=str(rng.choice([",", ",", ";", "\t", "|"])),
        end=str(rng.choice(["\n", "\n", "\r\n"])),
        quoting=str(rng.choice(["minimal", "minimal", "text", "all"])),
    )
    return File(names, columns, style, header=[names])


Kind = Callable[[np.random.Generator], tuple[bytes, Truth]]
KINDS: dict[str, Kind] = {}


def kind(make: Callable[[np.random.Generator], File], name: str = "") -> Kind:
    """Note a kind of file, by the name of its function if it is given none."""

    def written(rng: np.random.Generator) -> tuple[bytes, Truth]:
        file = make(rng)
        return file.written(), file.truth()

    KINDS[name or make.__name__.replace("_", " ")] = written
    return written


def styled(file: File, **changes: Any) -> File:
    """The file with another style."""
    file.style = replace(file.style, **changes)
    return file


def texts_of(file: File) -> list[list[str]]:
    """Columns of texts."""
    return [column for column in file.columns if isinstance(column[0], str)]


def with_texts(file: File, change: Callable[[str], str]) -> File:
    """The file with each of its texts changed."""
    for column in texts_of(file):
        column[:] = map(change, column)
    return file


def with_column(file: File, name: str, cells: list, place: int | None = None) -> File:
    """The file with a further column, at a place or at the end."""
    place = len(file.columns) if place is None else place
    file.columns.insert(place, cells)
    file.names.insert(place, name)
    return file


def numbers_of(file: File) -> list[list[float]]:
    """Columns of numbers."""
    return [column for column in file.columns if isinstance(column[0], float)]


# -- delimiters, quotes, escapes --------------------------------------------------


@kind
def delimiter_rare(rng):
    return styled(table(rng), delimiter=str(rng.choice([":", "^", "|", "; ", ", "])))


@kind
def delimiter_one_blank(rng):
    file = table(rng, (_numbers, _counts, _levels, _numbers)[: rng.integers(2, 5)])
    return styled(file, delimiter=" ", quoting=str(rng.choice(["minimal", "text"])))


@kind
def delimiter_aligned_blanks(rng):
    file = table(rng, (_numbers, _counts, _levels, _numbers))
    for column in file.columns:
        column[:] = [
            "amber" if cell == "" else 1.5 if cell != cell else cell for cell in column
        ]
    return styled(file, delimiter=" ", padding=True, quoting="minimal")


@kind
def delimiter_within_text(rng):
    file = table(rng, (_numbers, _phrases, _levels, _numbers))
    for column in texts_of(file):
        sign = str(rng.choice([",", ";", "|", ":", ", ", "; "]))
        column[:] = [cell.replace(" ", sign) for cell in column]
    return styled(file, quoting=str(rng.choice(["minimal", "text"])))


@kind
def other_delimiters_in_text(rng):
    """Without quotes, as the delimiter itself is in no text."""
    file = table(rng, (_phrases, _numbers, _levels, _phrases))
    sign = file.style.delimiter
    other = str(
        rng.choice([one for one in (", ", "; ", " | ", ": ") if sign not in one])
    )
    with_texts(file, lambda cell: cell.replace(" ", other, 1))
    return styled(file, quoting="minimal", quote="")


@kind
def clock_times(rng):
    file = table(rng)
    times = rng.integers(0, [24, 60, 60], (len(file.columns[0]), 3)).tolist()
    with_column(file, "clock", ["{:02}:{:02}:{:02}".format(*one) for one in times])
    return styled(file, quoting="minimal")


@kind
def quotes_are_apostrophes(rng):
    file = table(rng, (_numbers, _phrases, _levels, _phrases))
    sign = file.style.delimiter
    with_texts(file, lambda cell: cell.replace(" ", sign, 1))
    return styled(file, quote="'", quoting=str(rng.choice(["text", "minimal"])))


@kind
def apostrophes_in_words(rng):
    file = table(rng, (_phrases, _numbers, _levels))
    return with_texts(file, lambda cell: cell.replace(" ", "'s ", 1))


@kind
def marks_doubled(rng):
    file = table(rng, (_numbers, _phrases, _levels))
    return with_texts(file, lambda cell: cell + ' "so" on' * (rng.random() < 0.3))


@kind
def marks_escaped(rng):
    file = table(rng, (_numbers, _phrases, _levels))
    sign = file.style.delimiter
    with_texts(file, lambda cell: cell + f' "so"{sign} on' * (rng.random() < 0.3))
    texts_of(file)[-1][0] = 'amber "so" on'
    return styled(file, doubled=False, quoting="text")


@kind
def line_ends_in_text(rng):
    file = table(rng, (_numbers, _phrases, _levels))
    return with_texts(file, lambda cell: cell.replace(" ", "\n", rng.random() < 0.3))


# -- numbers ----------------------------------------------------------------------


@kind
def decimal_commas(rng):
    file = table(rng, (_numbers, _numbers, _levels, _counts))
    numbers_of(file)[0][:2] = [1.5, 20.25]
    sign = str(rng.choice([";", "\t", "|"]))
    return styled(file, delimiter=sign, decimal=",")


@kind
def decimal_commas_quoted(rng):
    file = table(rng, (_numbers, _numbers, _levels))
    for column in numbers_of(file):
        column[:] = [math.floor(one) + 0.5 if one == one else one for one in column]
    return styled(file, delimiter=",", decimal=",", quoting="minimal")


def _with_last_column(file: File, values: list) -> File:
    """The file whose lines have a further column by `change`."""
    columns, rows = [*file.columns, values], file.rows
    file.rows = lambda: [row[:-1] for row in rows()]
    file.columns = columns
    return file


# -- above, below -----------------------------------------------------------------


@kind
def keys_and_values_above(rng):
    file = table(rng)
    sign = str(rng.choice([": ", "=", file.style.delimiter]))
    pairs = [("Instrument", "Scope 7"), ("Date", "2019-02-04"), ("Rate", "50"),
             ("Operator", "R. Hill"), ("", "")]  # fmt: skip
    file.above = [sign.join(pair).strip(": =") for pair in pairs[: rng.integers(1, 6)]]
    return file


@kind
def comments_above(rng):
    file = table(rng)
    mark = str(rng.choice(["#", "%", "//"]))
    texts = ["made by logger", "version 2, revised", "unit: cm; s", "2019-02-04 10:00"]
    file.above = [f"{mark} {text}" for text in texts[: rng.integers(1, 5)]]
    return file


@kind
def names_in_a_comment(rng):
    file = table(rng)
    file.header[0] = ["#" + file.names[0], *file.names[1:]]
    file.truth_names = file.header[0]
    return styled(file, quoting="minimal")


@kind
def several_tables(rng):
    file, other = table(rng), table(rng)
    other.style = file.style
    rows = [other.style.line(row) for row in other.rows()]
    title = ["Second part"] * int(rng.integers(2))
    file.below = ["", *title, other.style.line(other.names), *rows]
    return file


@kind
def many_keys_and_values_above(rng):
    """As instruments write them: more lines than rows of the table."""
    file = table(rng, (_numbers, _counts, _numbers, _levels))
    sign = file.style.delimiter
    keys = [f"{word} {name}" for word in _WORDS for name in _NAMES]
    n = len(file.columns[0]) + int(rng.integers(5, 20))
    words, numbers = rng.choice(_WORDS, n), _numbers(rng, n)
    values = [
        str(pair[int(rng.random() < 0.6)]) for pair in zip(words, numbers, strict=True)
    ]
    file.above = [sign.join(pair) for pair in zip(keys, values, strict=False)]
    file.above += [""] * int(rng.integers(2))
    return file


@kind
def title_and_units_and_note(rng):
    file = table(rng, (_numbers, _levels, _counts, _numbers))
    units = ["" if isinstance(column[0], str) else "kg" for column in file.columns]
    file.header.append(units)
    fill = file.style.delimiter * (len(file.columns) - 1)
    file.above = ["Report of the survey" + fill, fill]
    file.below = [fill, "Source: the office" + fill]
    pairs = zip(file.names, units, strict=True)
    file.truth_names = [" ".join(pair).strip() for pair in pairs]
    return file


# -- names ------------------------------------------------------------------------


@kind
def names_are_years(rng):
    n = int(rng.integers(3, 9))
    file = table(rng, (_numbers,) * n)
    first = int(rng.integers(1960, 2010))
    file.columns.insert(0, _phrases(rng, len(file.columns[0])))
    years = [str(first + place) for place in range(n)]
    file.names[:] = [str(rng.choice(["country", ""])), *years]
    return styled(file, quoting=str(rng.choice(["minimal", "all"])))


@kind
def names_are_dates(rng):
    n = int(rng.integers(3, 9))
    file = table(rng, (_counts,) * n)
    file.columns.insert(0, _phrases(rng, len(file.columns[0])))
    form = str(rng.choice(["2020-{:02}-01", "{}/2020", "Day {}", "{:02}.2020"]))
    file.names[:] = ["place", *(form.format(place + 1) for place in range(n))]
    return file


@kind
def no_names(rng):
    file = table(rng)
    file.header, file.truth_names = [], []
    return file


@kind
def no_names_only_numbers(rng):
    file = table(rng, (_numbers, _counts, _numbers, _numbers))
    file.header, file.truth_names = [], []
    return file


@kind
def no_names_first_cells_missing(rng):
    file = table(rng, (_numbers, _levels, _numbers, _dates))
    for column in numbers_of(file):
        column[: rng.integers(1, 4)] = [math.nan] * int(rng.integers(1, 4))
    size = min(map(len, file.columns))
    file.columns = [column[:size] for column in file.columns]
    file.header, file.truth_names = [], []
    return file


@kind
def names_over_only_words(rng):
    return table(rng, (_levels, _levels, _phrases, _levels)[: rng.integers(2, 5)])


@kind
def units_below_names(rng):
    file = table(rng, (_numbers, _levels, _counts, _numbers))
    units = ["-" if isinstance(column[0], str) else str(rng.choice(["cm", "kg", "m/s"]))
             for column in file.columns]  # fmt: skip
    file.header.append(units)
    pairs = zip(file.names, units, strict=True)
    file.truth_names = [" ".join(pair).strip() for pair in pairs]
    return file


@kind
def names_in_two_rows(rng):
    """Groups of columns, each named once, above their names."""
    file = table(rng, (_numbers, _numbers, _counts, _numbers))
    file.columns.insert(0, _levels(rng, len(file.columns[0])))
    file.names[:] = ["site", "mean", "spread", "mean", "spread"]
    upper = ["", "Spring", "", "Autumn", ""]
    file.header.insert(0, upper)
    file.truth_names = ["site", "Spring mean", "Spring spread", "Autumn mean",
                        "Autumn spread"]  # fmt: skip
    return file


@kind
def one_name_more(rng):
    file = table(rng)
    file.header[0] = [*file.names, "remark"]
    file.truth_names = file.header[0]
    file.columns = [*file.columns, [math.nan] * len(file.columns[0])]
    rows = file.rows
    file.rows = lambda: [row[:-1] for row in rows()]
    return file


@kind
def row_names(rng):
    """As R writes them: a name less than there are columns."""
    file = table(rng)
    n = len(file.columns[0])
    labels = [str(one + 1) for one in range(n)]
    if rng.random() < 0.5:
        labels = [f"{rng.choice(_WORDS)} {one}" for one in labels]
    file.columns.insert(0, labels)
    file.truth_names, file.row_names = ["row", *file.names], True
    return styled(file, quoting=str(rng.choice(["text", "minimal"])))


@kind
def names_repeated_or_empty(rng):
    file = table(rng, (_numbers, _levels, _counts, _numbers))
    file.header[0] = list(file.names)
    file.header[0][1] = file.names[0]
    file.header[0][2] = ""
    file.truth_names = [file.names[0], f"{file.names[0]} (2)", "", file.names[3]]
    return file


@kind
def no_names_repeated_words(rng):
    file = table(rng, (_levels, _levels, _levels))
    for column in file.columns:
        column[-1] = column[0]
    file.header, file.truth_names = [], []
    return file


@kind
def names_with_line_ends_and_delimiters(rng):
    file = table(rng, (_numbers, _levels, _counts))
    sign = file.style.delimiter
    file.names[0] = f"length{sign} inner\n(cm)"
    file.names[2] = f"count{sign} all"
    return file


@kind
def names_in_three_rows(rng):
    file = table(rng, (_numbers, _levels, _counts, _numbers))
    file.header = [file.names, ["a", "code", "n", "b"], ["cm", "-", "-", "kg"]]
    threes = zip(*file.header, strict=True)
    file.truth_names = [" ".join(three) for three in threes]
    return file


# -- cells ------------------------------------------------------------------------


def _with_notes(rng: np.random.Generator, texts: list[str]) -> File:
    file = table(rng, (_numbers, _levels, _counts))
    n = len(file.columns[0])
    column = [str(one) for one in rng.choice(texts, n)]
    rng.random(n)
    file.columns.insert(int(rng.integers(4)), column)
    file.names.append("note")
    return styled(file, quoting="minimal")


#: Kind -> texts that something else could be meant by.
NOTES = {
    "texts are addresses": ["http://example.org/a?b=1;c", "https://example.org:80/x,y",
                            "mail@example.org", "10.0.0.1", "1.2.3-rc1"],
    "texts are ranges": ["10-20", "20-30", "<=5", ">60", "1/2", "A:B"],
    "texts are sentences": ['She said, "no"; then left.',
                            "It is 5 o'clock: time, they say.", "No; never.",
                            "Why (not)?", "a|b^c", "It's: 'so', so"],
    "texts are json": ['{"a": [1, 2], "b": "x;y"}', '{"a": [], "b": null}'],
    "coordinates": ["51°30'12\"N", "0°7'39\"W", "48°51'N", "2°21'E"],
    "words begin with apostrophes": ["'s-Hertogenbosch", "'t Harde", "d'Or", "Delft",
                                     "rock 'n'"],
}  # fmt: skip
for name, texts in NOTES.items():
    kind(partial(_with_notes, texts=texts), name)


@kind
def texts_have_inches(rng):
    """A quotation mark within a text that has none around it."""
    file = _with_notes(rng, ["a pipe"])
    column = next(one for one in file.columns if one[0] == "a pipe")
    column[::3] = ['5" pipe'] * len(column[::3])
    return styled(file, quote="")


@kind
def blanks_after_delimiters(rng):
    file = table(rng)
    return styled(file, delimiter=file.style.delimiter.strip(" ") + " ")


# -- rows -------------------------------------------------------------------------


@kind
def delimiters_at_line_ends(rng):
    file = table(rng)
    sign = file.style.delimiter
    if rng.random() < 0.5:
        file.header[0] = [*file.names, ""]
    file.change = lambda place, line: line + sign
    file.truth_names = [*file.names, ""]
    rows, n = file.rows, len(file.columns[0])
    file.columns = [*file.columns, [math.nan] * n]
    file.rows = lambda: [row[:-1] for row in rows()]
    return file


@kind
def short_rows(rng):
    file = table(rng)
    places = {*rng.choice(len(file.columns[0]), 1 + len(file.columns[0]) // 10)}
    with_column(file, "last", _counts(rng, len(file.columns[0])))
    for place in places:
        file.columns[-1][place] = math.nan
    file.change = lambda place, line: line[:-1] if place in places else line
    return file


@kind
def empty_rows(rng):
    file = table(rng)
    sign = file.style.delimiter * (len(file.columns) - 1) * int(rng.integers(2))
    file.change = lambda place, line: (
        line + file.style.end + sign if place % 5 == 2 else line
    )
    return file


@kind
def one_row(rng):
    file = table(rng)
    file.columns = [column[:1] for column in file.columns]
    for column in file.columns:
        column[0] = 2.5 if column[0] != column[0] else column[0] or "amber"
    return file


# -- encodings, line ends ---------------------------------------------------------


@kind
def line_ends_of_old_macs(rng):
    return styled(table(rng), end="\r")


@kind
def announced_delimiter(rng):
    file = table(rng)
    file.above = [f"sep={file.style.delimiter}"]
    return file


def _accented(rng: np.random.Generator, alphabet: str) -> File:
    file = table(rng, (_numbers, _levels, _phrases, _counts))
    for column in texts_of(file):
        words = dict(zip(_WORDS, _ACCENTS[alphabet] * 4, strict=True))
        column[:] = [" ".join(words[w] for w in cell.split()) for cell in column]
    return file


@kind
def regional_encoding(rng):
    name = str(rng.choice(list(_ACCENTS)))
    return styled(_accented(rng, name), encoding=name)


@kind
def unicode_encoding(rng):
    names = [
        "utf-8-sig",
        "utf-16",
        "utf-16-le",
        "utf-16-be",
        "utf-32",
        "utf-32-le",
        "utf-8",
    ]
    alphabet = str(rng.choice(list(_ACCENTS)))
    return styled(_accented(rng, alphabet), encoding=str(rng.choice(names)))


# -- as offices and spreadsheets write them ---------------------------------------


@kind
def title_with_delimiters(rng):
    file = table(rng)
    sign = file.style.delimiter
    titles = ["Deaths by month{0} sex{0} and age", "Wales{0} 2010 to 2012", "{0}{0}"]
    file.above = [title.format(sign) for title in titles[: rng.integers(1, 4)]]
    return file


@kind
def note_with_delimiters(rng):
    file = table(rng, (_numbers, _levels, _counts, _numbers))
    sign = file.style.delimiter
    notes = ["Source: the office{0} as of March", "1 Revised{0} see {0} our page"]
    file.below = [note.format(sign) for note in notes[: rng.integers(1, 3)]]
    return file


@kind
def note_below_two_columns(rng):
    file = table(rng, (_numbers, [_levels, _phrases, _numbers][rng.integers(3)]))
    sign, notes = file.style.delimiter, ["Source: the office", "* not yet known"]
    fill = sign * int(rng.integers(2))
    file.below = [note + fill for note in notes[: rng.integers(1, 3)]]
    file.below = [""] * int(rng.integers(2)) + file.below
    return file


@kind
def notes_in_a_column(rng):
    """Remarks beside few rows, in a last column that may have no name."""
    file = table(rng)
    notes = ["", "see the note below", "Provisional: to be revised in the next issue"]
    n = len(file.columns[0])
    column = [str(one) for one in rng.choice(notes, n, p=[0.9, 0.05, 0.05])]
    column[int(rng.integers(n))] = notes[1]
    return with_column(file, str(rng.choice(["Remarks", ""])), column)


@kind
def notes_beside_the_rows(rng):
    """Text far right of a table, two empty columns between."""
    file = table(rng)
    n = len(file.columns[0])
    note = ["Read me first", "Data of the survey", *[""] * n][:n]
    file.columns += [[math.nan] * n, note]
    file.names += ["", ""]
    return file


@kind
def subtotals_within(rng):
    """Rows of sums after each part, called so in the column of words."""
    file = table(rng, (_levels, _counts, _counts))
    words = texts_of(file)[0]
    for place in range(4, len(words), 5):
        words[place] = "Subtotal"
    return file


@kind
def total_below(rng):
    file = table(rng, (_levels, _counts, _numbers))
    for column in file.columns:
        of_words = isinstance(column[0], str)
        column.append("Total" if of_words else float(np.nansum(column).round(6)))
    return file


@kind
def names_again_on_each_page(rng):
    file = table(rng, (_numbers, _levels, _counts))
    names, end = file.style.line(file.names), file.style.end
    again = {*range(10, 60, int(rng.integers(5, 21)))}
    file.columns = [(column * 12)[:60] for column in file.columns]
    file.change = lambda place, line: names + end + line if place in again else line
    return file


@kind
def empty_columns(rng):
    file = table(rng)
    n = len(file.columns[0])
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(1, len(file.columns) + 1))
        with_column(file, "", [math.nan] * n, place)
    return file


@kind
def merged_first_cells(rng):
    """A word for the rows below it, which have none."""
    file = table(rng, (_numbers, _counts, _levels))
    n, step = len(file.columns[0]), int(rng.integers(2, 7))
    words = rng.choice(_WORDS, n).tolist()
    words = [word if place % step == 0 else "" for place, word in enumerate(words)]
    return with_column(file, "county", words, 0)


@kind
def headings_between_rows(rng):
    """A row with a word in its first cell alone, before the rows of each part."""
    file = table(rng, (_counts, _numbers))
    with_column(file, "place", _phrases(rng, len(file.columns[0])), 0)
    for place in range(0, len(file.columns[0]), 4):
        file.columns[0][place] = f"Region {place}"
        for column in file.columns[1:]:
            column[place] = math.nan
    return file


def _with_written(rng, values, written, name="amount", **style) -> File:
    """A table with a further column of numbers, written so."""
    file = table(rng, (_numbers, _levels))
    n = len(file.columns[0])
    if style.get("decimal") == ",":
        numbers_of(file)[0][:] = (rng.integers(-99, 999, n) + 0.5).tolist()
    file.names.append(name)
    styled(file, quoting="minimal", **style)
    sign = file.style.delimiter
    cells = iter([file.style.safe(written(value)) for value in values(n)])
    file.change = lambda place, line: f"{line}{sign}{next(cells)}"
    return _with_last_column(file, [float(value) for value in values(n)])


def _fixed(values: np.ndarray) -> Callable[[int], list]:
    return lambda n: values[:n].tolist()


def _thousands(rng, marks: list[str]) -> File:
    values = _fixed(rng.integers(1_000, 9_999_999, 60))
    mark = str(rng.choice(marks))
    return _with_written(rng, values, lambda v: f"{v:,}".replace(",", mark))


MARKS = {"commas": [","], "apostrophes": ["'", "’"], "blanks": [" ", "\xa0", "\u202f"]}
for name, marks in MARKS.items():
    kind(partial(_thousands, marks=marks), f"thousands with {name}")


@kind
def thousands_with_points(rng):
    """1.234 beside 1,5: thousands."""
    values = _fixed(rng.integers(1_000, 999_999, 60))
    sign = str(rng.choice([";", "\t"]))
    style = {"delimiter": sign, "decimal": ","}
    return _with_written(rng, values, lambda v: f"{v:,}".replace(",", "."), **style)


@kind
def numbers_in_clothes(rng):
    form = str(rng.choice(["{}%", "{} %", "${}", "€{}", "{} mmHg", "{} mg/dl"]))
    return _with_written(rng, _fixed(rng.uniform(1, 300, 60).round(1)), form.format)


@kind
def thousands_with_points_only(rng):
    """No decimal in the table tells what a point is, but two in one number do."""
    values = _fixed(rng.integers(1_000, [90_000, 9_000_000][rng.integers(2)], 60))
    file = _with_written(
        rng, values, lambda v: f"{v:,}".replace(",", "."), delimiter=";"
    )
    numbers_of(file)[0][:] = _counts(rng, len(file.columns[0]))
    return file


@kind
def decimals_of_two_sorts(rng):
    """Commas in one column and points in another, as of two hands."""
    values = _fixed(rng.integers(1, 900, 60) + 0.25)
    sign = str(rng.choice([";", "\t", "|"]))
    return _with_written(rng, values, str, decimal=",", delimiter=sign)


@kind
def money(rng):
    values = _fixed(rng.integers(-9_000, 9_000, 60) + 0.5)
    forms = ["{:,.2f} €", "${:,.2f}", "£{:,.2f}", "{:,.2f} EUR"]
    form = str(rng.choice(forms))
    return _with_written(rng, values, lambda v: form.format(v))


@kind
def money_in_brackets(rng):
    """Below zero in brackets, as accounts have it."""
    values = _fixed(rng.integers(-9_000, 9_000, 60))
    return _with_written(
        rng, values, lambda v: f"({-v:,})" if v < 0 else f"{v:,}", delimiter=";"
    )


@kind
def money_with_decimal_commas(rng):
    values = _fixed(rng.integers(1_000, 90_000, 60) + 0.5)
    end = str(rng.choice([" €", "", " kr"]))

    def written(value):
        digits = f"{value:,.2f}".translate(str.maketrans(",.", ".,"))
        return digits + end

    return _with_written(rng, values, written, decimal=",", delimiter=";")


@kind
def dates_of_several_forms(rng):
    file = table(rng)
    days = rng.integers([1990, 1, 13], [2025, 13, 28], (len(file.columns[0]), 3))
    forms = ["{0:04}-{1:02}-{2:02}", "{2:02}/{1:02}/{0:04}", "{2}.{1}.{0}", "{0}"]
    chosen = rng.choice(forms, len(days))
    pairs = zip(chosen, days.tolist(), strict=True)
    dates = [str(form).format(*day) for form, day in pairs]
    return with_column(file, "when", ["1990-01-13", *dates[1:]])


@kind
def blanks_that_do_not_break(rng):
    file = table(rng)
    sign = file.style.delimiter
    file.change = lambda place, line: line.replace(sign, f"\xa0{sign}\xa0")
    return styled(file, quoting="minimal")


@kind
def mark_within(rng):
    """Two files put together: the byte order mark of the second one stands within."""
    file = table(rng)
    middle = len(file.columns[0]) // 2
    file.change = lambda place, line: "\ufeff" + line if place == middle else line
    return styled(file, encoding=str(rng.choice(["utf-8", "utf-8-sig"])))


@kind
def line_ends_of_two_sorts(rng):
    file = table(rng)
    file.change = lambda place, line: line + "\r" if place % 3 == 0 else line
    return styled(file, end="\n", quoting="minimal")


@kind
def some_rows_end_with_delimiters(rng):
    file = table(rng)
    sign = file.style.delimiter * int(rng.integers(1, 3))
    file.change = lambda place, line: line + sign if place % 4 == 1 else line
    return file


@kind
def comments_within(rng):
    file = table(rng, (_numbers, _levels, _counts, _numbers))
    end, where = file.style.end, int(rng.integers(1, len(file.columns[0])))
    words = f"# started again at 10:20{end}"
    file.change = lambda place, line: words + line if place == where else line
    return file


@kind
def many_columns_few_rows(rng):
    file = table(rng, (_numbers,) * 18)
    file.columns = [column[:3] for column in file.columns]
    file.columns[0] = [1.0, 2.0, 3.0]
    return file


@kind
def text_far_down(rng):
    """Numbers for longer than is looked at to find the delimiter, then a word."""
    file = table(rng, (_numbers, _levels, _counts))
    file.columns = [(column * 1_000)[:6_000] for column in file.columns]
    n = len(file.columns[0])
    with_column(file, "note", ["7"] * (n - 5) + ["unknown"] * 5)
    return styled(file, quoting="minimal")


@kind
def names_of_formulas_and_units(rng):
    file = table(rng, (_numbers, _counts, _levels, _numbers))
    names = [
        "CO2 (mg/l)",
        "% of all",
        "No. (2019)",
        "p < 0.05",
        "x/y [kg]",
        "a:b",
        "2nd",
    ]
    file.names[:] = [str(one) for one in rng.choice(names, 4, replace=False)]
    return file


@kind
def values_held_back(rng):
    """Marks in place of numbers that are not published, or not computed."""
    file = table(rng, (_numbers, _counts, _levels, _numbers))
    marks = ["..", "*", ":", "x", "[c]", "n.a.", "-", "#DIV/0!", "#N/A", "(n)", "–"]
    marks += ["NA", "NULL", "?", "nan"]
    mark, style = str(rng.choice(marks)), file.style
    file.columns = [
        _levels(rng, 60)
        if isinstance(column[0], str)
        else rng.normal(20, 30, 60).round(2).tolist()
        for column in file.columns
    ]
    for column in file.columns:
        of_words = isinstance(column[0], str)
        column[:] = ["amber" if one in ("",) else one for one in column]
        if not of_words:
            column[3::7] = [math.nan] * len(column[3::7])
    file.change = lambda place, line: style.delimiter.join(
        cell or mark for cell in line.split(style.delimiter)
    )
    return styled(file, quoting="minimal")


@kind
def title_of_several_lines(rng):
    file = table(rng)
    file.above = ['"Report of the survey\nby the office\n\n2019"', ""]
    file.above = file.above[: rng.integers(1, 3)]
    return file


@kind
def title_and_unit_apart(rng):
    """A title in the first cell and the unit of all in the last."""
    file = table(rng, (_levels, _numbers, _counts, _numbers))
    fill = file.style.delimiter * (len(file.columns) - 1)
    unit = str(rng.choice(["thousands", "£m", "%"]))
    file.above = [f"Table 1: sales{fill}{unit}", fill][: rng.integers(1, 3)]
    return file


@kind
def units_below_years(rng):
    n = int(rng.integers(3, 7))
    file = table(rng, (_numbers,) * n)
    file.columns.insert(0, _phrases(rng, len(file.columns[0])))
    years = [str(2010 + place) for place in range(n)]
    unit = str(rng.choice(["£m", "%", "£000", "thousands"]))
    file.names[:] = ["country", *years]
    file.header = [file.names, ["", *[unit] * n]]
    file.truth_names = ["country", *(f"{year} {unit}" for year in years)]
    return file


@kind
def total_of_the_last_columns(rng):
    file = table(rng, (_levels, _numbers, _counts))
    with_column(file, "place", _phrases(rng, len(file.columns[0])), 0)
    for place, column in enumerate(file.columns):
        of_words = isinstance(column[0], str)
        end = float(np.nansum(column[:-1]).round(6)) if not of_words else ""
        column[-1] = "Total" if place == 0 else end
    return file


@kind
def mostly_empty(rng):
    file = table(rng, (_numbers, _levels, _numbers, _counts, _phrases))
    for column in file.columns[1:]:
        for place in np.flatnonzero(rng.random(len(column)) < 0.8):
            column[place] = "" if isinstance(column[0], str) else math.nan
    file.columns[0] = [float(place) for place in range(len(file.columns[0]))]
    file.names[0] = "row number"
    return file


@kind
def long_preamble(rng):
    file = table(rng)
    sign = file.style.delimiter
    fill = sign * (len(file.columns) - 1) * int(rng.integers(2))
    texts = ["Statistics office", "", "Contact: A. Hill", "Released: 12 May 2019", "",
             "Coverage: all counties", "Unit: number", "Revised: no", ""]  # fmt: skip
    file.above = [text + fill for text in texts[: rng.integers(4, 10)]]
    return file


@kind
def notes_with_gaps_below(rng):
    file = table(rng)
    fill = file.style.delimiter * (len(file.columns) - 1) * int(rng.integers(2))
    notes = [
        "",
        "Notes:",
        "",
        "1. Figures are rounded.",
        "2. As of May.",
        "",
        "The end",
    ]
    file.below = [note + fill for note in notes[: rng.integers(2, 8)]]
    return file


@kind
def minus_signs_of_other_sorts(rng):
    values = _fixed(rng.integers(-9_000, 9_000, 60) + 0.5)
    form = str(rng.choice(["−{}", "{}-", "–{}"]))
    return _with_written(
        rng, values, lambda v: form.format(-v) if v < 0 else f"{v}", delimiter=";"
    )


# -- no table ---------------------------------------------------------------------


def _no_table(rng: np.random.Generator) -> tuple[bytes, Truth]:
    file = table(rng)
    names = file.style.line(file.names)
    content = ["", "\n\n", " \t \n", names, names + "\n", "," * 5 + "\n"]
    return str(rng.choice(content)).encode(), Truth([], [[]], refused=True)


KINDS["no rows"] = _no_table


def _same_name(name: str, wanted: str) -> bool:
    if not wanted:
        return name.startswith(("column ", "unnamed"))
    return " ".join(name.split()) == " ".join(wanted.split())


def _same_cells(column: Any, wanted: list) -> bool:
    if isinstance(wanted[0], float):
        if column.dtype.kind not in "if":
            return False
        return np.array_equal(column.to_numpy(float), wanted, equal_nan=True)
    if column.dtype.kind in "if":  # names of rows
        wanted = [float(one) if one else math.nan for one in wanted]
        return np.array_equal(column.to_numpy(float), wanted, equal_nan=True)
    return [" ".join(one.split()) for one in column.fillna("")] == [
        " ".join(one.split()) for one in wanted
    ]


def difference(data: bytes, truth: Truth, **options: Any) -> str:
    """What was read and is not so; nothing if all is right, after proposed cleaning."""
    frame, _, _ = read_frame(data, "t.csv", **options)
    if truth.refused:
        return f"{frame.shape} instead of a refusal"
    if frame.shape != (truth.n_rows, len(truth.columns)):
        return f"{frame.shape}, not {(truth.n_rows, len(truth.columns))}"
    names = truth.names or [""] * len(truth.columns)
    for name, wanted in zip(frame, names, strict=True):
        if not _same_name(name, wanted):
            return f"name {name!r}, not {wanted!r}"
    cells = zip(frame, truth.columns, strict=True)
    odd = [name for name, wanted in cells if not _same_cells(frame[name], wanted)]
    if odd:  # what has a unit becomes a number in a proposed step
        dataset = make_dataset(frame, "t")
        proposed = {one.step.column: one.step for one in suggest_codes(dataset)}
        proposed = {name: proposed[name] for name in odd if name in proposed}
        frame = apply_steps(frame, proposed.values())
        for name, kind in dataset.kinds.items():
            if name in odd and (name in proposed or kind == "number"):
                frame[name] = as_numbers(frame[name])
    for name, wanted in zip(frame, truth.columns, strict=True):
        if not _same_cells(frame[name], wanted):
            pairs = zip(frame[name], wanted, strict=True)
            first = [p for p in pairs if str(p[0]) != str(p[1])][:2]
            return f"cells of {name!r}: {first}"
    return ""


_PARTS: dict[str, Any] = {
    "delimiter": [",", ";", "\t", "|", "whitespace", " ", ":", "^"],
    "header": range(4),
    "skip": range(40),
    "footer": range(12),
    "quote": ['"', "'", ""],
    "escape": ["", "\\"],
    "decimal": [".", ","],
    "encoding": [*_ACCENTS],
}


def is_said(data: bytes, truth: Truth) -> bool:
    """Whether a part that the page states for this file, set otherwise, is right."""
    _, reading, _ = read_frame(data, "t.csv")
    for part, values in _PARTS.items():
        said = part in ("delimiter", "header", "encoding") or getattr(reading, part)
        said = said or (part == "footer" and reading.totals)
        said = said or (part == "skip" and reading.footer)  # another table
        for value in values if said else ():
            with suppress(SmpcoreError):
                if not difference(data, truth, **{part: value}):
                    return True
    points = tuple(name for name, *_ in reading.doubtful_points)
    return bool(points) and not difference(data, truth, points=points)


def verdict(data: bytes, truth: Truth) -> tuple[str, str]:
    """ "right", "refused", "wrong" or "silent", and what was read instead."""
    try:
        what = difference(data, truth)
    except SmpcoreError as error:
        return ("right" if truth.refused else "refused"), str(error)
    if not what:
        return "right", ""
    silent = truth.refused or not is_said(data, truth)
    return ("silent" if silent else "wrong"), what


def drawn(kind: str, seed: int, number: int) -> tuple[bytes, Truth]:
    """A file of a kind, and what it holds."""
    return KINDS[kind](np.random.default_rng([seed, number, *kind.encode()]))


def main(seed: int, n_files: int) -> None:
    """Print how many files of each kind are read right, and the others."""
    total: Counter[str] = Counter()
    for name in KINDS:
        each = [verdict(*drawn(name, seed, number)) for number in range(n_files)]
        counts = Counter(word for word, _ in each)
        total += counts
        print(f"{name:<34}" + ", ".join(f"{n} {word}" for word, n in counts.items()))
        for number, (word, what) in enumerate(each):
            if word != "right":
                print(f"    {number:>3} {word:<8}{what[:150]}")
    print(f"{total.total()} files: {dict(total)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
