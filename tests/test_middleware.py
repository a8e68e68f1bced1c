"""What reaches Streamlit: kinds and depth of messages, their rate, uploads, headers."""

import asyncio
import json
import logging
import re
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from types import SimpleNamespace

import pytest
import requests
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.session_manager import SessionInfo

from pages.work import middleware, visitors
from tests import PATIENCE
from tests.bench.classroom import Visitor, free_port, start_server

BASE = "a/school"


def run(coroutine):
    """Its result; this thread may have a browser's loop."""
    with ThreadPoolExecutor() as other:
        return other.submit(asyncio.run, coroutine).result()


def with_value(value: str, field: str = "json_value") -> bytes:
    back = BackMsg()
    setattr(back.rerun_script.widget_states.widgets.add(id="a"), field, value)
    return back.SerializeToString()


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def asked(guard, scope: dict, incoming=()) -> list:
    """What comes back where these messages come."""
    sent, left = [], iter(incoming)

    async def receive():
        return next(left)

    async def send(message):
        sent.append(message)

    run(guard(scope, receive, send))
    return sent


def through(messages: list) -> tuple[list, list]:
    """What of these a tab's script gets, and what is sent back."""
    got = []

    async def app(scope, receive, send):
        await receive()  # connect
        while (message := await receive())["type"] == "websocket.receive":
            got.append(message["bytes"])
        await send({"type": "websocket.send", "bytes": b"late"})

    coming = [{"type": "websocket.connect"}]
    coming += [{"type": "websocket.receive", "bytes": data} for data in messages]
    coming += [{"type": "websocket.disconnect"}]
    return got, asked(
        middleware.Guard(app), {"type": "websocket", "headers": []}, coming
    )


@pytest.mark.parametrize("kind", sorted(middleware.ALLOWED))
def test_what_a_page_sends_goes_through(kind):
    back = BackMsg()
    field = getattr(back, kind)
    field.SetInParent() if hasattr(field, "SetInParent") else setattr(back, kind, True)
    data = back.SerializeToString()
    assert through([data] * 3)[0] == [data] * 3


@pytest.mark.parametrize("words", ["sent", "read"])
def test_a_visitor_who_leaves_in_the_middle_is_no_error(words):
    """Streamlit closes the connection once more; another error stays one."""

    async def app(scope, receive, send):
        raise RuntimeError(f'Cannot call "send" once a close message has been {words}.')

    guard, scope = middleware.Guard(app), {"type": "websocket", "headers": []}
    if words == "sent":
        assert asked(guard, scope) == []
    else:
        with pytest.raises(RuntimeError, match="Cannot call"):
            asked(guard, scope)


FORBIDDEN = {
    "clear_cache": BackMsg(clear_cache=True).SerializeToString(),
    "set_run_on_save": BackMsg(set_run_on_save=True).SerializeToString(),
    "debug_shutdown_runtime": BackMsg(debug_shutdown_runtime=True).SerializeToString(),
    "nothing": b"",
    "a text frame": None,
    "no message": b"\xff" * 50,
    "900 levels": with_value(nested(900)),
    "900 levels in a trigger": with_value(nested(900), "json_trigger_value"),
    "900 levels of a table's edits": with_value('{"a":' * 900, "string_value"),
    "5,000 digits": with_value(f'{{"x": {"9" * 5000}}}'),
    "5,000 digits in a trigger": with_value("-" + "1" * 5000, "json_trigger_value"),
    "5,000 digits of an edit": with_value(f'{{"x": {"9" * 5000}}}', "string_value"),
    "5,000 digits behind blanks": with_value(f' {{"x": {"9" * 5000}}}', "string_value"),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_no_page_sends_is_dropped_and_ends_the_tab_when_it_comes_again(
    name, caplog
):
    good = with_value("{}")
    with caplog.at_level(logging.WARNING):
        got, sent = through([good, FORBIDDEN[name], good, FORBIDDEN[name], good])
    assert got == [good, good]
    assert sent == [{"type": "websocket.close", "code": 1008}]
    (line,) = caplog.records
    assert not line.exc_info and len(line.getMessage()) < 200
    got, sent = through([FORBIDDEN[name], good])
    assert (got, sent[0]["type"]) == ([good], "websocket.send")


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        (nested(32), False),
        (nested(33), True),
        ('{"a":' * 33 + "1" + "}" * 33, True),
        ("[" + "[[]]," * 1000 + "[]]", False),
        (json.dumps("[" * 99), False),
        (json.dumps({"a": '\\"' + "[" * 99 + "\\", "b": [1]}), False),
        (json.dumps(["\\", "[" * 99, '"']), False),
        ('["' + "\\\\" * 3 + '", ' + nested(40) + "]", True),
        ("[" * 33, True),
    ],
    ids=lambda value: str(value)[:12],
)
def test_the_depth_of_json_is_counted_outside_its_strings(text, deep):
    assert middleware.is_deep(text) == deep


