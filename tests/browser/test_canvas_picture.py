"""What the live figure paints, and that it does not jump."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser import canvas_harness as harness
from tests.browser.canvas_page import (
    canvas,
    slider,
    state,
    wait_heard,
)


def test_hostile_names_are_text(visit: Callable[..., Page]) -> None:
    page = visit("scene=table")
    page.locator(".twin summary").click()
    expect(page.locator(".tables")).to_contain_text(harness.HOSTILE[0])
    assert page.evaluate("window.hacked") is None
    assert page.locator(".spe img, .spe script, .spe b:has(*)").count() == 0
    assert page.locator(".grid").evaluate("n => n.scrollWidth <= n.clientWidth + 1")


def test_theme_change_repaints_and_keeps_all(visit: Callable[..., Page]) -> None:
    page = visit(color_scheme="light")
    canvas(page).focus()
    page.keyboard.press("+")
    corner = "n => n.getContext('2d').getImageData(5, 5, 1, 1).data[0]"
    raster = page.locator("canvas.raster")
    light = raster.evaluate(corner)
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(800)
    assert raster.evaluate(corner) < light - 60
    assert state(page)["zoom"] == "1.5" and state(page)["knots"] == str(
        len(harness.PATH)
    )


@pytest.mark.parametrize("width", [375, 720, 1280])
def test_nothing_jumps_and_nothing_overflows(
    visit: Callable[..., Page], width: int
) -> None:
    page = visit(viewport={"width": width, "height": 800})
    boxes = """node => [...node.querySelectorAll(`section, canvas.marks, canvas.strip,
        .numbers, .here, .row, .legend`)].map((n) => {
          const { left, top, width, height } = n.getBoundingClientRect();
          return [left, top, width, height].map(Math.round).join();
        })"""
    root = page.locator(".grid")
    before = root.evaluate(boxes)
    slider(page, "mu").evaluate(
        """node => { node.value = 20;
        node.dispatchEvent(new Event("input", { bubbles: true, composed: true })); }"""
    )
    wait_heard(page, 1)
    assert root.evaluate(boxes) == before
    wait_heard(page, 2)
    assert root.evaluate(boxes) == before
    assert root.evaluate("n => n.scrollWidth <= n.clientWidth + 1")
    tops = {
        name: page.locator(css).bounding_box()["y"]
        for name, css in [
            ("figure", ".figure"),
            ("scrub", ".scrub"),
            ("row", ".controls"),
        ]
    }
    if width == 375:
        assert tops["figure"] < tops["scrub"] < tops["row"]


@pytest.mark.parametrize("kind", ["toy", "table", "digits"])
def test_regions_are_exact_between_the_nodes(
    visit: Callable[..., Page], kind: str
) -> None:
    page = visit(f"scene={kind}")
    page.get_by_label("Margin bands").uncheck()
    page.wait_for_timeout(200)
    width, height, data = page.locator("canvas.raster").evaluate(
        """n => [n.width, n.height,
        [...new Uint32Array(n.getContext("2d").getImageData(0, 0, n.width, n.height)
        .data.buffer)]]"""
    )
    colours = np.array(data, dtype=np.uint32).reshape(height, width)
    made = harness.start(kind)
    _, coef = harness.model(made, made["values"]["lam"])
    x = -3.2 + 6.4 * (np.arange(width) + 0.5) / width
    y = 3.2 - 6.4 * (np.arange(height) + 0.5) / height
    each = np.stack(np.meshgrid(x, y), -1) @ coef[:, :2].T + coef[:, 2]
    classes = range(harness.SIZES[kind][0])
    scores = np.stack([each[..., made["owner"] == k].max(-1) for k in classes], -1)
    exact = scores.argmax(-1)
    painted = {colour: exact[colours == colour] for colour in np.unique(colours)}
    wrong = sum((k != np.bincount(k).argmax()).sum() for k in painted.values())
    assert wrong / exact.size < 0.002
