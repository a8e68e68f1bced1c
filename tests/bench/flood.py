"""A visitor who drags beside one who floods: ``python -m tests.bench.flood``.

The other one sends messages of the live figure as fast as its connection takes them,
from a process of its own. Printed are the times to a picture, without and beside it.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import time

from tests.bench.classroom import (
    Visitor,
    free_port,
    megabytes,
    percentile,
    start_server,
)

SECONDS = 15.0


async def _flood(port: int) -> float:
    """Messages that were taken in a second."""
    visitor = Visitor(1, port)
    await visitor.open()

    async def read() -> None:
        with contextlib.suppress(Exception):
            while True:
                await visitor.socket.recv()

    reading = asyncio.create_task(read())
    message = {"kind": "set", "dragging": True, "have": visitor.header["scene"]["id"]}
    n, end = 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        message |= {"seq": n + 1, "values": {"mu": 0.01 + (n % 97) / 1e4}}
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(visitor.socket.send(visitor.packed(message)), 1)
            n += 1
    reading.cancel()
    return n / SECONDS


def _process(port: int, found: multiprocessing.Queue) -> None:
    found.put(asyncio.run(_flood(port)))


def _said(times: list[float]) -> str:
    shares = " / ".join(f"{1e3 * percentile(times, s):.0f}" for s in (0.5, 0.95, 1.0))
    return f"median / p95 / max {shares} ms, {len(times)} pictures"


async def main() -> None:
    """Print the two lines."""
    port = free_port()
    server = start_server(port)
    try:
        visitor = Visitor(0, port)
        await visitor.open()
        await asyncio.sleep(20)  # the background compilation is done
        await visitor.drag(8)
        print(f"alone      {_said(visitor.times)}", flush=True)
        visitor.times.clear()
        before, found = megabytes(server.pid), multiprocessing.Queue()
        other = multiprocessing.Process(target=_process, args=(port, found))
        other.start()
        await asyncio.sleep(3)
        await visitor.drag(8)
        print(f"beside it  {_said(visitor.times)}")
        print(f"taken      {found.get(timeout=60):.0f} messages a second")
        print(f"memory     {before:.0f} -> {megabytes(server.pid):.0f} MB")
        other.join()
    finally:
        server.kill()


if __name__ == "__main__":
    asyncio.run(main())
