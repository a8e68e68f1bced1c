"""The visitor's hand on the live figure: keyboard, mouse, touch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser import canvas_harness as harness
from tests.browser.canvas_page import (
    at,
    canvas,
    heard,
    slider,
    wait_heard,
)


def test_keyboard_only(visit: Callable[..., Page]) -> None:
    page = visit()
    canvas(page).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".cross")).not_to_have_attribute("hidden", "")
    expect(page.locator(".here")).to_contain_text("margin")
    page.keyboard.press("+")
    expect(canvas(page)).to_have_attribute("data-zoom", "1.5")
    page.keyboard.press("0")
    expect(canvas(page)).to_have_attribute("data-zoom", "1")
    page.keyboard.press("]")
    expect(page.locator(".here")).to_contain_text("Row 0")
    expect(page.locator(".unseen[aria-live]")).to_contain_text("Row 0")
    points = heard(page)["points"]
    page.get_by_role("button", name="Add (tool)").press("Enter")
    canvas(page).focus()
    page.keyboard.press("Enter")
    assert wait_heard(page, 1)["points"] == points + 1
    page.keyboard.press("Delete")
    assert wait_heard(page, 2)["points"] == points
    page.keyboard.press("Control+z")
    assert wait_heard(page, 3)["points"] == points + 1
    slider(page, "mu").focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(600)
    last = heard(page)["heard"][0]
    assert last["dragging"] is False and "mu" in last["values"]


def test_points_follow_the_mouse(visit: Callable[..., Page]) -> None:
    page = visit()
    points = heard(page)["points"]
    page.get_by_role("button", name="Add (tool)").click()
    page.mouse.click(*at(page, -2.5, 2.5))
    seen = wait_heard(page, 1)
    assert seen["points"] == points + 1
    assert seen["heard"][0]["x"] == pytest.approx(-2.5, abs=0.03)
    page.get_by_role("button", name="Move (tool)").click()
    page.mouse.move(*at(page, -2.5, 2.5))
    page.mouse.down()
    for i in range(1, 21):
        page.mouse.move(*at(page, -2.5 + 0.2 * i, 2.5))
        page.wait_for_timeout(40)
    moving = heard(page)
    assert moving["heard"][0]["dragging"] is True and moving["n"] > 5
    page.mouse.up()
    page.wait_for_timeout(400)
    last = heard(page)["heard"][0]
    assert last["dragging"] is False and last["x"] == pytest.approx(1.5, abs=0.03)
    assert last["row"] == seen["points"] - 1
    page.get_by_role("button", name="Erase (tool)").click()
    page.mouse.click(*at(page, 1.5, 2.5))
    assert wait_heard(page, heard(page)["n"] + 1)["points"] == points
    page.get_by_role("button", name="Undo").click()
    assert wait_heard(page, heard(page)["n"] + 1)["points"] == points + 1


def test_touch(visit: Callable[..., Page]) -> None:
    page = visit(viewport={"width": 375, "height": 800}, has_touch=True)
    points = heard(page)["points"]
    page.get_by_role("button", name="Add (tool)").tap()
    page.touchscreen.tap(*at(page, 2.5, -2.5))
    assert wait_heard(page, 1)["points"] == points + 1
    page.get_by_role("button", name="Move (tool)").tap()
    page.touchscreen.tap(*at(page, 2.5, -2.5))
    page.touchscreen.tap(*at(page, -2.5, -2.5))
    page.wait_for_timeout(400)
    last = heard(page)["heard"][0]
    assert (last["op"], last["dragging"]) == ("move", False)
    assert last["x"] == pytest.approx(-2.5, abs=0.05)


def test_hover_says_scores_and_points(visit: Callable[..., Page]) -> None:
    page = visit("scene=table")
    page.mouse.move(*at(page, 3.1, -3.1))
    expect(page.locator(".here")).to_contain_text("runner-up")
    expect(page.locator(".here")).to_contain_text("Scores:")
    x, y = (float(harness.start("table")["points"][axis][0]) for axis in "xy")
    page.mouse.move(*at(page, x, y))
    expect(page.locator(".here")).to_contain_text("predicted")
