"""Traffic on a server, as ``python -m tests.attack`` prints it.

One server, one visitor who drags a slider all the time, and one who brings what nobody
should: files, state files, links, messages of the live figure, and what a stand-in for
OpenML answers. Then servers of their own on a full disk and in folders that cannot be
written, in a mount namespace (root and Linux). Printed for each row: seconds, median,
p95 and longest wait of the other visitor for a picture, memory of the server with its
processes before, at most and after, tracebacks in its log, and what is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import websockets
from playwright.sync_api import Page, sync_playwright
from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.bench.classroom import (
    ROOT,
    Visitor,
    first_picture,
    free_port,
    megabytes,
    percentile,
    start_server,
)
from tests.bench.files import CASES, N
from tests.bench.live import FLAGS
from tests.smpcore.datasets.openml_server import Served, serving

#: A row that is not answered then has no answer.
PATIENCE = 90.0
FLOOD_SECONDS = 10.0
NAMES = '"=HYPERLINK(1)","@SUM(1)","\x00nul","\u202egnp.exe","<img onerror=alert(1)>"'
#: Name -> file name and content.
UPLOADS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "50 MB in one cell": CASES["csv one cell"],
    "Parquet bomb": CASES["parquet repeated"],
    "zip instead of CSV": ("t.csv", lambda: b"PK\x03\x04" + bytes(range(256)) * 4_000),
    "an open quote": CASES["csv open quote"],
    "names of formulas, NUL, bidi, HTML": (
        "t.csv",
        lambda: (f"{NAMES},class\n" + "1,2,3,4,5,<b>x\n5,4,3,2,1,y\n" * 30).encode(),
    ),
    "ARFF with a million levels": (
        "t.arff",
        lambda: (
            f"@relation r\n@attribute a {{{','.join(map(str, range(1_000_000)))}}}\n"
            "@attribute class {x,y}\n@data\n1,x\n2,y\n"
        ).encode(),
    ),
    "ARFF of newlines": ("t.arff", lambda: b"\n" * N),
}
STATES = {
    "of 10 MB": b'{"a": "' + b"x" * 10_000_000 + b'"}',
    "nested": b"[" * 400_000 + b"]" * 400_000,
    "with a number of 5,000 digits": b'{"a": ' + b"9" * 5_000 + b"}",
}
LINKS = {
    "guessed token": "?data=mine&mine=AAAAAAAAAAAAAAAAAAAAAA",
    "forged values": "?data=moons&method=smp&lam=nan&mu=1e999&v.kind=%00<script>",
    "60 kB": "?data=moons&lam=" + "9" * 60_000,
    "wrong class code": "?class=AAAAAAAA",
}
SERVED = [
    Served(number, trouble, trouble=trouble)
    for number, trouble in enumerate(("slow", "drip", "cut", "endless", "bomb"), 1)
]
MESSAGES: dict[str, Any] = {
    "no mapping": [1, 2],
    "wrong types": {"kind": "set", "values": {"mu": {"a": []}}, "dragging": 3},
    "NaN": {"kind": "set", "values": {"mu": float("nan")}, "dragging": True},
    "10 MB": {"kind": "set", "values": {"mu": "9" * 10_000_000}, "dragging": True},
    "unknown kind": {"kind": "../../etc/passwd"},
    "a million places": {"kind": "edit", "op": "erase", "places": [[0, 0]] * 300_000},
}
#: What a server of its own finds: no byte left, or folders that it cannot write.
FULL = (
    "mount -t tmpfs -o size=64k tmpfs /tmp && mount --bind /tmp /var/tmp"
    "; (dd if=/dev/zero of=/tmp/fills bs=4k 2>/dev/null; true)"
)
READ_ONLY = "mount -t tmpfs -o ro tmpfs /srv"
MOUNTS = {
    "full disk": (FULL, "/tmp"),
    "read-only home": (READ_ONLY, "/srv"),
    "no folder to write": (
        f"{READ_ONLY} && mount -t tmpfs -o ro tmpfs /tmp && mount --bind /tmp /var/tmp",
        "/srv",
    ),
}


def processes(pid: int) -> float:
    """Memory of a server with the processes that it started, in MB."""
    children = Path("/proc", str(pid), "task").glob("*/children")
    started = [child for file in children for child in file.read_text().split()]
    return megabytes(pid) + sum(processes(int(child)) for child in started)


def _drag(port: int, times: Any) -> None:
    """The other visitor: how long each picture took."""

    async def drag() -> None:
        visitor = await first_picture(port)
        for n in range(10**9):
            await visitor.move({"mu": 0.01 + (n % 50) / 1e3}, dragging=True)
            times.put(visitor.times[-1])
            await asyncio.sleep(0.05)

    asyncio.run(drag())


async def _send(visitor: Visitor, message: Any) -> str:
    """Send one message of the figure; what comes back."""
    whole = message | {"seq": 1} if isinstance(message, dict) else message
    await visitor.socket.send(visitor.packed(whole))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(5):
            header = await visitor._picture(1)
            return " ".join(n["text"] for n in header["notices"]) or "a picture"
    await visitor.move({"mu": 0.02}, dragging=False)
    return "left out; the next message has its picture"


async def _flood(visitor: Visitor, _message: Any) -> str:
    """Send messages as fast as the connection takes them."""

    async def read() -> None:
        async for _ in visitor.socket:
            pass

    reading = asyncio.create_task(read())
    n, end = 0, time.monotonic() + FLOOD_SECONDS
    while time.monotonic() < end:
        values = {"mu": 0.01 + (n % 97) / 1e4}
        message = {"seq": n + 1, "kind": "set", "values": values, "dragging": True}
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(visitor.socket.send(visitor.packed(message)), 1)
            n += 1
    reading.cancel()
    return f"{n / FLOOD_SECONDS:.0f} messages a second are read"


async def _repeat(visitor: Visitor, data: bytes) -> str:
    """Send what no page sends, 20 times."""
    for _ in range(20):
        with contextlib.suppress(websockets.ConnectionClosed):
            await visitor.socket.send(data)
        await asyncio.sleep(0.3)
    return f"20 sent; the connection is {visitor.socket.state.name.lower()}"


def _nested(depth: int = 900) -> bytes:
    back = BackMsg()
    back.rerun_script.widget_states.widgets.add().json_value = "[" * depth + "]" * depth
    return back.SerializeToString()


def _attack(act: Callable, port: int, message: Any) -> str:
    async def attack() -> str:
        visitor = Visitor(0, port)
        await visitor.open()
        return await act(visitor, message)

    return asyncio.run(attack())


def _apart(work: Callable, *given: Any) -> str:
    """Do it in another process: this one's threads belong to the browser."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply_async(work, given).get(PATIENCE)


