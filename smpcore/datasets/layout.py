"""Where a text table's cells, names and rows are, judged by the table they make.

CleverCSV (0.8) finds most delimiters and quotes too, but takes minutes on 64 kB in one
line, and neither it nor DuckDB's sniffer judges skipped lines, several lines of names
and runs of blanks. Here every candidate cuts the same lines, and the one with the most
even rows of the most telling cells is taken.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from smpcore.datasets.reading import ReadingOptions
from smpcore.datasets.text import HEAD_BYTES
from smpcore.errors import DatasetError

#: "whitespace": any run of blanks and tabs.
DELIMITERS = (",", ";", "\t", "|", "whitespace", " ", ":", "^")
QUOTES = ('"', "'", "")
MISSING_WORDS = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "-nan"),
    *("null", "NULL", "Null"),
)
_SAMPLE_ROWS = 200
#: Lines of names, at most, and a candidate this near to the best is offered.
_MOST_HEADER, _CLOSE = 5, 0.75
_NUMBER = re.compile(
    r"[<>]?[-+]?[$€£¥]? ?[-+]?(\d{1,3}([., '’\xa0\u202f]\d{3})+([.,]\d+)?|\d+([.,]\d*)?"
    r"|[.,]\d+)([eE][-+]?\d+)? ?[%€]?|[-+]?inf(inity)?",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ]\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[- ]?[A-Za-z]{3}[- ]?(\d{2,4})?"
    r"|\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AP]M)?"
)
_DECIMAL_COMMA = re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})+,\d+|\d*,(\d{1,2}|\d{4,}))")
_DECIMAL_POINT = re.compile(r"[+-]?(\d{1,3}(,\d{3})+\.\d+|\d*\.(\d{1,2}|\d{4,}))")
_FOREIGN = re.compile(r"[,;\t|:^=]")


class Layout(NamedTuple):
    """How a text is cut into rows and cells, and which of its lines are what.

    Parameters
    ----------
    delimiter, quote, escape : str
    skip : int
        Lines before the names.
    header : int
        Rows of names, one or more lines each.
    body : int
        Lines before the first row of data.
    width : int
        Cells of a row.
    names : list of str
        One for each column of a row, or more where the names are more.
    row_names : bool
        Whether the first column, of names of rows, had no name.
    kinds : list of str
        Of each column, see `kind_of`.
    """

    delimiter: str
    quote: str
    escape: str
    skip: int = 0
    header: int = 0
    body: int = 0
    width: int = 0
    names: Sequence[str] = ()
    row_names: bool = False
    kinds: Sequence[str] = ()


class _Row(NamedTuple):
    """A row that is not empty, and the number of lines before and up to it."""

    before: int
    end: int
    cells: list[str]


def find_layout(
    sample: str, options: ReadingOptions
) -> tuple[Layout, tuple[str, ...], list[_Row]]:
    """The best way to cut a text, other delimiters that may be right, and its rows."""
    head = sample[:HEAD_BYTES]
    scored = [
        (_score(rows), layout)
        for layout in _candidates(head, options)
        if (rows := _cut(head, layout))
    ]
    if not scored:
        raise DatasetError("The file is empty; choose a file with a table.")
    scored.sort(key=lambda one: -one[0])  # equal ones stay in their order
    best, layout = scored[0]
    near = [other.delimiter for score, other in scored if score > _CLOSE * best > 0]
    rows = _cut(sample, layout)
    close = tuple(dict.fromkeys(near[1:]).keys() - {layout.delimiter})
    return _with_lines(layout, rows, options), close, rows


def _candidates(sample: str, options: ReadingOptions) -> Iterator[Layout]:
    stripped = sample.strip(" \t\r\n")
    for delimiter in [options.delimiter] if options.delimiter else DELIMITERS:
        sign = " " if delimiter == "whitespace" else delimiter
        if not options.delimiter and sign not in stripped and delimiter != ",":
            if delimiter != "whitespace" or "\t" not in stripped:
                continue
        for quote in QUOTES[:2] if options.quote is None else [options.quote]:
            start = rf"(^|{re.escape(sign)} ?){quote}"
            if quote == "'" and not re.search(start, sample, re.MULTILINE):
                continue
            escapes = [""] if options.escape is None else [options.escape]
            if options.escape is None and quote and "\\" + quote in sample:
                escapes.append("\\")
            yield from (Layout(delimiter, quote, escape) for escape in escapes)


def cells_of(text: str, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Rows of a text, each with the number of lines up to its end."""
    blanks = layout.delimiter == "whitespace"
    if blanks:
        text = re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text).replace("\t", " ")
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=" " if blanks else layout.delimiter,
        quotechar=layout.quote or "\0",
        escapechar=layout.escape or None,
        skipinitialspace=True,
    )
    for row in reader:
        yield reader.line_num, row


