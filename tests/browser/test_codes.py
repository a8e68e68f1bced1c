"""The code of a row on Explore's figure, by pointer and by keyboard."""

import re

from playwright.sync_api import expect

from tests.browser.test_app import visit

fixtures = (visit,)


def test_a_row_pointed_at_shows_its_code_as_lines_words_and_a_table(visit):
    page = visit("?method=imkpl&data=moons")
    figure, code = page.locator("canvas.marks"), page.locator("canvas.code")
    expect(figure).to_have_attribute("data-canonical", "1", timeout=60_000)
    expect(code).to_be_hidden()
    figure.focus()
    page.keyboard.press("]")
    expect(code).to_be_visible()
    lines = int(code.get_attribute("data-lines"))
    assert lines > 0
    here = page.locator(".here")
    expect(here).to_contain_text(re.compile(r"reconstructed from row \d+ \("))
    page.locator(".twin summary").click()
    table = page.locator(".tables table").filter(has_text="Code of row")
    expect(table.locator("tbody tr")).to_have_count(lines)
    caption = table.locator("caption").inner_text()
    figure.focus()
    page.keyboard.press("]")
    expect(table.locator("caption")).not_to_have_text(caption)
    page.get_by_role("button", name="Add (tool)").click()
    expect(code).to_be_hidden()
    page.get_by_role("button", name="Look (tool)").click()
    figure.focus()
    page.keyboard.press("]")
    expect(code).to_be_visible()
