"""The state file: what a visitor has chosen, named and noted, as JSON.

It may come from anywhere, so that every value is checked before any of them counts;
nothing in it is ever run. Rows of an uploaded table are never in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from pages.state import table_record
from pages.work import json_files, json_schema
from pages.work.comparisons import Entry
from pages.work.memo import pairs
from smpcore import METHODS, Dataset
from smpcore.datasets import MOST_FORBIDDEN, Split, check_fit, steps_from_json

_NAME_OF_FILE = "state file"
FORMAT, VERSION = "sparse-prototype-explorer-state", 1
MOST_BYTES = 1_000_000
#: Points can be edited in data of this size; farther out they are a mistake, not data.
EDITABLE_ROWS, FAR = 3000, 1e9
MOST_MODELS, MOST_PROTOTYPES, MOST_SETTINGS, MOST_OPENED = 100, 1000, 100, 1000
#: Characters of a name and of a note on a prototype, and of any other word.
NAME, NOTE, WORD = 40, 500, 200
#: Characters of an entry of the link, and of the names of all that is forbidden.
_ENTRY, _FORBIDDEN = 2000, 30_000
_PARTS = ("train", "validation", "test")

_WORD = json_schema.text(WORD)
_METHOD = {"enum": [*METHODS]}
_SETTING = {
    "type": ["null", "boolean", "number", "string"],
    "maxLength": WORD,
    "minimum": -1e300,
    "maximum": 1e300,
}
_SETTINGS = json_schema.mapping(_SETTING, MOST_SETTINGS, WORD)
_LINK = json_schema.mapping(json_schema.text(_ENTRY), MOST_SETTINGS, WORD)
_NOTE = {
    "name": json_schema.text(NAME),
    "note": json_schema.text(NOTE),
    "without": json_schema.array(_WORD, MOST_FORBIDDEN),
}
_NOTES = {
    "data": _WORD,
    "split": _WORD,
    "method": _METHOD,
    "values": _SETTINGS,
    "prototypes": {
        "type": "object",
        "maxProperties": MOST_PROTOTYPES,
        "propertyNames": {"pattern": "^[0-9]{1,6}$"},
        "additionalProperties": json_schema.record(_NOTE, optional=("without",)),
    },
}
_NUMBER = json_schema.number(-FAR, FAR) | {"maxLength": WORD}
_ROW = json_schema.integer(0, EDITABLE_ROWS)
POINTS = {
    "name": _WORD,
    "task": _WORD,
    "open_test": {"type": "boolean"},
    "columns": json_schema.array(_WORD, 2),
    "target": _WORD,
    "X": json_schema.array(json_schema.array(_NUMBER, 2), EDITABLE_ROWS + 1),
    "y": json_schema.array(_NUMBER | {"type": ["number", "string"]}, EDITABLE_ROWS + 1),
    "seed": json_schema.integer(0, 9999),
    "shares": json_schema.array(json_schema.number(0, 1), 2) | {"minItems": 2},
    **dict.fromkeys(_PARTS, json_schema.array(_ROW, EDITABLE_ROWS + 1)),
}
_SCHEMA = json_schema.record(
    {
        "format": {},
        "version": {},
        "link": _LINK | {"properties": {"without": json_schema.text(_FORBIDDEN)}},
        "table": json_schema.nullable(table_record.SCHEMA),
        "points": json_schema.nullable(json_schema.record(POINTS)),
        "notes": json_schema.array(json_schema.record(_NOTES), MOST_MODELS),
        "pinned": json_schema.nullable(
            json_schema.record({"key": _METHOD, "values": _SETTINGS})
        ),
        "opened": json_schema.mapping(json_schema.integer(0, 10**6), MOST_OPENED, WORD),
    }
)

Notes = dict[tuple, dict[int, dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class Saved:
    """What a state file holds.

    Parameters
    ----------
    link : dict of str to str
        The choice as URL parameters, without a token.
    table : dict, optional
        What is noted of the visitor's own table, see `table_record`.
    points : (Dataset, Split), optional
        That table, if its points were drawn and are to be in the file.
    notes : dict
        Key of a model (`ModelContext.notes_key`) -> prototype -> name and note.
    pinned : Entry, optional
        Model A of the comparison.
    opened : dict
        Digest of a data set -> how often its test part was opened.
    """

    link: dict[str, str] = field(default_factory=dict)
    table: dict[str, Any] | None = None
    points: tuple[Dataset, Split] | None = None
    notes: Notes = field(default_factory=dict)
    pinned: Entry | None = None
    opened: dict[str, int] = field(default_factory=dict)


def write(saved: Saved) -> bytes:
    """A state as a file."""
    pinned = saved.pinned
    content = {
        "format": FORMAT,
        "version": VERSION,
        "link": saved.link,
        "table": saved.table,
        "points": None if saved.points is None else written_points(*saved.points),
        "notes": _written_notes(saved.notes),
        "pinned": pinned and {"key": pinned.key, "values": dict(pinned.values)},
        "opened": saved.opened,
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
    data = text.encode()
    if len(data) > MOST_BYTES:
        _wrong(f"has {len(data) / 1e6:.1f} MB, at most 1 MB can be opened again")
    return data


def _written_notes(notes: Notes) -> list[dict[str, Any]]:
    models = []
    for (digest, split_key, method, values), of_model in notes.items():
        written = {
            str(j): dict(note)
            for j, note in of_model.items()
            if note["name"] or note["note"]
        }
        if written:
            model = {"data": digest, "split": split_key, "method": method}
            models.append(model | {"values": dict(values), "prototypes": written})
    return models[-MOST_MODELS:]


def written_points(dataset: Dataset, division: Split) -> dict[str, Any]:
    """Drawn points with their parts, as `POINTS` describes them."""
    columns = dataset.feature_columns
    return {
        "name": dataset.name,
        "task": dataset.task,
        "open_test": dataset.open_test,
        "columns": columns,
        "target": dataset.target,
        "X": dataset.frame[columns].to_numpy(np.float64).tolist(),
        "y": dataset.y.tolist(),
        "seed": division.seed,
        "shares": [division.validation_share, division.test_share],
        **{part: getattr(division, part).tolist() for part in _PARTS},
    }


def read(data: bytes) -> Saved:
    """Read a state file from anywhere."""
    content = _parsed(data)
    json_files.check(content, _SCHEMA, _NAME_OF_FILE)
    if content["table"] and (columns := content["table"]["columns"]):
        steps_from_json(columns["cleaning"])
    if "mine" in content["link"]:
        _wrong("has at “link” an entry that is not known: mine")
    pinned, points = content["pinned"], content["points"]
    return Saved(
        link=content["link"],
        table=content["table"],
        points=points and read_points(points),
        notes=_notes(content["notes"]),
        pinned=pinned and _pinned(**pinned),
        opened=content["opened"],
    )


def _parsed(data: bytes) -> dict[str, Any]:
    """The content of a file that this version wrote, not checked any further."""
    content = json_files.parse(data, _NAME_OF_FILE, MOST_BYTES)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        _wrong("is not one that this app wrote; choose one that Save made")
    version = content.get("version")
    if type(version) is not int or version != VERSION:
        shown = str(version)[:20] if isinstance(version, int | str) else "unknown"
        _wrong(f"has version {shown}, this app reads version {VERSION}")
    return content


def _wrong(what: str) -> NoReturn:
    json_files.refuse(_NAME_OF_FILE, what)


def _notes(models: list[dict[str, Any]]) -> Notes:
    notes: Notes = {}
    for model in models:
        key = model["data"], model["split"], model["method"], pairs(model["values"])
        written = model["prototypes"].items()
        notes[key] = {int(number): {"without": []} | note for number, note in written}
    return notes


def _pinned(key: str, values: dict[str, Any]) -> Entry:
    method = METHODS[key]
    params = {p.name: p for task in method.estimators for p in method.controls(task)}
    values = {name: v for name, v in values.items() if name not in method.removed}
    for name, value in values.items():
        param = params.get(name)
        if param is None or (param.scale != "class" and param.clean(value) != value):
            _wrong(f"pins a model whose {name[:40]!r} is not here or out of its range")
    return Entry(key, pairs(values))


def read_points(
    points: Mapping[str, Any], name: str = _NAME_OF_FILE
) -> tuple[Dataset, Split]:
    """Points that fulfil `POINTS`, as a table with its parts."""
    X, y, columns, target = (points[name] for name in ("X", "y", "columns", "target"))
    if len(X) != len(y) or any(len(row) != len(columns) for row in X):
        what = "should have for each point a value of every column and a target"
        json_files.refuse(name, what)
    frame = pd.DataFrame(X, columns=columns, dtype=np.float64).assign(**{target: y})
    if len(set(map(type, y))) > 1 or frame.shape[1] != len(columns) + 1 or not y:
        what = "should have points with targets of one type, in columns of their own"
        json_files.refuse(name, what)
    dataset = Dataset(
        name=points["name"],
        frame=frame,
        roles={**dict.fromkeys(columns, "feature"), target: "target"},
        task=points["task"],
        open_test=points["open_test"],
        private=True,
    )
    division = _division(points, len(y), name)
    check_fit(dataset, division)
    return dataset, division


def _division(points: Mapping[str, Any], n_rows: int, name: str) -> Split:
    rows = np.concatenate([np.array(points[part], dtype=np.int64) for part in _PARTS])
    if len(np.unique(rows)) < len(rows) or rows.max(initial=0) >= n_rows:
        json_files.refuse(name, "should have every point in one part only, no others")
    parts = np.split(rows, np.cumsum([len(points[part]) for part in _PARTS])[:-1])
    for part in parts:
        part.flags.writeable = False
    return Split(*parts, points["seed"], *points["shares"])
