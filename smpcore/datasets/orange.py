"""Text tables, among them those with a header of Orange: names, types and roles."""

import csv
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from smpcore.datasets.columns import Kind, Role
from smpcore.datasets.delimited import read_delimited
from smpcore.datasets.reading import FileTable, ReadingOptions
from smpcore.datasets.text import HEAD_BYTES, as_utf8, lines

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("c", "n", "continuous", "numeric"), "number"),
    **dict.fromkeys(("d", "discrete", "categorical"), "category"),
    **dict.fromkeys(("s", "string", "text"), "category"),
}
_TYPES = {*_KINDS, "t", "time", "u"}
_ROLES: dict[str, Role] = {
    **dict.fromkeys(("class", "c"), "target"),
    **dict.fromkeys(("m", "meta", "i", "ignore", "w", "weight"), "ignore"),
}
# A name such as cD#diagnosis: the role, the type, and the name itself.
_PREFIXED = re.compile(r"(?=[^#])([mciw]?)([CDSTNU]?)#(.+)", re.DOTALL)
_SIGNS = ("\t", ",", ";")


class _Header(NamedTuple):
    sign: str
    rows: list[list[str]]  # names, types and roles
    n_rows: int  # of the file


def read_text(data: bytes, options: ReadingOptions) -> FileTable:
    """Read a text table; a header of Orange gives its columns kinds and roles."""
    header = _header(data[:HEAD_BYTES], "latin-1")
    if header is None or options.header not in (None, header.n_rows):
        return read_delimited(data, options)
    text, encoding = as_utf8(data, options.encoding)
    text = text.lstrip(b"\r\n")
    sign, (names, types, flags), n_rows = _header(text[:HEAD_BYTES], "utf-8") or header
    # An empty row of roles would be no row: the names alone stay above the rows.
    below = _offset(text, 1), _offset(text, n_rows)
    rows = text[: below[0]] + text[below[1] :]
    known = {"delimiter": sign, "header": 1, "skip": 0, "encoding": "utf-8"}
    frame, reading, notices, *_ = read_delimited(rows, replace(options, **known))
    head = tuple(_first_rows(text[:HEAD_BYTES], 8))
    reading = replace(reading, header=n_rows, encoding=encoding, head=head)
    width = frame.shape[1]
    names, types, flags = (
        [*row, *[""] * width][:width] for row in (names, types, flags)
    )
    kinds, roles = {}, {}
    for place, (word, flag) in enumerate(zip(types, flags, strict=True)):
        word = word.strip().lower()
        if word not in ("", "t", "time", "u"):
            kinds[place] = _KINDS.get(word, "category")
        named = [_ROLES[part] for part in flag.lower().split() if part in _ROLES]
        named += ["ignore"] * (word in ("s", "string", "text"))
        for role in named[:1]:
            again = role == "target" and role in roles.values()
            roles[place] = "ignore" if again else role
    about_names = "The names are", "The first row"
    notices = [words for words in notices if not words.startswith(about_names)]
    notices.append("Types and roles of the columns are those of a header of Orange.")
    frame = frame.set_axis(names, axis=1)
    return FileTable(frame, reading, notices, roles=roles, kinds=kinds)


def _first_rows(text: bytes, n_rows: int, encoding: str = "utf-8") -> list[str]:
    rows = zip(lines(text), range(n_rows), strict=False)
    return [row.decode(encoding, "replace") for row, _ in rows]


def _offset(text: bytes, n_rows: int) -> int:
    """Where the text goes on below so many rows."""
    head, offset = text[:HEAD_BYTES], 0
    for line, _ in zip(lines(head), range(n_rows), strict=False):
        offset += len(line)
        offset += 2 if text[offset : offset + 2] == b"\r\n" else 1
    return offset


def _header(head: bytes, encoding: str) -> _Header | None:
    """A header of Orange above a table: of three rows, or of one; None: there is
    none.
    """
    rows = _first_rows(head.lstrip(b"\r\n"), 3, encoding)
    sign = next((sign for sign in _SIGNS if rows and sign in rows[0]), ",")
    cells = [next(csv.reader([row], delimiter=sign), []) for row in (*rows, "", "")[:3]]
    names, types, flags = [[cell.strip() for cell in row] for row in cells]
    while names and not names[-1]:
        names.pop()
    width = len(names)
    padded = [[*row, *[""] * width] for row in (types, flags)]
    fits = not any(any(row[width:]) for row in padded)
    types, flags = [[word.lower() for word in row[:width]] for row in padded]
    words = " ".join(flags).split()
    known = all(word in _ROLES or "=" in word for word in words)
    # Rows of one letter each may be data: a role stands in few columns only.
    few = "" in flags or any(len(word) > 1 for word in words)
    if fits and known and few:
        typed = [word in _TYPES or " " in word or not word for word in types]
        if (
            width > 1
            and (words or "" not in types)
            and all(typed)
            and {*types} & _TYPES
        ):
            return _Header(sign, [names, types, flags], 3)
    prefixed = [*map(_PREFIXED.fullmatch, names)]
    if len(prefixed) > 1 and any(prefixed):
        return _Header(sign, _parts(names), 1)
    return None


def _parts(cells: Sequence[str]) -> list[list[str]]:
    """Names, types and roles of one row of prefixed names."""
    matches = [_PREFIXED.fullmatch(cell) for cell in cells]
    parts = [
        (cell, "", "") if match is None else (match[3], match[2], match[1])
        for cell, match in zip(cells, matches, strict=True)
    ]
    return [*map(list, zip(*parts, strict=True))]
