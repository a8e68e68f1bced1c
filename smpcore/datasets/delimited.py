"""Text tables: CSV and its relatives, whatever the delimiter, decimals and encoding."""

import csv
import io
import math
import re
from collections import Counter
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.extensions import ExtensionArray

from smpcore.datasets.cells import NUMBER, parse_cell
from smpcore.datasets.columns import framed, narrowed, parsed_numbers
from smpcore.datasets.display_names import shown
from smpcore.datasets.limits import MAX_COLUMNS, check_size
from smpcore.datasets.reading import Reading, ReadingOptions
from smpcore.datasets.text import (
    ENCODINGS,
    HEAD_BYTES,
    as_utf8,
    blocks,
    count_line_ends,
    lines,
)
from smpcore.errors import DatasetError

# "whitespace": any run of blanks and tabs.
DELIMITERS = ("\t", ";", "|", ",", "whitespace")
DECIMALS = (".", ",")
MISSING_WORDS = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "-nan"),
    *("null", "NULL", "Null"),
)
_MISSING = pa.array(MISSING_WORDS)
_SAMPLE_ROWS = 200
# A longer head is looked at if the usual one has fewer lines: names of many columns.
_SAMPLE_LINES, _LONG_HEAD_BYTES = 3, 4_000_000
_COMMA_NUMBER = re.compile(r"\s*[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+\s*")
_POINT_NUMBER = re.compile(r"\s*[+-]?(\d{1,3}(,\d{3})+|\d+)\.\d+\s*")
# 1,5  1.234,5  1.234  ,5
_WITH_COMMA = r"^[+-]?((\d{1,3}(\.\d{3})+|\d+)(,\d*)?|,\d+)([eE][+-]?\d+)?$"
_EXPECTED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


def read_delimited(
    data: bytes, options: ReadingOptions
) -> tuple[pd.DataFrame, Reading]:
    """Read a text table; every option that is None is detected."""
    _check_options(options)
    text, encoding = as_utf8(data, options.encoding)
    text, announced = _without_announcement(text)
    sample = _sample(text)
    delimiter = options.delimiter or announced or _detect_delimiter(sample[:HEAD_BYTES])
    check_size(1, _count_fields(text, delimiter))
    if delimiter == "whitespace":
        text = _with_tabs(text)
        sample = _sample(text)
    separator = "\t" if delimiter == "whitespace" else delimiter
    rows = _rows_of(sample, separator)
    if not rows:
        raise DatasetError("The file is empty; choose a file with a table.")
    decimal = options.decimal or _detect_decimal(rows, separator)
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    if len(rows[0]) == width - 1:
        text = _completed(text, separator, rows)
        rows = _rows_of(_sample(text), separator)
    check_size(count_line_ends(text), width)
    columns = _parsed(text, separator, width)
    header = options.header
    if header is None:
        header = _detect_header(rows, decimal)
    names = [f"column {number}" for number in range(1, width + 1)]
    if header:
        names = [column[0].as_py() for column in columns]
        columns = [column.slice(1) for column in columns]
    if not len(columns[0]):
        raise DatasetError(
            "The file has a header but no rows; choose a file with rows of data."
        )
    columns.reverse()  # each is given up as soon as it is converted
    values = [_values(columns.pop(), decimal) for _ in range(width)]
    frame = framed(values, names)
    return frame, Reading("CSV", delimiter, decimal, encoding, header)


def _check_options(options: ReadingOptions) -> None:
    delimiter, decimal, encoding = options.delimiter, options.decimal, options.encoding
    if delimiter not in (None, *DELIMITERS) and not re.fullmatch(
        r"[^\w\s\"'.+-]", str(delimiter)
    ):
        raise DatasetError(
            f"delimiter={shown(delimiter)} should be one sign such as ',' or ';', a "
            "tab, or 'whitespace'."
        )
    if decimal not in (None, *DECIMALS):
        raise DatasetError(f"decimal={shown(decimal)} should be '.' or ','.")
    if encoding not in (None, *ENCODINGS):
        raise DatasetError(
            f"encoding={shown(encoding)} should be one of {', '.join(ENCODINGS)}."
        )


