"""Dirty text tables of every kind, drawn from a seed, with what they hold.

A file is written from a table, so that its truth is known whatever a reader makes of
it. Each kind changes one thing; delimiter, quotes and line ends vary beside it.
``python -m tests.smpcore.datasets.dirty_files SEED FILES`` prints what is read of each.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

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


class Truth(NamedTuple):
    """What a file holds."""

    names: list[str]  # none: it has none
    columns: list[list[float] | list[str]]  # none: it is no table


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
        if not isinstance(value, float):
            return self.text(value, self.quoting in ("all", "text"))
        if math.isnan(value):
            return ""
        text = str(int(value)) if value.is_integer() else repr(value)
        return self.text(text.replace(".", self.decimal), self.quoting == "all")

    def text(self, text: str, always: bool = False) -> str:
        """Quoted if it is always to be, or has to be."""
        mark, sign = self.quote, self.delimiter.strip(" ") or " "
        special = always or any(one in text for one in (sign, mark, "\n") if one)
        if not (text and mark and special):
            return text
        inner = text.replace(mark, mark * 2 if self.doubled else "\\" + mark)
        return f"{mark}{inner}{mark}"

    def line(self, cells: list[Any]) -> str:
        """A row."""
        written = [f"{self.cell(cell):>{12 * self.padding}}" for cell in cells]
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
    unwritten: int = 0  # columns at the end that `change` writes, or nothing

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.columns[0])

    @property
    def sign(self) -> str:
        """The delimiter."""
        return self.style.delimiter

    @property
    def blank(self) -> str:
        """What fills a line up behind its first cell."""
        return self.sign * (len(self.columns) - 1)

    def of(self, kind: type) -> list[list]:
        """Columns of numbers or of texts."""
        return [column for column in self.columns if isinstance(column[0], kind)]

    def set(self, **style: Any) -> None:
        """Change the style."""
        self.style = replace(self.style, **style)

    def each_text(self, change: Callable[[str], str]) -> None:
        """Change each of the texts."""
        for column in self.of(str):
            column[:] = map(change, column)

    def add(self, name: str, cells: list, place: int | None = None) -> None:
        """Add a column at a place or at the end."""
        place = len(self.columns) if place is None else place
        self.columns.insert(place, cells)
        self.names.insert(place, name)

    def add_unwritten(self, cells: list) -> None:
        """Add a column without a name that is not written."""
        self.columns, self.unwritten = [*self.columns, cells], 1

    def drop_names(self) -> None:
        """Leave the header out."""
        self.header, self.truth_names = [], []

    def join_names(self) -> None:
        """Names are those in the rows of the header, joined."""
        names = zip(*self.header, strict=True)
        self.truth_names = [" ".join(each).strip() for each in names]

    def written(self) -> bytes:
        """The file."""
        style, columns = self.style, self.columns[: -self.unwritten or None]
        rows = enumerate(zip(*columns, strict=True))
        lines = [*self.above, *(style.line(row) for row in self.header)]
        lines += [self.change(n, style.line(row)) for n, row in rows]
        text = style.end.join([*lines, *self.below]) + style.end
        return text.encode(style.encoding)


Rng = np.random.Generator


def one_of(rng: Rng, *texts: str) -> str:
    """One of some texts."""
    return str(rng.choice(texts))


def _numbers(rng: Rng, n: int) -> list[float]:
    digits = int(rng.integers(0, 5))
    values = rng.normal(rng.choice([0, 20, 300]), rng.choice([1, 30]), n)
    return [float(value) for value in np.round(values, digits) + 0.0]


def _counts(rng: Rng, n: int) -> list[float]:
    return [float(value) for value in rng.integers(0, rng.choice([9, 300, 90_000]), n)]


def _levels(rng: Rng, n: int) -> list[str]:
    return [str(one) for one in rng.choice(rng.choice(_WORDS, 3, replace=False), n)]


def _phrases(rng: Rng, n: int) -> list[str]:
    sizes = rng.integers(1, 5, n)
    return [" ".join(map(str, rng.choice(_WORDS, size))) for size in sizes]


def _days(rng: Rng, n: int) -> list[list[int]]:
    return rng.integers([1990, 1, 13], [2025, 13, 28], (n, 3)).tolist()


def _dates(rng: Rng, n: int) -> list[str]:
    form = one_of(rng, "{:04}-{:02}-{:02}", "{2:02}/{1:02}/{0:04}", "{2}.{1}.{0}")
    return [form.format(*day) for day in _days(rng, n)]


MAKERS = {"n": _numbers, "c": _counts, "l": _levels, "p": _phrases, "d": _dates}


def _filled(cell: Any) -> Any:
    return 7.0 if cell != cell else cell or ("amber" if cell == "" else cell)


def table(rng: Rng, columns: str = "") -> File:
    """A file of an ordinary table: at least one column of numbers and one of words."""
    n_rows = int(rng.integers(5, 60))
    more = rng.choice(5, int(rng.integers(0, 6)), p=[0.3, 0.25, 0.2, 0.15, 0.1])
    columns = columns or "nl" + "".join("nclpd"[one] for one in more)
    order = rng.permutation(len(columns))
    made: list[Any] = [MAKERS[columns[place]](rng, n_rows) for place in order]
    if rng.random() < 0.4:  # some values are missing
        for column in made:
            for place in np.flatnonzero(rng.random(n_rows) < rng.choice([0, 0.1])):
                column[place] = "" if isinstance(column[0], str) else math.nan
    for place in range(n_rows):  # no row is empty
        if all(column[place] == "" or column[place] != column[place]
               for column in made):  # fmt: skip
            for column in made:
                column[place] = _filled(column[place])
    names = [str(name) for name in rng.choice(_NAMES, len(made), replace=False)]
    style = Style(
        delimiter=one_of(rng, ",", ",", ";", "\t", "|"),
        end=one_of(rng, "\n", "\n", "\r\n"),
        quoting=one_of(rng, "minimal", "minimal", "text", "all"),
    )
    return File(names, made, style, header=[names])


KINDS: dict[str, Callable[[Rng], tuple[bytes, Truth]]] = {}


def kind(columns: str | Callable[[Rng], str] | None = "", name: str = "") -> Callable:
    """Note a kind of file: what a function makes of a table of such columns.

    Columns are letters of `MAKERS`, or a function that draws these; with None the
    function draws the table itself. The name is the function's if none is given.
    """

    def noted(make: Callable) -> Callable:
        def written(rng: Rng) -> tuple[bytes, Truth]:
            if columns is None:
                file = make(rng)
            else:
                file = table(rng, columns(rng) if callable(columns) else columns)
                make(rng, file)
            names = file.names if file.truth_names is None else file.truth_names
            return file.written(), Truth(names, file.columns)

        KINDS[name or make.__name__.replace("_", " ")] = written
        return make

    return noted


# -- delimiters, quotes, escapes --------------------------------------------------


@kind()
def delimiter_rare(rng, file):
    file.set(delimiter=one_of(rng, ":", "^", "|", "; ", ", "))


@kind(lambda rng: "ncln"[: rng.integers(2, 5)])
def delimiter_one_blank(rng, file):
    file.set(delimiter=" ", quoting=one_of(rng, "minimal", "text"))


@kind("ncln")
def delimiter_aligned_blanks(rng, file):
    for column in file.columns:
        column[:] = map(_filled, column)
    file.set(delimiter=" ", padding=True, quoting="minimal")


@kind("npln")
def delimiter_within_text(rng, file):
    for column in file.of(str):
        sign = one_of(rng, ",", ";", "|", ":", ", ", "; ")
        column[:] = [cell.replace(" ", sign) for cell in column]
    file.set(quoting=one_of(rng, "minimal", "text"))


@kind("pnlp")
def other_delimiters_in_text(rng, file):
    """Without quotes, as the delimiter itself is in no text."""
    others = [one for one in (", ", "; ", " | ", ": ") if file.sign not in one]
    other = one_of(rng, *others)
    file.each_text(lambda cell: cell.replace(" ", other, 1))
    file.set(quoting="minimal", quote="")


@kind()
def clock_times(rng, file):
    times = rng.integers(0, [24, 60, 60], (file.n, 3)).tolist()
    file.add("clock", ["{:02}:{:02}:{:02}".format(*one) for one in times])
    file.set(quoting="minimal")


@kind("nplp")
def quotes_are_apostrophes(rng, file):
    file.each_text(lambda cell: cell.replace(" ", file.sign, 1))
    file.set(quote="'", quoting=one_of(rng, "text", "minimal"))


@kind("pnl")
def apostrophes_in_words(rng, file):
    file.each_text(lambda cell: cell.replace(" ", "'s ", 1))


@kind("npl")
def marks_doubled(rng, file):
    file.each_text(lambda cell: cell + ' "so" on' * (rng.random() < 0.3))


@kind("npl")
def marks_escaped(rng, file):
    file.each_text(lambda cell: cell + f' "so"{file.sign} on' * (rng.random() < 0.3))
    file.of(str)[-1][0] = 'amber "so" on'
    file.set(doubled=False, quoting="text")


@kind("npl")
def line_ends_in_text(rng, file):
    file.each_text(lambda cell: cell.replace(" ", "\n", rng.random() < 0.3))


# -- above, below -----------------------------------------------------------------


@kind()
def keys_and_values_above(rng, file):
    sign = one_of(rng, ": ", "=", file.sign)
    pairs = [("Instrument", "Scope 7"), ("Date", "2019-02-04"), ("Rate", "50"),
             ("Operator", "R. Hill"), ("", "")]  # fmt: skip
    file.above = [sign.join(pair).strip(": =") for pair in pairs[: rng.integers(1, 6)]]


@kind()
def comments_above(rng, file):
    mark = one_of(rng, "#", "%", "//")
    texts = ["made by logger", "version 2, revised", "unit: cm; s", "2019-02-04 10:00"]
    file.above = [f"{mark} {text}" for text in texts[: rng.integers(1, 5)]]


@kind("ncnl")
def many_keys_and_values_above(rng, file):
    """As instruments write them: more lines than rows of the table."""
    keys = [f"{word} {name}" for word in _WORDS for name in _NAMES]
    n = file.n + int(rng.integers(5, 20))
    both = zip(rng.choice(_WORDS, n), _numbers(rng, n), strict=True)
    values = [str(pair[int(rng.random() < 0.6)]) for pair in both]
    file.above = [file.sign.join(pair) for pair in zip(keys, values, strict=False)]
    file.above += [""] * int(rng.integers(2))


@kind("nlcn")
def title_and_units_and_note(rng, file):
    units = ["" if isinstance(column[0], str) else "kg" for column in file.columns]
    file.header.append(units)
    file.above = ["Report of the survey" + file.blank, file.blank]
    file.below = [file.blank, "Source: the office" + file.blank]
    file.join_names()


# -- names ------------------------------------------------------------------------


@kind(lambda rng: "c" * rng.integers(3, 9))
def names_are_dates(rng, file):
    form = ["2020-{:02}-01", "{}/2020", "Day {}", "{:02}.2020"]
    phrases, form = _phrases(rng, file.n), one_of(rng, *form)
    file.names[:] = [form.format(place + 1) for place in range(len(file.columns))]
    file.add("place", phrases, 0)


@kind("nlnd")
def no_names_first_cells_missing(rng, file):
    for column in file.of(float):
        column[: rng.integers(1, 4)] = [math.nan] * int(rng.integers(1, 4))
    size = min(map(len, file.columns))
    file.columns = [column[:size] for column in file.columns]
    file.drop_names()


@kind(lambda rng: "llpl"[: rng.integers(2, 5)])
def names_over_only_words(rng, file):
    pass


@kind("nncn")
def names_in_two_rows(rng, file):
    """Groups of columns, each named once, above their names."""
    file.columns.insert(0, _levels(rng, file.n))
    file.names[:] = ["site", "mean", "spread", "mean", "spread"]
    file.header.insert(0, ["", "Spring", "", "Autumn", ""])
    file.truth_names = ["site", "Spring mean", "Spring spread", "Autumn mean",
                        "Autumn spread"]  # fmt: skip


@kind("nlcn")
def names_repeated_or_empty(rng, file):
    first, _, _, last = file.names
    file.header[0] = [first, first, "", last]
    file.truth_names = [first, f"{first} (2)", "", last]


@kind("lll")
def no_names_repeated_words(rng, file):
    for column in file.columns:
        column[-1] = column[0]
    file.drop_names()


@kind("nlc")
def names_with_line_ends_and_delimiters(rng, file):
    file.names[0] = f"length{file.sign} inner\n(cm)"
    file.names[2] = f"count{file.sign} all"


@kind("nlcn")
def names_in_three_rows(rng, file):
    file.header += [["a", "code", "n", "b"], ["cm", "-", "-", "kg"]]
    file.join_names()


# -- cells ------------------------------------------------------------------------

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
    "texts have inches": ["a pipe"],
}  # fmt: skip


def _with_notes(name: str, texts: list[str]) -> None:
    @kind("nlc", name)
    def with_notes(rng, file):
        notes = [one_of(rng, *texts) for _ in range(file.n)]
        quote = '"'
        if name == "texts have inches":  # a mark within a text that has none around it
            notes[::3], quote = ['5" pipe'] * len(notes[::3]), ""
        file.add("note", notes, int(rng.integers(4)))
        file.set(quoting="minimal", quote=quote)


for name, texts in NOTES.items():
    _with_notes(name, texts)


@kind()
def blanks_after_delimiters(rng, file):
    file.set(delimiter=file.sign + " ")


# -- rows -------------------------------------------------------------------------


@kind()
def delimiters_at_line_ends(rng, file):
    sign, file.truth_names = file.sign, [*file.names, ""]
    if rng.random() < 0.5:
        file.header[0] = file.truth_names
    file.change = lambda place, line: line + sign
    file.add_unwritten([math.nan] * file.n)


@kind()
def short_rows(rng, file):
    places = {*rng.choice(file.n, 1 + file.n // 10)}
    file.add("last", _counts(rng, file.n))
    for place in places:
        file.columns[-1][place] = math.nan
    file.change = lambda place, line: line[:-1] if place in places else line


@kind()
def one_row(rng, file):
    file.columns = [[_filled(column[0])] for column in file.columns]


# -- encodings, line ends ---------------------------------------------------------


@kind()
def line_ends_of_old_macs(rng, file):
    file.set(end="\r")


@kind()
def announced_delimiter(rng, file):
    file.above = [f"sep={file.sign}"]


def _accented(file: File, alphabet: str) -> None:
    words = dict(zip(_WORDS, _ACCENTS[alphabet] * 4, strict=True))
    file.each_text(lambda cell: " ".join(words[word] for word in cell.split()))


@kind(None)
def regional_encoding(rng):
    name = one_of(rng, *_ACCENTS)
    file = table(rng, "nlpc")
    _accented(file, name)
    file.set(encoding=name)
    return file


@kind(None)
def unicode_encoding(rng):
    alphabet = one_of(rng, *_ACCENTS)
    file = table(rng, "nlpc")
    _accented(file, alphabet)
    names = "utf-8-sig utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-8".split()
    file.set(encoding=one_of(rng, *names))
    return file


# -- as offices and spreadsheets write them ---------------------------------------


@kind()
def title_with_delimiters(rng, file):
    titles = ["Deaths by month{0} sex{0} and age", "Wales{0} 2010 to 2012", "{0}{0}"]
    file.above = [one.format(file.sign) for one in titles[: rng.integers(1, 4)]]


@kind("nlcn")
def note_with_delimiters(rng, file):
    notes = ["Source: the office{0} as of March", "1 Revised{0} see {0} our page"]
    file.below = [one.format(file.sign) for one in notes[: rng.integers(1, 3)]]


@kind(lambda rng: "n" + "lpn"[rng.integers(3)])
def note_below_two_columns(rng, file):
    fill = file.sign * int(rng.integers(2))
    notes = ["Source: the office", "* not yet known"][: rng.integers(1, 3)]
    file.below = [""] * int(rng.integers(2)) + [note + fill for note in notes]


@kind()
def notes_in_a_column(rng, file):
    """Remarks beside few rows, in a last column that may have no name."""
    notes = ["", "see the note below", "Provisional: to be revised in the next issue"]
    column = [str(one) for one in rng.choice(notes, file.n, p=[0.9, 0.05, 0.05])]
    column[int(rng.integers(file.n))] = notes[1]
    file.add(one_of(rng, "Remarks", ""), column)


@kind()
def notes_beside_the_rows(rng, file):
    """Text far right of a table, two empty columns between."""
    n = file.n
    for cells in ([math.nan] * n, ["Read me first", "Data of the survey"]):
        file.add("", [*cells, *[""] * n][:n])


@kind("lcc")
def subtotals_within(rng, file):
    """Rows of sums after each part, called so in the column of words."""
    words = file.of(str)[0]
    words[4::5] = ["Subtotal"] * len(words[4::5])


@kind("nlc")
def names_again_on_each_page(rng, file):
    names = file.style.line(file.names) + file.style.end
    again = {*range(10, 60, int(rng.integers(5, 21)))}
    file.columns = [(column * 12)[:60] for column in file.columns]
    file.change = lambda place, line: names * (place in again) + line


@kind()
def empty_columns(rng, file):
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(1, len(file.columns) + 1))
        file.add("", [math.nan] * file.n, place)


@kind("ncl")
def merged_first_cells(rng, file):
    """A word for the rows below it, which have none."""
    step, words = int(rng.integers(2, 7)), rng.choice(_WORDS, file.n).tolist()
    words = [word * (place % step == 0) for place, word in enumerate(words)]
    file.add("county", words, 0)


@kind("cn")
def headings_between_rows(rng, file):
    """A row with a word in its first cell alone, before the rows of each part."""
    file.add("place", _phrases(rng, file.n), 0)
    for place in range(0, file.n, 4):
        cells = [f"Region {place}", math.nan, math.nan]
        for column, cell in zip(file.columns, cells, strict=True):
            column[place] = cell


def _written(rng: Rng, values: Any, form: Callable[[Any], str], **style: Any) -> File:
    """A table with a further column of numbers, written so."""
    file = table(rng, "nl")
    values = values[: file.n].tolist()
    if style.get("decimal") == ",":
        file.of(float)[0][:] = (rng.integers(-99, 999, file.n) + 0.5).tolist()
    file.names.append("amount")
    file.set(quoting="minimal", **style)
    file.change = lambda place, line: file.sign.join(
        [line, file.style.text(form(values[place]))]
    )
    file.add_unwritten([float(value) for value in values])
    return file


def _grouped(mark: str) -> Callable[[Any], str]:
    """Thousands parted by a mark."""
    return lambda value: f"{value:,}".replace(",", mark)


@kind(None)
def thousands_with_blanks(rng):
    values = rng.integers(1_000, 9_999_999, 60)
    return _written(rng, values, _grouped(one_of(rng, *" \xa0\u202f")))


@kind(None)
def thousands_with_points_only(rng):
    """No decimal in the table tells what a point is, but two in one number do."""
    values = rng.integers(1_000, [90_000, 9_000_000][rng.integers(2)], 60)
    file = _written(rng, values, _grouped("."), delimiter=";")
    file.of(float)[0][:] = _counts(rng, file.n)
    return file


def _below_zero(form: str, usual: str) -> Callable[[Any], str]:
    """Numbers below zero written otherwise."""
    return lambda value: form.format(-value) if value < 0 else usual.format(value)


@kind(None)
def minus_signs_of_other_sorts(rng):
    values = rng.integers(-9_000, 9_000, 60) + 0.5
    form = _below_zero(one_of(rng, "−{}", "{}-", "–{}"), "{}")
    return _written(rng, values, form, delimiter=";")


@kind()
def dates_of_several_forms(rng, file):
    forms = ["{0:04}-{1:02}-{2:02}", "{2:02}/{1:02}/{0:04}", "{2}.{1}.{0}", "{0}"]
    days = _days(rng, file.n)
    pairs = zip(rng.choice(forms, len(days)), days, strict=True)
    dates = [str(form).format(*day) for form, day in pairs]
    file.add("when", ["1990-01-13", *dates[1:]])


@kind()
def blanks_that_do_not_break(rng, file):
    file.change = lambda _, line: line.replace(file.sign, f"\xa0{file.sign}\xa0")
    file.set(quoting="minimal")


@kind()
def mark_within(rng, file):
    """Two files put together: the byte order mark of the second one stands within."""
    middle = file.n // 2
    file.change = lambda place, line: "\ufeff" * (place == middle) + line
    file.set(encoding=one_of(rng, "utf-8", "utf-8-sig"))


@kind()
def line_ends_of_two_sorts(rng, file):
    file.change = lambda place, line: line + "\r" * (place % 3 == 0)
    file.set(end="\n", quoting="minimal")


@kind()
def some_rows_end_with_delimiters(rng, file):
    more = file.sign * int(rng.integers(1, 3))
    file.change = lambda place, line: line + more * (place % 4 == 1)


@kind("n" * 18)
def many_columns_few_rows(rng, file):
    file.columns = [[1.0, 2.0, 3.0], *(column[:3] for column in file.columns[1:])]


@kind("nlc")
def text_far_down(rng, file):
    """Numbers for longer than is looked at to find the delimiter, then a word."""
    file.columns = [(column * 1_000)[:6_000] for column in file.columns]
    n = file.n
    file.add("note", ["7"] * (n - 5) + ["unknown"] * 5)
    file.set(quoting="minimal")


@kind("ncln")
def names_of_formulas_and_units(rng, file):
    names = ["CO2 (mg/l)", "% of all", "No. (2019)", "p < 0.05", "x/y [kg]", "a:b",
             "2nd"]  # fmt: skip
    file.names[:] = [str(one) for one in rng.choice(names, 4, replace=False)]


@kind("ncln")
def values_held_back(rng, file):
    """Marks in place of numbers that are not published, or not computed."""
    marks = ".. * : x [c] n.a. - #DIV/0! #N/A (n) – NA NULL ? nan".split()
    mark, sign = one_of(rng, *marks), file.sign
    for place, column in enumerate(file.columns):
        if isinstance(column[0], str):
            file.columns[place] = _levels(rng, 60)
        else:
            values = rng.normal(20, 30, 60).round(2)
            values[3::7] = math.nan
            file.columns[place] = values.tolist()
    file.change = lambda _, line: sign.join(cell or mark for cell in line.split(sign))
    file.set(quoting="minimal")


@kind()
def title_of_several_lines(rng, file):
    above = ['"Report of the survey\nby the office\n\n2019"', ""]
    file.above = above[: rng.integers(1, 3)]


@kind("lncn")
def title_and_unit_apart(rng, file):
    """A title in the first cell and the unit of all in the last."""
    title = f"Table 1: sales{file.blank}{one_of(rng, 'thousands', '£m', '%')}"
    file.above = [title, file.blank][: rng.integers(1, 3)]


@kind(lambda rng: "n" * rng.integers(3, 7))
def units_below_years(rng, file):
    n = len(file.columns)
    file.columns.insert(0, _phrases(rng, file.n))
    unit = one_of(rng, "£m", "%", "£000", "thousands")
    years = ["country", *(str(2010 + place) for place in range(n))]
    file.header = [years, ["", *[unit] * n]]
    file.join_names()


@kind("lnc")
def total_of_the_last_columns(rng, file):
    file.add("place", _phrases(rng, file.n), 0)
    for column in file.columns:
        of_words = isinstance(column[0], str)
        column[-1] = "" if of_words else float(np.nansum(column[:-1]).round(6))
    file.columns[0][-1] = "Total"


@kind("nlncp")
def mostly_empty(rng, file):
    for column in file.columns[1:]:
        for place in np.flatnonzero(rng.random(len(column)) < 0.8):
            column[place] = "" if isinstance(column[0], str) else math.nan
    file.columns[0] = [float(place) for place in range(file.n)]
    file.names[0] = "row number"


@kind()
def long_preamble(rng, file):
    fill = file.blank * int(rng.integers(2))
    texts = ["Statistics office", "", "Contact: A. Hill", "Released: 12 May 2019", "",
             "Coverage: all counties", "Unit: number", "Revised: no", ""]  # fmt: skip
    file.above = [text + fill for text in texts[: rng.integers(4, 10)]]


@kind()
def notes_with_gaps_below(rng, file):
    fill = file.blank * int(rng.integers(2))
    notes = ["", "Notes:", "", "1. Figures are rounded.", "2. As of May.", "",
             "The end"]  # fmt: skip
    file.below = [note + fill for note in notes[: rng.integers(2, 8)]]


# -- no table ---------------------------------------------------------------------


def _no_table(rng: Rng) -> tuple[bytes, Truth]:
    file = table(rng)
    names = file.style.line(file.names)
    content = ["", "\n\n", " \t \n", names, names + "\n", "," * 5 + "\n"]
    return one_of(rng, *content).encode(), Truth([], [])


KINDS["no rows"] = _no_table


def _same_text(one: str, other: str) -> bool:
    return one.split() == other.split()


def _same_name(name: str, wanted: str) -> bool:
    if not wanted:
        return name.startswith(("column ", "unnamed"))
    return _same_text(name, wanted)


def _same_cells(column: Any, wanted: list) -> bool:
    if column.dtype.kind in "if":  # also names of rows
        wanted = [math.nan if one == "" else float(one) for one in wanted]
        return np.array_equal(column.to_numpy(float), wanted, equal_nan=True)
    if isinstance(wanted[0], float):
        return False
    return all(map(_same_text, column.fillna(""), wanted))


def difference(data: bytes, truth: Truth, **options: Any) -> str:
    """What was read and is not so; nothing if all is right, after proposed cleaning."""
    frame, reading, _ = read_frame(data, "t.csv", **options)
    if not truth.columns:
        return f"{frame.shape} instead of a refusal"
    if frame.shape != (shape := (len(truth.columns[0]), len(truth.columns))):
        return f"{frame.shape}, not {shape}"
    names = truth.names or [""] * len(truth.columns)
    for name, wanted in zip(frame, names, strict=True):
        if not _same_name(name, wanted):
            return f"name {name!r}, not {wanted!r}"
    cells = dict(zip(frame, truth.columns, strict=True))
    odd = [name for name in cells if not _same_cells(frame[name], cells[name])]
    if odd:  # what has a unit becomes a number in a proposed step
        dataset = make_dataset(frame, "t", reading=reading)
        proposed = {one.step.column: one.step for one in suggest_codes(dataset)}
        proposed = {name: proposed[name] for name in odd if name in proposed}
        frame = apply_steps(frame, proposed.values())
        for name in odd:
            if name in proposed or dataset.kinds.get(name) == "number":
                frame[name] = as_numbers(frame[name])
    for name, wanted in cells.items():
        if not _same_cells(frame[name], wanted):
            pairs = zip(frame[name], wanted, strict=True)
            return (
                f"cells of {name!r}: {[p for p in pairs if str(p[0]) != str(p[1])][:2]}"
            )
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
        return ("refused" if truth.columns else "right"), str(error)
    if not what:
        return "right", ""
    said = truth.columns and is_said(data, truth)
    return ("wrong" if said else "silent"), what


def drawn(kind: str, seed: int, number: int) -> tuple[bytes, Truth]:
    """A file of a kind, and what it holds."""
    return KINDS[kind](np.random.default_rng([seed, number, *kind.encode()]))


if __name__ == "__main__":
    for name in KINDS:
        for number in range(int(sys.argv[2])):
            print(name, number, *verdict(*drawn(name, int(sys.argv[1]), number)))
