"""What hostile input costs the others: ``python -m tests.bench.hostile [WORD]``.

One server, one visitor who drags a slider all the time, and one who brings what nobody
should: files, links, state files, messages of the live figure, and what a stand-in for
OpenML answers. Printed for each case: what is answered, after how many seconds, the
longest time for which the other visitor waited for a picture, the memory of the server
with its processes before, at most and after, and what it wrote to its log. WORD chooses
cases by their name, a word with | between words several.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import multiprocessing
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import websockets
from playwright.sync_api import Page, sync_playwright
from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.bench.classroom import (
    Visitor,
    free_port,
    percentile,
    processes,
    start_server,
)
from tests.bench.files import CASES, N, _names
from tests.bench.live import FLAGS
from tests.browser.test_workspace import opened_dialog
from tests.smpcore.datasets.openml_server import Served, serving

#: A case that is not answered then has no answer.
PATIENCE = 90.0
FLOOD_SECONDS = 10.0
#: What Streamlit says of a file that is too large, before it is sent.
REFUSED = "or smaller"
NAMES = '"=HYPERLINK(1)","@SUM(1)","\x00nul","\u202egnp.exe","<img onerror=alert(1)>"'

#: Name -> file name and content.
UPLOADS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "50 MB in one cell": CASES["csv one cell"],
    "101 MB": ("t.csv", lambda: b"a,b\n" + b"1,2\n" * 25_250_000),
    "Parquet bomb": CASES["parquet repeated"],
    "zip instead of CSV": ("t.csv", lambda: b"PK\x03\x04" + bytes(range(256)) * 4_000),
    "50,000 columns": (
        "t.csv",
        lambda: (_names(49_999) + ("1," * 49_999 + "a\n2," * 49_999 + "b\n")).encode(),
    ),
    "an open quote": CASES["csv open quote"],
    "names of formulas, NUL, bidi, HTML": (
        "t.csv",
        lambda: (f"{NAMES},class\n" + "1,2,3,4,5,<b>x\n5,4,3,2,1,y\n" * 30).encode(),
    ),
    "ARFF with a million levels": CASES["arff levels"],
    "ARFF of newlines": ("t.arff", lambda: b"\n" * N),
}
STATES = {
    "state file of 10 MB": lambda: b'{"a": "' + b"x" * 10_000_000 + b'"}',
    "nested state file": lambda: b"[" * 400_000 + b"]" * 400_000,
    "forged state file": lambda: (
        b'{"format": "sparse-prototype-explorer-state", "version": 1, '
        b'"link": {"data": "../../etc/passwd", "lam": "NaN"}, '
        b'"table": null, "points": null, "pinned": null, "opened": {}, '
        b'"notes": {"a": 1e999}}'
    ),
}
LINKS = {
    "guessed token": "?data=mine&mine=AAAAAAAAAAAAAAAAAAAAAA",
    "forged values": "?data=moons&method=smp&lam=nan&mu=1e999&v.kind=%00<script>",
    "100 kB of link": "?data=moons&lam=" + "9" * 60_000,
}
SERVED = [
    Served(1, "slow", trouble="slow"),
    Served(7, "a byte a second", trouble="drip"),
    Served(2, "cut", trouble="cut"),
    Served(3, "endless", trouble="endless"),
    Served(4, "bomb", trouble="bomb"),
    Served(5, "broken", trouble="broken"),
    Served(6, "other host", redirect="http://192.0.2.1/secret"),
]
MESSAGES: dict[str, Any] = {
    "no mapping": [1, 2],
    "wrong types": {"kind": "set", "values": {"mu": {"a": []}}, "dragging": 3},
    "NaN": {"kind": "set", "values": {"mu": float("nan")}, "dragging": True},
    "1e308": {"kind": "set", "values": {"mu": 1e308}, "dragging": True},
    "10 MB": {"kind": "set", "values": {"mu": "9" * 10_000_000}, "dragging": True},
    "unknown kind": {"kind": "../../etc/passwd"},
    "a million places": {"kind": "edit", "op": "erase", "places": [[0, 0]] * 300_000},
}


def _drag(port: int, times: Any) -> None:
    """The other visitor: how long each picture took."""

    async def drag() -> None:
        visitor = Visitor(0, port)
        await visitor.open()
        n = 0
        while True:
            await visitor.move({"mu": 0.01 + (n % 50) / 1e3}, dragging=True)
            times.put(visitor.times[-1])
            n += 1
            await asyncio.sleep(0.05)

    asyncio.run(drag())


def _send(port: int, message: Any) -> str:
    """Send one message of the figure in a session of its own; what comes back."""

    async def send() -> str:
        visitor = Visitor(0, port)
        await visitor.open()
        whole = message | {"seq": 1} if isinstance(message, dict) else message
        await visitor.socket.send(visitor.packed(whole))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                header = await visitor._picture(1)
                return " ".join(n["text"] for n in header["notices"]) or "a picture"
        await visitor.move({"mu": 0.02}, dragging=False)
        return "left out; the next message has its picture"

    return asyncio.run(send())


def _flood(port: int) -> str:
    """Send messages as fast as the connection takes them."""

    async def flood() -> int:
        visitor = Visitor(0, port)
        await visitor.open()

        async def read() -> None:
            with contextlib.suppress(Exception):
                while True:
                    await visitor.socket.recv()

        reading = asyncio.create_task(read())
        n, end = 0, time.monotonic() + FLOOD_SECONDS
        while time.monotonic() < end:
            values = {"mu": 0.01 + (n % 97) / 1e4}
            message = {"seq": n + 1, "kind": "set", "values": values, "dragging": True}
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(visitor.socket.send(visitor.packed(message)), 1)
                n += 1
        reading.cancel()
        return n

    return f"{asyncio.run(flood()) / FLOOD_SECONDS:.0f} messages a second are read"


def _clear(port: int) -> str:
    """Send 30 requests to clear all caches, with new visitors between them."""

    async def clear() -> str:
        visitor = Visitor(0, port)
        await visitor.open()
        message = BackMsg(clear_cache=True).SerializeToString()
        for n in range(30):
            with contextlib.suppress(websockets.ConnectionClosed):
                await visitor.socket.send(message)
            if n % 10 == 9:
                late = Visitor(1, port)
                with contextlib.suppress(TimeoutError):
                    await late.open()
            await asyncio.sleep(0.3)
        return f"30 sent; the connection is {visitor.socket.state.name.lower()}"

    return asyncio.run(clear())


def _nest(port: int, depth: int = 900) -> str:
    """Send a value that is nested so deep, 20 times."""

    async def nest() -> str:
        visitor = Visitor(0, port)
        await visitor.open()
        back = BackMsg()
        back.ParseFromString(visitor.packed({"seq": 1}))
        value = "[" * depth + "]" * depth
        back.rerun_script.widget_states.widgets[0].json_value = value
        back.rerun_script.widget_states.widgets[1].json_trigger_value = value
        for _ in range(20):
            with contextlib.suppress(websockets.ConnectionClosed):
                await visitor.socket.send(back.SerializeToString())
            await asyncio.sleep(0.3)
        return f"20 sent; the connection is {visitor.socket.state.name.lower()}"

    return asyncio.run(nest())


def _put(port: int, n_files: int = 20, n_bytes: int = 49_000_000) -> str:
    """Upload files that no page reads, and close the tab; memory 15 s later."""

    async def put() -> str:
        visitor = Visitor(0, port)
        await visitor.open()
        statuses = []
        for _ in range(n_files):
            statuses.append(
                await asyncio.to_thread(put_file, port, visitor.session, n_bytes)
            )
        await visitor.socket.close()
        await asyncio.sleep(15)
        return f"answers {dict(Counter(statuses))}; 15 s after the tab has closed"

    return asyncio.run(put())


def put_file(port: int, session: str, n_bytes: int, base: str = "") -> int:
    """Upload a file of a session, in parts of 1 MB without a length; the status."""
    edge = "----edge"
    head = (
        f'--{edge}\r\nContent-Disposition: form-data; name="f"; filename="t.csv"\r\n'
        "Content-Type: text/csv\r\n\r\n"
    )

    def parts() -> Iterator[bytes]:
        yield head.encode()
        for start in range(0, n_bytes, 1_000_000):
            yield b"x" * min(1_000_000, n_bytes - start)
        yield f"\r\n--{edge}--\r\n".encode()

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    token = "0" * 32
    try:
        connection.request(
            "PUT",
            f"{base}/_stcore/upload_file/{session}/{uuid.uuid4()}",
            parts(),
            {
                "Content-Type": f"multipart/form-data; boundary={edge}",
                "Cookie": f"_streamlit_xsrf={token}",
                "X-Xsrftoken": token,
            },
            encode_chunked=True,
        )
        return connection.getresponse().status
    except (BrokenPipeError, ConnectionResetError):  # it was refused meanwhile
        with contextlib.suppress(OSError, http.client.HTTPException):
            return connection.getresponse().status
        return 0
    finally:
        connection.close()


def _apart(work: Callable, *given: Any) -> str:
    """Do it in another process: this one's threads belong to the browser."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply_async(work, given).get(PATIENCE)


