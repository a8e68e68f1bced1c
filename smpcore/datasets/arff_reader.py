"""ARFF files: tables whose header says what each column is.

Lines are cut into values by calls that look at each character once: an expression that
tries several ways to cut a list of names takes hours for a line of forty.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from smpcore.datasets.cells import parse_cell
from smpcore.datasets.columns import framed, narrowed
from smpcore.datasets.display_names import shown
from smpcore.datasets.limits import check_size
from smpcore.datasets.reading import Reading
from smpcore.datasets.text import as_utf8, count_line_ends, lines
from smpcore.errors import DatasetError

_NAMED = re.compile(r"""(["'])(.*?)(?<!\\)\1\s+(.*)|([^\s"'{}%,][^\s"'{},]*)\s+(.*)""")
#: A comment behind a declaration.
_COMMENT = re.compile(r"(?<=[}\w\]])\s+%[^'\"]*$")
# No repeat gives back what it has taken ("++"), so that a line is read once.
_BARE = r"""[^\s,"'{}]*+(?:[ \t]++[^\s,"'{}]++)*+"""
_VALUE = re.compile(rf"""\s*+(?:'([^'\\]*+)'|"([^"\\]*+)"|({_BARE}))\s*+(,|$)""")
_CLOSING = {q: re.compile(rf"(?:[^{q}\\]++|\\.)*+{q}", re.DOTALL) for q in "'\""}
_BLANKS = re.compile(r"\s*+")
_NOT_PLAIN = re.compile(r"""["'{}\s]""")
_KEY = re.compile(r"\s*+(\d{1,9})\s++(?=[^\s,])")
_ESCAPED = re.compile(r"\\([0-9]{1,3}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = dict(zip("tnrbf", "\t\n\r\b\f", strict=True))
_CELLS_AT_ONCE = 500_000
#: That one attribute may name; the commas inside quotation marks count, too.
_MOST_LEVELS = 200_000
#: Of a value in quotation marks that has escaped ones.
_MOST_CHARACTERS = 1_000_000
#: Lines before @data, at most: comments among them.
_MOST_HEADER_LINES = 5_000_000

Cells = list[str | None]


class _Attribute(NamedTuple):
    """A column: of numbers, of text, or of the levels that it names."""

    name: str
    number: bool
    levels: frozenset[str | None] | None
    zero: str | None  # what a sparse row does not name


class _Wrong(Exception):
    """What is wrong with a line."""


def read_arff(data: bytes, encoding: str | None = None) -> tuple[pd.DataFrame, Reading]:
    """Read a dense or sparse ARFF file."""
    text, encoding = as_utf8(data, encoding)
    numbered = enumerate(lines(text), start=1)
    attributes, number, first = _header(numbered)
    if first and not first.startswith(b"%"):  # on the line of @data
        numbered = chain([(number, first)], numbered)
    check_size(max(0, count_line_ends(text) - number), len(attributes))
    pieces: list[list[np.ndarray | pa.Array]] = [[] for _ in attributes]
    for numbers, rows in _chunks(numbered, attributes):
        # The columns of numbers and of text grow by a piece each.
        for piece, attribute, cells in zip(
            pieces, attributes, zip(*rows, strict=True), strict=True
        ):
            piece.append(_converted(cells, attribute, numbers))
    if not pieces[0]:
        raise DatasetError(
            "The ARFF file has no rows; choose a file with rows of data."
        )
    pieces.reverse()  # each is given up as soon as it is joined
    columns = [
        narrowed(np.concatenate(pieces.pop()))
        if attribute.number
        else pd.array(pa.chunked_array(pieces.pop()), dtype="str")
        for attribute in attributes
    ]
    names = [attribute.name for attribute in attributes]
    return framed(columns, names), Reading("ARFF", encoding=encoding)


def _refuse(number: int, words: str) -> DatasetError:
    return DatasetError(
        f"The ARFF file cannot be read beyond line {number} ({words}); correct that "
        "line, or save the table as CSV."
    )


def _header(
    numbered: Iterator[tuple[int, bytes]],
) -> tuple[list[_Attribute], int, bytes]:
    """Attributes, and number and rest of the line of @data, the last one taken."""
    attributes: list[_Attribute] = []
    seen: dict[str, int] = {}
    problem: DatasetError | None = None
    for number, line in numbered:
        start = line[:200].lstrip()
        if not start.startswith(b"@"):  # a comment or an empty line: there may be many
            if number < _MOST_HEADER_LINES:
                continue
            break
        start = start.lower()
        if re.match(rb"@data\b", start) and (attributes or problem):
            if problem:  # said now: a file that is cut off has another one
                raise problem
            return attributes, number, line.strip()[len("@data") :].strip()
        if not re.match(rb"@attribute\s", start):
            continue  # the name of the relation
        try:
            attribute = _attribute(line.strip()[len("@attribute") :].decode().strip())
        except _Wrong as error:
            problem = problem or _refuse(number, str(error))
            continue
        if attribute.name in seen:
            words = f"Bad @ATTRIBUTE name {shown(attribute.name)}, which is already in "
            words += f"use in line {seen[attribute.name]}"
            problem = problem or _refuse(number, words)
        seen[attribute.name] = number
        attributes.append(attribute)
        check_size(0, len(attributes))
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
    if kind.startswith("{") and kind.endswith("}"):
        if kind.count(",") >= _MOST_LEVELS:
            raise _Wrong(f"more than {_MOST_LEVELS:,} levels; call it a string")
        values = _values(kind[1:-1])
        return _Attribute(name, False, frozenset([*values, None]), values[0])
    word, _, rest = kind.partition("[")[0].lower().partition(" ")
    if word in ("real", "numeric", "integer") and not rest.strip():
        return _Attribute(name, True, None, "0")
    if word == "date" or (word in ("string", "unknown") and not rest.strip()):
        return _Attribute(name, False, None, "0")
    raise _Wrong("Bad @ATTRIBUTE type")


def _chunks(
    numbered: Iterator[tuple[int, bytes]], attributes: list[_Attribute]
) -> Iterator[tuple[list[int], list[Cells]]]:
    """Line numbers and values of rows, a bounded number of them at a time."""
    most = max(1, _CELLS_AT_ONCE // len(attributes))
    numbers: list[int] = []
    rows: list[Cells] = []
    for number, raw in numbered:
        line = raw.strip()
        if not line or line.startswith(b"%"):
            continue
        try:
            rows.append(_row(line, attributes))
        except _Wrong as error:
            raise _refuse(number, f"Bad @DATA instance format: {error}") from None
        numbers.append(number)
        if len(rows) == most:
            yield numbers, rows
            numbers, rows = [], []
    if rows:
        yield numbers, rows


def _row(line: bytes, attributes: list[_Attribute]) -> Cells:
    """Values of a dense row, or of a sparse one."""
    sparse = line.startswith(b"{") and line.endswith(b"}")
    # Counted before they are cut apart: one long line would become millions of texts.
    most = len(attributes)
    if line.endswith(b",") and line.count(b",") == most:
        line = line[:-1]
    if line.count(b",") >= most and not any(sign in line for sign in b"'\""):
        raise _Wrong(f"{line.count(b',') + 1:,} values for {most} attributes")
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
    if match is not None:
        single, double, bare, comma = match.groups()
        if bare is not None:
            single = None if bare in ("", "?") else bare
        return (double if double is not None else single), match.end(), comma == ","
    start = _BLANKS.match(text, place).end()
    if text[start] not in ("'", '"'):
        raise _Wrong(f"{shown(text[start:])} should be quoted or end at a comma")
    end = _closing(text, start)
    after = _VALUE.match(text, end + 1)
    if after is None or after[3] != "":
        raise _Wrong(f"no comma after {shown(text[start : end + 1])}")
    return _unescaped(text[start + 1 : end]), after.end(), after[4] == ","


def _closing(text: str, start: int) -> int:
    """Where the quotation mark stands that closes the one at a place."""
    match = _CLOSING[text[start]].match(text, start + 1)
    if match is None:
        raise _Wrong(f"{shown(text[start:])} has no closing quotation mark")
    if match.end() - start > _MOST_CHARACTERS:
        raise _Wrong(f"{shown(text[start:])} has more than {_MOST_CHARACTERS:,} signs")
    return match.end() - 1


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


def _sparse_row(text: str, attributes: list[_Attribute]) -> Cells:
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
    cells: tuple[str | None, ...], attribute: _Attribute, numbers: list[int]
) -> np.ndarray | pa.Array:
    """One column of some rows."""
    name, number, levels, _ = attribute
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
