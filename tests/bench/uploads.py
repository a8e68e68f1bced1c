"""What uploads leave behind.

    python -m tests.bench.uploads [visitors]         each brings 30 MB, half Delete
    python -m tests.bench.uploads --to ADDRESS       one brings 50 MB to that server

Each visitor brings 30 MB of CSV in a browser of their own and looks at it on Explore.
Printed is the memory of the server and of its processes: at the start, with that many
visitors, with all tables, and after Delete.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from tests.bench.classroom import free_port, megabytes, start_server
from tests.bench.live import FLAGS

N_BYTES = 30_000_000
SETTLED_SECONDS = 10.0


def _file(n_bytes: int = N_BYTES) -> Path:
    rng = np.random.default_rng(0)
    rows = [
        ",".join(f"{value:.4f}" for value in row) + f",{'ab'[number % 2]}\n"
        for number, row in enumerate(rng.normal(size=(2_000, 12)))
    ]
    text = "".join(rows)
    path = Path(tempfile.mkdtemp(), "large.csv")
    path.write_text((text * (1 + n_bytes // len(text)))[:n_bytes].rsplit("\n", 1)[0])
    return path


def processes(pid: int) -> dict[int, float]:
    """Memory of a server and of the processes that it started, in MB."""
    found = {pid: megabytes(pid)}
    for file in Path("/proc", str(pid), "task").glob("*/children"):
        for child in file.read_text().split():
            found |= processes(int(child))
    return found


def _settle(pid: int) -> None:
    """Wait until a server has compiled its kernels and started its processes."""
    before = -SETTLED_SECONDS
    while (now := processor_seconds(pid)) - before > 0.1 * SETTLED_SECONDS:
        before = now
        time.sleep(SETTLED_SECONDS)


def processor_seconds(pid: int) -> float:
    """Processor time of a process and of those that it started."""
    fields = [Path(f"/proc/{one}/stat").read_text().split() for one in processes(pid)]
    return sum(int(f[13]) + int(f[14]) for f in fields) / os.sysconf("SC_CLK_TCK")


def _say(what: str, pid: int) -> None:
    own, *others = processes(pid).values()
    together = ", ".join(f"{value:.0f}" for value in others)
    print(f"{what:<42} {own:6.0f} MB, its processes {together}", flush=True)


def _visit(browser: Browser, address: str) -> Page:
    """A new visitor's page, who has seen a data set of the app's own."""
    page = browser.new_context().new_page()
    page.goto(address)
    page.locator("canvas[data-paint-count]").first.wait_for(timeout=120_000)
    page.goto(f"{address}data")
    page.get_by_text("Upload data").wait_for(timeout=120_000)
    return page


def _bring(page: Page, path: Path) -> None:
    page.get_by_text("Upload data").click()
    picker = page.get_by_test_id("stFileUploader").filter(has_text="Your table")
    picker.locator("input[type=file]").set_input_files(path)
    page.get_by_text("large.csv").filter(has_text="Source").wait_for(timeout=120_000)
    page.get_by_role("link", name="Explore").first.click()
    page.locator("canvas[data-paint-count]").first.wait_for(timeout=120_000)
    page.get_by_role("link", name="Data").first.click()
    page.get_by_role("button", name="Delete").wait_for(timeout=120_000)


def main(n_visitors: int) -> None:
    """Print the table."""
    port = free_port()
    server = start_server(port)
    address, path = f"http://127.0.0.1:{port}/", _file()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=FLAGS
        )
        first = browser.new_page()
        first.goto(address)
        first.locator("canvas[data-paint-count]").first.wait_for(timeout=120_000)
        _settle(server.pid)
        _say("start", server.pid)
        pages = [_visit(browser, address) for _ in range(n_visitors)]
        _say(f"{n_visitors} visitors without a table", server.pid)
        for page in pages:
            _bring(page, path)
        _say(f"{n_visitors} tables of {path.stat().st_size / 1e6:.0f} MB", server.pid)
        for page in pages[::2]:
            page.get_by_role("button", name="Delete").click()
        time.sleep(40)
        _say(f"{len(pages[::2])} deleted", server.pid)
        for page in pages[1::2]:
            page.get_by_role("button", name="Delete").click()
        time.sleep(40)
        _say("all deleted", server.pid)
        browser.close()
    server.kill()


def one(address: str) -> None:
    """Bring 50 MB to a server that runs, and look at them on Explore."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=FLAGS
        )
        started = time.monotonic()
        _bring(_visit(browser, address), _file(50_000_000))
        print(
            f"50 MB read and fitted in {time.monotonic() - started:.1f} s", flush=True
        )
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("visitors", type=int, nargs="?", default=10)
    parser.add_argument("--to", metavar="ADDRESS")
    chosen = parser.parse_args()
    one(chosen.to) if chosen.to else main(chosen.visitors)