def fitted_cells(text: str, layout: Layout) -> list[str]:
    """Cells of one row of another width: there may be quotation marks in its texts."""
    cells = next(cells_of(text, layout), (0, [""]))[1]
    sign, quote = re.escape(layout.delimiter), layout.quote
    if quote in text and len(cells) != layout.width:
        # A mark ends a text only where a delimiter follows.
        cell = rf"{quote}(.*?){quote}(?={sign}|$)|([^{sign}]*)"
        again = [
            "".join(filter(None, match.groups())).replace(2 * quote, quote)
            for match in re.finditer(rf"(?:^|{sign}) ?(?:{cell})", text.strip("\r\n"))
        ]
        return again if len(again) == layout.width else cells
    return cells


def joint(cells: list[str], layout: Layout) -> int | None:
    """Where cells too many were one text: where the others fit their columns best."""
    more = len(cells) - layout.width
    fitting = {}
    for place, kind in enumerate(layout.kinds):
        others = [*cells[:place], "", *cells[place + more + 1 :]]
        fits = (
            not cell or one == "text" or kind_of(cell.strip()) in (one, "")
            for cell, one in zip(others, layout.kinds, strict=True)
        )
        if kind == "text" and all(fits):
            fitting[place] = len("".join(cells[place : place + more + 1]))
    return min(fitting, key=fitting.__getitem__, default=None)


def _cut(sample: str, layout: Layout) -> list[_Row]:
    rows, before = [], 0
    try:
        for end, cells in cells_of(sample, layout):
            cells = [cell.strip() for cell in cells]
            if any(cells):
                rows.append(_Row(before, end, cells))
            before = end
            if len(rows) == _SAMPLE_ROWS:
                break
    except csv.Error:  # a cell of more than 131,072 letters
        return rows
    return rows


def _score(rows: list[_Row]) -> float:
    width, share = _usual_width(rows)
    body = [row.cells for row in rows if len(row.cells) == width]
    counts = Counter(cell for cells in body for cell in cells)
    telling = sum(_telling(cell) * n for cell, n in counts.items())
    return share * (1 - 1 / width) * telling / counts.total()


def _usual_width(rows: list[_Row]) -> tuple[int, float]:
    """The width that most rows have, and their share of rows and of letters."""
    sizes = [sum(map(len, row.cells)) + 1 for row in rows]
    weights: Counter[int] = Counter()
    for row, size in zip(rows, sizes, strict=True):
        weights[len(row.cells)] += size / sum(sizes) / 2 + 1 / len(rows) / 2
    return weights.most_common(1)[0]


@lru_cache(50_000)
def _telling(cell: str) -> float:
    """How much a cell looks like one: numbers and dates do, cut quotes do not."""
    if kind_of(cell) != "text":
        return 0.9 if cell in MISSING_WORDS else 1.0
    if cell[0] in "\"'" or cell[-1] in "\"'" or '"' in cell:
        return 0.0
    return 0.4 if _FOREIGN.search(cell) else 0.7


@lru_cache(50_000)
def kind_of(cell: str) -> str:
    """Return "number", "date", "text", or nothing for a missing value."""
    if cell in MISSING_WORDS or cell in ("-", "–"):
        return ""
    if _NUMBER.fullmatch(cell):
        return "number"
    return "date" if _DATE.fullmatch(cell) else "text"


def _with_lines(layout: Layout, rows: list[_Row], options: ReadingOptions) -> Layout:
    """The same with its skipped lines, its names and where its rows begin."""
    if options.skip is not None:
        rows = [row for row in rows if row.before >= options.skip] or rows[-1:]
    width, _ = _usual_width(rows)
    kinds = _kinds(rows, width)
    first = 0 if options.skip is not None else _first(rows, width, kinds)
    if options.header is None:
        n_header = _count_names(rows[first:], width, kinds)
    else:
        n_header = min(int(options.header), len(rows) - first)
    names = [row.cells for row in rows[first : first + n_header]]
    body = rows[first + n_header :]
    joined, row_names = _names(names, body, width)
    skip = rows[first].before if options.skip is None else options.skip
    end = rows[first + n_header - 1].end if n_header else rows[first].before
    return layout._replace(
        skip=skip,
        header=n_header,
        body=end,
        width=width,
        names=joined,
        row_names=row_names,
        kinds=kinds,
    )


