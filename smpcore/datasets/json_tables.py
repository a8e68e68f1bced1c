"""Tables in JSON: records, columns, or a value of JSON in each line."""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from smpcore.datasets.display_names import shown
from smpcore.datasets.limits import check_size
from smpcore.datasets.plain_rows import check_columns, read_rows, without_values
from smpcore.datasets.reading import FileTable, ReadingOptions, damage_in_words
from smpcore.errors import DatasetError

_BEGINS = re.compile(r'\s*(\[\s*[\[{]|\{\s*("([^"\\]|\\.)*"\s*:|\}))')
_HEAD_BYTES = 4_096
_REMEDY = "save it as a list of records, [{...}, {...}], or as CSV"


def is_json(data: bytes) -> bool:
    """Whether this is an object or a list of JSON, or begins with a line of it."""
    return _BEGINS.match(_text(data[:_HEAD_BYTES])) is not None


def _text(data: bytes) -> str:
    encoding = json.detect_encoding(data)
    return data.decode(encoding, "replace").removeprefix("\ufeff")


def _loads(text: str) -> Any:
    """A value of JSON; a number that Python would not read is refused."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        most = sys.int_info.default_max_str_digits
        raise DatasetError(
            f"The JSON file has a whole number of more than {most:,} digits; write it "
            "in quotation marks, or leave it out."
        ) from error


def read_json(data: bytes, options: ReadingOptions) -> FileTable:
    """Read records, lists or columns; an object within a record is taken apart."""
    text = _text(data)
    with damage_in_words("The JSON file", _REMEDY):
        try:
            value = _loads(text)
        except json.JSONDecodeError as error:
            value = _by_lines(text, error)
    notices: list[str] = []
    records = [_flat(record) for record in _records(value, notices)]
    del value
    names = [*dict.fromkeys(name for record in records for name in record)]
    check_size(len(records), len(names))
    nested = {
        name
        for record in records
        for name, cell in record.items()
        if isinstance(cell, list | dict)
    }
    flat_names = [name for name in names if name not in nested]
    check_columns(flat_names, "JSON file")
    rows = ([_cell(record.get(name)) for name in flat_names] for record in records)
    table = read_rows("JSON", flat_names, rows, written=options.written)
    notices += without_values([name for name in names if name in nested])
    return table._replace(notices=[*notices, *table.notices])


def _by_lines(text: str, error: json.JSONDecodeError) -> list[Any]:
    """A value in each line; else what is wrong with the file as a whole."""
    values = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            values.append(_loads(line))
        except json.JSONDecodeError as wrong:
            whole = not values
            place = error.lineno if whole else number
            words = (error if whole else wrong).msg
            raise DatasetError(
                f"The JSON is cut off or damaged in line {place:,} ({words}); correct "
                "that line, or save the file again."
            ) from error
    return values


def _records(value: Any, notices: list[str]) -> Iterable[Any]:
    """The records of a table, however it is written."""
    if isinstance(value, list):
        return _named(value[0], value[1:]) if _has_names(value) else value
    if isinstance(value, dict):
        names, rows = value.get("columns"), value.get("data")
        if isinstance(names, list) and isinstance(rows, list):
            return _named(names, rows)
        if value and all(isinstance(cells, list) for cells in value.values()):
            lengths = {len(cells) for cells in value.values()}
            if len(lengths) == 1 and len(value) > 1:
                return _of_columns(value, range(lengths.pop()))
        lists = [name for name, cells in value.items() if _is_records(cells)]
        if len(lists) == 1:
            notices.append(f"The table is the list {shown(lists[0])} of the file.")
            return value[lists[0]]
        if len(value) > 1 and all(isinstance(cells, dict) for cells in value.values()):
            first = next(iter(value.values()))
            numbered = [*map(str, range(len(first)))]
            if [*first] == numbered and all([*c] == numbered for c in value.values()):
                return _of_columns(value, numbered)
            return [{"key": key, **record} for key, record in value.items()]
        if value and not any(isinstance(cells, list) for cells in value.values()):
            return [value]
    raise DatasetError(f"The JSON is no table; {_REMEDY}.")


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _has_names(rows: list[Any]) -> bool:
    """Whether a list of lists begins with names: texts that no row below has again."""
    if len(rows) < 2 or not all(isinstance(row, list) for row in rows):
        return False
    first, *others = rows
    if not all(isinstance(cell, str) and cell for cell in first):
        return False
    names = {*first}
    return len(names) == len(first) and all(
        len(row) <= len(first)
        and names.isdisjoint(cell for cell in row if isinstance(cell, str))
        for row in others
    )


def _of_columns(columns: dict[str, Any], keys: Iterable[Any]) -> Iterator[dict]:
    for key in keys:
        yield {name: cells[key] for name, cells in columns.items()}


def _named(names: list[Any], rows: list[Any]) -> Iterator[dict]:
    names = [
        " ".join(map(str, name)) if isinstance(name, list) else str(name)
        for name in names
    ]
    for row in rows:
        cells = row if isinstance(row, list) else [row]
        yield {name: cell for name, cell in zip(names, cells, strict=False)}


def _flat(record: Any) -> dict[str, Any]:
    """A record whose objects are taken apart: one level of them."""
    if isinstance(record, list):
        return {f"column {place}": cell for place, cell in enumerate(record, start=1)}
    if not isinstance(record, dict):
        return {"value": record}
    flat: dict[str, Any] = {}
    for name, cell in record.items():
        if isinstance(cell, dict):
            flat.update({f"{name}.{inner}": value for inner, value in cell.items()})
        else:
            flat[name] = cell
    return flat


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
