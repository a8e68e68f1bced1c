"""What comes as JSON from anywhere has no free number; one lesson keeps none away."""

import json

import msgspec
import pytest

from pages.explore import canvas
from pages.state import lesson_files, state_file
from pages.work.json_files import Record


def _free(part):
    """Numbers inside of a type that may be as small or as large as they like."""
    if isinstance(part, msgspec.inspect.IntType | msgspec.inspect.FloatType):
        ends = (part.ge, part.gt), (part.le, part.lt)
        if any(end == (None, None) for end in ends):
            yield part
    elif isinstance(part, list | tuple):
        for one in part:
            yield from _free(one)
    elif isinstance(part, msgspec.Struct):
        yield from _free([getattr(part, name) for name in part.__struct_fields__])


@pytest.mark.parametrize(
    "kind", [state_file.Saved, lesson_files._File, canvas._Message], ids=str
)
def test_every_number_has_ends(kind):
    free = msgspec.defstruct("Free", [("x", list[int | None])], bases=(Record,))
    assert len([*_free(msgspec.inspect.type_info(free))]) == 1
    assert [*_free(msgspec.inspect.type_info(kind))] == []


def test_a_lesson_that_cannot_be_read_keeps_none_away(monkeypatch, tmp_path):
    good = (lesson_files.HOME / "02-fusion.json").read_bytes()
    (tmp_path / "a.json").write_bytes(good.replace(b"lesson-1", b"lesson-2"))
    (tmp_path / "b.json").write_bytes(b"b")
    (tmp_path / "c.json").write_bytes(good)
    (tmp_path / "far.json").symlink_to("/etc/passwd")
    monkeypatch.setenv("SPE_LESSONS", str(tmp_path))
    read = lesson_files.read

    def broken(data):
        return 1 / 0 if data == b"b" else read(data)

    monkeypatch.setattr(lesson_files, "_read_once", broken)
    found = lesson_files.listed()
    assert "“format”" in found["a.json"] and "far.json" not in found
    assert found["b.json"] == "It cannot be read; contact the operator."
    assert found["c.json"].title == json.loads(good)["title"]
