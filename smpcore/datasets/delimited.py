"""Text tables: CSV and its relatives, whatever the delimiter, decimals and encoding."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.extensions import ExtensionArray

from smpcore.datasets.cells import NUMBER, parse_cell
from smpcore.datasets.columns import (
    are_codes,
    framed,
    narrowed,
    parsed_numbers,
)
from smpcore.datasets.display_names import listed, plural, shown
from smpcore.datasets.fixed_width import find_widths, with_tabs
from smpcore.datasets.layout import (
    DELIMITERS,
    QUOTES,
    REMARKS,
    Layout,
    are_names,
    belongs,
    cells_of,
    decimal_of,
    find_layout,
    fitted_cells,
    has_values,
    is_short,
    joint,
    kind_of,
    typed_kinds,
)
from smpcore.datasets.limits import check_size
from smpcore.datasets.notation import (
    DECIMAL_COMMA,
    DECIMAL_POINT,
    DECIMALS,
    MARKS,
    MISSING_WORDS,
    WITH_COMMA,
)
from smpcore.datasets.reading import FileTable, Reading, ReadingOptions
from smpcore.datasets.text import (
    ENCODINGS,
    HEAD_BYTES,
    as_utf8,
    blocks,
    count_line_ends,
    lines,
)
from smpcore.errors import DatasetError

# A longer head is looked at if the usual one has fewer lines: names of many columns.
_SAMPLE_LINES, _LONG_HEAD_BYTES = 3, 4_000_000
#: Rows of another width, at most; more of them are no accident.
_MOST_RAGGED = 10_000
#: Rows with more cells than those above, at least, that are no other table.
_FEWEST_WIDER = 3
#: Lines of notes below a table, and empty rows below which another one may begin.
_MOST_NOTES = 50
# 1,234.5: a column of two hands stays as it is written
_WITH_BOTH = r"^[+-]?[1-9]\d{0,2}(,\d{3})+\.\d"
_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})*|0")
_BELOW = re.compile(r"[+-]?[1-9]\d\d")
#: A row of totals stands below so many others, at least, or is called so.
_FEWEST_SUMMED = 3
_TOTAL = re.compile(
    r"(grand |sub)?totals?|sum|summe|gesamt|insgesamt|total général|suma|totale|итого",
    re.IGNORECASE,
)
_OPEN_QUOTE = (
    "A quotation mark is opened and never closed; correct the file, or choose another "
    "quotation mark."
)
_RULE = re.compile(rb"[ \t]*\|?([ \t]*:?-+:?[ \t]*\|)+[ \t]*(:?-+:?)?[ \t\r]*")
# A name, and below it numbers with a decimal comma, some of which end with zeros.
_ONE_COLUMN = re.compile(
    r"[^\W\d][^,;\t|\n]*\r?\n(?=(.*\n)*[+-]?\d+,0\d)([+-]?\d+,\d+\r?\n)+\Z"
)
_ONE_COLUMN_WORDS = (
    "The file has one column only, of numbers with a decimal comma; a table needs a "
    "target and at least one feature. If commas stand between cells, choose them."
)
#: Signs between thousands, and before a comment, that can be set by hand.
THOUSANDS = (",", ".", " ", "'")
COMMENTS = ("#", "%", "//", ";", "!")
_EMPTY_LINES = re.compile(rb"\n\r?(?=\n)|\r(?=\r)")
_REPLACED = "\ufffd".encode()


def read_delimited(data: bytes, options: ReadingOptions) -> FileTable:
    """Read a text table; every option that is None is detected, and notices say what.

    The notices are about what is left out of the table, and what is changed in it.
    """
    text, encoding, options = _text_of(data, options)
    start = _offset(text, options.skip or 0)
    start = 0 if text[:start].count(b'"') % 2 else start  # it would be within a cell
    n_above = options.skip if start else 0
    layout, close, rows = find_layout(_sample(text[start:]), options, n_above)
    check_size(1, layout.width)
    check_size(count_line_ends(text), layout.width)
    usual = options.usual_decimal * (layout.sign != options.usual_decimal)
    decimal = options.decimal or decimal_of(rows, layout) or usual
    notices = []
    if encoding == "utf-8" and not text.isascii():
        notices += _spoilt(text) if _REPLACED in text and _REPLACED not in data else []
    table, footer, next_table, changes = _parsed(text, layout, options.footer)
    if not len(table):
        raise DatasetError(
            "The file is empty; choose a file with a table."
            if not layout.header
            else "The file has one column, or no rows below its names; a target and "
            "at least one feature are needed. Choose a file with rows of data, or "
            "another sign between cells."
        )
    layout = _widened(layout, len(table.columns))
    n_notes = _count_notes(table)
    columns = [column.combine_chunks() for column in table.columns]
    first_row, last_row = ([column[at].as_py() for column in columns] for at in (0, -1))
    numbered = [f"column {number}" for number in range(1, len(layout.names) + 1)]
    names = layout.names if layout.header else numbered
    named = zip(names, columns, strict=False)
    decimals, doubtful = _decimals(named, layout, decimal, options.points)
    del table
    marks = _Marks(options)
    values = _values_of(names, columns, decimals, options, marks)
    notices += marks.words()
    totals, words = _totals(values, last_row, n_notes)
    values += [np.full(len(values[0]), np.nan)] * (len(layout.names) - layout.width)
    reading = Reading(
        "CSV",
        "" if options.widths else layout.delimiter,
        decimal,
        encoding,
        layout.header,
        quote=layout.quote,
        escape=layout.escape,
        skip=layout.skip,
        footer=footer,
        row_names="row" if layout.row_names else "",
        totals=totals,
        points=options.points,
        widths=options.widths,
        thousands=options.thousands or "",
        comment=options.comment or "",
        **marks.about(),
        doubtful_points=tuple(doubtful),
        doubtful_names=layout.doubtful,
        close=close,
        next_table=next_table,
        head=tuple(_cut(line) for line, _ in zip(lines(text), range(8), strict=False)),
    )
    notices += [*_about(layout, doubtful, first_row), *changes, *words]
    return FileTable(framed(values, names), reading, notices)


def _text_of(data: bytes, options: ReadingOptions) -> tuple[bytes, str, ReadingOptions]:
    """The lines of a table as UTF-8, their encoding, and the options they announce."""
    _check_options(options)
    text, encoding = as_utf8(data, options.encoding)
    text, announced = _without_announcement(text)
    text = _without_comments(_without_frame(text), options.comment)
    options = replace(options, delimiter=options.delimiter or announced)
    widths = options.widths
    if not (options.delimiter or widths):
        sample = _sample(text)
        if _ONE_COLUMN.match(sample):
            raise DatasetError(_ONE_COLUMN_WORDS)
        widths = find_widths(sample)
    if widths:
        check_size(count_line_ends(text), len(widths) + 1)
        text = with_tabs(text, widths)
        options = replace(options, delimiter="\t", widths=tuple(widths))
    return text, encoding, options


def _values_of(
    names: Sequence[str],
    columns: list[pa.Array],
    decimals: list[str],
    options: ReadingOptions,
    marks: _Marks,
) -> list[np.ndarray | ExtensionArray]:
    """Values of all columns, each of which is given up as soon as it is converted."""
    values = []
    columns.reverse()
    for name, sign in zip(names, decimals, strict=False):
        texts = columns.pop()
        if name in options.written:
            values.append(_written(texts))
        else:
            is_free = not options.decimal and sign != ","
            if options.thousands:
                texts = _without_thousands(texts, options.thousands)
            values.append(_values(name, texts, sign, is_free, marks))
    for place, name in enumerate(names[: len(values)] if marks.further else ()):
        if name not in options.written:
            values[place] = marks.without(name, values[place])
    return values


def _decimals(
    columns: Iterable[tuple[str, pa.Array]],
    layout: Layout,
    decimal: str,
    swapped: Sequence[str],
) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The sign before decimals in each column, and where a point may be either."""
    signs, doubtful = [], []
    for name, column in columns:
        texts = [text.strip() for text in column[:_MOST_NOTES].to_pylist()]
        texts = [text for text in texts if text not in MISSING_WORDS]
        sign, most = decimal or ".", 0
        if all(map(_POINTS.fullmatch, texts)):
            most = max((text.count(".") for text in texts), default=0)
        if most > 1:
            sign = ","
        # So they do beside numbers below 1000 without one.
        beside = most == 1 and not decimal
        beside = beside and len({*filter(_BELOW.fullmatch, texts)}) > 1
        sign = "," if beside else sign
        # Without a decimal in the table it is told by what parts the cells.
        is_known = decimal == "," or beside or (not decimal and layout.sign == ";")
        if most == 1 and is_known:
            sign = ",."[sign == ","] if name in swapped else sign
            text = next(text for text in texts if "." in text)
            doubtful.append(
                (name, text, text.replace(".", "") if sign == "," else text)
            )
        signs.append(sign)
    return signs, doubtful


