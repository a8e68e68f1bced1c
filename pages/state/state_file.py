"""The state file: what a visitor has chosen, named and noted, as JSON.

It may come from anywhere, so that every value is checked before any of them counts;
nothing in it is ever run. Rows of an uploaded table are never in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NoReturn

import msgspec
import numpy as np
import pandas as pd
from msgspec import Meta

from pages.state.table_record import Name, TableRecord
from pages.work import json_files
from pages.work.comparisons import Entry
from pages.work.json_files import Number, Record
from pages.work.memo import pairs
from smpcore import METHODS, Dataset
from smpcore.datasets import Split, Task, check_fit

_NAME_OF_FILE = "state file"
FORMAT, VERSION = "sparse-prototype-explorer-state", 1
MOST_BYTES = 1_000_000
#: Points can be edited in data of this size; farther out they are a mistake, not data.
EDITABLE_ROWS, FAR = 3000, 1e9
#: Models with notes; characters of a name and of a note on a prototype.
MOST_MODELS, NAME, NOTE = 100, 40, 500
_PARTS = ("train", "validation", "test")

_Method = Literal[tuple(METHODS)]
_Values = dict[Name, Number | bool | Name | None]
_Coordinate = Annotated[float, Meta(ge=-FAR, le=FAR)]
_Rows = list[Annotated[int, Meta(ge=0, le=EDITABLE_ROWS)]]
_Share = Annotated[float, Meta(ge=0, le=1)]


class Points(Record):
    """Drawn points with their parts."""

    name: Name
    task: Task
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


class _ModelNotes(Record):
    data: Name
    split: Name
    method: _Method
    values: _Values
    prototypes: dict[Annotated[int, Meta(ge=0, le=999_999)], _Note]


class _Pin(Record):
    key: _Method
    values: _Values


class _Head(msgspec.Struct):
    format: Any = None
    version: Any = None


class _File(Record):
    format: Literal[FORMAT]
    version: Literal[VERSION]
    link: dict[str, str]
    table: TableRecord | None
    points: Points | None
    notes: list[_ModelNotes]
    pinned: _Pin | None
    opened: dict[Name, Annotated[int, Meta(ge=0, le=10**6)]]


Notes = dict[tuple, dict[int, dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class Saved:
    """What a state file holds: a link without a token, and what no link has.

    Points are in it only if they were drawn; notes as in `Session`.
    """

    link: dict[str, str] = field(default_factory=dict)
    table: TableRecord | None = None
    points: tuple[Dataset, Split] | None = None
    notes: Notes = field(default_factory=dict)
    pinned: Entry | None = None
    opened: dict[str, int] = field(default_factory=dict)


def write(saved: Saved) -> bytes:
    """A state as a file."""
    pinned = saved.pinned
    content = _File(
        format=FORMAT,
        version=VERSION,
        link=saved.link,
        table=saved.table,
        points=saved.points and written_points(*saved.points),
        notes=_written_notes(saved.notes),
        pinned=pinned and _Pin(pinned.key, dict(pinned.values)),
        opened=saved.opened,
    )
    data = msgspec.json.format(msgspec.json.encode(content), indent=1)
    if len(data) > MOST_BYTES:
        _wrong(f"has {len(data) / 1e6:.1f} MB, at most 1 MB can be opened again")
    return data


def _written_notes(notes: Notes) -> list[_ModelNotes]:
    models = []
    for (digest, split_key, method, values), of_model in notes.items():
        written = {j: n for j, n in of_model.items() if n["name"] or n["note"]}
        if written:
            models.append(_ModelNotes(digest, split_key, method, dict(values), written))
    return models[-MOST_MODELS:]


def written_points(dataset: Dataset, division: Split) -> Points:
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
    content = json_files.decode(data, _File, _NAME_OF_FILE, MOST_BYTES)
    if "mine" in content.link:
        _wrong("has at “link” an entry that is not known: mine")
    pinned, points = content.pinned, content.points
    notes = {
        (one.data, one.split, one.method, pairs(one.values)): {
            number: {"without": []} | msgspec.to_builtins(note)
            for number, note in one.prototypes.items()
        }
        for one in content.notes
    }
    return Saved(
        link=content.link,
        table=content.table,
        points=points and read_points(points),
        notes=notes,
        pinned=pinned and _pinned(pinned.key, pinned.values),
        opened=content.opened,
    )


def _wrong(what: str) -> NoReturn:
    json_files.refuse(_NAME_OF_FILE, what)


def _pinned(key: str, values: dict[str, Any]) -> Entry:
    method = METHODS[key]
    params = {p.name: p for task in method.estimators for p in method.controls(task)}
    values = {name: v for name, v in values.items() if name not in method.removed}
    for name, value in values.items():
        param = params.get(name)
        if param is None or (param.scale != "class" and param.clean(value) != value):
            _wrong(f"pins a model whose {name[:40]!r} is not here or out of its range")
    return Entry(key, pairs(values))


def read_points(points: Points, name: str = _NAME_OF_FILE) -> tuple[Dataset, Split]:
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
    check_fit(dataset, division)
    return dataset, division


def _division(points: Points, n_rows: int, name: str) -> Split:
    parts = [np.array(getattr(points, part), dtype=np.int64) for part in _PARTS]
    rows = np.concatenate(parts)
    if len(np.unique(rows)) < len(rows) or rows.max(initial=0) >= n_rows:
        json_files.refuse(name, "should have every point in one part only, no others")
    for part in parts:
        part.flags.writeable = False
    return Split(*parts, points.seed, *points.shares)
