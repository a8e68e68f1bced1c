"""What a state file notes of an own table: roles, kinds and steps, never its rows.

Levels of a category are noted as digests only, so that a new one can be named from the
new table, and no value can be read from the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, get_args

import pandas as pd

from pages.work import json_schema
from smpcore import Dataset, SmpcoreError
from smpcore.datasets import (
    Imputation,
    Kind,
    Role,
    Task,
    added_columns,
    as_text,
    listed,
    plural,
    steps_from_json,
    steps_to_json,
)

#: Characters of a name, a level and a code, and of a column's name.
_WORD, _LEVEL, _NAME = 200, 100, 220
#: Wider tables, and columns of more levels, are not noted.
MOST_COLUMNS, MOST_LEVELS = 1000, 50
MOST_CHARACTERS = 300_000
_MOST_RENAMED = 1000
_DIGEST_BYTES = 6

_NUMBER = json_schema.number(-1e300, 1e300)
_STEP = {
    "column": json_schema.text(_NAME),
    "codes": json_schema.array(json_schema.text(_LEVEL), _MOST_RENAMED),
    "levels": json_schema.mapping(json_schema.text(_LEVEL), _MOST_RENAMED, _LEVEL),
    "low": _NUMBER,
    "high": _NUMBER,
    "unit": json_schema.text(_LEVEL),
    "impute": {"enum": [*get_args(Imputation)]},
    "indicator": {"type": "boolean"},
    "fixed": {"type": "boolean"},
}


def _of_columns(values: dict[str, Any]) -> dict[str, Any]:
    return json_schema.mapping(values, 2 * MOST_COLUMNS, _NAME)


_LEVELS = json_schema.array(json_schema.text(2 * _DIGEST_BYTES), MOST_LEVELS)
_COLUMNS = {
    "rows": json_schema.integer(0, 10**9),
    "task": {"enum": [*get_args(Task)]},
    "roles": _of_columns({"enum": [*get_args(Role)]}),
    "kinds": _of_columns({"enum": [*get_args(Kind)]}),
    "levels": _of_columns(_LEVELS),
    "cleaning": json_schema.array(
        json_schema.record(_STEP, tuple(name for name in _STEP if name != "column")),
        MOST_COLUMNS,
    ),
}
_TEXT = json_schema.text(_WORD)
SCHEMA = json_schema.record(
    {
        "name": _TEXT,
        "digest": _TEXT,
        "columns": json_schema.nullable(json_schema.record(_COLUMNS)),
    }
)


def record_of(dataset: Dataset) -> dict[str, Any]:
    """What is noted of a table; of a very wide one no columns."""
    record = {"name": dataset.name[:_WORD], "digest": dataset.digest, "columns": None}
    if dataset.origin is None or len(dataset.roles) > MOST_COLUMNS:
        return record
    columns = {
        "rows": len(dataset.whole),
        "task": dataset.task,
        "roles": dict(dataset.roles),
        "kinds": dict(dataset.kinds),
        "levels": _levels(dataset),
        "cleaning": steps_to_json(dataset.cleaning),
    }
    if len(json.dumps(columns)) <= MOST_CHARACTERS:
        record["columns"] = columns
    return record


def _levels(dataset: Dataset) -> dict[str, list[str]]:
    """Digests of the values of each category that a model uses."""
    return {
        name: sorted(_digests(column, dataset.digest))
        for name, column in dataset.whole.items()
        if dataset.kinds[name] == "category"
        if dataset.roles[name] in ("feature", "target")
        if column.nunique() <= MOST_LEVELS
    }


def _digests(column: pd.Series, key: str) -> dict[str, str]:
    """Digest of each value -> the value."""
    return {
        hashlib.blake2b(
            repr((column.name, value)).encode("utf-8", "surrogatepass"),
            digest_size=_DIGEST_BYTES,
            key=key.encode()[:64],
        ).hexdigest(): value
        for value in as_text(column).dropna().unique()
    }


def has_columns_of(dataset: Dataset, record: Mapping[str, Any]) -> bool:
    """Whether a table has the columns that were noted, and no others."""
    columns = record["columns"]
    return columns is not None and set(dataset.whole) == set(_names(columns))


def _names(columns: Mapping[str, Any]) -> list[str]:
    """Columns of the table as it was read."""
    added = added_columns(steps_from_json(columns["cleaning"]))
    return [name for name in columns["roles"] if name not in added]


def apply_record(
    dataset: Dataset, record: Mapping[str, Any]
) -> tuple[Dataset, list[str]]:
    """Give a table the roles, kinds and steps that were noted; say what differs."""
    columns, here = record["columns"], list(dataset.whole)
    before = _names(columns)
    absent = [name for name in before if name not in here]
    needed = [name for name in absent if columns["roles"][name] != "ignore"]
    if needed:
        raise SmpcoreError(f"This table has no column {listed(needed)}.")
    new = [name for name in here if name not in before]
    steps = steps_from_json(columns["cleaning"])
    steps = tuple(step for step in steps if step.column not in absent)
    roles = {n: role for n, role in columns["roles"].items() if n not in absent}
    kinds = {n: kind for n, kind in columns["kinds"].items() if n not in absent}
    adopted = dataset.with_roles(
        roles | dict.fromkeys(new, "ignore"), columns["task"], kinds, steps
    )
    return adopted, _differences(dataset, record, absent, new)


def _differences(
    dataset: Dataset, record: Mapping[str, Any], absent: list[str], new: list[str]
) -> list[str]:
    words, columns = [], record["columns"]
    rows = len(dataset.whole)
    if rows != columns["rows"]:
        words.append(f"{plural(rows, 'row')} in place of {columns['rows']:,}")
    if absent:
        words.append(f"not in this table: {listed(absent)}")
    if new:
        words.append(f"new and not used: {listed(new)}")
    for name, levels in columns["levels"].items():
        if name in dataset.whole:
            values = _digests(dataset.whole[name], record["digest"])
            if unseen := sorted(v for one, v in values.items() if one not in levels):
                words.append(f"{listed(unseen)} of {name} not seen before")
    return words