def _without_announcement(text: bytes) -> tuple[bytes, str | None]:
    """Drop the first line "sep=;" that Excel understands, and obey it."""
    first = text[:20].decode(errors="ignore")
    match = re.match(r"sep=([^\w\s]|\t)\r?\n", first, re.IGNORECASE)
    return (text[len(match[0].encode()) :], match[1]) if match else (text, None)


def _with_tabs(text: bytes) -> bytes:
    """Runs of blanks and tabs made one tab each."""
    check_size(count_line_ends(text), 1)
    fields = (line.decode().split(None, MAX_COLUMNS) for line in lines(text))
    return b"\n".join("\t".join(row).encode() for row in fields)


def _count_fields(text: bytes, delimiter: str) -> int:
    """Fields of the first line, which may be far too long to be taken apart."""
    first = next((line for line in lines(text) if line.strip()), b"")
    if delimiter == "whitespace":
        words = blocks(first.replace(b"\t", b" "), b" ")
        return sum(len(block.split()) for block in words)
    return re.sub(b'"[^"]*"', b"", first).count(delimiter.encode()) + 1


def _sample(text: bytes) -> str:
    """The first lines, complete ones only."""
    sample = text[:HEAD_BYTES]
    if count_line_ends(sample) < _SAMPLE_LINES:
        sample = text[:_LONG_HEAD_BYTES]
    if len(sample) < len(text):
        last_end = max(sample.rfind(b"\n"), sample.rfind(b"\r"))
        sample = sample[: last_end + 1] if last_end >= 0 else sample
    return sample.decode(errors="ignore")


def _rows_of(sample: str, separator: str) -> list[list[str]]:
    lines = io.StringIO(sample, newline="")
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    rows = []
    try:
        for row in reader:
            if any(field.strip() for field in row) or len(row) > 1:
                rows.append(row)
            if len(rows) == _SAMPLE_ROWS:
                break
    except csv.Error as error:
        raise DatasetError(
            f"The file is not a text table (line {reader.line_num}: {error}); save the "
            "table as CSV."
        ) from error
    return rows


def _detect_delimiter(sample: str) -> str:
    """The first delimiter that cuts all sampled rows alike; else the most even one."""
    best, evenness = ",", 0.0
    for delimiter in DELIMITERS:
        if delimiter == "whitespace":
            rows = [line.split() for line in re.split("[\r\n]", sample) if line.strip()]
        else:
            rows = _rows_of(sample, delimiter)
        widths = Counter(len(row) for row in rows[1:] or rows)
        width, count = widths.most_common(1)[0] if widths else (0, 0)
        share = count / max(1, widths.total())
        if width > 1 and share > evenness:
            best, evenness = delimiter, share
    return best


def _detect_decimal(rows: list[list[str]], separator: str) -> str:
    if separator == ",":
        return "."
    fields = [field for row in rows for field in row]
    commas = sum(_COMMA_NUMBER.fullmatch(field) is not None for field in fields)
    points = sum(_POINT_NUMBER.fullmatch(field) is not None for field in fields)
    return "," if commas > points else "."


def _completed(text: bytes, separator: str, rows: list[list[str]]) -> bytes:
    """Give a header that is one name short its missing name.

    The rows end with a delimiter, or begin with row names (as R writes them).
    """
    ends_empty = all(not row[-1].strip() for row in rows[1:])
    end = len(next(lines(text)))
    sign = separator.encode()
    if ends_empty:
        return text[:end] + sign + text[end:]
    return b"row" + sign + text