def _kinds(rows: list[_Row], width: int) -> list[str]:
    """What most values of each column are: "number", "date" or "text"."""
    body = [row.cells for row in rows if len(row.cells) == width]
    body = body[min(len(body) // 2, 5) :]
    kinds = []
    for column in zip(*body, strict=True):
        present = Counter(filter(None, map(kind_of, column)))
        kind, n = present.most_common(1)[0] if present else ("text", 1)
        kinds.append(kind if 2 * n > present.total() else "text")
    return kinds


def _first(rows: list[_Row], width: int, kinds: list[str]) -> int:
    """The first row that is no title, comment or other table."""
    usual = np.median([sum(map(bool, r.cells)) for r in rows if len(r.cells) == width])
    start = 0
    while start < len(rows) - 1:
        cells = rows[start].cells
        filled = [cell for cell in cells if cell]
        title = len(filled) == 1 < usual and kind_of(filled[0]) == "text"
        comment = all(row.cells[0][:1] == "#" for row in rows[start : start + 2])
        other = len(cells) != width and not _names_rows(rows[start:], width, kinds)
        if not (title or comment or other):
            break
        start += 1
    return start if start < len(rows) - 1 else 0


def _names_rows(rows: list[_Row], width: int, kinds: list[str]) -> bool:
    """Whether a row of another width holds the names of the rows below it."""
    first, below = rows[0].cells, [row.cells for row in rows[1:4]]
    words = all(kind_of(cell) in ("text", "") for cell in first)
    if not words or 2 * len(first) < width or any(len(row) != width for row in below):
        return False
    return any(
        kind != "text" and kind_of(cell) == kind
        for cell, kind in zip(below[0], kinds, strict=True)
    ) or (abs(len(first) - width) == 1 and "text" in kinds and len({*kinds}) == 1)


def _count_names(rows: list[_Row], width: int, kinds: list[str]) -> int:
    """How many of the first rows hold names: they are unlike the rows below."""
    if len(rows[0].cells) != width:
        return 1
    typed = [place for place, kind in enumerate(kinds) if kind != "text"]
    if typed:
        count = 0
        while count < min(_MOST_HEADER, len(rows) - 1):
            if not _are_names(rows[count:], width, kinds, further=count > 0):
                break
            count += 1
        return count or int(_counts_up(rows, typed))
    first, below = rows[0].cells, [row.cells for row in rows[1:]]
    columns = list(zip(*(row for row in below if len(row) == width), strict=True))
    both = zip(first, columns, strict=True) if columns else ()
    return int(not any(cell and cell in column for cell, column in both))


def _are_names(rows: list[_Row], width: int, kinds: list[str], further: bool) -> bool:
    """Whether the first row has no value in the columns of numbers and dates.

    One of several rows of names has words there, and the rows below have none.
    """
    cells, below = rows[0].cells, [row.cells for row in rows[_MOST_HEADER:]]
    typed = [place for place, kind in enumerate(kinds) if kind != "text"]
    if len(cells) != width:
        return False
    first_kinds = [kind_of(cells[place]) for place in typed]
    if any(one == kinds[place] for one, place in zip(first_kinds, typed, strict=True)):
        return False
    n_words = first_kinds.count("text")
    if not further:
        return n_words > 0 or not any(first_kinds)
    words_below = any(
        kind_of(row[i]) == "text" for row in below for i in typed if i < len(row)
    )
    return n_words > 1 and 2 * n_words >= len(typed) and not words_below


def _counts_up(rows: list[_Row], typed: list[int]) -> bool:
    """Whether the first row names columns by years, or other numbers that count up."""

    def steps(row: _Row) -> set[float]:
        texts = [row.cells[place] for place in typed if place < len(row.cells)]
        numbers = [float(text) for text in texts if text.isdigit()]
        whole = len(numbers) == len(texts) > 1
        return set(np.diff(numbers)) if whole else {0.0, 1.0}

    first = steps(rows[0])
    differ = all(steps(row) != first for row in rows[1:])
    return len(first) == 1 and 0.0 not in first and differ


def _names(
    header: list[list[str]], body: list[_Row], width: int
) -> tuple[list[str], bool]:
    """A name for each column, or an empty one; whether the rows have names."""
    if not header:
        return [""] * width, False
    *upper, names = header
    for above in reversed(upper):
        spread = list(above)
        for place in range(1, min(len(spread), len(names))):
            if not spread[place] and names[place]:  # a name over several columns
                spread[place] = spread[place - 1]
        both = zip(spread, names, strict=False)
        names = [" ".join(filter(None, pair)) for pair in both]
    full = [row.cells for row in body if len(row.cells) == width]
    if len(names) == width - 1 and full:
        first = [cells[0] for cells in full]
        if all(cells[-1] for cells in full[:1]) and len({*first}) == len(first):
            return ["row", *names], True
    while len(names) > width and not names[-1]:
        names = names[:-1]
    return names + [""] * (width - len(names)), False


def decimal_of(rows: list[_Row], layout: Layout) -> str:
    """The sign before decimals, by the numbers that leave no doubt."""
    cells = [cell for row in rows if row.end > layout.body for cell in row.cells]
    commas = sum(_DECIMAL_COMMA.fullmatch(cell) is not None for cell in cells)
    return "," if commas > sum(map(bool, map(_DECIMAL_POINT.fullmatch, cells))) else "."