def _totals(
    columns: list[np.ndarray | ExtensionArray], last_row: list[str], n_notes: int
) -> tuple[int, list[str]]:
    """How many rows at the end sum up the others, or are notes, and that in words."""
    sums = []
    for column in columns:
        if isinstance(column, np.ndarray) and not np.isnan(column[-1]):
            rest = column[:-1][~np.isnan(column[:-1])]
            if np.count_nonzero(rest) >= _FEWEST_SUMMED:
                sums.append(bool(np.isclose(rest.sum(), column[-1], rtol=1e-9)))
    is_called_so = any(_TOTAL.fullmatch(cell.strip(" :")) for cell in last_row)
    is_total = is_called_so or 2 * sum(sums) > len(sums)
    if not is_total and not n_notes:
        return 0, []
    like = "a total of the others" if is_total else "a note"
    return 1 if is_total else n_notes, [
        f"The last row ({shown(' '.join(filter(None, last_row)))}) looks like {like}; "
        "leave it out if it is no case."
    ]


def _count_notes(table: pa.Table) -> int:
    """How many rows at the end have nothing but a text of their own, in front."""
    first, *others = (column[-1].as_py().strip() for column in table.columns)
    if any(others) or kind_of(first) != "text":
        return 0
    alone = _blank(table.select(table.column_names[1:]))
    alone &= ~table[0].to_pandas().duplicated(keep=False).to_numpy()
    return int(np.argmin([*alone[::-1], False]))


