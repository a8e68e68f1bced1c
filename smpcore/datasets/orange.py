"""Text tables with the header of Orange: names, types and roles of columns."""

import csv
import re
from collections.abc import Sequence
from dataclasses import replace

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


def read_text(data: bytes, options: ReadingOptions) -> FileTable:
    """Read a text table; a header of Orange gives its columns kinds and roles."""
    sign, n_rows = _header(_first_rows(data[:HEAD_BYTES], 3, "latin-1"))
    if not n_rows or options.header not in (None, n_rows):
        return read_delimited(data, options)
    options = replace(options, delimiter=sign, header=n_rows, skip=0)
    frame, reading, notices, *_ = read_delimited(data, options)
    text, _ = as_utf8(data, reading.encoding)
    header = [*csv.reader(_first_rows(text, n_rows), delimiter=sign)]
    if n_rows == 1:
        header = _parts(header[0])
    padded = [(*row, *[""] * frame.shape[1])[: frame.shape[1]] for row in header]
    names, types, flags = padded
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
    notices = [words for words in notices if not words.startswith("The names are")]
    notices.append("Types and roles of the columns are those of a header of Orange.")
    frame = frame.set_axis(list(names), axis=1)
    return FileTable(frame, reading, notices, roles=roles, kinds=kinds)


def _first_rows(text: bytes, n_rows: int, encoding: str = "utf-8") -> list[str]:
    rows = zip(lines(text), range(n_rows), strict=False)
    return [row.decode(encoding) for row, _ in rows]


def _header(rows: Sequence[str]) -> tuple[str, int]:
    """The sign between cells, and how many rows such a header has: 3, 1 or none."""
    sign = "\t" if rows and "\t" in rows[0] else ","
    names, types, flags = [
        [cell.strip() for cell in row.lower().split(sign)]
        for row in (*rows, "", "", "")[:3]
    ]
    words = " ".join(flags).split()
    known = all(word in _ROLES or "=" in word for word in words)
    # Rows of one letter each may be data: a role stands in few columns only.
    if known and ("" in flags or any(len(word) > 1 for word in words)):
        typed = [word in _TYPES or " " in word for word in types]
        if len(names) == len(types) > 1 and all(typed) and {*types} & _TYPES:
            return sign, 3
    prefixed = (
        [_PREFIXED.fullmatch(cell) for cell in rows[0].split(sign)] if rows else []
    )
    return sign, int(len(prefixed) > 1 and any(prefixed))


def _parts(cells: Sequence[str]) -> list[list[str]]:
    """Names, types and roles of one row of prefixed names."""
    matches = [_PREFIXED.fullmatch(cell) for cell in cells]
    parts = [
        (cell, "", "") if match is None else (match[3], match[2], match[1])
        for cell, match in zip(cells, matches, strict=True)
    ]
    return [*map(list, zip(*parts, strict=True))]
