"""A large file on the Data page, in a browser: opened as a sample, and fitted whole.

    python -m tests.bench.file_page [--rows N] [--visits N]

The file of `tests.bench.row_files` lies in the operator's folder. Printed are seconds
from asking for the page, as somebody who has seen another data set, to the sentence on
the sample; and from *Fit on all rows* to the accuracy on the rows left out, by the
method at its defaults that Explore begins with.
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


def main() -> None:
    """Write the file, start the app, and print what a visitor waits for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--visits", type=int, default=5)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        write(Path(folder), chosen.rows)
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=FLAGS
        )
        port = free_port()
        server, address = (
            start_server(port, SPE_DATA=folder),
            f"http://127.0.0.1:{port}/",
        )
        try:
            page = browser.new_page()
            page.goto(address)
            page.locator("canvas[data-paint-count]").first.wait_for(timeout=120_000)
            time.sleep(20)  # the background compilation is done
            for number in range(chosen.visits):
                seconds = opened(page, address)
                print(f"visit {number}: the sample after {seconds:.1f} s", flush=True)
                page.goto(f"{address}data")
                page.get_by_text("Upload data").wait_for(timeout=120_000)
                (Path(folder) / "rows.parquet").touch()  # a changed file is read anew
            opened(page, address)
            page.get_by_role("tab", name="All rows").click()
            page.get_by_text("Of all ").first.wait_for(timeout=LONGEST)
            began = time.perf_counter()
            page.get_by_role("button", name="Fit on all rows").click()
            page.get_by_text("Accuracy on rows left out").wait_for(timeout=LONGEST)
            minutes = (time.perf_counter() - began) / 60
            print(f"fit of all rows: {minutes:.1f} min")
            print(page.get_by_text("Learned from").inner_text())
        finally:
            server.kill()


if __name__ == "__main__":
    main()