def _cut(line: bytes) -> str:
    return line[:400].decode(errors="replace")[:100]


def _about(
    layout: Layout, doubtful: list[tuple[str, str, str]], first_row: list[str]
) -> list[str]:
    """What is unusual in the lines above the rows, and what a point may be."""
    notices = [
        f"Column {shown(name)}: {text} is read as {read}; read it otherwise if points "
        f"{'part thousands' if text == read else 'stand before decimals'} there."
        for name, text, read in doubtful
    ]
    if layout.skip:
        notices.append(
            f"{plural(layout.skip, 'line')} above the table {_are(layout.skip)} "
            "skipped."
        )
    if layout.doubtful:
        first = listed(filter(None, layout.names if layout.header else first_row))
        taken, other = ("names", "data") if layout.header else ("data", "names")
        notices.append(
            f"The first row ({first}) is read as {taken}, though it may be {other}."
        )
    if layout.header > 1:
        notices.append(f"The names are joined from {layout.header} rows.")
    if layout.row_names:
        notices.append(
            "The rows have one cell more than there are names: the first column holds "
            "names of rows."
        )
    if (more := len(layout.names) - layout.width) > 0:
        notices.append(f"{plural(more, 'name')} more than the rows have cells.")
    return notices


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _check_options(options: ReadingOptions) -> None:
    if options.delimiter not in (None, *DELIMITERS) and not re.fullmatch(
        r"[^\w\s\"'.+-]", str(options.delimiter)
    ):
        raise DatasetError(
            f"delimiter={shown(options.delimiter)} should be one sign such as ',' or "
            "';', a tab, or 'whitespace'."
        )
    if any(width < 1 for width in options.widths):
        raise DatasetError(
            f"widths={options.widths} should be numbers of letters, 1 or more each."
        )
    for name, value, allowed in (
        ("decimal", options.decimal, DECIMALS),
        ("encoding", options.encoding, ENCODINGS),
        ("quote", options.quote, QUOTES),
        ("escape", options.escape, ("", "\\")),
        ("thousands", options.thousands, THOUSANDS),
        ("comment", options.comment, COMMENTS),
    ):
        if value not in (None, *allowed):
            words = ", ".join(map(repr, allowed))
            raise DatasetError(f"{name}={shown(value)} should be one of {words}.")


def _without_announcement(text: bytes) -> tuple[bytes, str | None]:
    """Drop the first line "sep=;" that Excel understands, and obey it."""
    first = text[:20].decode(errors="ignore")
    match = re.match(r"sep=([^\w\s]|\t)\r?\n", first, re.IGNORECASE)
    return (text[len(match[0].encode()) :], match[1]) if match else (text, None)


def _without_frame(text: bytes) -> bytes:
    """Drop what draws a table in Markdown: outer bars, and the line below the names."""
    head = text[:HEAD_BYTES].split(b"\n")[:3]
    if len(head) < 3 or not _RULE.fullmatch(head[1]) or head[0].count(b"|") < 2:
        return text
    text = text.replace(head[1] + b"\n", b"", 1)
    return re.sub(rb"(?m)^[ \t]*\|[ \t]*|[ \t]*\|[ \t\r]*$", b"", text)


def _without_comments(text: bytes, sign: str | None) -> bytes:
    """Drop lines that begin with a sign."""
    if not sign:
        return text
    line = rb"(?m)^[ \t]*" + re.escape(sign.encode()) + rb"[^\n]*(\n|\Z)"
    return re.sub(line, b"", text)