def _answer(page: Page) -> str:
    """The alerts that a page comes to show, and the notices of its figure."""
    alert = page.get_by_test_id("stAlert")
    figure = page.locator("canvas[data-paint-count]")
    alert.or_(figure).first.wait_for(timeout=1e3 * PATIENCE)
    page.wait_for_timeout(500)
    texts = alert.all_inner_texts() + page.locator(".news li").all_inner_texts()
    return " | ".join(dict.fromkeys(texts)) or "the page, without an alert"


def _upload(page: Page, address: str, name: str, data: bytes) -> str:
    path = Path(tempfile.mkdtemp(), name)
    path.write_bytes(data)
    page.goto(f"{address}data")
    page.get_by_text("Upload data").click()
    picker = page.get_by_test_id("stFileUploader").filter(has_text="Your table")
    picker.locator("input[type=file]").set_input_files(path)
    shown = (
        page.get_by_test_id("stAlert")
        .or_(picker.get_by_text(REFUSED))
        .or_(page.get_by_text("Source").filter(has_text=name))
    )
    shown.first.wait_for(timeout=1e3 * PATIENCE)
    return shown.first.inner_text()


def _open_state(page: Page, address: str, name: str, data: bytes) -> str:
    page.goto(address)
    page.locator("canvas[data-paint-count]").first.wait_for(timeout=1e3 * PATIENCE)
    dialog = opened_dialog(page)
    dialog.locator("input[type=file]").set_input_files(
        {"name": name, "mimeType": "application/json", "buffer": data}
    )
    refused = dialog.get_by_text(REFUSED)
    button = dialog.get_by_role("button", name="Open", exact=True, disabled=False)
    refused.or_(button).first.wait_for()
    if not refused.count():
        button.click()
        refused = dialog.get_by_test_id("stAlert")
    return refused.first.inner_text()


