"""The visitor's hand on the live figure: keyboard, mouse, touch."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser import canvas_harness as harness
from tests.browser.canvas_page import (
    at,
    canvas,
    heard,
    let_go,
    slider,
    state,
    wait_heard,
    wait_until,
)


def test_touch(visit):
    page = visit(viewport={"width": 375, "height": 800}, has_touch=True)
    points = heard(page)["points"]
    page.get_by_role("button", name="Add (tool)").tap()
    page.touchscreen.tap(*at(page, 2.5, -2.5))
    assert wait_heard(page, 1)["points"] == points + 1
    page.get_by_role("button", name="Move (tool)").tap()
    page.touchscreen.tap(*at(page, 2.5, -2.5))
    page.touchscreen.tap(*at(page, -2.5, -2.5))
    wait_until(page, lambda: heard(page)["heard"][0]["op"] == "move")
    last = let_go(page)
    assert last["x"] == pytest.approx(-2.5, abs=0.05)


def test_hover_says_scores_and_points(visit):
    page = visit("scene=table")
    page.mouse.move(*at(page, 3.1, -3.1))
    expect(page.locator(".here")).to_contain_text("runner-up")
    expect(page.locator(".here")).to_contain_text("Scores:")
    x, y = (float(harness.start("table")["points"][axis][0]) for axis in "xy")
    page.mouse.move(*at(page, x, y))
    expect(page.locator(".here")).to_contain_text("predicted")


def sweep_over(page, left: float, right: float, steps: int = 12) -> None:
    """Press at x = left and sweep to x = right, at y = 0; the button stays down."""
    page.mouse.move(*at(page, left, 0))
    page.mouse.down()
    for i in range(1, steps + 1):
        page.mouse.move(*at(page, left + (right - left) * i / steps, 0))


def passed(left: float, right: float, reach: float) -> int:
    """Points of the toy within reach of the sweep."""
    points = harness.start("toy")["points"]
    near = np.clip(points["x"], left, right)
    far = np.hypot(points["x"] - near, points["y"])
    return int((far < reach).sum())


def test_a_sweep_erases_what_it_passes_in_one_step(visit):
    page = visit()
    points = heard(page)["points"]
    page.get_by_role("button", name="Erase (tool)").click()
    sweep_over(page, -1.5, 1.5)
    follows = wait_heard(page, 2)
    assert follows["heard"][0]["dragging"] is True
    assert follows["points"] < points, "the fit follows while the sweep lasts"
    page.mouse.up()
    expect(page.locator(".badge")).to_be_hidden()
    expect(page.locator("code")).to_contain_text('"dragging": false')
    last = heard(page)
    assert last["heard"][0]["op"] == "erase"
    width = page.locator("canvas.raster").bounding_box()["width"]
    pixel = 6.4 / width
    least, most = passed(-1.5, 1.5, 6 * pixel), passed(-1.5, 1.5, 14 * pixel)
    assert 3 < least <= points - last["points"] <= most
    page.get_by_role("button", name="Undo").click()
    assert wait_heard(page, last["n"] + 1)["points"] == points


def test_swept_points_vanish_before_the_server_answers(visit):
    page = visit("delay=1500")
    left = "n => n.getContext('2d').getImageData(0, 0, n.width, n.height).data.join()"
    page.get_by_role("button", name="Erase (tool)").click()
    page.mouse.move(*at(page, -1.5, 0))
    page.wait_for_timeout(100)
    before = canvas(page).evaluate(left)
    seq = state(page)["seq"]
    sweep_over(page, -1.5, 0.5, steps=4)
    wait_until(page, lambda: canvas(page).evaluate(left) != before)
    assert state(page)["seq"] == seq
    page.mouse.up()


def test_the_strip_is_a_slider_for_the_keyboard(visit):
    page = visit()
    strip = page.get_by_role("slider", name="Path of Fusion λ")
    before = int(strip.get_attribute("aria-valuenow"))
    strip.focus()
    page.keyboard.press("ArrowRight")
    expect(strip).to_have_attribute("aria-valuenow", str(before + 1))
    outline = "n => getComputedStyle(n).outlineStyle"
    assert strip.evaluate(outline) == "solid"
    assert "non-zeros" in strip.get_attribute("aria-valuetext")
    sent = wait_heard(page, 1)["heard"][0]
    assert sent["values"]["lam"] == pytest.approx(harness.PATH[before + 1])
    page.keyboard.press("End")
    expect(strip).to_have_attribute("aria-valuenow", str(len(harness.PATH) - 1))
    page.keyboard.press("Home")
    expect(strip).to_have_attribute("aria-valuenow", "0")
    expect(slider(page, "lam")).to_have_value("0")


def test_everything_in_the_figure_shows_where_the_focus_is(visit):
    page = visit("scene=many")
    page.locator("summary").first.focus()
    page.locator(".spe").evaluate("n => (n.getRootNode().host ?? n).scrollIntoView()")
    seen = set()
    for _ in range(70):
        page.keyboard.press("Tab")
        found = page.evaluate(
            """() => {
              let node = document.activeElement;
              while (node?.shadowRoot?.activeElement)
                node = node.shadowRoot.activeElement;
              if (!node?.closest(".spe")) return null;
              const drawn = node.type === "radio" ? node.nextElementSibling : node;
              const { outlineStyle, outlineWidth } = getComputedStyle(drawn);
              return [node.className || node.tagName, outlineStyle, outlineWidth];
            }"""
        )
        if found is None:
            continue
        seen.add(found[0])
        assert found[1:] == ["solid", "2px"], found
    assert {"marks", "strip", "value", "SUMMARY"} <= seen
