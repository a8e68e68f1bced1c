"""Where a text table's cells, names and rows are, judged by the table they make.

CleverCSV (0.8) finds most delimiters and quotes too, but takes minutes on 64 kB in one
line, and neither it nor DuckDB's sniffer judges skipped lines, several lines of names
and runs of blanks. Here every candidate cuts the same lines, and the one with the most
even rows of the most telling cells is taken.
"""

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from smpcore.datasets.cells import parse_cell
from smpcore.datasets.limits import MAX_BYTES
from smpcore.datasets.notation import (
    DECIMAL_COMMA,
    DECIMAL_POINT,
    MISSING_WORDS,
    NUMBER_CELL,
)
from smpcore.datasets.reading import ReadingOptions
from smpcore.datasets.text import HEAD_BYTES
from smpcore.errors import DatasetError

#: "whitespace": any run of blanks and tabs.
DELIMITERS = (",", ";", "\t", "|", "whitespace", " ", ":", "^", "~", "\x1f")
#: How a remark begins.
REMARKS = ("#", "%", "//")
QUOTES = ('"', "'", "")
_SAMPLE_ROWS = 200
#: Letters of a row whose quotation marks are looked at again, one by one.
_LONGEST_MENDED = 20_000
#: Lines of names, at most, and a candidate this near to the best is offered.
_MOST_HEADER, _CLOSE = 5, 0.75
#: Widths of rows that are compared, and rows that are a table and settle its kinds.
_MOST_WIDTHS, _FEWEST_ROWS, _ENOUGH_ROWS = 4, 3, 20
#: A table this near to the best of a file is as good, and the first one is taken.
_SAME = 0.8
#: Cells of another kind than their column's tell against a table.
_PURITY = 4
#: Runs of blanks stand in many texts that have another delimiter.
_BLANKS = 0.6
_DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ]\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[- ]?[A-Za-z]{3}[- ]?(\d{2,4})?"
    r"|\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AP]M)?"
)
#: Evidence that a row is names, in logarithms of odds: from here on nobody is asked; a
#: value that stands below again tells so much; numbers are names so rarely.
_SURE, _LIKELY, _RARE = 3.0, 3.5, 2.0
#: Columns that this is told by, and ranges that a number counts as beyond, at most.
_MOST_WEIGHED, _FAR = 60, 10.0
_USUAL_NAMES = re.compile(
    "(.*[ _.-])?(id|nr|no|key|name|names|date|datum|time|zeit|year|jahr|month|monat"
    "|country|land|state|region|city|stadt|station|patient|sample|probe|class|klasse"
    "|label|target|type|typ|group|gruppe|sex|age|alter)",
    re.IGNORECASE,
)
csv.field_size_limit(MAX_BYTES)  # a cell may be as long as a file
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
    doubtful : bool
        Whether the first row may be names where it is data, or the other way.
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
    doubtful: bool = False

    @property
    def sign(self) -> str:
        """What parts cells in a row that is written anew."""
        return " " if self.delimiter == "whitespace" else self.delimiter


class _Row(NamedTuple):
    """A row that is not empty, and the number of lines before and up to it.

    ``apart``: an empty row stands above it.
    """

    before: int
    end: int
    cells: list[str]
    apart: bool


def find_layout(
    sample: str, options: ReadingOptions, n_above: int
) -> tuple[Layout, tuple[str, ...], list[_Row]]:
    """The best way to cut a text, other delimiters that may be right, and its rows."""
    head = sample[:HEAD_BYTES]
    scored = []
    for layout in _candidates(head, options):
        if rows := _cut(head, layout, n_above):
            score = _score(rows)[0] * (_BLANKS if layout.sign == " " else 1)
            if layout.delimiter == " ":  # runs of blanks are no empty cells
                filled = [bool(cell) for row in rows for cell in row.cells]
                score *= sum(filled) / len(filled)
            scored.append((score, layout))
    if not scored:
        raise DatasetError(
            f"Nothing stands below the {n_above:,} lines that are skipped; skip fewer."
            if n_above
            else "The file is empty; choose a file with a table."
        )
    scored.sort(key=lambda one: -one[0])  # equal ones stay in their order
    best, layout = scored[0]
    near = [other.delimiter for score, other in scored if score > _CLOSE * best > 0]
    rows = _cut(sample, layout, n_above)
    close = tuple(sign for sign in dict.fromkeys(near) if sign != layout.delimiter)
    layout = layout._replace(width=_score(rows)[1])
    return _with_lines(layout, rows, options), close, rows