def _sample(text: bytes) -> str:
    """The first lines, complete ones only."""
    sample = text[:HEAD_BYTES]
    if count_line_ends(sample) < _SAMPLE_LINES:
        sample = text[:_LONG_HEAD_BYTES]
    if len(sample) < len(text):
        last_end = max(sample.rfind(b"\n"), sample.rfind(b"\r"))
        sample = sample[: last_end + 1] if last_end >= 0 else sample
    return sample.decode(errors="ignore")


def _spoilt(text: bytes) -> list[str]:
    """Say where bytes that are no text stood."""
    n = text.count(_REPLACED)
    place = text.find(_REPLACED)
    start = max(text.rfind(b"\n", 0, place), text.rfind(b"\r", 0, place)) + 1
    line = _cut(text[start : start + 400].splitlines()[0])
    number = text.count(b"\n", 0, place) + 1
    where = f"line {number} ({shown(line)})"
    return [
        f"{plural(n, 'byte')} that {_are(n)} no UTF-8, shown as \ufffd, the first in "
        f"{where}; choose another encoding if the whole file is in one."
    ]


def _parsed(
    text: bytes, layout: Layout, footer: int | None
) -> tuple[pa.Table, int, int, list[str]]:
    """The rows as text, how many were left out at the end, lines above the next table
    (0: there is none), and what was changed.
    """
    from pyarrow import csv as arrow_csv

    whole = text
    text = text[_offset(text, layout.body) :]
    if not text[:HEAD_BYTES].strip() and not text.strip():
        return pa.table({"0": pa.array([], pa.string())}), 0, 0, []
    separator = layout.delimiter
    if separator == "whitespace":
        text, separator = _with_tabs(text, layout), "\t"
    quote = layout.quote.encode()
    if quote and separator != " " and separator.encode() + b" " + quote in text:
        text = b"".join(_without_blanks(text, separator.encode(), quote))
    ragged = []

    def keep(row: arrow_csv.InvalidRow) -> str:
        ragged.append((row.number, row.text))
        return "skip" if len(ragged) <= _MOST_RAGGED else "error"

    names = [str(number) for number in range(layout.width)]
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(text),
            read_options=arrow_csv.ReadOptions(
                column_names=names, use_threads=False, block_size=len(text) + 1
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=separator,
                quote_char=layout.quote or False,
                escape_char=layout.escape or False,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=keep,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        raise DatasetError(_uncut(text, layout, ragged)) from error
    if quote and _is_open(table, ragged, text, layout):
        return _without_quotes(text, layout, footer)
    cut = layout._replace(delimiter=separator)
    wider = _wider(table, ragged, cut)
    if wider > layout.width:
        *parsed, changes = _parsed(whole, _widened(layout, wider), footer)
        words = f"From line {layout.body + ragged[0][0]:,} on the rows have "
        words += f"{plural(wider - layout.width, 'cell')} more than there are names."
        return *parsed, [words, *changes]
    cells = {number - 1: fitted_cells(row, cut) for number, row in ragged}
    return _arranged(table, cells, layout, footer, text)


def _widened(layout: Layout, width: int) -> Layout:
    """The same for rows that have more cells than there are names."""
    more = max(0, width - len(layout.names))
    names, kinds = [*layout.names, *[""] * more], [*layout.kinds, *["text"] * more]
    return layout._replace(width=max(width, layout.width), names=names, kinds=kinds)


def _wider(table: pa.Table, ragged: list[tuple[int, str]], layout: Layout) -> int:
    """Cells of the rows from some place on, if all of these have more; else 0."""
    if len(ragged) < _FEWEST_WIDER or ragged[0][0] <= _FEWEST_WIDER:
        return 0
    n_rows = len(table) + len(ragged)
    if ragged[-1][0] != n_rows or ragged[-1][0] - ragged[0][0] != len(ragged) - 1:
        return 0
    rows = [next(cells_of(row, layout))[1] for _, row in ragged]
    widths = {len(cells) for cells in rows}
    narrow = (belongs(cells[: layout.width], layout) for cells in rows)
    return widths.pop() if len(widths) == 1 and all(narrow) else 0


def _is_open(
    table: pa.Table, ragged: list[tuple[int, str]], text: bytes, layout: Layout
) -> bool:
    """Whether a quotation mark in the last row is never closed."""
    end = text.rstrip()
    last = table.columns[-1][-1].as_py() if len(table) else ""
    if ragged and ragged[-1][0] == len(table) + len(ragged):
        last = next(cells_of(ragged[-1][1], layout), (0, [""]))[1][-1]
    odd = text.count(layout.quote.encode()) % 2 == 1
    return "\n" in last and (odd or not end.endswith(layout.quote.encode()))


def _without_quotes(
    text: bytes, layout: Layout, footer: int | None
) -> tuple[pa.Table, int, int, list[str]]:
    """Rows of a text in which a quotation mark is never closed: a part of its cell.

    That is so where every line is a row of the table then.
    """
    rows = [
        line.count(layout.sign.encode()) + 1 for line in lines(text) if line.strip()
    ]
    if {*rows} != {layout.width}:
        raise DatasetError(_OPEN_QUOTE)
    unquoted = layout._replace(quote="", body=0)
    table, footer, next_table, changes = _parsed(text, unquoted, footer)
    words = f"A quotation mark {layout.quote} is never closed, so that such marks are "
    return (
        table,
        footer,
        next_table,
        [f"{words}read as parts of their cells.", *changes],
    )


def _offset(text: bytes, n_lines: int) -> int:
    """Where a line begins below so many others."""
    offset = 0
    for _, line in zip(range(n_lines), lines(text), strict=False):
        offset += len(line)
        offset += 2 if text[offset : offset + 2] == b"\r\n" else 1
    return offset


def _without_blanks(text: bytes, sign: bytes, quote: bytes) -> Iterator[bytes]:
    """No blanks before a quoted cell, which hide its quotes: `1, "a, b"`."""
    hidden = re.compile(
        b"(%b[^%b]*%b)|(%b) +(?=%b)" % (quote, quote, quote, re.escape(sign), quote)
    )
    held = b""
    for block in blocks(text, b"\n"):
        held += block
        if held.count(quote) % 2 == 0:  # it ends in no quoted cell
            yield hidden.sub(rb"\1\2", held)
            held = b""
    yield held


def _with_tabs(text: bytes, layout: Layout) -> bytes:
    """Runs of blanks and tabs made one tab each."""
    check_size(count_line_ends(text), 1)
    most = layout.width + 1_000  # one long line would become millions of texts
    if layout.quote and layout.quote.encode() in text:
        rows: Iterable[list[str]] = (row for _, row in cells_of(text.decode(), layout))
        rows = ([" ".join(cell.split()) for cell in row] for row in rows)
    else:
        rows = (line.decode().split(None, most) for line in lines(text))
    return b"\n".join("\t".join(row).encode() for row in rows)


def _uncut(text: bytes, layout: Layout, ragged: list[tuple[int, str]]) -> str:
    quote = layout.quote.encode()
    if quote and text.count(quote) % 2:
        return _OPEN_QUOTE
    if not ragged:
        return "The file cannot be cut into rows and columns; save the table as CSV."
    number, row = ragged[0]
    return _too_long(layout, number, next(cells_of(row, layout))[1])


def _too_long(layout: Layout, number: int, cells: list[str]) -> str:
    return (
        f"Line {layout.body + number} has {plural(len(cells), 'field')}, most lines "
        f"have {layout.width}; correct that line, or choose another delimiter than "
        f"{layout.delimiter!r} or other quotation marks than {layout.quote or 'none'}."
    )


def _arranged(
    table: pa.Table,
    ragged: dict[int, list[str]],
    layout: Layout,
    footer: int | None,
    text: bytes,
) -> tuple[pa.Table, int, int, list[str]]:
    """Rows of another width in their places, and none that belongs to no table."""
    width, next_table, notices = layout.width, 0, []
    comments = [at for at, cells in ragged.items() if _is_comment(cells, table)]
    rows = ragged | {at: [""] for at in comments}
    table = _merged(table, {at: _fitted(cells, layout) for at, cells in rows.items()})
    blank, again, n_rows = _blank(table), _names_again(table, layout), len(table)
    pages = again if len(again) > 1 or footer is not None else []
    blank[pages] = True
    rows |= {at: [""] for at in pages}
    if footer is None:
        end = _end(table, rows, layout, blank, again)
        if rest := [*_below(table, rows, end)]:
            n, first = n_rows - end, shown(" ".join(rest[0][1]).strip())
            notices.append(
                f"{plural(n, 'row')} at the end {_are(n)} left out, as another table "
                f"or a note ({first})."
            )
            of_table = [at for at, cells in rest if sum(map(bool, cells)) > 1]
            if len(of_table) > 1:
                above = table.slice(0, of_table[0])
                breaks = (pc.count_substring(cells, "\n") for cells in above.columns)
                within = sum(pc.sum(n, min_count=0).as_py() for n in breaks)
                next_table = layout.body + len(above) + within
    else:
        end = max(0, n_rows - footer)
    joined = [at for at, cells in ragged.items() if at < end and any(cells[width:])]
    for place in joined:
        if joint(ragged[place], layout) is None:
            raise DatasetError(_too_long(layout, place + 1, ragged[place]))
    short = [at for at, cells in rows.items() if len(cells) < width and any(cells)]
    n_left_out = 0
    for places, words in (
        (short, "Too few cells, the others count as missing"),
        (joined, "Too many cells, those of a text without quotation marks are joined"),
        (comments, "Left out, as a comment"),
        (pages, "Left out, as the names again"),
    ):
        if places := [place for place in places if place < end]:
            cells = ragged.get(places[0], layout.names)
            rest = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
            first = f"row {places[0] + 1:,} ({shown(layout.sign.join(cells))})"
            notices.append(f"{words}: {first}{rest}.")
            n_left_out += int(blank[places].sum())
    table, blank = table.slice(0, end), blank[:end]
    if blank.any():
        table = table.filter(pa.array(~blank))
        n_empty = len(_EMPTY_LINES.findall(text)) + (text[:1] in b"\r\n")
        if (n := int(blank.sum()) - n_left_out - n_empty) > 0:
            notices.append(f"{plural(n, 'row')} without any value {_are(n)} left out.")
    return table, n_rows - end, next_table, notices


def _is_comment(cells: list[str], table: pa.Table) -> bool:
    """Whether a row of few cells begins with a mark that the first row lacks."""
    mark = next(filter(cells[0].startswith, REMARKS), "")
    short = mark and len(cells) < len(table.columns)
    return short and len(table) and not table[0][0].as_py().startswith(mark)


def _names_again(table: pa.Table, layout: Layout) -> list[int]:
    """Rows that repeat the names, as on each page of a print."""
    named = [pair for pair in zip(table.columns, layout.names, strict=False) if pair[1]]
    if len(named) < 2:
        return []
    places = np.flatnonzero(pc.equal(*named[0]).to_numpy())
    for column, name in named[1:]:
        same = pc.equal(pc.utf8_trim_whitespace(column.take(places)), name)
        places = places[same.to_numpy()]
    return places.tolist()


def _merged(table: pa.Table, rows: dict[int, list[str]]) -> pa.Table:
    """The table with further rows in their places."""
    if not rows:
        return table
    added = [pa.array(cells, pa.string()) for cells in zip(*rows.values(), strict=True)]
    places = np.setdiff1d(np.arange(len(table) + len(rows)), [*rows])
    added = pa.table(added, names=table.column_names)
    return pa.concat_tables([table, added]).take(np.argsort([*places, *rows]))


def _fitted(cells: list[str], layout: Layout) -> list[str]:
    """Cells of a row of another width, as many as the others have."""
    more = len(cells) - layout.width
    if any(cells[layout.width :]) and (at := joint(cells, layout)) is not None:
        after = at + more + 1
        cells = [*cells[:at], layout.sign.join(cells[at:after]), *cells[after:]]
    return (cells + [""] * -more)[: layout.width]


def _blank(table: pa.Table) -> np.ndarray:
    """Which rows have no value at all."""
    blank = np.ones(len(table), dtype=bool)
    for column in table.columns:
        rows = np.flatnonzero(blank)
        if not rows.size:
            break
        part = column if rows.size == len(table) else column.take(rows)
        empty = pc.or_(pc.equal(part, ""), pc.utf8_is_space(part))
        blank[rows] = empty.to_numpy()
    return blank


def _below(
    table: pa.Table, ragged: dict[int, list[str]], place: int, step: int = 1
) -> Iterator[tuple[int, list[str]]]:
    """Rows with a value from a place on, a few at most."""
    last = min(max(place + step * _MOST_NOTES, -1), len(table))
    for at in range(place, last, step):
        cells = ragged.get(at) or [column[at].as_py() for column in table.columns]
        if any(cells := [cell.strip() for cell in cells]):
            while len(cells) > len(table.columns) and not cells[-1]:
                cells.pop()
            yield at, cells


def _end(
    table: pa.Table,
    ragged: dict[int, list[str]],
    layout: Layout,
    blank: np.ndarray,
    again: list[int],
) -> int:
    """Where the table ends: before its names again, another table, or notes."""
    empty = np.flatnonzero(blank)[:_MOST_NOTES]
    typed = {*layout.kinds} != {"text"}
    breaks = np.unique(np.concatenate([[*ragged], empty, again])).astype(int)
    for place in breaks.tolist():
        some = islice(_below(table, ragged, place), 8 if place else None)
        rows = [cells for _, cells in some]
        first = next((cells for cells in rows if sum(map(bool, cells)) > 1), [])
        if place in again and not blank[place]:
            return place
        if not any(belongs(cells, layout) for cells in rows):
            # A last row of values only, and too many, is no note.
            values = len(rows) == 1 and {*map(kind_of, rows[0])} <= {"number", "date"}
            too_long = values and len(rows[0]) > layout.width
            short = rows and all(is_short(cells, layout) for cells in rows)
            if not (short or too_long):
                return place
        elif (blank[place] or typed) and are_names(first, layout):
            return place
    end, headings = len(table), None
    for place, cells in _below(table, ragged, end - 1, -1):
        if sum(map(bool, cells)) > 1 or not cells[0] or has_values(cells, layout):
            break
        if headings is None:
            headings = _blank(table.select(table.column_names[1:])) & ~blank
        wrong = any(kind == "text" for kind, _ in typed_kinds(cells, layout))
        usual = layout.width == 2 or headings[: place - 1].any()
        if usual and not wrong and place - 1 not in empty:
            break
        end = place
    return end


def _written(texts: pa.Array) -> ExtensionArray:
    """Cells as they stand in the file."""
    empty = pc.equal(texts, "")
    return pd.array(pc.if_else(empty, pa.scalar(None, pa.string()), texts), dtype="str")


class _Marks:
    """Marks of missing values in the columns of a table, and how often each occurs.

    Parameters
    ----------
    options : ReadingOptions
        What is said about marks.

    Attributes
    ----------
    further : dict
        Marks that columns of numbers have, as keys.
    """

    def __init__(self, options: ReadingOptions):
        self._options = options
        usual = [word for word in MISSING_WORDS if word not in options.not_missing]
        self._usual = pa.array([*usual, *(options.missing or ())])
        self._has_na = "NA" not in options.not_missing
        self.further: dict[str, None] = {}  # in order
        self._counts: list[tuple[str, str, int]] = []
        self._levels: list[tuple[str, str]] = []
        self._commas: list[str] = []

    def without_usual(self, name: str, texts: pa.Array) -> pa.Array:
        """The texts of the column without the marks of all tables."""
        gone = pc.is_in(texts, value_set=self._usual)
        if not gone.true_count:
            return texts
        if self._has_na and _is_level(texts, gone):
            is_level = name not in self._options.levels
            self._levels.append((name, "level" if is_level else "missing"))
            gone = pc.and_(gone, pc.not_equal(texts, "NA")) if is_level else gone
        return self._masked(name, texts, gone)

    def of_numbers(self, name: str, texts: pa.Array, odd: pa.Array) -> pa.Array | None:
        """A column of numbers without its words for missing values; None: others."""
        if self._options.missing is not None:
            return None
        words = pc.unique(texts.filter(odd)[:_MOST_RAGGED]).to_pylist()
        words = [word for word in words if word is not None]
        if not words or not all(word.lower() in MARKS for word in words):
            return None
        if {*words} & {*self._options.not_missing}:
            return None
        self.further |= dict.fromkeys(words)
        return self._masked(
            name, texts, pc.is_in(texts, value_set=pa.array(words, texts.type))
        )

    def without(
        self, name: str, cells: np.ndarray | ExtensionArray
    ) -> np.ndarray | ExtensionArray:
        """A column of words without the marks that columns of numbers have."""
        if isinstance(cells, np.ndarray):
            return cells
        texts = pa.array(cells)
        texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        marks = [*self.further]
        if "." in marks:  # Stata's; of several sorts, .a to .z
            marks += [f".{letter}" for letter in ascii_lowercase]
        gone = pc.is_in(texts, value_set=pa.array(marks, texts.type))
        if not pc.any(gone).as_py():
            return cells
        return pd.array(self._masked(name, texts, gone), dtype="str")

    def has_comma(self, name: str) -> None:
        """Note that a column has decimal commas, unlike others."""
        self._commas.append(name)

    def words(self) -> list[str]:
        """What is unusual about marks and commas, in sentences."""
        notices = [f"Column {shown(name)} has decimal commas." for name in self._commas]
        for mark in self.further:
            cells = [(name, n) for one, name, n in self._counts if one == mark]
            where = listed([name for name, _ in cells], 3)
            n = sum(n for _, n in cells)
            notices.append(
                f"{shown(mark)} is read as missing ({n:,} cells of {where})."
            )
        notices += [
            f"Column {shown(name)}: NA is read as a {read} "
            f"{'of its own' if read == 'level' else 'value'}; read it otherwise if it "
            f"{'stands for no value' if read == 'level' else 'is a code'}."
            for name, read in self._levels
        ]
        return notices

    def about(self) -> dict[str, Any]:
        """Fields of `Reading`."""
        missing = self._options.missing
        return {
            "missing": tuple(self.further) if missing is None else missing,
            "not_missing": self._options.not_missing,
            "levels": self._options.levels,
            "missing_counts": tuple(self._counts),
            "doubtful_levels": tuple(self._levels),
        }

    def _masked(self, name: str, texts: pa.Array, gone: pa.Array) -> pa.Array:
        for one in pc.value_counts(texts.filter(gone)).to_pylist():
            if one["values"] is not None:
                self._counts.append((one["values"], name, one["counts"]))
        return pc.if_else(gone, pa.scalar(None, texts.type), texts)


def _is_level(texts: pa.Array, gone: pa.Array) -> bool:
    """Whether NA is a code among alike ones: a region or a country."""
    if not pc.any(pc.equal(texts, "NA")).as_py():
        return False
    others = pc.unique(texts.filter(pc.invert(gone)))
    is_code = pc.match_substring_regex(others, "^[A-Z]{2,5}$")
    return len(others) > 1 and _all(is_code)


def _values(
    name: str, texts: pa.Array, decimal: str, is_free: bool, marks: _Marks
) -> np.ndarray | ExtensionArray:
    """Numbers if every value is one and no code, else text."""
    texts = marks.without_usual(name, pc.utf8_trim_whitespace(texts))
    if decimal == ",":
        texts = _with_points(texts)
    some = [*filter(None, texts[:99].to_pylist()), "0"]
    first = some[0]
    if first.lower() in MARKS:
        first = next(text for text in some if text.lower() not in MARKS)
    if math.isnan(parse_cell(first.replace(",", "") if is_free else first)):
        return pd.array(texts, dtype="str")
    numbers = None
    fits = first.isdecimal() and _all(pc.ascii_is_decimal(texts))
    fits = fits or _all(pc.match_substring_regex(texts, NUMBER))
    if not fits:
        if is_free and _has_commas(texts):
            marks.has_comma(name)
            texts = _with_points(texts)
        match = pc.match_substring_regex(texts, NUMBER)
        bare = marks.of_numbers(name, texts, pc.invert(match))
        fits = bare is not None or _all(match)
        texts = texts if bare is None else bare
    if fits:
        bare = pc.utf8_ltrim(texts, characters="+")  # which Arrow does not read
        with suppress(pa.ArrowInvalid):  # a number beyond all floats
            numbers = pc.cast(bare, pa.float64()).to_numpy(zero_copy_only=False)
    if numbers is None:
        numbers = parsed_numbers(pd.Series(pd.array(texts, dtype="str")))
        n_present = len(texts) - texts.null_count
        if np.count_nonzero(~np.isnan(numbers)) < n_present:
            return pd.array(texts, dtype="str")
    values = narrowed(numbers)
    whole = values.dtype.kind == "i" or np.nanmax(np.abs(values), initial=0.0) >= 1e15
    return pd.array(texts, dtype="str") if whole and are_codes(texts) else values


def _without_thousands(texts: pa.Array, sign: str) -> pa.Array:
    """Drop the sign between thousands that was chosen from the cells that have it."""
    group = re.escape(sign) if sign != " " else "[ \u00a0\u2009\u202f]"
    written = rf"^\s*[+-]?\d{{1,3}}({group}\d{{2,3}})*{group}\d{{3}}([.,]\d+)?\s*$"
    bare = pc.replace_substring_regex(texts, group, "")
    return pc.if_else(pc.match_substring_regex(texts, written), bare, texts)


def _has_commas(texts: pa.Array) -> bool:
    """Whether all are numbers with decimal commas, or whole, some without a doubt."""
    if not pc.any(pc.match_substring_regex(texts, f"^({DECIMAL_COMMA})$")).as_py():
        return False
    word = pc.is_in(pc.utf8_lower(texts), value_set=pa.array(sorted(MARKS)))
    comma = pc.match_substring_regex(texts, WITH_COMMA)
    return (
        _all(pc.or_(comma, word))
        and not pc.any(pc.match_substring_regex(texts, f"^({DECIMAL_POINT})$")).as_py()
    )


def _all(matches: pa.Array) -> bool:
    """Whether all hold that are not missing."""
    return pc.all(matches).as_py() is not False


def _with_points(texts: pa.Array) -> pa.Array:
    """Decimal commas made points, in a column where they are the rule."""
    if pc.any(pc.match_substring_regex(texts, _WITH_BOTH)).as_py():
        return texts
    comma = pc.fill_null(pc.match_substring_regex(texts, WITH_COMMA), False)
    n_comma, n_present = pc.sum(comma).as_py() or 0, len(texts) - texts.null_count
    if 2 * n_comma < n_present:
        return texts
    points = pc.replace_substring(pc.replace_substring(texts, ".", ""), ",", ".")
    return pc.if_else(comma, points, texts)
