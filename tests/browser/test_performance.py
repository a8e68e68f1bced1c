"""Performance in real Chromium: a drag moves the matrix, a cell opens a case."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.test_app import rested, visit

fixtures = (visit,)


def _table(page, place):
    """Text of a table, which its canvas keeps for screen readers."""
    grid = page.get_by_test_id("stDataFrame").nth(place)
    return grid.locator("table").inner_text()


def _changed(page, place, before):
    page.wait_for_function(
        "([n, before]) => document.querySelectorAll('[data-testid=stDataFrame]')[n]"
        "?.querySelector('table')?.innerText !== before",
        arg=[place, before],
        timeout=20_000,
    )


def _opened(visit, query, **options):
    page = visit(f"performance?{query}", **options)
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible(timeout=60_000)
    rested(page)
    return page


def test_the_matrix_moves_while_the_threshold_is_held_and_a_cell_opens_a_case(visit):
    page = _opened(visit, "data=breast_cancer")
    slider = page.get_by_role("slider", name="Threshold on the margin")
    box = slider.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], y)
    page.mouse.down()
    for share in (0.5, 0.6):
        before = _table(page, 1)
        page.mouse.move(box["x"] + share * box["width"], y, steps=4)
        _changed(page, 1, before)  # the pointer is still down
    page.mouse.up()
    rested(page)
    # The upper right cell: malignant rows below the threshold.
    grid = page.get_by_test_id("stDataFrame").first.bounding_box()
    page.mouse.click(grid["x"] + 0.8 * grid["width"], grid["y"] + 38 + 22)
    rested(page)
    chosen = page.get_by_test_id("stSelectbox").filter(has_text="Rows of the cell")
    expect(chosen.get_by_role("combobox")).to_have_value(
        "true malignant, predicted benign"
    )
    case = page.get_by_test_id("stSelectbox").filter(has_text=re.compile("^Row"))
    number = case.last.get_by_role("combobox").input_value()
    page.get_by_role("button", name="Open in Why this prediction").click()
    expect(page.get_by_text("True value: malignant")).to_be_visible(timeout=30_000)
    assert int(number) > 0 and "/prototypes" in page.url
    expect(page.get_by_text("Prediction: ")).to_be_visible()


def test_the_keyboard_moves_the_threshold_and_another_section_has_it(visit):
    page = _opened(visit, "data=breast_cancer")
    slider = page.get_by_role("slider", name="Threshold on the margin")
    before = slider.input_value()
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    rested(page)
    moved = slider.input_value()
    assert float(moved) > float(before)
    page.get_by_role("radio", name="Threshold").click()
    expect(page.get_by_text(f"Threshold {float(moved):.4g}, band")).to_be_visible()
