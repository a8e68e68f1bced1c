"""Performance in real Chromium: the matrix moves, a cell opens, doubts are said."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.test_app import rested, visit

fixtures = (visit,)


def test_the_matrix_moves_while_the_threshold_is_held_and_a_cell_opens_a_case(visit):
    page = visit("performance?data=breast_cancer")
    tables = page.get_by_test_id("stDataFrame")
    expect(tables.first).to_be_visible(timeout=60_000)
    rested(page)
    slider = page.get_by_role("slider", name="Threshold on the margin")
    box = slider.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], y)
    page.mouse.down()
    for share in (0.5, 0.6):
        # Its canvas keeps a table's text for screen readers.
        before = tables.nth(1).locator("table").inner_text()
        page.mouse.move(box["x"] + share * box["width"], y, steps=4)
        text = tables.nth(1).locator("table")
        expect(text).not_to_have_text(before, use_inner_text=True)
    page.mouse.up()
    rested(page)
    # The upper right cell: malignant rows below the threshold.
    grid = tables.first.bounding_box()
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


def test_a_doubt_is_said_where_the_figure_is_pointed_at_and_by_why(visit):
    """The same sentence of the same row, of which another class is more probable."""
    link = "data=breast_cancer&threshold=1.5&p."
    page = visit(f"performance?{link}performance_section=Probabilities")
    page.get_by_role("button", name="Calibrate probabilities").click()
    expect(page.get_by_text("Brier score: mean")).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Explore").first.click()
    figure = page.locator("canvas.marks")
    expect(figure).to_be_visible(timeout=60_000)
    rested(page)
    here, doubt = page.locator(".here"), "is more probable, but the prediction follows"
    figure.focus()
    for _ in range(200):
        page.keyboard.press("]")
        text = here.inner_text()
        if doubt in text and ", training" in text:
            break
    number, sentence = re.search(r"Row (\d+), .*\n(.*?) · ", text).groups()
    why = f"prototypes?{link}prototypes_section=Why this prediction"
    page.goto(page.url.partition("?")[0] + why)
    row = page.get_by_role("spinbutton", name="Row")
    row.fill(number)
    row.press("Enter")
    expect(page.get_by_text(sentence)).to_be_visible(timeout=30_000)
