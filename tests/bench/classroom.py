"""A class on one server: visitors who drag sliders, over real websockets.

    python -m tests.bench.classroom                 30 visitors, 4 s of every 20
    python -m tests.bench.classroom --at-once       all 30 drag at the same time
    python -m tests.bench.classroom --visitors 100 --data moons

The visitors speak the app's own protocol, one message in flight each, as the live
figure does: the time is from sending a slider value to its picture being received.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ROOT = Path(__file__).parents[2]
DATA = ("moons", "iris", "breast_cancer", "wine")


def free_port() -> int:
    """A port nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_server(
    port: int, log: IO[bytes] | int = subprocess.DEVNULL, **environment: str
) -> subprocess.Popen:
    """Start the app and wait until it answers."""
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "streamlit", "run", "app.py"),
            *(f"--server.port={port}", "--server.address=127.0.0.1"),
        ],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=log,
        stderr=log,
    )
    base = environment.get("STREAMLIT_SERVER_BASE_URL_PATH", "")
    address = f"http://127.0.0.1:{port}{base and '/'}{base}"
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{address}/_stcore/health")
            return server
        except OSError:
            time.sleep(0.1)
    server.kill()
    raise RuntimeError("the server did not start")


def megabytes(pid: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@dataclass
class Visitor:
    """One browser tab, without the browser.

    Parameters
    ----------
    number : int
    port : int
    data : str
    """

    number: int
    port: int
    data: str = DATA[0]
    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    busy: int = 0
    seq: int = 0
    last: float = math.nan
    shown: float = math.nan
    session: str = ""
    base: str = ""

    async def open(self) -> None:
        """Open the page and wait for its first picture."""
        url = f"ws://127.0.0.1:{self.port}{self.base}/_stcore/stream"
        self.socket = await websockets.connect(
            url, subprotocols=["streamlit"], max_size=None, compression=None
        )
        start = BackMsg()
        start.rerun_script.query_string = f"data={self.data}"
        await self.socket.send(start.SerializeToString())
        self.header = await self._picture(0)

    async def move(self, values: dict, dragging: bool) -> None:
        """Send one slider value and wait for its picture."""
        self.seq += 1
        message = {"seq": self.seq, "kind": "set", "values": values}
        message |= {"dragging": dragging, "have": self.header["scene"]["id"]}
        started = time.perf_counter()
        await self.socket.send(self.packed(message))
        header = await self._picture(self.seq)
        self.times.append(time.perf_counter() - started)
        self.busy += bool(header["busy"])
        self.shown = header["picture"]["value"] if "picture" in header else math.nan
        self.last = values["mu"]

    def packed(self, message: dict) -> bytes:
        """A message of the figure as the browser's connection carries it."""
        back = BackMsg()
        back.rerun_script.fragment_id = self.fragment
        back.rerun_script.page_script_hash = self.page
        own = back.rerun_script.widget_states.widgets.add()
        own.id, own.json_value = self.component, "{}"
        state = back.rerun_script.widget_states.widgets.add()
        state.id = f"$$STREAMLIT_INTERNAL_KEY_{self.component}__events"
        state.json_trigger_value = json.dumps([{"event": "msg", "value": message}])
        return back.SerializeToString()

    async def drag(self, seconds: float) -> int:
        """Drag a slider that long; how many pictures came."""
        start, n = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            phase = (time.perf_counter() - start) / seconds
            await self.move({"mu": 10 ** (-3 + 2 * phase)}, dragging=True)
            n += 1
        await self.move({"mu": 0.01 + 0.001 * self.number}, dragging=False)
        return n

    async def _picture(self, seq: int) -> dict:
        while True:
            message = ForwardMsg()
            message.ParseFromString(
                await asyncio.wait_for(self.socket.recv(), timeout=60)
            )
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self.session = message.new_session.initialize.session_id
                self.page = message.new_session.page_script_hash
            if kind != "delta":
                continue
            element = message.delta.new_element
            if element.WhichOneof("type") == "exception":
                self.errors.append(element.exception.message)
            if element.WhichOneof("type") != "bidi_component":
                continue
            body = element.bidi_component.bytes
            if not body:
                continue  # the figure's script, which comes once a page
            (length,) = struct.unpack_from("<I", body)
            header = json.loads(body[4 : 4 + length])
            if header["seq"] == seq:
                self.component = element.bidi_component.id
                self.fragment = message.delta.fragment_id
                return header


async def _lesson(visitor: Visitor, seconds: float, at_once: bool) -> list[int]:
    pictures, end = [], time.perf_counter() + seconds
    try:
        if not at_once:
            await asyncio.sleep(20 * (visitor.number % 30) / 30)
        while time.perf_counter() < end:
            started = time.perf_counter()
            pictures.append(await visitor.drag(4))
            if not at_once:
                await asyncio.sleep(max(0, 20 - (time.perf_counter() - started)))
    except Exception as error:
        visitor.errors.append(repr(error))
    return pictures


def percentile(values: list[float], share: float) -> float:
    """Value below which that share lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def processor_seconds(pid: int) -> tuple[float, float]:
    """What a process has used, and what the machine's host gave to others."""
    ticks = os.sysconf("SC_CLK_TCK")
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    stolen = Path("/proc/stat").read_text().split()[8]
    return (int(fields[11]) + int(fields[12])) / ticks, int(stolen) / ticks


async def _megabytes_at(pid: int, seconds: float) -> float:
    await asyncio.sleep(seconds)
    return megabytes(pid)


async def run(n_visitors: int, seconds: float, data: list[str], at_once: bool) -> None:
    """Run the lesson and print its figures."""
    port = free_port()
    server = start_server(port)
    try:
        first = Visitor(0, port, data[0])
        await first.open()
        await asyncio.sleep(20)  # the background compilation is done
        before = megabytes(server.pid)
        visitors = [Visitor(i, port, data[i % len(data)]) for i in range(n_visitors)]
        for visitor in visitors:
            await visitor.open()
        began, used = time.monotonic(), processor_seconds(server.pid)
        late_memory = asyncio.create_task(
            _megabytes_at(server.pid, max(0.0, seconds - 60))
        )
        lessons = [_lesson(visitor, seconds, at_once) for visitor in visitors]
        pictures = await asyncio.gather(*lessons)
        took = time.monotonic() - began
        used = [b - a for a, b in zip(used, processor_seconds(server.pid), strict=True)]
        after = megabytes(server.pid)
    finally:
        server.kill()
    times = [t for visitor in visitors for t in visitor.times]
    errors = [e for visitor in visitors for e in visitor.errors]
    if not times:
        raise SystemExit("\n".join(["no visitor got a picture", *errors]))
    rates = [sum(p) / (4 * len(p)) for p in pictures if p]
    late = [v.number for v in visitors if not math.isclose(v.shown, v.shown)]
    print(f"{n_visitors} visitors, {'all at once' if at_once else '4 s of every 20'}")
    print(f"pictures          {len(times)}")
    print(f"median / p95 / max {1e3 * percentile(times, 0.5):.0f} / ", end="")
    print(f"{1e3 * percentile(times, 0.95):.0f} / {1e3 * max(times):.0f} ms")
    print(f"pictures a second  {min(rates):.1f} (slowest visitor) .. {max(rates):.1f}")
    print(f"said busy          {sum(v.busy > 0 for v in visitors)} visitors")
    print(f"processor          server {used[0] / took:.0%}, ", end="")
    print(f"other machines {used[1] / took:.0%} of one core")
    print(f"errors             {len(errors)} {errors[:3]}")
    print(f"without a picture  {late}")
    print(f"memory             {before:.0f} -> {after:.0f} MB, ", end="")
    print(f"a minute before the end {late_memory.result():.0f}, ", end="")
    print(f"{(after - before) / n_visitors:.1f} MB a visitor")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--at-once", action="store_true")
    asked = parser.parse_args()
    asyncio.run(run(asked.visitors, asked.seconds, asked.data, asked.at_once))
