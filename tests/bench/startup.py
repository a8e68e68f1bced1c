"""How long a visitor waits for the first picture, and what compilation costs.

    python -m tests.bench.startup

Seconds from starting the server, or opening the page, to a painted picture in a real
browser: with no machine code yet, after a restart, and for a second visitor.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

from playwright.sync_api import Browser, sync_playwright

from tests.bench.classroom import ROOT, free_port, start_server
from tests.bench.live import FLAGS

COMPILE = """
import time
from smpcore import METHODS
for method in METHODS.values():
    for every in (False, True):
        start = time.perf_counter()
        method.warm_up(every_option=every)
        name = "every option" if every else "defaults"
        print(f"  {method.key:<12} {name:<14} {time.perf_counter() - start:6.2f} s")
"""


def first_picture(browser: Browser, port: int) -> float:
    """Seconds from opening the page as a new visitor to a painted picture."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    start = time.perf_counter()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{port}/")
    page.locator("canvas[data-paint-count]").first.wait_for(timeout=120_000)
    seconds = time.perf_counter() - start
    context.close()
    return seconds


def compiled(folder: str) -> None:
    """Print what loading or compiling every kernel takes in a fresh process."""
    program = [sys.executable, "-c", COMPILE]
    environment = {"NUMBA_CACHE_DIR": folder, "PATH": "/usr/bin:/bin"}
    subprocess.run(program, cwd=ROOT, env=environment, check=True)


def main() -> None:
    """Print the table."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=FLAGS
        )
        browser.new_page().close()  # the browser itself is warm
        for name in ("after installation (cold kernels)", "after a restart"):
            port = free_port()
            start = time.perf_counter()
            server = start_server(port, NUMBA_CACHE_DIR=folder)
            began = time.perf_counter()
            first = first_picture(browser, port)
            total = time.perf_counter() - start
            print(
                f"{name}: first picture {first:.1f} s after opening the page, ", end=""
            )
            print(f"{total:.1f} s after starting the server ({began - start:.1f} s)")
            print(f"  second visitor {first_picture(browser, port):.1f} s")
            time.sleep(15)  # the other kernels, in the background
            server.kill()
    with tempfile.TemporaryDirectory() as folder:
        print("kernels compiled in a fresh process, no cache:")
        compiled(folder)
        print("the same, from the cache:")
        compiled(folder)


if __name__ == "__main__":
    main()
