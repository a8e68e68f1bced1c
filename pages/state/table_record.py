"""What a state file notes of an own table: reading, roles, kinds, steps; never rows.

Levels of a category are noted as digests only, so that a new one can be named from the
new table, and no value can be read from the file.
"""

from __future__ import annotations

import hashlib
from typing import Annotated

import msgspec
import pandas as pd
from msgspec import Meta

from pages.work.json_files import Record
from smpcore import Dataset, SmpcoreError
from smpcore.datasets import (
    CleaningStep,
    DateUse,
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

#: Wider tables, columns of more levels, and longer records are not noted.
MOST_COLUMNS, MOST_LEVELS, MOST_BYTES = 1000, 50, 300_000
_DIGEST_BYTES = 6

#: Characters of a name, of a level, a code or a column.
WORD = 220
Name = Annotated[str, Meta(max_length=WORD)]
_Count = Annotated[int, Meta(ge=0, le=10**9)]
_Bound = Annotated[float, Meta(ge=-1e300, le=1e300)] | None


class _Step(Record):
    column: Name
    codes: tuple[Name, ...] = ()
    levels: dict[Name, Name] = msgspec.field(default_factory=dict)
    low: _Bound = None
    high: _Bound = None
    unit: Name = ""
    impute: Imputation = ""
    indicator: bool = False
    fixed: bool = False
    numbers: bool = False
    date_use: DateUse = ""
    date_form: Name = ""
    features: tuple[Name, ...] = ()
    n_times: _Count = 0
    count: _Bound = 1.0


class _Columns(Record):
    rows: _Count
    task: Task
    roles: dict[Name, Role]
    kinds: dict[Name, Kind]
    levels: dict[Name, list[Name]]
    cleaning: list[_Step]

    def __post_init__(self) -> None:
        _ = self.steps

    @property
    def steps(self) -> tuple[CleaningStep, ...]:
        """What is done to columns."""
        return steps_from_json(map(msgspec.to_builtins, self.cleaning))

    @property
    def names(self) -> list[str]:
        """Columns of the table as it was read."""
        added = added_columns(self.steps)
        return [name for name in self.roles if name not in added]


class _Reading(Record):
    """How a text table is cut, as `Reading.options` has it."""

    delimiter: Name
    quote: Name
    escape: Name
    decimal: Name
    encoding: Name
    skip: _Count
    header: _Count
    footer: _Count
    points: tuple[Name, ...] = ()


class TableRecord(Record):
    """What is noted of a table; of a very wide one no columns."""

    name: Name
    digest: Name
    columns: _Columns | None
    reading: _Reading | None = None

    def has_columns_of(self, dataset: Dataset) -> bool:
        """Whether a table has the columns that were noted, and no others."""
        columns = self.columns
        return columns is not None and set(dataset.whole) == set(columns.names)


def record_of(dataset: Dataset) -> TableRecord:
    """What is noted of a table."""
    record = TableRecord(dataset.name[:WORD], dataset.digest, None)
    if dataset.reading is not None and dataset.reading.format == "CSV":
        options = dataset.reading.options()
        record.reading = _Reading(**{n: options[n] for n in _Reading.__struct_fields__})
    if dataset.origin is None or len(dataset.roles) > MOST_COLUMNS:
        return record
    columns = _Columns(
        rows=len(dataset.whole),
        task=dataset.task,
        roles=dict(dataset.roles),
        kinds=dict(dataset.kinds),
        levels=_levels(dataset),
        cleaning=[_Step(**step) for step in steps_to_json(dataset.cleaning)],
    )
    if len(msgspec.json.encode(columns)) <= MOST_BYTES:
        record.columns = columns
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


def apply_record(dataset: Dataset, record: TableRecord) -> tuple[Dataset, list[str]]:
    """Give a table the roles, kinds and steps that were noted; say what differs."""
    columns, here = record.columns, list(dataset.whole)
    before = columns.names
    absent = [name for name in before if name not in here]
    if needed := [name for name in absent if columns.roles[name] != "ignore"]:
        raise SmpcoreError(f"This table has no column {listed(needed)}.")
    new = [name for name in here if name not in before]
    steps = [step for step in columns.steps if step.column not in absent]
    roles = {n: role for n, role in columns.roles.items() if n not in absent}
    kinds = {n: kind for n, kind in columns.kinds.items() if n not in absent}
    roles |= dict.fromkeys(new, "ignore")
    adopted = dataset.with_roles(roles, columns.task, kinds, steps)
    return adopted, _differences(dataset, record, absent, new)


def _differences(
    dataset: Dataset, record: TableRecord, absent: list[str], new: list[str]
) -> list[str]:
    words, columns = [], record.columns
    rows = len(dataset.whole)
    if rows != columns.rows:
        words.append(f"{plural(rows, 'row')} in place of {columns.rows:,}")
    if absent:
        words.append(f"not in this table: {listed(absent)}")
    if new:
        words.append(f"new and not used: {listed(new)}")
    for name, levels in columns.levels.items():
        if name in dataset.whole:
            values = _digests(dataset.whole[name], record.digest)
            if unseen := sorted(v for one, v in values.items() if one not in levels):
                words.append(f"{listed(unseen)} of {name} not seen before")
    return words
