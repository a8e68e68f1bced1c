"""A large file on the Data page, in a browser: opened as a sample, and fitted whole.

    python -m tests.bench.file_page [--rows N] [--visits N] [--fit]

The file of `tests.bench.row_files` lies in the operator's folder. Printed are seconds
from asking for the page, as somebody who has seen another data set, to the sentence on
the sample, each time of a changed file that is read anew and counted in the background;
and from *Fit on all rows* to the accuracy on the rows left out, by the method at its
defaults that Explore begins with.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.bench.classroom import free_port, start_server
from tests.bench.live import FLAGS
from tests.bench.row_files import write

#: Milliseconds that a fit of all rows may take.
LONGEST = 3_600_000


def opened(page: Page, address: str) -> float:
    """Seconds from asking for the page to the sentence on the sample."""
    began = time.perf_counter()
    page.goto(f"{address}data?data=file:rows.parquet")
    page.get_by_text("A sample: ").first.wait_for(timeout=120_000)
    return time.perf_counter() - began


def fitted(page: Page) -> None:
    """Fit all rows, and print what the page says of it."""
    began = time.perf_counter()
    page.get_by_role("button", name="Fit on all rows").click()
    page.get_by_text("Accuracy on rows left out").wait_for(timeout=LONGEST)
    print(f"  fit of all rows: {(time.perf_counter() - began) / 60:.1f} min")
    print("  " + page.get_by_text("Learned from").inner_text(), flush=True)


def main() -> None:
    """Write the file, start the app, and print what a visitor waits for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--visits", type=int, default=3)
    parser.add_argument("--fit", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        write(Path(folder), chosen.rows)
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=FLAGS
        )
        port = free_port()
        server = start_server(port, SPE_DATA=folder)
        address = f"http://127.0.0.1:{port}/"
        try:
            page = browser.new_page()
            page.goto(address)
            page.locator("canvas[data-paint-count]").first.wait_for(timeout=120_000)
            time.sleep(20)  # the background compilation is done
            for number in range(chosen.visits):
                seconds = opened(page, address)
                print(f"visit {number}: the sample after {seconds:.1f} s", flush=True)
                began = time.perf_counter()
                page.get_by_role("tab", name="All rows").click()
                page.get_by_text("Of all ").first.wait_for(timeout=LONGEST)
                seconds = time.perf_counter() - began
                print(f"  all rows counted {seconds:.1f} s later", flush=True)
                if chosen.fit:
                    fitted(page)
                page.goto(f"{address}data")
                page.get_by_text("Upload data").wait_for(timeout=120_000)
                (Path(folder) / "rows.parquet").touch()
        finally:
            server.kill()


if __name__ == "__main__":
    main()
