"""A part of a page is used while the page is still being drawn."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser import slow_page
from tests.browser.conftest import served


@pytest.fixture(scope="module")
def slow_address():
    with served(slow_page.__file__) as address:
        yield address


def test_what_is_typed_while_the_page_comes_breaks_nothing(opened, slow_address):
    errors = []
    listen = {"pageerror": lambda error: errors.append(str(error))}
    page = opened(slow_address, listen, viewport={"width": 1280, "height": 900})
    row = page.get_by_role("spinbutton", name="Row")
    row.fill("7")
    row.press("Enter")
    expect(page.get_by_role("button", name="Inner part of row 7")).to_be_visible()
    assert errors == []


def test_what_was_opened_stays_open_when_a_line_above_it_comes(opened, address):
    window = {"viewport": {"width": 1280, "height": 900}}
    page = opened(f"{address}export?data=breast_cancer&method=smp", {}, **window)
    fold = page.locator("details", has_text="Compared with other libraries")
    line = page.get_by_text("With the conversion from floats, which a program links")
    page.get_by_role("radio", name="float32").click()
    expect(line).to_have_count(0)
    fold.locator("summary").click()
    page.get_by_role("radio", name="int16").click()
    expect(line).to_be_visible()
    expect(fold).to_have_attribute("open", "")
    expect(page.get_by_role("button", name="Show as a table")).to_be_visible()
