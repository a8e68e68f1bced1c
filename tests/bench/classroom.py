"""Visitors who drag: ``python -m tests.bench.classroom [--visitors 30]``.

A server of the app, and visitors who all drag a slider on it at the same time. They
speak the app's own protocol over real websockets, one message in flight each, as the
live figure does: the time is from sending a slider value to its picture being received.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests import attempts

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    """A port nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_server(
    port: int,
    log: IO[bytes] | int = subprocess.DEVNULL,
    options: Iterable[str] = (),
    **environment: str,
) -> subprocess.Popen:
    """Start the app, with more options at its line's end; wait until it answers."""
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "streamlit", "run", "app.py"),
            *(f"--server.port={port}", "--server.address=127.0.0.1", *options),
        ],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=log,
        stderr=log,
    )
    base = environment.get("STREAMLIT_SERVER_BASE_URL_PATH", "")
    address = f"http://127.0.0.1:{port}{base and '/'}{base}"
    for _ in attempts(0.1):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{address}/_stcore/health")
            return server
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
    """

    number: int
    port: int
    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    seq: int = 0
    session: str = ""
    base: str = ""
    query: str = "data=moons"
    cookie: str = ""

    async def open(self) -> None:
        """Open the page and wait for its first picture."""
        url = f"ws://127.0.0.1:{self.port}{self.base}/_stcore/stream"
        self.socket = await websockets.connect(
            url,
            subprotocols=["streamlit"],
            additional_headers={"Cookie": self.cookie} if self.cookie else {},
            max_size=None,
            compression=None,
            ping_interval=None,
        )
        start = BackMsg()
        start.rerun_script.query_string = self.query
        await self.socket.send(start.SerializeToString())
        self.header = await self._picture(0)

    async def move(self, values: dict, dragging: bool) -> None:
        """Send one slider value and wait for its picture."""
        self.seq += 1
        message = {"seq": self.seq, "kind": "set", "values": values}
        message |= {"dragging": dragging, "have": self.header["scene"]["id"]}
        started = time.perf_counter()
        await self.socket.send(self.packed(message))
        await self._picture(self.seq)
        self.times.append(time.perf_counter() - started)

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

    async def drag(self, seconds: float) -> None:
        """Drag a slider that long."""
        start = time.perf_counter()
        while time.perf_counter() - start < seconds:
            phase = (time.perf_counter() - start) / seconds
            await self.move({"mu": 10 ** (-3 + 2 * phase)}, dragging=True)
        await self.move({"mu": 0.01 + 0.001 * self.number}, dragging=False)

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


def percentile(values: list[float], share: float) -> float:
    """Value below which that share lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def processor_seconds(pid: int) -> float:
    """What a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def first_picture(port: int) -> Visitor:
    """A visitor who has a picture, however long a new server compiles."""
    while True:
        visitor = Visitor(0, port)
        with contextlib.suppress(TimeoutError):
            await visitor.open()
            return visitor


async def run(n_visitors: int, seconds: float) -> None:
    """Let visitors drag that long, and print their figures."""
    port = free_port()
    server = start_server(port)
    try:
        await first_picture(port)
        await asyncio.sleep(20)  # the background compilation is done
        before = megabytes(server.pid)
        visitors = [Visitor(i, port) for i in range(n_visitors)]
        for visitor in visitors:
            await visitor.open()
        used = -processor_seconds(server.pid)
        dragged = [visitor.drag(seconds) for visitor in visitors]
        ended = await asyncio.gather(*dragged, return_exceptions=True)
        used += processor_seconds(server.pid)
        after = megabytes(server.pid)
    finally:
        server.kill()
    times = [t for visitor in visitors for t in visitor.times]
    errors = [e for visitor in visitors for e in visitor.errors]
    errors += [repr(end) for end in ended if end]
    p50, p95 = (1e3 * percentile(times, share) for share in (0.5, 0.95))
    print(f"{n_visitors} visitors drag for {seconds:g} s: {len(times)} pictures")
    print(f"p50 / p95  {p50:.0f} / {p95:.0f} ms, longest {1e3 * max(times):.0f} ms")
    print(f"processor  {1e3 * used / len(times):.1f} ms a picture")
    print(f"memory     {(after - before) / n_visitors:.1f} MB a visitor")
    print(f"errors     {len(errors)} {errors[:3]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=120)
    chosen = parser.parse_args()
    asyncio.run(run(chosen.visitors, chosen.seconds))
