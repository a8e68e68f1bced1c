"""Every number of a JSON schema has ends, and one lesson file keeps none away."""

import importlib
import json
import math
from pathlib import Path

import pytest

from pages.state import lesson_files, state_file
from smpcore import SmpcoreError

ROOT = Path(__file__).parents[1]


def _in_modules():
    """Schemas that stand in Python, found by what they look like."""
    for path in sorted(ROOT.glob("pages/*/*.py")):
        if "json_schema" in path.read_text("utf-8") and path.stem != "json_schema":
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for key, value in vars(importlib.import_module(name)).items():
                if isinstance(value, dict) and not key.startswith("__"):
                    yield f"{name}.{key}", value


SCHEMAS = dict(_in_modules())
SCHEMAS |= {
    str(path.relative_to(ROOT)): json.loads(path.read_text("utf-8"))
    for path in ROOT.glob("assets/**/*schema.json")
}


def _parts(schema):
    """A schema and all that is inside."""
    yield schema
    inside = schema.values() if isinstance(schema, dict) else schema
    for value in inside:
        if isinstance(value, dict | list):
            yield from _parts(value)


def _unbounded(schema, kinds):
    """Its numbers that may be as small or as large as they like."""
    for part in _parts(schema):
        kind = part.get("type") if isinstance(part, dict) else None
        if kinds & {*(kind if isinstance(kind, list) else [kind])} - {None}:
            low = part.get("minimum", part.get("exclusiveMinimum", -math.inf))
            if not -math.inf < low <= part.get("maximum", math.inf) < math.inf:
                yield part


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_number_has_ends(name):
    # What the server sends is finite: `pack` writes no other number.
    kinds = {"integer"} if "payload" in name else {"integer", "number"}
    assert [*_unbounded(SCHEMAS[name], kinds)] == []


def test_the_walk_finds_the_schemas():
    names = " ".join(SCHEMAS)
    for one in ("state_file._SCHEMA", "table_record.SCHEMA", "canvas._MESSAGE"):
        assert one in names
    assert "lessons/schema.json" in names and "payload.schema.json" in names
    assert [*_unbounded({"items": [{"type": ["integer", "null"]}]}, {"integer"})]


def _lesson(row):
    shipped = lesson_files.HOME / "02-fusion.json"
    lesson = json.loads(shipped.read_text("utf-8"))
    points = {
        "name": "p",
        "task": "classification",
        "open_test": False,
        "columns": ["a", "b"],
        "target": "t",
        "X": [[0, 0], [1, 1], [0, 1], [1, 0]],
        "y": ["u", "u", "v", "v"],
        "seed": 0,
        "shares": [0.2, 0.2],
        "train": [0, 1, 2, row],
        "validation": [],
        "test": [],
    }
    lesson["steps"] = [{"title": "s", "text": "t", "points": points}]
    return json.dumps(lesson).encode()


@pytest.mark.parametrize("row", [10**30, 10**18, -1, 1e308, state_file.EDITABLE_ROWS])
def test_a_row_that_is_none_is_a_sentence(row):
    with pytest.raises(SmpcoreError, match="lesson file"):
        lesson_files.read(_lesson(row))
    assert lesson_files.read(_lesson(3)).steps


def test_a_lesson_that_cannot_be_read_keeps_none_away(monkeypatch, tmp_path):
    (tmp_path / "a.json").write_bytes(_lesson(10**30))
    (tmp_path / "b.json").write_bytes(b"b")
    (tmp_path / "c.json").write_bytes(_lesson(3))
    monkeypatch.setenv("SPE_LESSONS", str(tmp_path))
    read = lesson_files.read

    def broken(data):
        return 1 / 0 if data == b"b" else read(data)

    monkeypatch.setattr(lesson_files, "_read_once", broken)
    found = lesson_files.listed()
    assert "maximum" in found["a.json"]
    assert found["b.json"] == "It cannot be read; contact the operator."
    assert found["c.json"].title