def test_what_is_typed_may_hold_brackets():
    data = with_value("(" + "[" * 99, "string_value")
    assert through([data])[0] == [data]


@pytest.mark.parametrize("text", ['{"x": "%s"}', '{"x": 0.%s}', "{x, %s"])
def test_texts_and_decimals_may_have_any_number_of_digits(text):
    data = with_value(text % ("9" * 5000), "string_value")
    assert through([data])[0] == [data]


def test_a_tabs_messages_are_read_no_faster_than_a_visitor_sends_them(monkeypatch):
    waits = []

    async def sleep(seconds):
        if seconds > 1e-6:
            waits.append(seconds)

    # Only there: clients of a cluster may sleep in loops of their own.
    own = SimpleNamespace(sleep=sleep, get_running_loop=asyncio.get_running_loop)
    monkeypatch.setattr(middleware, "asyncio", own)
    monkeypatch.setattr(middleware, "time", SimpleNamespace(monotonic=lambda: 1e6))
    n_late = 50
    data = with_value("{}")
    messages = [data] * (middleware.AT_ONCE + n_late)
    assert through(messages)[0] == messages  # none is left out
    assert len(waits) == n_late
    assert waits[-1] == pytest.approx(n_late / middleware.MESSAGES_A_SECOND, abs=1e-6)


@pytest.fixture
def held(monkeypatch) -> dict[str, int]:
    """Tab -> bytes; tabs whose names begin with "gone" are closed."""
    held = {}
    monkeypatch.setattr(visitors, "held_bytes", lambda: held)
    monkeypatch.setattr(visitors, "is_here", lambda tab: not tab.startswith("gone"))
    monkeypatch.setattr(visitors, "run_again", lambda tab: None)
    monkeypatch.setattr(visitors, "is_from_browser_of", lambda tab, scope: True)
    monkeypatch.setattr(visitors, "drop_files", held.pop)
    monkeypatch.setattr(middleware, "_refused", {})
    return held


