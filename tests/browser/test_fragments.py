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
