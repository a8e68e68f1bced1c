"""What the live figure's messages may hold: all else is dropped at one place."""

import asyncio
import json
import logging
import socket
import tempfile
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartParser

from pages.state import lesson_files, state_file
from pages.work import operation, visitors
from smpcore.live import Record
from smpcore.live import messages as canvas
from tests.test_live import Browser, kernels  # noqa: F401

SET = {"kind": "set", "seq": 1}
EDIT = {"kind": "edit", "seq": 1, "have": "", "dragging": False}
DEEP = []
for _ in range(100_000):
    DEEP = [DEEP]
FORGED = {
    "a list": [],
    "a number": 5,
    "a text": "set",
    "nothing": {},
    "an unknown kind": {"kind": "delete", "seq": 1},
    "text for a flag": SET | {"values": {}, "assignments": "yes"},
    "no number": {"kind": "set", "seq": None},
    "a true number": {"kind": "set", "seq": True},
    "a number of 5,000 digits": {"kind": "set", "seq": 10**5000},
    "want a text": {"kind": "steps", "seq": 1, "want": [0, "x"]},
    "want half": {"kind": "knots", "seq": 1, "want": [1.5]},
    "want a place before the first": {"kind": "knots", "seq": 1, "want": [-1]},
    **{
        f"places {places}": EDIT | {"op": "erase", "places": places}
        for places in (
            *("all", {"0": [1]}, [1, 2], [[0.5]], [["0.5", None]], [[[0.5], {}]]),
            *([[float("nan"), 0.0]], [[10**400, 0]], [["a", 0.0]]),
        )
    },
    "want null": {"kind": "knots", "seq": 1, "want": None},
    "a want of a million": {"kind": "knots", "seq": 1, "want": [0] * 10**6},
    "10 MB": SET | {"have": "x" * 10**7},
    "10 MB in a value": SET | {"values": {"mu": "x" * 10**7}},
    "an undefined place": EDIT | {"op": "add", "x": float("nan"), "y": 0, "label": 0},
    "1e308": SET | {"values": {"mu": 1e308}},
    "400 digits": SET | {"values": {"mu": 10**400}},
    "a long name": SET | {"values": {"v.at" + "1" * 5000: 1}},
    "label true": EDIT | {"op": "add", "x": 0, "y": 0, "label": True},
    "no values": SET | {"values": None},
    "nested values": SET | {"values": {"mu": DEEP}},
    "nested message": DEEP,
    "a list for dragging": SET | {"dragging": DEEP},
    "an unknown field": {"kind": "poll", "seq": 1, "more": 1},
}


#: What the figure could send, but for what is in it.
IMPOSSIBLE = [
    *(
        SET | {"values": values}
        for values in (
            *({"mu": "nan"}, {"mu": None}, {"no such": 1}, {"d.no such": 1}),
            *({"v.first": "x"}, {"v.at0": float("inf")}, {"data": "mine"}),
            *({"data": ["moons"]}, {"method": {}}),
        )
    ),
    EDIT | {"op": "add", "x": "a", "y": 1, "label": 0},
    EDIT | {"op": "move", "x": 0, "y": 1, "row": 10**6},
    EDIT | {"op": "erase", "row": "0"},
    EDIT | {"op": "explode"},
]


def test_what_cannot_be_changes_nothing_and_is_answered_in_words():
    browser = Browser()
    before = browser.choice
    for message in IMPOSSIBLE:
        header = browser.post(message)
        assert header["kind"] == "notice", message
        (notice,) = header["notices"]
        assert notice["level"] == "error" and len(notice["text"]) > 20, message
        assert browser.choice == before, message


def test_what_is_forged_is_dropped_with_one_line_in_the_log(caplog):
    browser = Browser()
    before = browser.choice
    for name, message in FORGED.items():
        caplog.clear()
        with caplog.at_level(logging.WARNING, canvas.log.name):
            header = browser.post(message)
        (line,) = [r for r in caplog.records if r.name == canvas.log.name]
        assert not line.exc_info and len(line.getMessage()) < 200, name
        assert header["kind"] == "notice", name
        assert header["notices"] == [{"level": "error", "text": canvas.UNEXPECTED}], (
            name
        )
        assert browser.choice == before, name
    assert browser.drag(mu=0.05)["kind"] == "picture"


def test_what_the_server_sends_waits_for_no_confirmation(monkeypatch):
    # At its end a server stops all tasks: here those that other tests have begun.
    monkeypatch.setattr(operation, "stop_tasks", lambda: None)

    async def is_at_once():
        connected = asyncio.get_running_loop().create_future()

        class Connection(asyncio.Protocol):
            def connection_made(self, transport):
                connected.set_result(transport)

        listening = socket.socket()  # as Streamlit makes it
        listening.bind(("127.0.0.1", 0))
        async with visitors.send_at_once(None):
            loop = asyncio.get_running_loop()
            server = await loop.create_server(Connection, sock=listening)
            _, browser = await asyncio.open_connection(*listening.getsockname())
            accepted = (await connected).get_extra_info("socket")
            option = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            browser.close()
            server.close()
        return option

    with ThreadPoolExecutor() as other:  # this thread may have a browser's loop
        assert other.submit(asyncio.run, is_at_once()).result()


def test_an_upload_goes_to_no_disk(monkeypatch, tmp_path):
    content = b"1,2\n" * 1_000_000
    form = b'--x\r\nContent-Disposition: form-data; name="f"; filename="t.csv"\r\n\r\n'
    form += content + b"\r\n--x--\r\n"

    async def parts():
        for start in range(0, len(form), 65_536):
            yield form[start : start + 65_536]

    async def read():
        sent = Headers({"content-type": "multipart/form-data; boundary=x"})
        parsed = await MultiPartParser(sent, parts()).parse()
        return await parsed["f"].read()

    monkeypatch.setattr(MultiPartParser, "spool_max_size", 1024)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with ThreadPoolExecutor() as other:  # this thread may have a browser's loop
        with pytest.raises(FileNotFoundError):
            other.submit(asyncio.run, read()).result()
        visitors.keep_uploads_in_memory()
        assert other.submit(asyncio.run, read()).result() == content


# What comes as JSON from anywhere has no free number; one lesson keeps none away.


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
    "kind", [state_file.Saved, lesson_files.Lesson, canvas.Message], ids=str
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
    (tmp_path / "gone.json").symlink_to(tmp_path / "absent.json")
    monkeypatch.setenv("SPE_LESSONS", str(tmp_path))
    read = lesson_files.read

    def broken(data):
        return 1 / 0 if data == b"b" else read(data)

    monkeypatch.setattr(lesson_files, "_read_once", broken)
    found = lesson_files.listed()
    assert "“format”" in found["a.json"] and "far.json" not in found
    assert found["b.json"] == "It cannot be read; contact the operator."
    assert found["c.json"].title == json.loads(good)["title"]
