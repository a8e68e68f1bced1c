"""The trade-off page in real Chromium: points come in, a click opens a model."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_app import rested, visit  # noqa: F401

POINTS = ".scatterlayer .trace .points path"


@pytest.fixture
def page(visit):  # noqa: F811
    page = visit("tradeoff?data=breast_cancer&method=smallk")
    expect(page.locator(POINTS).first).to_be_visible(timeout=60_000)
    expect(page.get_by_role("button", name="Refine")).to_be_visible(timeout=60_000)
    return page


@pytest.fixture
def swept(page):
    """On a busy machine a first sweep may end before the method has a point."""
    use = page.get_by_role("button", name="Use this model")
    rested(page)
    if not use.is_visible():
        page.get_by_role("button", name="Refine").click()
        expect(use).to_be_visible(timeout=60_000)
        refined = page.get_by_role("button", name="Refine")
        expect(refined).to_be_visible(timeout=120_000)
    return page


def test_a_click_on_a_point_opens_that_model_on_explore(swept):
    page = swept
    rested(page)
    # Filled circles: the method's points on the front, dense to sparse.
    point = page.locator(POINTS).nth(1)
    box = point.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    told = page.get_by_text(re.compile("Used on every page: .* k features = "))
    expect(told).to_be_visible(timeout=10_000)
    k = re.search(r"k features = (\d+)", told.inner_text())[1]
    page.get_by_role("link", name="Open in Explore").click()
    slider = page.get_by_role("slider", name="k features").first
    expect(slider).to_be_visible(timeout=30_000)
    assert f"k={k}" in page.url or k == "3"


def test_the_keyboard_does_the_same(swept):
    page = swept
    page.get_by_role("combobox", name="Select a point").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Use this model").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Used on every page:").first).to_be_visible(timeout=10_000)


def test_refining_ends_with_more_points(page):
    before = page.locator(POINTS).count()
    page.get_by_role("button", name="Refine").click()
    expect(page.get_by_text("220 of 220 fits")).to_be_visible(timeout=90_000)
    expect(page.get_by_role("button", name="Refine")).to_be_visible(timeout=10_000)
    # The chart follows the words by a moment.
    expect(page.locator(POINTS).nth(before + 15)).to_be_attached(timeout=10_000)
