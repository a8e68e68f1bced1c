"""What a test does with the live figure's harness page."""

from __future__ import annotations

import json
import time

from playwright.sync_api import Locator, Page


def canvas(page: Page) -> Locator:
    return page.locator("canvas.marks")


def state(page: Page) -> dict[str, str]:
    return canvas(page).evaluate("node => ({ ...node.dataset })")


def slider(page: Page, name: str) -> Locator:
    return page.locator(f"[data-name='{name}'] input[type=range]")


def heard(page: Page) -> dict:
    """What the server heard last, of all but requests for knots."""
    return json.loads(page.locator("code").inner_text())


def wait_heard(page: Page, n: int) -> dict:
    deadline = time.monotonic() + 10
    while heard(page)["n"] < n and time.monotonic() < deadline:
        page.wait_for_timeout(20)
    assert heard(page)["n"] >= n
    page.wait_for_timeout(60)
    return heard(page)


def at(page: Page, x: float, y: float) -> tuple[float, float]:
    """Position on the screen of a place in data units, unzoomed."""
    box = page.locator("canvas.raster").bounding_box()
    share_x, share_y = (x + 3.2) / 6.4, (3.2 - y) / 6.4
    return box["x"] + share_x * box["width"], box["y"] + share_y * box["height"]


def sweep(page: Page, control: Locator, moves: int, seconds: float = 0.0) -> None:
    """Drag a slider's thumb over its track and let go at 90 %."""
    box = control.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.1 * box["width"], middle)
    page.mouse.down()
    for i in range(moves + 1):
        page.mouse.move(box["x"] + (0.1 + 0.8 * i / moves) * box["width"], middle)
        page.wait_for_timeout(1000 * seconds / moves)
    page.mouse.up()
