"""A first start on a fresh machine: ``python -m tests.bench.first_start [RUNS]``.

A server with an empty cache of machine code, and a browser that opens its page as soon
as it answers: seconds until the first fit is painted. Breast cancer is chosen then:
seconds until its fit is painted and all points of its path are there. The goal, 20 s
each, is for two quiet cores; the load average stands beside.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time

from playwright.sync_api import Browser, Page, sync_playwright

from tests.bench.classroom import free_port, start_server
from tests.bench.live import FLAGS

RUNS, PATIENCE = 3, 600_000
FITTED = "({dataset}) => dataset.canonical === '1'"
COMPLETE = "({dataset}) => dataset.canonical === '1' && dataset.knots === '51'"


def _until(page: Page, holds: str) -> None:
    canvas = page.locator("canvas[data-paint-count]").first.element_handle()
    page.wait_for_function(holds, arg=canvas, polling=20)


def first_start(browser: Browser, folder: str) -> tuple[float, float]:
    """Seconds to the first picture, and from a choice to all that belongs to it."""
    port = free_port()
    server = start_server(port, NUMBA_CACHE_DIR=folder)
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(PATIENCE)
    try:
        opened = time.perf_counter()
        page.goto(f"http://127.0.0.1:{port}/")
        _until(page, FITTED)
        chosen = time.perf_counter()
        data = page.locator("[data-name=data] select")
        data.select_option(label="Breast cancer")
        page.locator(".legend").filter(has_text="malignant").wait_for()
        _until(page, COMPLETE)
        return chosen - opened, time.perf_counter() - chosen
    finally:
        page.close()
        server.kill()
        server.wait()


def main() -> None:
    """Print a line for each start, and the medians."""
    runs = int(sys.argv[1]) if sys.argv[1:] else RUNS
    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=FLAGS
        )
        for _ in range(runs):
            before = os.getloadavg()[0]
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                found.append(first_start(browser, folder))
            load = f"load {before:.1f} to {os.getloadavg()[0]:.1f}"
            print(_line(*found[-1]), load, flush=True)
    print(_line(*map(statistics.median, zip(*found, strict=True))), "median")


def _line(first: float, chosen: float) -> str:
    return f"first picture {first:6.1f} s   Breast cancer {chosen:6.1f} s  "


if __name__ == "__main__":
    main()