def _open(page: Page, address: str, link: str) -> str:
    page.goto(address + link)
    return _answer(page)


def cases(page: Page, port: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Name of each case, and what does it and returns the answer."""
    address = f"http://127.0.0.1:{port}/"
    yield "nothing", lambda: time.sleep(10) or ""
    for name, (file, make) in UPLOADS.items():
        yield f"upload: {name}", lambda f=file, m=make: _upload(page, address, f, m())
    for name, make in STATES.items():
        yield name, lambda m=make: _open_state(page, address, "state.json", m())
    for name, link in LINKS.items():
        yield f"link: {name}", lambda at=link: _open(page, address, at)
    for served in SERVED:
        link = f"?data=openml:{served.number}"
        yield f"OpenML: {served.name}", lambda at=link: _open(page, address, at)
    for name, message in MESSAGES.items():
        yield f"message: {name}", lambda m=message: _apart(_send, port, m)
    yield "flood of messages", lambda: _apart(_flood, port)
    yield "clear_cache", lambda: _apart(_clear, port)
    yield "value nested 900 deep", lambda: _apart(_nest, port)
    yield "20 files of 49 MB, never read", lambda: _apart(_put, port)


class Watch:
    """Memory of a server and its processes, at most, while something goes on."""

    def __init__(self, pid: int) -> None:
        self.pid, self.most = pid, 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def now(self) -> float:
        """MB at this moment."""
        with contextlib.suppress(OSError):
            return sum(processes(self.pid).values())
        return 0.0

    def _look(self) -> None:
        while True:
            self.most = max(self.most, self.now())
            time.sleep(0.1)


def _measure(
    name: str, act: Callable[[], str], times: Any, watch: Watch, log: Path
) -> None:
    """Do what a case does and print its line."""
    logged = log.read_bytes()
    while not times.empty():
        times.get()
    watch.most, before, started = 0.0, watch.now(), time.monotonic()
    try:
        answer = act()
    except Exception as problem:
        answer = f"NO ANSWER: {type(problem).__name__}"
    took = time.monotonic() - started
    time.sleep(1)
    waits = [times.get() for _ in range(times.qsize())] or [float("nan")]
    delays = " / ".join(f"{1e3 * percentile(waits, s):.0f}" for s in (0.5, 0.95, 1.0))
    print(f"{name:<43} {took:5.1f} s | {delays:>15} ms", end=" | ")
    print(f"{before:.0f} {watch.most:.0f} {watch.now():.0f} MB", end=" | ")
    new = log.read_bytes()[len(logged) :]
    print(f"log {len(new) / 1e3:.1f} kB", end=" | ")
    print(" ".join(answer.split())[:150], flush=True)


def main(word: str) -> None:
    """Print the table."""
    port, folder = free_port(), tempfile.mkdtemp()
    settings = {"OPENML_CACHE_DIR": folder, "XDG_CONFIG_HOME": folder}
    spawn = multiprocessing.get_context("spawn")
    with serving(*SERVED) as openml, sync_playwright() as playwright:
        log = Path(folder, "log")
        settings["SPE_OPENML_SERVER"] = openml.url
        server = start_server(port, log.open("wb"), **settings)
        times = spawn.Queue()
        other = spawn.Process(target=_drag, args=(port, times), daemon=True)
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=FLAGS
        )
        try:
            other.start()
            time.sleep(45)  # kernels are compiled, processes have started
            page = browser.new_page()
            watch = Watch(server.pid)
            for name, act in cases(page, port):
                if any(part in name for part in word.split("|")):
                    _measure(name, act, times, watch, log)
        finally:
            other.kill()
            browser.close()
            server.kill()


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