def put(guard, tab, n_bytes, length=b"", base="", address="192.0.2.1") -> list:
    """What a PUT is answered; the script takes it whole."""
    sizes = [10_000_000] * (n_bytes // 10_000_000) + [n_bytes % 10_000_000]
    incoming = [
        {"type": "http.request", "body": bytes(n), "more_body": i < len(sizes)}
        for i, n in enumerate(sizes, 1)
    ]
    path = f"{base}/_stcore/upload_file/{tab}/file"
    headers = [(b"content-length", length)] if length else []
    scope = {"type": "http", "method": "PUT", "path": path, "headers": headers}
    return asked(guard, scope | {"client": (address, 1)}, incoming)


async def taken(scope, receive, send):
    while (await receive())["more_body"]:
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize("base", ["", "/a/school"])
def test_a_tab_may_hold_so_many_uploaded_bytes(held, monkeypatch, base):
    guard = middleware.Guard(taken)
    assert put(guard, "me", 50_000_000, base=base)[0]["status"] == 204
    held["me"] = 140_000_000
    for length in (b"", b"5", b"20000000"):  # whatever it says
        start, body = put(guard, "me", 20_000_000, length, base)
        assert start["status"] == 413
        assert b"a tab may hold 150 MB of uploaded files" in body["body"]
    assert put(guard, "another", 20_000_000, base=base)[0]["status"] == 204
    assert not guard._coming
    monkeypatch.setattr(visitors, "visitor", lambda: "me")
    assert "Remove a file" in middleware.take_refusal()
    assert middleware.take_refusal() == ""


def test_all_tabs_together_may_hold_so_many(held):
    held.update({f"tab {n}": 100_000_000 for n in range(10)})
    start, body = put(middleware.Guard(taken), "me", 1_000_000)
    assert start["status"] == 413
    assert b"Try again in a minute" in body["body"]


def test_all_tabs_of_an_address_leave_room_for_others(held):
    guard = middleware.Guard(taken)
    for n in range(6):
        assert put(guard, f"tab {n}", 10)[0]["status"] == 204
        held[f"tab {n}"] = 125_000_000
    start, body = put(guard, "one more", 10)
    assert start["status"] == 413
    assert b"as many uploaded files as it can of your address" in body["body"]
    assert put(guard, "newcomer", 10, address="192.0.2.2")[0]["status"] == 204


@pytest.mark.parametrize("proxies", ["", "10.0.0.1"])
def test_a_proxy_that_is_not_configured_is_named_once(proxies, monkeypatch, caplog):
    monkeypatch.setattr(
        visitors.os, "environ", {visitors.PROXIES: proxies} if proxies else {}
    )
    guard = middleware.Guard(taken)
    for forwarded in ([], [(b"x-forwarded-for", b"192.0.2.1")]) * 2:
        scope = {"type": "http", "method": "GET", "path": "/", "headers": forwarded}
        asked(guard, scope, [{"type": "http.request", "more_body": False}])
    words = "FORWARDED_ALLOW_IPS is not set: all visitors count as one address"
    assert caplog.text.count(words) == (not proxies)


def test_files_of_a_closed_tab_go_unless_it_comes_back(held, monkeypatch):
    clock, later, here = SimpleNamespace(now=0.0), [], {"b"}
    loop = SimpleNamespace(call_later=lambda *call: later.append((clock.now, *call)))
    for name, fake in (
        ("time", SimpleNamespace(monotonic=lambda: clock.now)),
        ("asyncio", SimpleNamespace(get_running_loop=lambda: loop)),
    ):
        monkeypatch.setattr(middleware, name, fake)
    monkeypatch.setattr(visitors, "is_here", lambda tab: tab in here)
    held |= {"a": 1, "b": 1}
    guard = middleware.Guard(taken)
    guard._drop_later()
    clock.now = 3
    here.add("a")
    guard._look_for_closed()  # its browser has come back
    here.discard("a")
    clock.now = 8
    guard._drop_later()
    for began, seconds, drop in later[::2]:  # beside those that end visits
        assert "a" in held  # ten seconds from the second time
        clock.now = began + seconds
        drop()
    assert set(held) == {"b"}


def test_a_visit_that_nobody_comes_back_to_is_ended(monkeypatch):
    """Its descriptors go in time, also while nobody comes."""
    storage, ended = MemorySessionStorage(ttl_seconds=0.05), []
    assert MemorySessionStorage()._cache.ttl == visitors.VISIT_SECONDS

    def leave(name):
        session = SimpleNamespace(id=name, shutdown=lambda: ended.append(name))
        storage.save(SessionInfo(None, session))

    manager = SimpleNamespace(_session_storage=storage, _storage_lock=threading.Lock())
    monkeypatch.setattr(visitors, "exists", lambda: True)
    server = SimpleNamespace(_session_mgr=manager)
    monkeypatch.setattr(visitors, "get_instance", lambda: server)
    leave("first")
    visitors.end_old_visits()
    assert not ended
    time.sleep(0.06)
    visitors.end_old_visits()
    assert ended == ["first"]


def headers_of(content_type: bytes) -> dict:
    async def app(scope, receive, send):
        headers = [(b"content-type", content_type), (b"X-Content-Type-Options", b"x")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    scope = {"type": "http", "method": "GET", "path": "/"}
    (start,) = asked(middleware.Guard(app), scope)
    return {name.decode(): value.decode() for name, value in start["headers"]}


def test_pages_say_what_they_load_and_who_may_frame_them(monkeypatch, caplog):
    page = headers_of(b"text/html; charset=utf-8")
    assert page["content-security-policy"].endswith("frame-ancestors 'self'")
    assert "'unsafe-eval'" not in page["content-security-policy"]
    assert page["x-content-type-options"] == "nosniff"
    assert "content-security-policy" not in headers_of(b"image/png")
    listed = "https://moodle.example.org https://*.example.com:8443, x;y"
    monkeypatch.setenv("SPE_FRAME_ANCESTORS", listed)
    policy = headers_of(b"text/html")["content-security-policy"]
    ends = (
        "frame-ancestors 'self' https://moodle.example.org https://*.example.com:8443"
    )
    assert policy.endswith(ends)
    assert "SPE_FRAME_ANCESTORS: 'x;y'" in caplog.text


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/a/_stcore/metrics/"])
def test_numbers_on_the_server_are_for_its_operator(path, monkeypatch):
    scope = {"type": "http", "method": "GET", "path": path}
    coming = [{"type": "http.request", "more_body": False}]

    def status():
        return asked(middleware.Guard(taken), scope, coming)[0]["status"]

    assert status() == 404
    monkeypatch.setenv("SPE_METRICS", "1")
    assert status() == 204


@pytest.mark.parametrize("path", ["/_stcore/ready", "/a/_stcore/ready/"])
def test_a_server_that_loads_its_solvers_is_not_ready(path):
    scope = {"type": "http", "method": "GET", "path": path}
    for loaded, status, words in ((False, 503, b"loaded"), (True, 200, b"ok")):
        guard = middleware.Guard(taken, is_loaded=lambda loaded=loaded: loaded)
        start, body = asked(guard, scope)
        assert start["status"] == status and words in body["body"]


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[SimpleNamespace]:
    """The app, under a path, with its log in a file."""
    port, log = free_port(), tmp_path_factory.mktemp("log") / "log"
    with log.open("wb") as file:
        server = start_server(port, file, STREAMLIT_SERVER_BASE_URL_PATH=BASE)
        yield SimpleNamespace(port=port, log=log)
        server.kill()


#: Cookies of two browsers: mask, then masked bytes.
MINE, ANOTHERS = (f"2|00000000|{letter * 32}|1" for letter in "ab")


def put_file(port: int, session: str, cookie: str = MINE) -> int:
    """Upload a file of a session, as a page does; the status."""
    return requests.put(
        f"http://127.0.0.1:{port}/{BASE}/_stcore/upload_file/{session}/{uuid.uuid4()}",
        files={"f": ("t.csv", b"x" * 1000, "text/csv")},
        cookies={"_streamlit_xsrf": cookie},
        headers={"X-Xsrftoken": cookie},
        timeout=60,
    ).status_code


async def come_back(port: int, session: str, cookie: str) -> str:
    """Connect to a tab as after a lost connection; the tab that comes of it."""
    headers = {"X-SPE-Browser": visitors._browser_of({"_streamlit_xsrf": MINE})}
    headers |= {"Cookie": f"_streamlit_xsrf={cookie}"} if cookie else {}
    url = f"ws://127.0.0.1:{port}/{BASE}/_stcore/stream"
    protocols, told = ["streamlit", "token", session], ForwardMsg()
    async with websockets.connect(
        url, subprotocols=protocols, additional_headers=headers, ping_interval=None
    ) as socket:
        await socket.send(with_value("{}"))
        while told.WhichOneof("type") != "new_session":
            told.ParseFromString(await asyncio.wait_for(socket.recv(), PATIENCE))
    return told.new_session.initialize.session_id


def test_a_tab_is_its_browsers_whoever_has_read_its_name_in_a_log(served):
    async def visit():
        cookie = f"_streamlit_xsrf={MINE}"
        visitor = Visitor(0, served.port, base=f"/{BASE}", cookie=cookie)
        await visitor.open()
        tab = visitor.session
        statuses = [
            await asyncio.to_thread(put_file, served.port, tab, cookie)
            for cookie in (MINE, ANOTHERS)
        ]
        others = [await come_back(served.port, tab, one) for one in (ANOTHERS, "")]
        await visitor.move({"mu": 0.1}, dragging=True)  # nobody has taken it over
        return tab, statuses, others, await come_back(served.port, tab, MINE)

    tab, statuses, others, again = run(visit())
    assert statuses == [204, 403]
    assert "" not in others and tab not in others
    assert again == tab


def test_a_server_under_a_path_takes_what_pages_send_and_nothing_else(served):
    async def visit():
        cookie = f"_streamlit_xsrf={MINE}"
        visitor = Visitor(0, served.port, base=f"/{BASE}", cookie=cookie)
        await visitor.open()
        for n in range(5):
            await visitor.move({"mu": 0.01 * (n + 1)}, dragging=True)
        clear = BackMsg(clear_cache=True).SerializeToString()
        await visitor.socket.send(clear)
        await visitor.move({"mu": 0.2}, dragging=False)  # one is only left out
        status = await asyncio.to_thread(put_file, served.port, visitor.session)
        unknown = await asyncio.to_thread(put_file, served.port, "0" * 36)
        await visitor.socket.send(clear)
        with pytest.raises(websockets.ConnectionClosed):
            await visitor.move({"mu": 0.1}, dragging=False)
        return status, unknown, visitor.errors

    before = time.monotonic()
    assert run(visit()) == (204, 400, [])
    assert time.monotonic() - before < 120
    text = served.log.read_text("utf-8")
    line = "dropped: clear_cache is nothing that a page of this app sends"
    stamps = re.findall(rf"^(\S+ \S+) WARNING ([0-9a-f]{{6}}) .*{line}$", text, re.M)
    assert len(stamps) == text.count(line) == 1
    datetime.strptime(stamps[0][0], "%Y-%m-%d %H:%M:%S,%f")
    assert '"GET ' not in text and "upload_file" not in text
    assert "Traceback" not in text
    address = f"http://127.0.0.1:{served.port}/{BASE}/"
    with urllib.request.urlopen(address) as page:
        assert "frame-ancestors 'self'" in page.headers["Content-Security-Policy"]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{address}_stcore/metrics")
