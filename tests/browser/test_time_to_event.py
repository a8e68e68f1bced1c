"""A walk in Chromium: a table with follow-up times, from its upload to Explore."""

import json
import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from tests.smpcore.datasets.test_time_to_event import followed

QUESTION = "Time to event: ask whether an event comes within a time"


def asked(page):
    """The question in the address bar."""
    query = parse_qs(urlsplit(page.url).query)
    return json.loads(query["within"][0]) if "within" in query else None


def narrow(page):
    """Whether nothing runs out of the window at the side."""
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_from_a_table_to_an_event_within_a_time(opened, address, tmp_path):
    table, errors = tmp_path / "followed.csv", []
    followed().frame.to_csv(table, index=False)
    listen = {"pageerror": lambda error: errors.append(str(error))}
    page = opened(address + "data", listen, viewport={"width": 1280, "height": 900})
    page.get_by_text("Upload data").click()
    page.locator("input[type=file]").first.set_input_files(str(table))
    expect(page.get_by_text(QUESTION)).to_be_visible(timeout=60_000)
    page.locator("label", has_text=QUESTION).click()
    expect(page.get_by_text(re.compile("Question: death within"))).to_be_visible()
    page.wait_for_url(re.compile("within="))
    assert asked(page)[:3] == ["months", "death", "1"]
    slider = page.get_by_role("slider", name="Within how many months")
    before = asked(page)[3]
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(
        page.get_by_text(f"Question: death within {before + 1:g} months")
    ).to_be_visible()
    page.get_by_role("link", name="Explore").click()
    on_explore = page.get_by_role("slider", name=re.compile("death within"))
    expect(on_explore).to_be_visible(timeout=60_000)
    expect(
        page.get_by_text(re.compile("shares weighted for censoring")).first
    ).to_be_visible()
    on_explore.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "before => !decodeURIComponent(location.search).includes(` ${before}]`)",
        arg=f"{before + 1:.1f}",
    )
    assert asked(page)[:3] == ["months", "death", "1"] and asked(page)[3] > before
    page.set_viewport_size({"width": 375, "height": 800})
    page.emulate_media(color_scheme="dark")
    expect(on_explore).to_be_visible()
    assert narrow(page)
    page.goto(page.url.replace("/?", "/data?"))
    expect(page.get_by_text(QUESTION)).to_be_visible(timeout=60_000)
    assert narrow(page) and errors == []
