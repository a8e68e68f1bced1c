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

from pages.work.comparisons import Entry
from smpcore import METHODS, Dataset, SmpcoreError
from smpcore.datasets import MOST_FORBIDDEN, Split, check_fit

FORMAT, VERSION = "sparse-prototype-explorer-state", 1
MOST_BYTES = 1_000_000
#: Points can be edited in data of this size; farther out they are a mistake, not data.
EDITABLE_ROWS, FAR = 3000, 1e9
MOST_MODELS, MOST_PROTOTYPES, MOST_SETTINGS, MOST_OPENED = 100, 1000, 100, 1000
#: Characters of a name and of a note on a prototype.
NAME, NOTE = 40, 500
WORD, _INTEGER = 200, 2**53
#: Characters of an entry of the link, and of the names of all that is forbidden.
_ENTRY, _FORBIDDEN = 2000, 30_000
_PARTS = ("train", "validation", "test")

Notes = dict[tuple, dict[int, dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class Saved:
    """What a state file holds.

    Parameters
    ----------
    link : dict of str to str
        The choice as URL parameters, without a token.
    table : dict, optional
        ``name`` and ``digest`` of the visitor's own table.
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
    table: dict[str, str] | None = None
    points: tuple[Dataset, Split] | None = None
    notes: Notes = field(default_factory=dict)
    pinned: Entry | None = None
    opened: dict[str, int] = field(default_factory=dict)


def write(saved: Saved) -> bytes:
    """A state as a file.

    Raises
    ------
    SmpcoreError
        If it is larger than a file that can be opened again.
    """
    pinned = saved.pinned
    content = {
        "format": FORMAT,
        "version": VERSION,
        "link": saved.link,
        "table": saved.table,
        "points": None if saved.points is None else _written_points(*saved.points),
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
    kept = []
    for (digest, split_key, method, values), written in notes.items():
        said = {
            str(j): dict(note)
            for j, note in written.items()
            if note["name"] or note["note"]
        }
        if said:
            model = {"data": digest, "split": split_key, "method": method}
            kept.append(model | {"values": dict(values), "prototypes": said})
    return kept[-MOST_MODELS:]


def _written_points(dataset: Dataset, division: Split) -> dict[str, Any]:
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
    """Read a state file from anywhere.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    Saved
        Every value of it is of the right type and size. What its link says is checked
        where links are read.

    Raises
    ------
    SmpcoreError
        If anything is wrong with it, in a sentence.
    """
    if len(data) > MOST_BYTES:
        _wrong(f"should have at most 1 MB, it has {len(data) / 1e6:.1f} MB")
    try:
        found = json.loads(data.decode("utf-8-sig"), parse_constant=_no_number)
    except RecursionError:
        _wrong("is nested too deeply to be one that the app wrote")
    except SmpcoreError:
        raise
    except ValueError:
        _wrong("should be JSON; it is damaged, cut off or another kind of file")
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        _wrong("is not one that this app wrote; choose one that Save made")
    version = found.get("version")
    if type(version) is not int or version != VERSION:
        shown = str(version)[:20] if isinstance(version, int | str) else "unknown"
        _wrong(f"has version {shown}, this app reads version {VERSION}")
    names = "format version link table points notes pinned opened"
    found = _record(found, "the whole", names)
    table = found["table"]
    if table is not None:
        table = _record(table, "table", "name digest")
        table = {name: _text(table[name], f"table: {name}", WORD) for name in table}
    return Saved(
        link=_link(found["link"]),
        table=table,
        points=None if found["points"] is None else _points(found["points"]),
        notes=_notes(found["notes"]),
        pinned=None if found["pinned"] is None else _pinned(found["pinned"]),
        opened=_opened(found["opened"]),
    )


def _wrong(what: str) -> NoReturn:
    raise SmpcoreError(f"The state file {what}. Nothing was changed.")


def _no_number(constant: str) -> NoReturn:
    _wrong(f"holds {constant}, which is no number")


def _record(value: Any, where: str, names: str) -> dict[str, Any]:
    """A mapping with exactly these entries."""
    known = names.split()
    if not isinstance(value, dict):
        _wrong(f"should have at “{where}” the entries {', '.join(known)}")
    if absent := [name for name in known if name not in value]:
        _wrong(f"lacks at “{where}” the entry {absent[0]}")
    if more := [name for name in value if name not in known]:
        _wrong(f"has at “{where}” an entry that is not known: {_shown(more[0])}")
    return value


def _shown(text: str) -> str:
    """A word of the file, fit to be shown."""
    return text[:40].encode("utf-8", "replace").decode()


def _mapping(value: Any, where: str, most: int) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > most:
        _wrong(f"should have at “{where}” at most {most} named entries")
    for name in value:
        _text(name, f"{where}: a name", WORD)
    return value


def _items(value: Any, where: str, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        _wrong(f"should have at “{where}” a list of at most {most} entries")
    return value


def _text(value: Any, where: str, most: int) -> str:
    if not isinstance(value, str) or len(value) > most:
        _wrong(f"should have at “{where}” a text of at most {most} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        _wrong(f"has at “{where}” a sign that is no sign of Unicode")
    return value


def _integer(value: Any, where: str, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        _wrong(f"should have at “{where}” a whole number from {least} to {most}")
    return value


def _number(value: Any, where: str, most: float) -> float:
    if type(value) not in (int, float) or not abs(value) <= most:
        _wrong(f"should have at “{where}” a number of size {most:g} at most")
    return float(value)


def _setting(value: Any, where: str) -> Any:
    """A parameter's value: nothing, a flag, a number or a word."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, where, WORD)
    if type(value) is int:
        return _integer(value, where, -_INTEGER, _INTEGER)
    return _number(value, where, 1e300)


def _settings(value: Any, where: str) -> tuple[tuple[str, Any], ...]:
    settings = _mapping(value, where, MOST_SETTINGS)
    return tuple(sorted((n, _setting(v, f"{where}: {n}")) for n, v in settings.items()))


def _method(value: Any, where: str) -> str:
    if not isinstance(value, str) or value not in METHODS:
        _wrong(f"names at “{where}” a method that is not here")
    return value


def _link(value: Any) -> dict[str, str]:
    link = _mapping(value, "link", MOST_SETTINGS)
    if "mine" in link:
        _wrong("has at “link” an entry that is not known: mine")
    most = {"without": _FORBIDDEN}
    return {
        name: _text(text, f"link: {name}", most.get(name, _ENTRY))
        for name, text in link.items()
    }


def _opened(value: Any) -> dict[str, int]:
    counts = _mapping(value, "opened", MOST_OPENED)
    return {digest: _integer(n, "opened", 0, 10**6) for digest, n in counts.items()}


def _notes(value: Any) -> Notes:
    notes: Notes = {}
    for model in _items(value, "notes", MOST_MODELS):
        _record(model, "notes", "data split method values prototypes")
        key = (
            _text(model["data"], "notes: data", WORD),
            _text(model["split"], "notes: split", WORD),
            _method(model["method"], "notes: method"),
            _settings(model["values"], "notes: values"),
        )
        told = _mapping(model["prototypes"], "notes: prototypes", MOST_PROTOTYPES)
        notes[key] = {_row(number): _note(note) for number, note in told.items()}
    return notes


def _row(number: str) -> int:
    if not (number.isascii() and number.isdecimal() and len(number) < 7):
        _wrong("should number the prototypes in its notes from 0")
    return int(number)


def _note(value: Any) -> dict[str, Any]:
    value = {"without": []} | _mapping(value, "a note", 3)
    _record(value, "a note", "name note without")
    names = _items(value["without"], "what a note does without", MOST_FORBIDDEN)
    return {
        "name": _text(value["name"], "name of a prototype", NAME),
        "note": _text(value["note"], "note on a prototype", NOTE),
        "without": [_text(name, "forbidden feature", WORD) for name in names],
    }


def _pinned(value: Any) -> Entry:
    _record(value, "pinned", "key values")
    method = METHODS[_method(value["key"], "pinned: key")]
    settings = _settings(value["values"], "pinned: values")
    known = {p.name: p for task in method.estimators for p in method.controls(task)}
    for name, setting in settings:
        if name not in known:
            _wrong(f"pins a model with a setting that is not here: {_shown(name)}")
        try:
            as_set = known[name].scale == "class" or known[name].clean(setting)
        except SmpcoreError as error:
            _wrong(f"pins a model that cannot be: {str(error).rstrip('.')}")
        if known[name].scale != "class" and as_set != setting:
            _wrong(f"pins a model with {_shown(name)} out of its range")
    return Entry(method.key, settings)


def _points(value: Any) -> tuple[Dataset, Split]:
    names = "name task open_test columns target X y seed shares"
    _record(value, "points", f"{names} {' '.join(_PARTS)}")
    if not isinstance(value["open_test"], bool):
        _wrong("should say at “points: open_test” true or false")
    columns = [_text(n, "columns", WORD) for n in _items(value["columns"], "X", 2)]
    target = _text(value["target"], "points: target", WORD)
    y = [_target(v) for v in _items(value["y"], "points: y", EDITABLE_ROWS + 1)]
    X = [
        [_number(v, "points: X", FAR) for v in _items(row, "points: X", 2)]
        for row in _items(value["X"], "points: X", EDITABLE_ROWS + 1)
    ]
    if len(X) != len(y) or any(len(row) != len(columns) for row in X):
        _wrong("should have for each point a value of every column and a target")
    frame = pd.DataFrame(X, columns=columns, dtype=np.float64).assign(**{target: y})
    if len(set(map(type, y))) > 1 or frame.shape[1] != len(columns) + 1 or not y:
        _wrong("should have points with targets of one type, in columns of their own")
    dataset = Dataset(
        name=_text(value["name"], "points: name", WORD),
        frame=frame,
        roles={**dict.fromkeys(columns, "feature"), target: "target"},
        task=_text(value["task"], "points: task", WORD),
        open_test=value["open_test"],
        private=True,
    )
    division = _division(value, len(y))
    check_fit(dataset, division)
    return dataset, division


def _target(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value, "points: y", WORD)
    if type(value) is int:
        return _integer(value, "points: y", -_INTEGER, _INTEGER)
    return _number(value, "points: y", FAR)


def _division(value: Mapping[str, Any], n_rows: int) -> Split:
    parts = {}
    for part in _PARTS:
        rows = _items(value[part], f"points: {part}", n_rows)
        rows = [_integer(row, f"points: {part}", 0, n_rows - 1) for row in rows]
        parts[part] = np.array(rows, dtype=np.int64)
        parts[part].flags.writeable = False
    every = np.concatenate([*parts.values()])
    if len(np.unique(every)) < len(every):
        _wrong("should have every point in one part only")
    shares = [_number(v, "shares", 1.0) for v in _items(value["shares"], "shares", 2)]
    if len(shares) != 2:
        _wrong("should have at “points: shares” two numbers")
    return Split(
        **parts,
        seed=_integer(value["seed"], "seed", 0, 9999),
        validation_share=shares[0],
        test_share=shares[1],
    )
