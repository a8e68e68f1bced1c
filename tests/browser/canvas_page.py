"""What a test does with the live figure's harness page."""

from __future__ import annotations

import json
from collections.abc import Callable

from playwright.sync_api import Locator, Page

from tests import attempts

#: All pixels of a canvas.
PIXELS = "n => n.getContext('2d').getImageData(0, 0, n.width, n.height).data.join()"


def fits(page: Page) -> bool:
    """Whether the figure is no wider than its place."""
    wide = "n => n.scrollWidth <= n.clientWidth + 1"
    return page.locator(".grid").evaluate(wide)


def canvas(page: Page) -> Locator:
    return page.locator("canvas.marks")


def state(page: Page) -> dict[str, str]:
    return canvas(page).evaluate("node => ({ ...node.dataset })")


def slider(page: Page, name: str) -> Locator:
    return page.locator(f"[data-name='{name}'] input[type=range]")


def heard(page: Page) -> dict:
    """What the server heard last, of all but requests for knots."""
    return json.loads(page.locator("code").inner_text())


def wait_until(page: Page, happened: Callable[[], object]) -> None:
    """Wait for what the page does in its own time, on a busy machine too."""
    for _ in attempts():
        if happened():
            return
        page.wait_for_timeout(20)
    raise AssertionError("what was waited for did not happen")


def wait_heard(page: Page, n: int) -> dict:
    wait_until(page, lambda: heard(page)["n"] >= n)
    page.wait_for_timeout(60)
    return heard(page)


def let_go(page: Page) -> dict:
    """The message of a slider or a point that was let go, once the server heard it."""
    wait_until(page, lambda: heard(page)["heard"][0].get("dragging") is False)
    return heard(page)["heard"][0]


def wait_quiet(page: Page, sent: list) -> None:
    """Wait until nothing has been sent for a second."""

    def is_quiet() -> bool:
        before = len(sent)
        page.wait_for_timeout(1000)
        return len(sent) == before

    wait_until(page, is_quiet)


def at(page: Page, x: float, y: float) -> tuple[float, float]:
    """Position on the screen of a place in data units, unzoomed."""
    box = page.locator("canvas.raster").bounding_box()
    share_x, share_y = (x + 3.2) / 6.4, (3.2 - y) / 6.4
    return box["x"] + share_x * box["width"], box["y"] + share_y * box["height"]


def hold(page: Page, control: Locator, start: float) -> Callable[..., None]:
    """Press a slider at a share of its track; what moves it until it is let go."""
    box = control.bounding_box()

    def move(share: float, steps: int = 1) -> None:
        x, y = box["x"] + share * box["width"], box["y"] + box["height"] / 2
        page.mouse.move(x, y, steps=steps)

    move(start)
    page.mouse.down()
    return move


def sweep(page: Page, control: Locator, moves: int) -> None:
    """Drag a slider over its track, waiting for each picture; let go at 90 %."""
    move = hold(page, control, 0.1)
    for i in range(1, moves + 1):  # the first place was reached by pressing there
        before = state(page)["paintCount"]
        move(0.1 + 0.8 * i / moves)
        wait_until(page, lambda old=before: state(page)["paintCount"] != old)
    page.mouse.up()
