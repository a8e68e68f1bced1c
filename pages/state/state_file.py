"""The state file: what a visitor has chosen, named and noted, as JSON.

It may come from anywhere, so that every value is checked before any of them counts;
nothing in it is ever run. Rows of an uploaded table are never in it: it notes how the
table was read, its roles, kinds and steps. Levels of a category are noted as digests
only, so that a new one can be named from the new table, and no value can be read from
the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, NoReturn

import msgspec
import numpy as np
import pandas as pd
from msgspec import Meta

from pages.work import json_files
from smpcore import METHODS, Dataset, SmpcoreError, datasets
from smpcore.live import EDITABLE_ROWS, FAR, Number, Record, pairs
from smpcore.report import FIELDS, LONGEST

#: Wider tables, columns of more levels, and longer records are not noted.
MOST_COLUMNS, MOST_LEVELS, MOST_NOTED_BYTES = 1000, 50, 300_000
_DIGEST_BYTES = 6

#: Characters of a name, of a level, a code or a column.
WORD = 220
Name = Annotated[str, Meta(max_length=WORD)]
_Count = Annotated[int, Meta(ge=0, le=10**9)]
_Seconds = Annotated[float, Meta(gt=0, le=1e9)]
_Bound = Annotated[float, Meta(ge=-1e300, le=1e300)] | None


class _CleaningStep(Record):
    column: Name
    codes: tuple[Name, ...] = ()
    levels: dict[Name, Name] = msgspec.field(default_factory=dict)
    low: _Bound = None
    high: _Bound = None
    unit: Name = ""
    impute: datasets.Imputation = ""
    indicator: bool = False
    fixed: bool = False
    numbers: bool = False
    decimal: Name = "."
    cell_unit: Name = ""
    digits: bool = False
    pair: datasets.Pair = ""
    date_use: datasets.DateUse = ""
    date_form: Name = ""
    features: tuple[Name, ...] = ()
    n_times: _Count = 0
    count: _Bound = 1.0


class _Columns(Record):
    rows: _Count
    task: datasets.Task
    roles: dict[Name, datasets.Role]
    kinds: dict[Name, datasets.Kind]
    levels: dict[Name, list[Name]]
    cleaning: list[_CleaningStep]
    #: Height and width of rows that are pictures.
    image: tuple[_Count, ...] = ()
    #: Between two values of series, as the visitor declared it.
    seconds: _Seconds | None = None

    def __post_init__(self) -> None:
        _ = self.steps

    @property
    def steps(self) -> tuple[datasets.CleaningStep, ...]:
        """What is done to columns."""
        return datasets.steps_from_json(map(msgspec.to_builtins, self.cleaning))

    @property
    def names(self) -> list[str]:
        """Columns of the table as it was read."""
        added = datasets.added_columns(self.steps)
        return [name for name in self.roles if name not in added]


class _Reading(Record):
    """How a text table or a sheet is cut, as `Reading.options` has it."""

    skip: _Count
    header: _Count
    footer: _Count
    delimiter: Name | None = None
    quote: Name | None = None
    escape: Name | None = None
    decimal: Name | None = None
    encoding: Name | None = None
    points: tuple[Name, ...] = ()
    widths: tuple[_Count, ...] = ()
    thousands: Name | None = None
    comment: Name | None = None
    missing: tuple[Name, ...] = ()
    not_missing: tuple[Name, ...] = ()
    levels: tuple[Name, ...] = ()
    sheet: Name = ""
    # Not three names: msgspec 0.23 crashes on a text beside a tuple of fixed length.
    series: Name | tuple[Name, ...] | None = None
    n_times: _Count | None = None

    def __post_init__(self) -> None:
        is_long = isinstance(self.series, tuple) and len(self.series) == 3
        if not (is_long or self.series in (None, "rows", "wide")):
            raise ValueError("series are 'rows', 'wide' or the names of three columns")


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
    reading = dataset.reading
    if reading and (reading.words() or reading.sheet or reading.series):
        options = {"skip": 0, "header": 1, "footer": 0, **reading.options()}
        names = _Reading.__struct_fields__
        record.reading = _Reading(**{n: options[n] for n in names if n in options})
    if dataset.origin is None or len(dataset.roles) > MOST_COLUMNS:
        return record
    axis = dataset.time_axis
    is_declared = axis is not None and axis == datasets.declared_times(axis.step)
    columns = _Columns(
        rows=len(dataset.whole),
        task=dataset.task,
        roles=dict(dataset.roles),
        kinds=dict(dataset.kinds),
        levels=_levels(dataset),
        cleaning=[
            _CleaningStep(**step) for step in datasets.steps_to_json(dataset.cleaning)
        ],
        image=dataset.sample_shape if dataset.is_image else (),
        seconds=axis.step if is_declared else None,
    )
    if len(msgspec.json.encode(columns)) <= MOST_NOTED_BYTES:
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
        for value in datasets.as_text(column).dropna().unique()
    }


def apply_record(dataset: Dataset, record: TableRecord) -> tuple[Dataset, list[str]]:
    """Give a table the roles, kinds and steps that were noted; say what differs."""
    columns, here = record.columns, list(dataset.whole)
    before = columns.names
    absent = [name for name in before if name not in here]
    if needed := [n for n in absent if columns.roles[n] not in datasets.IDLE]:
        raise SmpcoreError(f"This table has no column {datasets.listed(needed)}.")
    new = [name for name in here if name not in before]
    steps = [step for step in columns.steps if step.column not in absent]
    roles = {n: role for n, role in columns.roles.items() if n not in absent}
    kinds = {n: kind for n, kind in columns.kinds.items() if n not in absent}
    roles |= dict.fromkeys(new, "ignore")
    adopted = dataset.with_roles(roles, columns.task, kinds, steps)
    if columns.image in datasets.image_shapes(adopted):
        adopted = replace(adopted, sample_shape=columns.image)
    if columns.seconds and adopted.channels:
        axis = datasets.declared_times(columns.seconds)
        adopted = replace(adopted, time_axis=axis)
    return adopted, _differences(dataset, record, absent, new)


def _differences(
    dataset: Dataset, record: TableRecord, absent: list[str], new: list[str]
) -> list[str]:
    words, columns = [], record.columns
    rows = len(dataset.whole)
    if rows != columns.rows:
        words.append(f"{datasets.plural(rows, 'row')} in place of {columns.rows:,}")
    if absent:
        words.append(f"not in this table: {datasets.listed(absent)}")
    if new:
        words.append(f"new and not used: {datasets.listed(new)}")
    for name, levels in columns.levels.items():
        if name in dataset.whole:
            values = _digests(dataset.whole[name], record.digest)
            if unseen := sorted(v for one, v in values.items() if one not in levels):
                words.append(f"{datasets.listed(unseen)} of {name} not seen before")
    return words


_NAME_OF_FILE = "state file"
FORMAT, VERSION = "sparse-prototype-explorer-state", 1
MOST_BYTES = 1_000_000
#: Models with notes; characters of a name and of a note on a prototype.
MOST_MODELS, NAME, NOTE = 100, 40, 500
#: Tables about which an author has stated something for reports.
MOST_STATED = 20
_PARTS = ("train", "validation", "test")

_Method = Literal[tuple(METHODS)]
_Values = dict[Name, Number | bool | Name | None]
_Coordinate = Annotated[float, Meta(ge=-FAR, le=FAR)]
_Rows = list[Annotated[int, Meta(ge=0, le=EDITABLE_ROWS)]]
_Times = Annotated[int, Meta(ge=0, le=10**6)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Statement = Annotated[str, Meta(max_length=LONGEST)]
_Stated = dict[Literal[tuple(FIELDS)], _Statement]


class Points(Record):
    """Drawn points with their parts."""

    name: Name
    task: datasets.Task
    open_test: bool
    columns: list[Name]
    target: Name
    X: Annotated[list[list[_Coordinate]], Meta(max_length=EDITABLE_ROWS + 1)]
    y: list[Annotated[int, Meta(ge=-int(FAR), le=int(FAR))] | _Coordinate | Name]
    seed: Annotated[int, Meta(ge=0, le=9999)]
    shares: tuple[_Share, _Share]
    train: _Rows
    validation: _Rows
    test: _Rows


class _Note(Record):
    name: Annotated[str, Meta(max_length=NAME)]
    note: Annotated[str, Meta(max_length=NOTE)]
    without: list[Name] = msgspec.field(default_factory=list)


class ModelNotes(Record):
    """Notes on the prototypes of a model, which is known by its key."""

    data: Name
    split: Name
    method: _Method
    values: _Values
    prototypes: dict[Annotated[int, Meta(ge=0, le=999_999)], _Note]


class Pin(Record):
    """A model that is kept beside the one shown."""

    key: _Method
    values: _Values


class _Head(msgspec.Struct):
    format: Any = None
    version: Any = None


class Saved(msgspec.Struct, forbid_unknown_fields=True):
    """What a state file holds: a link without a token, and what no link has.

    Points are in it only if they were drawn.
    """

    link: dict[str, str] = msgspec.field(default_factory=dict)
    table: TableRecord | None = None
    points: Points | None = None
    notes: list[ModelNotes] = msgspec.field(default_factory=list)
    pinned: Pin | None = None
    opened: dict[Name, _Times] = msgspec.field(default_factory=dict)
    stated: dict[Name, _Stated] = msgspec.field(default_factory=dict)
    format: Literal[FORMAT] = FORMAT
    version: Literal[VERSION] = VERSION


Notes = dict[tuple, dict[int, dict[str, Any]]]


def write(saved: Saved) -> bytes:
    """A state as a file."""
    data = msgspec.json.format(msgspec.json.encode(saved), indent=1)
    if len(data) > MOST_BYTES:
        _wrong(f"has {len(data) / 1e6:.1f} MB, at most 1 MB can be opened again")
    return data


def written_notes(notes: Notes) -> list[ModelNotes]:
    """Notes of a visit as a file has them."""
    models = []
    for (digest, split_key, method, values), of_model in notes.items():
        written = {j: n for j, n in of_model.items() if n["name"] or n["note"]}
        if written:
            models.append(ModelNotes(digest, split_key, method, dict(values), written))
    return models[-MOST_MODELS:]


def written_statements(stated: Mapping[str, Mapping[str, str]]) -> dict[str, _Stated]:
    """What a visit states for reports, by the names of tables, as a file has it."""
    written = {
        name: {key: text for key, text in fields.items() if text.strip()}
        for name, fields in stated.items()
    }
    return dict([one for one in written.items() if one[1]][-MOST_STATED:])


def read_notes(models: list[ModelNotes]) -> Notes:
    """Notes of a file as a visit has them."""
    return {
        (one.data, one.split, one.method, pairs(one.values)): {
            number: {"without": []} | msgspec.to_builtins(note)
            for number, note in one.prototypes.items()
        }
        for one in models
    }


def written_points(dataset: Dataset, division: datasets.Split) -> Points:
    """Drawn points with their parts, as a file has them."""
    columns = dataset.feature_columns
    return Points(
        name=dataset.name,
        task=dataset.task,
        open_test=dataset.open_test,
        columns=columns,
        target=dataset.target,
        X=dataset.frame[columns].to_numpy(np.float64).tolist(),
        y=dataset.y.tolist(),
        seed=division.seed,
        shares=(division.validation_share, division.test_share),
        **{part: getattr(division, part).tolist() for part in _PARTS},
    )


def read(data: bytes) -> Saved:
    """Read a state file from anywhere."""
    head = json_files.decode(data, _Head, _NAME_OF_FILE, MOST_BYTES)
    if head.format != FORMAT:
        _wrong("is not one that this app wrote; choose one that Save made")
    if head.version != VERSION:
        _wrong(f"has version {head.version!s:.20}, this app reads version {VERSION}")
    saved = json_files.decode(data, Saved, _NAME_OF_FILE, MOST_BYTES)
    if "mine" in saved.link:
        _wrong("has at “link” an entry that is not known: mine")
    if saved.points:
        read_points(saved.points)
    if saved.pinned:
        _check_pin(saved.pinned)
    return saved


def _wrong(what: str) -> NoReturn:
    json_files.refuse(_NAME_OF_FILE, what)


def _check_pin(pin: Pin) -> None:
    """Refuse a setting that is not here, and forget one that there was."""
    method = METHODS[pin.key]
    params = {p.name: p for task in method.estimators for p in method.controls(task)}
    pin.values = {n: v for n, v in pin.values.items() if n not in method.removed}
    for name, value in list(pin.values.items()):
        param = params.get(name)
        if param is not None and param.scale == "lists":
            pin.values[name] = value = param.clean(value)
        if param is None or (param.scale != "class" and param.clean(value) != value):
            _wrong(f"pins a model whose {name[:40]!r} is not here or out of its range")


def read_points(
    points: Points, name: str = _NAME_OF_FILE
) -> tuple[Dataset, datasets.Split]:
    """Points of a file, as a table with its parts."""
    X, y, columns, target = points.X, points.y, points.columns, points.target
    if len(X) != len(y) or any(len(row) != len(columns) for row in X):
        what = "should have for each point a value of every column and a target"
        json_files.refuse(name, what)
    frame = pd.DataFrame(X, columns=columns, dtype=np.float64).assign(**{target: y})
    if len(set(map(type, y))) > 1 or frame.shape[1] != len(columns) + 1 or not y:
        what = "should have points with targets of one type, in columns of their own"
        json_files.refuse(name, what)
    dataset = Dataset(
        name=points.name,
        frame=frame,
        roles={**dict.fromkeys(columns, "feature"), target: "target"},
        task=points.task,
        open_test=points.open_test,
        private=True,
    )
    division = _division(points, len(y), name)
    datasets.check_fit(dataset, division)
    return dataset, division


def _division(points: Points, n_rows: int, name: str) -> datasets.Split:
    parts = [np.array(getattr(points, part), dtype=np.int64) for part in _PARTS]
    rows = np.concatenate(parts)
    if len(np.unique(rows)) < len(rows) or rows.max(initial=0) >= n_rows:
        json_files.refuse(name, "should have every point in one part only, no others")
    for part in parts:
        part.flags.writeable = False
    return datasets.Split(*parts, points.seed, *points.shares)
