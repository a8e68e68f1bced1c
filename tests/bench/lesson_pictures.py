"""Pictures of the list of lessons: ``python -m tests.bench.lesson_pictures``.

Each is the figure that a lesson begins with, taken in a browser from what Save as SVG
writes, without axes and legend; the test of their size is in `tests/test_lessons.py`.
"""

from __future__ import annotations

import io
import re

from PIL import Image, ImageOps
from playwright.sync_api import sync_playwright

from pages.state import lesson_files
from tests.bench.classroom import free_port, start_server

#: Pixels of a picture, twice those on the screen, and its colours.
SIZE, COLOURS = (192, 192), 32
VIEW = {"width": 420, "height": 700}
#: The plot is what its marks are clipped to.
PLOT = re.compile(r'<clipPath[^>]*><path d="M(\S+) (\S+?)L\S+ \S+?L(\S+) (\S+?)L')
READY = "canvas.marks[data-canonical='1'][data-coarse='0']"


def main() -> None:
    """Write a picture beside each lesson that ships."""
    port = free_port()
    server = start_server(port)
    try:
        with sync_playwright() as browsers:
            browser = browsers.chromium.launch(executable_path="/usr/bin/chromium")
            page, paper = (
                browser.new_page(viewport=VIEW),
                browser.new_page(viewport=VIEW),
            )
            for path in sorted(lesson_files.HOME.glob("*.json")):
                page.goto(f"http://127.0.0.1:{port}/?lesson={path.name}&step=1")
                page.locator(READY).first.wait_for(timeout=120_000)
                page.wait_for_timeout(3_000)  # a map of all features comes later
                with page.expect_download() as coming:
                    page.get_by_role("button", name="Save as SVG").click()
                figure = coming.value.path().read_text("utf-8")
                paper.set_content(f"<body style='margin:0'>{figure}")
                x, y, right, bottom = map(float, PLOT.search(figure).groups())
                clip = {"x": x, "y": y, "width": right - x, "height": bottom - y}
                image = Image.open(io.BytesIO(paper.screenshot(clip=clip)))
                image = ImageOps.fit(image.convert("RGB"), SIZE).quantize(COLOURS)
                image.save(path.with_suffix(".png"), optimize=True)
                print(path.stem, path.with_suffix(".png").stat().st_size, "bytes")
    finally:
        server.kill()


if __name__ == "__main__":
    main()