def _detect_header(rows: list[list[str]], decimal: str) -> bool:
    """Whether the first row is unlike the rows below it."""
    first, below = rows[0], rows[1:]
    columns = list(zip(*(row for row in below if len(row) == len(first)), strict=True))
    if not columns:
        return True
    numeric = [_share_of_numbers(column, decimal) > 0.5 for column in columns]
    looks_like_value = [_share_of_numbers([field], decimal) > 0 for field in first]
    if any(numeric):
        return not any(
            value and number
            for value, number in zip(looks_like_value, numeric, strict=True)
        )
    repeats = any(
        field.strip() and field in column
        for field, column in zip(first, columns, strict=True)
    )
    return not repeats


def _share_of_numbers(fields: list[str] | tuple[str, ...], decimal: str) -> float:
    present = [field.strip() for field in fields]
    present = [field for field in present if field not in MISSING_WORDS]
    points = [field.replace(",", ".") if decimal == "," else field for field in present]
    numbers = sum(not math.isnan(parse_cell(field)) for field in points)
    return numbers / max(1, len(present))


def _parsed(text: bytes, separator: str, width: int) -> list[pa.Array]:
    # A blank before a quoted field would hide its quotes: `1, "a, b"`.
    sign = separator.encode()
    if sign + b' "' in text:
        hidden = re.compile(re.escape(sign) + b' +"')
        cut = blocks(text, sign)
        text = b"".join(hidden.sub(sign + b'"', block) for block in cut)
    try:
        table = _arrow_table(text, separator, width)
    except pa.ArrowInvalid as error:
        raise DatasetError(_ragged(str(error), text, separator)) from error
    return [column.combine_chunks() for column in table.columns]


def _arrow_table(data: bytes, separator: str, width: int) -> pa.Table:
    from pyarrow import csv as arrow_csv

    names = [str(number) for number in range(width)]
    return arrow_csv.read_csv(
        pa.BufferReader(data),
        read_options=arrow_csv.ReadOptions(
            column_names=names, use_threads=False, block_size=len(data) + 1
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=separator, newlines_in_values=True
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )


def _ragged(message: str, text: bytes, separator: str) -> str:
    if text.count(b'"') % 2:
        return "A quotation mark is opened and never closed; correct the file."
    match = _EXPECTED.search(message)
    if not match:
        return "The file cannot be cut into rows and columns; save the table as CSV."
    line, usual, fields = match.groups()
    return (
        f"Line {line} has {fields} field{'s' * (fields != '1')}, most lines have "
        f"{usual}; correct that line, or choose another delimiter than {separator!r}."
    )


def _values(texts: pa.Array, decimal: str) -> np.ndarray | ExtensionArray:
    """Numbers if every value is one, else text; missing words are missing."""
    texts = pc.utf8_trim_whitespace(texts)
    missing = pc.is_in(texts, value_set=_MISSING)
    texts = pc.if_else(missing, pa.scalar(None, pa.string()), texts)
    if decimal == ",":
        texts = _with_points(texts)
    if pc.all(pc.match_substring_regex(texts, NUMBER)).as_py() is not False:
        bare = pc.utf8_ltrim(texts, characters="+")  # which Arrow does not read
        with suppress(pa.ArrowInvalid):  # a number beyond all floats
            numbers = pc.cast(bare, pa.float64()).to_numpy(zero_copy_only=False)
            return narrowed(numbers)
    column = pd.Series(pd.array(texts, dtype="str"))
    numbers = parsed_numbers(column)
    n_present = len(texts) - texts.null_count
    all_numbers = np.count_nonzero(~np.isnan(numbers)) == n_present
    return narrowed(numbers) if all_numbers else column.array


def _with_points(texts: pa.Array) -> pa.Array:
    """Decimal commas made points, in a column where they are the rule."""
    comma = pc.fill_null(pc.match_substring_regex(texts, _WITH_COMMA), False)
    n_comma, n_present = pc.sum(comma).as_py() or 0, len(texts) - texts.null_count
    if 2 * n_comma < n_present:
        return texts
    points = pc.replace_substring(pc.replace_substring(texts, ".", ""), ",", ".")
    return pc.if_else(comma, points, texts)
