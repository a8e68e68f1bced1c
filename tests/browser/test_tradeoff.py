"""The trade-off page in real Chromium: points come in, a click opens a model."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.test_app import rested, visit

fixtures = (visit,)

POINTS = ".scatterlayer .trace .points path"


def test_a_click_on_a_point_opens_that_model_on_explore(visit):
    page = visit("tradeoff?data=breast_cancer&method=smallk")
    use = page.get_by_role("button", name="Use this model")
    refine = page.get_by_role("button", name="Refine")
    expect(page.locator(POINTS).first).to_be_visible(timeout=60_000)
    expect(refine).to_be_visible(timeout=60_000)
    rested(page)
    if not use.is_visible():  # on a busy machine a first sweep may have no point of it
        refine.click()
        expect(use).to_be_visible(timeout=60_000)
        expect(refine).to_be_visible(timeout=120_000)
    rested(page)
    # Filled circles: the method's points on the front, dense to sparse.
    point = page.locator(POINTS).nth(1)
    box = point.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    told = page.get_by_text(
        re.compile("Used on every page: .* Features per prototype \\(k\\) = ")
    )
    expect(told).to_be_visible(timeout=10_000)
    k = re.search(r"Features per prototype \(k\) = (\d+)", told.inner_text())[1]
    page.get_by_role("link", name="Open in Explore").click()
    slider = page.get_by_role("slider", name="Features per prototype (k)").first
    expect(slider).to_be_visible(timeout=30_000)
    assert f"k={k}" in page.url or k == "3"
