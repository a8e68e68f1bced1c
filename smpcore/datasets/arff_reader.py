"""ARFF files: tables whose header says what each column is.

Lines are cut into values by calls that look at each character once: an expression that
tries several ways to cut a list of names takes hours for a line of forty.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, compress, islice
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from smpcore.datasets.cells import parse_cell
from smpcore.datasets.columns import framed, narrowed
from smpcore.datasets.display_names import shown
from smpcore.datasets.limits import check_size
from smpcore.datasets.reading import FileTable, Reading, ReadingOptions
from smpcore.datasets.series import Table, side_by_side
from smpcore.datasets.text import as_utf8, count_line_ends, lines
from smpcore.errors import DatasetError

_NAMED = re.compile(r"""(["'])(.*?)(?<!\\)\1\s+(.*)|([^\s"'{}%,][^\s"'{},]*)\s+(.*)""")
#: A comment behind a declaration.
_COMMENT = re.compile(r"(?<=[}\w\]])\s+%[^'\"]*$")
# No repeat gives back what it has taken ("++"), so that a line is read once.
_BARE = r"""[^\s,"'{}]*+(?:[ \t]++[^\s,"'{}]++)*+"""
_SINGLE, _DOUBLE = (rf"{q}((?:[^{q}\\]++|\\.)*+){q}" for q in "'\"")
_VALUE = re.compile(rf"\s*+(?:{_SINGLE}|{_DOUBLE}|({_BARE}))\s*+(,|$)", re.DOTALL)
_QUOTED = re.compile(rf"(?<![^\s,])(?:{_SINGLE}|{_DOUBLE})(?![^\s,}}])".encode())
_WORDS = re.compile(rf"{_SINGLE}|{_DOUBLE}|\S+".encode())
_WEIGHT = re.compile(rb"\s*([0-9.eE+-]+)\s*\}")
_NOT_PLAIN = re.compile(r"""["'{}\s]""")
_KEY = re.compile(r"\s*+(\d{1,9})\s++(?=[^\s,])")
_ESCAPED = re.compile(r"\\([0-9]{1,3}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = dict(zip("tnrbf", "\t\n\r\b\f", strict=True))
_CELLS_AT_ONCE = 500_000
#: That one attribute may name; the commas inside quotation marks count, too.
_MOST_LEVELS = 200_000
#: Of a declaration that goes over several lines.
_MOST_CHARACTERS = 1_000_000
#: Lines before @data, at most: comments among them.
_MOST_HEADER_LINES = 5_000_000

Cells = list[str | None]


class _Attribute(NamedTuple):
    """A column: of numbers, of text, of the levels that it names, or of tables."""

    name: str
    number: bool
    levels: frozenset[str | None] | None = None
    zero: str | None = "0"  # what a sparse row does not name
    inner: tuple["_Attribute", ...] = ()  # columns of each table


class _Wrong(Exception):
    """What is wrong with a line."""


def read_arff(data: bytes, options: ReadingOptions) -> FileTable:
    """Read a dense or sparse ARFF file; a table in each row makes series."""
    text, encoding = as_utf8(data, options.encoding)
    numbered = enumerate(lines(text), start=1)
    attributes, number, first = _header(numbered)
    if first and not first.startswith(b"%"):  # on the line of @data
        numbered = chain([(number, first)], numbered)
    check_size(max(0, count_line_ends(text) - number), len(attributes))
    pieces: list[list[np.ndarray | pa.Array]] = [[] for _ in attributes]
    weights: list[float] = []
    for numbers, rows in _chunks(numbered, attributes, weights):
        # The columns of numbers and of text grow by a piece each.
        for piece, attribute, cells in zip(
            pieces, attributes, zip(*rows, strict=True), strict=True
        ):
            piece.append(_converted(cells, attribute, numbers))
    if not pieces[0]:
        raise DatasetError(
            "The ARFF file has no rows; choose a file with rows of data."
        )
    both = zip(attributes, pieces, strict=True)
    bags = [(one, [*chain(*tables)]) for one, tables in both if one.inner]
    is_flat = [not attribute.inner for attribute in attributes]
    names = [a.name for a in attributes if not a.inner]
    pieces = [*compress(pieces, is_flat)]
    pieces.reverse()  # each is given up as soon as it is joined
    columns = [
        narrowed(np.concatenate(pieces.pop()))
        if attribute.number
        else pd.array(pa.chunked_array(pieces.pop()), dtype="str")
        for attribute in compress(attributes, is_flat)
    ]
    notices, roles = [], {}
    if any(weight != 1.0 for weight in weights):
        columns.insert(0, narrowed(np.array(weights)))
        names.insert(0, "instance weight")
        roles[0] = "ignore"
        notices.append(
            "The weights of rows stand in the column 'instance weight'; no method here "
            "uses them."
        )
    frame, shape = framed(columns, names), ()
    if bags:
        frame, shape, changes, _ = _series(bags, frame, options.n_times)
        places = range(shape[0] * shape[1], frame.shape[1] - 1)
        notices, roles = [*notices, *changes], dict.fromkeys(places, "ignore")
    n_times = options.n_times if shape else None
    reading = Reading("ARFF", encoding=encoding, n_times=n_times)
    return FileTable(frame, reading, notices, shape, roles=roles)


def _series(
    bags: list[tuple[_Attribute, list[np.ndarray]]],
    rest: pd.DataFrame,
    n_times: int | None,
) -> Table:
    """The tables of a relational attribute as series, before the other columns."""
    attribute, tables = bags[0]
    if len(bags) > 1 or not rest.shape[1]:
        raise DatasetError(
            "The ARFF file should have one relational attribute and a class beside it; "
            "save the series as a .ts file or a long CSV table."
        )
    names = [inner.name for inner in attribute.inner]
    n_rows = {table.shape[1] for table in tables}
    # Of a bag of series each row is a channel: att1, att2, ... are its times.
    counted = len({name.rstrip("0123456789") for name in names}) == 1
    by_row = counted and len(n_rows) == 1 and min(n_rows) < len(names)
    if by_row:
        tables = [table.T for table in tables]
        names = [f"c{number}" for number in range(1, min(n_rows) + 1)]
    frame, shape, notices, _ = side_by_side(tables, names, rest, n_times)
    what = ("channels", "times") if by_row else ("times", "channels")
    words = f"Read as series: the rows of {shown(attribute.name)} are {what[0]}, "
    return Table(frame, shape, [f"{words}its attributes {what[1]}.", *notices])


def _refuse(number: int, words: str) -> DatasetError:
    return DatasetError(
        f"The ARFF file cannot be read beyond line {number} ({words}); correct that "
        "line, or save the table as CSV."
    )


def _header(
    numbered: Iterator[tuple[int, bytes]],
) -> tuple[list[_Attribute], int, bytes]:
    """Attributes, and number and rest of the line of @data, the last one taken."""
    scopes: list[list[_Attribute]] = [[]]  # within a relational attribute another
    seen: dict[tuple[int, str], int] = {}
    problem: DatasetError | None = None
    for number, line in numbered:
        start = line[:200].lstrip()
        if not start.startswith(b"@"):  # a comment or an empty line: there may be many
            if number < _MOST_HEADER_LINES:
                continue
            break
        start = start.lower()
        if re.match(rb"@data\b", start) and (scopes[0] or problem):
            if problem:  # said now: a file that is cut off has another one
                raise problem
            return scopes[0], number, line.strip()[len("@data") :].strip()
        if re.match(rb"@end\b", start) and len(scopes) > 1:
            inner = tuple(scopes.pop())
            scopes[-1][-1] = scopes[-1][-1]._replace(inner=inner)
            if not all(attribute.number for attribute in inner) or not inner:
                words = "a relational attribute should hold numbers only"
                problem = problem or _refuse(number, words)
        if not re.match(rb"@attribute\s", start):
            continue  # the name of the relation
        while b"{" in line and b"}" not in line and len(line) < _MOST_CHARACTERS:
            further = next(numbered, None)  # levels over several lines
            if further is None:
                break
            number, line = further[0], line + b" " + further[1].strip()
        try:
            attribute = _attribute(line.strip()[len("@attribute") :].decode().strip())
        except _Wrong as error:
            problem = problem or _refuse(number, str(error))
            continue
        place = len(scopes), attribute.name
        if place in seen:
            words = f"Bad @ATTRIBUTE name {shown(attribute.name)}, which is already in "
            words += f"use in line {seen[place]}"
            problem = problem or _refuse(number, words)
        seen[place] = number
        scopes[-1].append(attribute)
        check_size(0, len(scopes[-1]))
        if attribute.inner:
            scopes.append([])
    raise DatasetError(
        "The ARFF file has no @DATA line after its attributes, or only far down; if "
        "it is cut off, fetch it again, else remove its comments."
    )


def _attribute(words: str) -> _Attribute:
    named = _NAMED.fullmatch(words)
    if named is None:
        raise _Wrong("Bad @ATTRIBUTE format")
    _, quoted, first, bare, second = named.groups()
    name, kind = (quoted, first) if bare is None else (bare, second)
    kind = _COMMENT.sub("", kind)
    before, _, weight = kind.rpartition("{")
    if before.strip() and _WEIGHT.fullmatch(weight.encode()):  # of a column: not used
        kind = before.strip()
    word, _, rest = kind.partition("[")[0].lower().partition(" ")
    if kind.startswith("{") and kind.endswith("}"):
        kind = kind[1:-1]
    elif word in ("real", "numeric", "integer") and not rest.strip():
        return _Attribute(name, True)
    elif word == "date" or (word in ("string", "unknown") and not rest.strip()):
        return _Attribute(name, False)
    elif kind.lower() == "relational":
        return _Attribute(name, False, inner=(_Attribute("", True),))
    elif "," not in kind or "{" in kind:  # else a list without its braces
        raise _Wrong("Bad @ATTRIBUTE type")
    if kind.count(",") >= _MOST_LEVELS:
        raise _Wrong(f"more than {_MOST_LEVELS:,} levels; call it a string")
    values = _values(kind)
    return _Attribute(name, False, frozenset([*values, None]), values[0])


def _chunks(
    numbered: Iterator[tuple[int, bytes]],
    attributes: list[_Attribute],
    weights: list[float],
) -> Iterator[tuple[list[int], list[Cells]]]:
    """Line numbers and values of rows, a bounded number of them at a time."""
    most = max(1, _CELLS_AT_ONCE // len(attributes))
    numbers: list[int] = []
    rows: list[Cells] = []
    last = attributes[-1]
    comments = last.number or not any(
        "%" in (level or "") for level in last.levels or "%"
    )
    for number, raw in numbered:
        line = raw.strip()
        if not line or line.startswith(b"%"):
            continue
        if comments and b"%" in line:
            line = _without_comment(line)
        try:
            line, weight = _without_weight(line)
            rows.append(_row(line, attributes))
        except _Wrong as error:
            raise _refuse(number, f"Bad @DATA instance format: {error}") from None
        numbers.append(number)
        weights.append(weight)
        if len(rows) == most:
            yield numbers, rows
            numbers, rows = [], []
    if rows:
        yield numbers, rows


def _without_comment(line: bytes) -> bytes:
    """A row up to the per cent sign behind it, if that is in no quotation marks."""
    quoted = max(line.rfind(b"'"), line.rfind(b'"'), 0)
    signs = (line.find(blank + b"%", quoted) for blank in (b" ", b"\t"))
    place = min((sign for sign in signs if sign >= 0), default=len(line))
    return line[:place].strip()


def _without_weight(line: bytes) -> tuple[bytes, float]:
    """A row and its weight: 1, unless it ends in a number in braces."""
    before, _, end = line.rpartition(b"{")
    match = _WEIGHT.fullmatch(end)
    before = before.rstrip()
    if match is None or not before.endswith(b","):
        return line, 1.0
    weight = parse_cell(match[1].decode())
    if not 0 <= weight < np.inf:
        raise _Wrong(f"the weight {shown(match[1].decode())} should be a number from 0")
    return before[:-1].rstrip(), weight


def _row(line: bytes, attributes: Sequence[_Attribute]) -> Cells:
    """Values of a dense row, or of a sparse one."""
    sparse = line.startswith(b"{") and line.endswith(b"}")
    most = len(attributes)
    quoted = b"'" in line or b'"' in line
    outside = _QUOTED.sub(b"", line) if quoted else line
    if most > 1 and not sparse and b"," not in outside:  # tabs, or blanks, between
        words = line.split(b"\t", most)
        if len(words) == 1:
            words = [word[0] for word in islice(_WORDS.finditer(line), most + 1)]
        line = b",".join(words)
    # Counted before they are cut apart: one long line would become millions of texts.
    n_commas = outside.count(b",")
    if line.endswith(b",") and n_commas == most:
        line, n_commas = line[:-1], most - 1
    if n_commas >= most:
        raise _Wrong(f"{n_commas + 1:,} values for {most} attributes")
    text = line.decode()
    if sparse:
        return _sparse_row(text[1:-1].strip(), attributes)
    cells = _values(text, most)
    if len(cells) != most:
        raise _Wrong(f"{len(cells)} values for {most} attributes")
    return cells


def _values(text: str, most: int | None = None) -> Cells:
    """Values between commas; None for an empty one and for a question mark.

    The last of more than `most` values stands for all the others.
    """
    if not _NOT_PLAIN.search(text):
        parts = text.split(",", -1 if most is None else most)
        return [None if part in ("", "?") else part for part in parts]
    cells: Cells = []
    place, more = 0, True
    while more and (most is None or len(cells) <= most):
        value, place, more = _value(text, place)
        cells.append(value)
    return cells


def _value(text: str, place: int) -> tuple[str | None, int, bool]:
    """The value at a place, the place behind it, and whether a comma stands there."""
    match = _VALUE.match(text, place)
    if match is None:
        rest = shown(text[place:].lstrip())
        raise _Wrong(f"{rest} should be a value, quoted or not, up to a comma")
    single, double, bare, comma = match.groups()
    if bare is not None:
        value = None if bare in ("", "?") else bare
    else:
        value = _unescaped(double if single is None else single)
    return value, match.end(), comma == ","


def _unescaped(text: str) -> str:
    def character(match: re.Match) -> str:
        code = match[1]
        if code.isdigit():
            return chr(int(code, 8))
        if len(code) > 1:
            return chr(int(code[1:], 16))
        return _ESCAPES.get(code, code)

    try:
        return _ESCAPED.sub(character, text)
    except ValueError:
        raise _Wrong(f"{shown(text)} has a wrong escape sequence") from None


def _sparse_row(text: str, attributes: Sequence[_Attribute]) -> Cells:
    cells: Cells = [attribute.zero for attribute in attributes]
    place = 0
    while place < len(text):
        key = _KEY.match(text, place)
        if key is None:
            raise _Wrong(f"{shown(text[place:])} should begin with a column's number")
        if int(key[1]) >= len(cells):
            raise _Wrong(f"column {key[1]} of {len(cells)}, counted from 0")
        cells[int(key[1])], place, _ = _value(text, key.end())
    return cells


def _converted(
    cells: Sequence[str | None], attribute: _Attribute, numbers: list[int]
) -> np.ndarray | pa.Array | list[np.ndarray]:
    """One column of some rows."""
    name, number, levels, _, inner = attribute
    if inner:
        return [*map(_table, cells, [attribute] * len(numbers), numbers)]
    if number:
        known = ["nan" if cell is None else cell for cell in cells]
        values = np.array([parse_cell(cell) for cell in known])
        for row in np.flatnonzero(np.isnan(values)):
            if known[row].strip().lower() != "nan":
                words = f"Invalid numerical value {shown(known[row])} of {shown(name)}"
                raise _refuse(numbers[row], words)
        return values
    if levels is not None and not levels.issuperset(cells):
        row = next(i for i, cell in enumerate(cells) if cell not in levels)
        raise _refuse(
            numbers[row],
            f"Data value {str(cells[row])[:40]} not found in nominal declaration of "
            f"{shown(name)}, at line {numbers[row]}",
        )
    return pa.array(cells, pa.large_string())


def _table(cell: str | None, attribute: _Attribute, number: int) -> np.ndarray:
    """The table in a cell of a relational attribute, (n_columns, n_rows)."""
    inner = attribute.inner
    try:
        rows = [_row(row.encode(), inner) for row in (cell or "").split("\n") if row]
    except _Wrong as error:
        raise _refuse(number, f"{error} in {shown(attribute.name)}") from None
    if not rows:
        raise _refuse(number, f"{shown(attribute.name)} has no rows")
    columns = zip(inner, zip(*rows, strict=True), strict=True)
    return np.array([_converted(c, one, [number] * len(rows)) for one, c in columns])