def _candidates(sample: str, options: ReadingOptions) -> Iterator[Layout]:
    stripped = sample.strip(" \t\r\n")
    for delimiter in [options.delimiter] if options.delimiter else DELIMITERS:
        sign = Layout(delimiter, "", "").sign
        if not options.delimiter and sign not in stripped and delimiter != ",":
            if delimiter != "whitespace" or "\t" not in stripped:
                continue
        for quote in QUOTES[:2] if options.quote is None else [options.quote]:
            if quote == "'" and not _quotes(sample, sign):
                continue
            escapes = [""] if options.escape is None else [options.escape]
            if options.escape is None and quote and "\\" + quote in sample:
                escapes.append("\\")
            yield from (Layout(delimiter, quote, escape) for escape in escapes)


def _quotes(sample: str, sign: str) -> bool:
    """Whether apostrophes stand around texts, and not only before some ('s, 't)."""
    start = rf"(^|{re.escape(sign)} ?)'"
    whole = rf"{start}[^']*(''[^']*)*'(?= *{re.escape(sign)}|[ \r]*$)"
    n_whole, n = (len(re.findall(one, sample, re.MULTILINE)) for one in (whole, start))
    return 2 * n_whole > n


def cells_of(text: str, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Rows of a text, each with the number of lines up to its end."""
    blanks = layout.delimiter == "whitespace"
    if blanks:
        text = re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text).replace("\t", " ")
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=layout.sign,
        quotechar=layout.quote or "\0",
        escapechar=layout.escape or None,
        skipinitialspace=layout.delimiter != " ",
    )
    for row in reader:
        yield reader.line_num, row


def fitted_cells(text: str, layout: Layout) -> list[str]:
    """Cells of one row of another width: there may be quotation marks in its texts."""
    cells = next(cells_of(text, layout), (0, [""]))[1]
    sign, quote = re.escape(layout.delimiter), layout.quote
    if quote in text and len(cells) != layout.width and len(text) < _LONGEST_MENDED:
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


def _cut(sample: str, layout: Layout, n_above: int) -> list[_Row]:
    rows, before, apart = [], n_above, False
    for end, cells in cells_of(sample, layout):
        cells = [cell.strip() for cell in cells]
        if any(cells):
            rows.append(_Row(before, n_above + end, cells, apart))
        apart = not any(cells)
        before = n_above + end
        if len(rows) == _SAMPLE_ROWS:
            break
    first = next((i for i, row in enumerate(rows) if len(row.cells) > 1), len(rows))
    return rows[:first] + [row for row in rows[first:] if not _is_remark(row.cells)]


def _is_remark(cells: list[str]) -> bool:
    """Whether a line between the rows says something about them."""
    return len(cells) == 1 and cells[0].startswith(REMARKS)


def _score(rows: list[_Row]) -> tuple[float, int]:
    """How much a table the rows are, and its width.

    That is the share of rows and of letters in rows of this width, times the share of
    cells that look like one, times the share that are of their column's kind.
    """
    sizes = [sum(map(len, row.cells)) + 1 for row in rows]
    weights: Counter[int] = Counter()
    for row, size in zip(rows, sizes, strict=True):
        weights[len(row.cells)] += size / sum(sizes) / 2 + 1 / len(rows) / 2
    scores = {
        width: share * (1 - 1 / width) * _evenness(rows, width)
        for width, share in weights.most_common(_MOST_WIDTHS)
    }
    best = max(scores.values())
    widths = (len(row.cells) for row in rows)
    return best, next(
        width for width in widths if scores.get(width, -1) >= _SAME * best
    )


def _evenness(rows: list[_Row], width: int) -> float:
    body = [row.cells for row in rows if len(row.cells) == width]
    counts = Counter(cell for cells in body for cell in cells)
    telling = sum(_telling(cell) * n for cell, n in counts.items()) / counts.total()
    pure = 0.0
    for column in zip(*body[len(body) > 1 :], strict=True):  # names are no values
        kinds = Counter(filter(None, map(kind_of, column)))
        # As if two more were of the commonest kind: a few rows say little.
        pure += (max(kinds.values(), default=0) + 2) / (kinds.total() + 2) / width
    return telling * pure**_PURITY


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
    if NUMBER_CELL.fullmatch(cell):
        return "number"
    return "date" if _DATE.fullmatch(cell) else "text"


def _with_lines(layout: Layout, rows: list[_Row], options: ReadingOptions) -> Layout:
    """The same with its skipped lines, its names and where its rows begin."""
    if options.skip is not None:
        rows = [row for row in rows if row.before >= options.skip] or rows[-1:]
    start, layout = _first_table(rows, layout)
    fitting = (i for i in range(start, len(rows)) if belongs(rows[i].cells, layout))
    first, body = _names_and_body(rows, next(fitting, start), layout)
    if options.skip is not None:
        first, body = 0, body if first == 0 else int(body > first)
    if options.header is not None:
        if options.skip is None and 0 < options.header < body - first:
            first = body - options.header  # the names stand nearest to the rows
        body = min(first + int(options.header), len(rows))
    header = [row.cells for row in rows[first:body]]
    names, row_names = _names(header, rows[body:], layout.width)
    below = [row.cells for row in rows[max(body, first + 1) :]]
    evidence = _names_evidence(rows[first].cells, below, layout)
    is_open = options.header is None and body - first < 2
    is_open = is_open and len(rows[first].cells) == layout.width
    return layout._replace(
        doubtful=bool(is_open and (evidence if body > first else -evidence) < _SURE),
        skip=rows[first].before if options.skip is None else options.skip,
        header=body - first,
        body=rows[body - 1].end if body > first else rows[first].before,
        names=names,
        row_names=row_names,
    )


def _first_table(rows: list[_Row], layout: Layout) -> tuple[int, Layout]:
    """Where the first of the tables in a file begins, with its width and kinds.

    Empty rows part them, if those below are not like those above.
    """
    starts = [0, *(i for i, row in enumerate(rows) if row.apart and i), len(rows)]
    parts = list(pairwise(starts))
    each = [_part(rows[start:end], layout) for start, end in parts]
    best = max(quality for quality, _ in each)
    main = next(i for i, (quality, _) in enumerate(each) if quality >= _SAME * best)
    (start, end), layout = parts[main], each[main][1]
    for _, following in parts[main + 1 :]:
        other = end - start > 2 and not belongs(rows[end].cells, layout)
        if other or end - start > _ENOUGH_ROWS:
            break
        end = following
        layout = layout._replace(kinds=_kinds(rows[start:end], layout.width))
    return start, layout


def _part(rows: list[_Row], layout: Layout) -> tuple[float, Layout]:
    """How sure rows between empty ones are a table, with its width and kinds."""
    widths = Counter(len(row.cells) for row in rows)
    width = layout.width
    if widths[width] < _FEWEST_ROWS:
        width = widths.most_common(1)[0][0]
    part = layout._replace(width=width, kinds=_kinds(rows, width))
    fitting = [place for place, row in enumerate(rows) if belongs(row.cells, part)]
    few = len(fitting) < max(_FEWEST_ROWS, len(rows) / 3)
    if few or {*part.kinds} == {"text"}:
        kinds = _kinds(rows, layout.width)
        return 1e-6 * widths[layout.width], layout._replace(kinds=kinds)
    return _evenness(rows[fitting[0] :], width), part


def _kinds(rows: list[_Row], width: int) -> list[str]:
    """What most values of each column are: "number", "date" or "text"."""
    body = [row.cells for row in rows if len(row.cells) == width]
    body = body[min(len(body) // 2, 5) :]
    whole = [cells for cells in body if all(cells)]
    body = whole if len(whole) >= _FEWEST_ROWS else body
    kinds = []
    for column in zip(*body, strict=True):
        present = Counter(filter(None, map(kind_of, column)))
        kind, n = present.most_common(1)[0] if present else ("text", 1)
        kinds.append(kind if 2 * n > present.total() else "text")
    return kinds or ["text"] * width


def belongs(cells: Sequence[str], layout: Layout) -> bool:
    """Whether a row is one of the table: values stand where the others have them."""
    if len(cells) != layout.width:
        return False
    if has_values(cells, layout):
        return True
    others = any(kind for kind, _ in typed_kinds(cells, layout))
    return not others and sum(map(bool, cells)) > 1


def has_values(cells: Sequence[str], layout: Layout) -> bool:
    """Whether numbers or dates stand where the others have them."""
    return any(kind == wanted for kind, wanted in typed_kinds(cells, layout))


def is_short(cells: Sequence[str], layout: Layout) -> bool:
    """Whether a row of the table lacks its last cells."""
    words = any(kind == "text" for kind, _ in typed_kinds(cells, layout))
    return len(cells) < layout.width and has_values(cells, layout) and not words


def typed_kinds(cells: Sequence[str], layout: Layout) -> list[tuple[str, str]]:
    """Kinds of cells in columns of numbers and dates, each with its column's."""
    pairs = zip(cells, layout.kinds, strict=False)
    return [(kind_of(cell.strip()), kind) for cell, kind in pairs if kind != "text"]


def _names_and_body(rows: list[_Row], body: int, layout: Layout) -> tuple[int, int]:
    """The first row of names, and the first of the body: both one if there is none."""
    headers: list[int] = []
    first = _first_row(rows, body, layout)
    if 0 < first < body:
        return first - 1, first
    for place in range(body - 1, max(-1, body - 1 - _MOST_HEADER), -1):
        cells = rows[place].cells
        title = headers and (rows[place + 1].apart or _is_title(cells))
        if not title and are_names(cells, layout, bool(headers)):
            headers.append(place)
        elif len(cells) != layout.width and not has_values(cells, layout):
            break
    below = [row.cells for row in rows[body:]]
    if headers:
        inside = (cells for cells in below if belongs(cells, layout))
        words = any(
            kind == "text" for cells in inside for kind, _ in typed_kinds(cells, layout)
        )
        if words:
            return headers[-1], headers[-1] + 1
        return headers[-1], _below_units(rows, headers[0] + 1, layout)
    if _names_evidence(below[0], below[1:], layout) <= 0:
        return body, body
    return body, _below_units(rows, body + 1, layout)


def _is_title(cells: list[str]) -> bool:
    """Whether a title stands in the first cell, and the unit of all in the last."""
    filled = [place for place, cell in enumerate(cells) if cell]
    return len(cells) > 3 and filled == [0, len(cells) - 1]


def _below_units(rows: list[_Row], place: int, layout: Layout) -> int:
    """The first row from a place on that is none of units of a few columns."""
    while place < len(rows) - 1 and _is_unlike(rows[place].cells, layout):
        place += 1
    return place


def _first_row(rows: list[_Row], body: int, layout: Layout) -> int:
    """The first row of the body, if odd values begin its only column of numbers.

    Such a row has texts of the rows below beside them, which names have not.
    """
    places = [i for i, kind in enumerate(layout.kinds) if kind == "text"]
    if len(places) != layout.width - 1:
        return body
    full = [row.cells for row in rows[body:] if len(row.cells) == layout.width]
    known = [{cells[place] for cells in full} for place in places]
    while body and len(above := rows[body - 1].cells) == layout.width:
        if not any(above[i] in texts for i, texts in zip(places, known, strict=True)):
            break
        body -= 1
    return body


def are_names(cells: Sequence[str], layout: Layout, further: bool = False) -> bool:
    """Whether a row holds names: words where the rows below have numbers or dates.

    A further row above the names has more of them.
    """
    n_filled, width = sum(map(bool, cells)), layout.width
    if len(cells) != width:
        words = all(kind_of(cell) in ("text", "") for cell in cells)
        return words and not further and 2 * len(cells) >= width > 1 < n_filled
    kinds = [kind for kind, _ in typed_kinds(cells, layout)]
    if n_filled < min(width, 2) or not _is_unlike(cells, layout):
        return False
    n = sum(map(bool, kinds))
    return not further or (cells[0][:1] != "#" and n > 1 and 2 * n >= len(kinds))


def _is_unlike(cells: Sequence[str], layout: Layout) -> bool:
    """Whether other values stand in columns of numbers and dates, and none of these."""
    others = any(kind for kind, _ in typed_kinds(cells, layout))
    return others and not has_values(cells, layout)


def _names_evidence(cells: list[str], below: list[list[str]], layout: Layout) -> float:
    """Logarithm of the odds that a row holds the names of those below, and no values.

    How likely a value is that no row below has is estimated as by Good and Turing: by
    the share of values that stand there once.
    """
    full = [row for row in below if len(row) == layout.width]
    if not full or len(cells) != layout.width:
        return math.inf if {*layout.kinds} == {"text"} else -math.inf
    places = range(0, layout.width, -(-layout.width // _MOST_WEIGHED))
    numbers, evidence = [], 0.0
    for place in places:
        cell, column = cells[place], [row[place] for row in full]
        if layout.kinds[place] == kind_of(cell) == "number":
            numbers.append(place)
        elif not cell:
            usual = 0.03 if place else 2.0  # tables of pandas have no first name
            evidence += math.log(usual / _chance(cell, column))
        else:
            evidence += _of_word(cell, column, layout.kinds[place])
    filled = [cell for cell in cells if cell]
    evidence -= _LIKELY * (len({*filled}) < len(filled))  # names differ
    if not numbers:
        return evidence
    words = [[row[place] for place in numbers] for row in (cells, *full)]
    return evidence + _of_numbers(words)


def _chance(cell: str, column: list[str]) -> float:
    """How likely a cell of this column holds such a value."""
    counts = Counter(column)
    n = counts[cell] or sum(count == 1 for count in counts.values())
    return (n + 1) / (len(column) + 2)


def _of_word(cell: str, column: list[str], kind: str) -> float:
    """Evidence that a cell is a name, and no value of a column of words or dates."""
    if cell in MISSING_WORDS:
        return -1.0
    if cell in column:
        return -_LIKELY
    usual = 2.5 if _USUAL_NAMES.fullmatch(cell) else 0.0
    if kind != "text":
        cell_kind = kind_of(cell)
        if cell_kind == kind:
            return -1.0
        chance = _chance(cell_kind, [kind_of(one) for one in column])
        return usual - math.log(chance) + 2.5
    chances = _chance(cell, column), _chance(_shape(cell), [*map(_shape, column)])
    return usual - math.log(min(chances))


def _shape(cell: str) -> str:
    """What a text is made of, as Aa 9 for Room 12."""
    for letters, sign in (("[A-Z]+", "A"), ("[^\\W\\d_A]+", "a"), (r"\d+", "9")):
        cell = re.sub(letters, sign, cell)
    return cell


def _of_numbers(rows: list[list[str]]) -> float:
    """Evidence that numbers in the first row are names: that they are unlike values.

    What the first row has more of is compared with what each other row has, for the
    values of a row depend on each other.
    """
    rows = [[cell.replace(",", ".") for cell in row] for row in rows]
    values = np.array([[parse_cell(cell) for cell in row] for row in rows])
    values[np.isinf(values)] = np.nan
    digits = np.array([[len(cell.partition(".")[2]) for cell in row] for row in rows])
    steps, beyond = np.diff(values), _beyond(values)
    in_order = (np.abs(np.sign(steps).sum(1)) == steps.shape[1]) & (steps.shape[1] > 1)
    even = in_order & np.all(np.abs(steps - steps[:, :1]) < 1e-9, axis=1)
    unusual = [(beyond > 0).mean(1), _alone(digits).mean(1), in_order, even]
    evidence = math.log1p(np.median(beyond[0])) - _RARE
    for one in unusual[: 4 if steps.shape[1] > 1 else 2]:
        odds = len(rows) / 2 / (1 + np.sum(one[1:] >= one[0]))
        evidence += min(math.log(odds), _SURE)
    years = (values >= 1800) & (values <= 2100) & (values % 1 == 0)
    evidence += 3.0 * (years[0].all() and years[1:].mean() < 0.1)
    evidence -= 3.0 * any("-" in cell or "e" in cell.lower() for cell in rows[0])
    evidence -= 1.0 * digits[0].any() + 2.0 * (digits[0].max() > 2)
    return evidence + (1.5 * even[0] if in_order[0] else -1.0)


def _beyond(values: np.ndarray) -> np.ndarray:
    """How far numbers are beyond all others of their column, in ranges of these.

    None is where the column is in order: there the first is beyond the others.
    """
    low, high = (np.where(np.isnan(values), far, values) for far in (np.inf, -np.inf))
    low.sort(axis=0)
    high.sort(axis=0)
    far = np.fmax(low[1] - values, values - high[-2])
    far = np.clip(far / np.maximum(high[-2] - low[1], 1e-9), 0.0, _FAR)
    ordered = np.abs(np.sign(np.diff(values, axis=0)).sum(0)) == len(values) - 1
    return np.where(ordered, 0.0, np.nan_to_num(far))


def _alone(values: np.ndarray) -> np.ndarray:
    """Which numbers no other row has in their column."""
    return np.array([np.sum(values == row, axis=0) == 1 for row in values])


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
        if any(cells[-1] for cells in full) and len({*first}) == len(first):
            return ["row", *names], True
    while len(names) > width and not names[-1]:
        names = names[:-1]
    return names + [""] * (width - len(names)), False


def decimal_of(rows: list[_Row], layout: Layout) -> str:
    """The sign before decimals, by the numbers that leave no doubt; empty: none do."""
    cells = [cell for row in rows if row.end > layout.body for cell in row.cells]
    commas, points = (
        sum(map(bool, map(re.compile(one).fullmatch, cells)))
        for one in (DECIMAL_COMMA, DECIMAL_POINT)
    )
    if commas > points:
        return ","
    return "." if points else ""