def _open(page: Page, address: str) -> str:
    """The alerts that a page comes to show, and the notices of its figure."""
    page.goto(address)
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
    read = page.get_by_text("Source").filter(has_text=name)
    shown = page.get_by_test_id("stAlert").or_(picker.get_by_role("alert")).or_(read)
    shown.first.wait_for(timeout=1e3 * PATIENCE)
    return shown.first.inner_text()


def _open_state(page: Page, address: str, data: bytes) -> str:
    page.goto(address)
    page.get_by_role("button", name="Save and open").click()
    dialog = page.get_by_role("dialog")
    file = {"name": "state.json", "mimeType": "application/json", "buffer": data}
    dialog.locator("input[type=file]").set_input_files(file)
    refused = dialog.get_by_role("alert").or_(dialog.get_by_text("or smaller"))
    button = dialog.get_by_role("button", name="Open", exact=True, disabled=False)
    refused.or_(button).first.wait_for(timeout=1e3 * PATIENCE)
    if not refused.count():
        button.click()
        refused = dialog.get_by_test_id("stAlert")
    return refused.first.inner_text()


def rows(page: Page, port: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Name of each row, and what does it and returns the answer."""
    address = f"http://127.0.0.1:{port}/"
    yield "nothing", lambda: time.sleep(10) or ""
    for name, (file, make) in UPLOADS.items():
        yield f"upload: {name}", lambda f=file, m=make: _upload(page, address, f, m())
    for name, data in STATES.items():
        yield f"state file {name}", lambda d=data: _open_state(page, address, d)
    links = {f"link: {name}": link for name, link in LINKS.items()}
    links |= {f"OpenML: {one.name}": f"?data=openml:{one.number}" for one in SERVED}
    for name, link in links.items():
        yield name, lambda at=link: _open(page, address + at)
    attacks = {f"message: {name}": (_send, one) for name, one in MESSAGES.items()}
    attacks["flood of messages"] = _flood, None
    attacks["clear_cache"] = _repeat, BackMsg(clear_cache=True).SerializeToString()
    attacks["value nested 900 deep"] = _repeat, _nested()
    for name, (act, one) in attacks.items():
        yield name, lambda a=act, m=one: _apart(_attack, a, port, m)
    for name in MOUNTS:
        yield name, lambda n=name: _apart(_mounted, n)


def _mounted(name: str) -> str:
    """What a visitor sees of a server that finds such folders."""
    (mounts, home), port = MOUNTS[name], free_port()
    settings = {"HOME": home, "NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": ""}
    command = [*("unshare", "-m", "sh", "-c", f'{mounts}; exec "$@"', "sh")]
    command += [sys.executable, "-m", "streamlit", "run", "app.py"]
    command += [f"--server.port={port}", "--server.address=127.0.0.1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, cwd=ROOT, env=os.environ | settings, **quiet)

    async def move() -> str:
        visitor = Visitor(0, port)
        for _ in range(600):
            with contextlib.suppress(OSError, TimeoutError):
                await visitor.open()
                await visitor.move({"mu": 0.02}, dragging=True)
                return "; ".join(visitor.errors) or "pictures follow the slider"
            await asyncio.sleep(0.1)
        return "NO ANSWER"

    try:
        return asyncio.run(move())
    finally:
        server.kill()


class Watch:
    """Memory of a server and its processes, at most, while something goes on."""

    def __init__(self, pid: int) -> None:
        self.pid, self.most = pid, 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def now(self) -> float:
        """MB at this moment."""
        with contextlib.suppress(OSError, ValueError):
            return processes(self.pid)
        return 0.0

    def _look(self) -> None:
        while True:
            self.most = max(self.most, self.now())
            time.sleep(0.1)


def _measure(
    name: str, act: Callable[[], str], times: Any, watch: Watch, log: Path
) -> None:
    """Do what a row does and print its line."""
    logged = log.stat().st_size
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
    raw = log.read_bytes()[logged:].count(b"Traceback")
    print(f"{name:<43} {took:5.1f} s | {delays:>15} ms", end=" | ")
    print(f"{before:.0f} {watch.most:.0f} {watch.now():.0f} MB", end=" | ")
    print(f"{raw} tracebacks | {' '.join(answer.split())[:110]}", flush=True)


def main(only: list[str]) -> None:
    """Print the rows whose names have one of the words."""
    port, folder = free_port(), tempfile.mkdtemp()
    settings = {"OPENML_CACHE_DIR": folder, "XDG_CONFIG_HOME": folder}
    spawn, log = multiprocessing.get_context("spawn"), Path(folder, "log")
    with serving(*SERVED) as openml, sync_playwright() as playwright:
        settings["SPE_OPENML_SERVER"] = openml.url
        server = start_server(port, log.open("wb"), **settings)
        times = spawn.Queue()
        other = spawn.Process(target=_drag, args=(port, times), daemon=True)
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=FLAGS
        )
        try:
            other.start()
            times.get()  # the other visitor has a picture
            time.sleep(20)  # all is compiled, processes have started
            page, watch = browser.new_page(), Watch(server.pid)
            for name, act in rows(page, port):
                if any(word in name for word in only):
                    _measure(name, act, times, watch, log)
        finally:
            other.kill()
            browser.close()
            server.kill()
