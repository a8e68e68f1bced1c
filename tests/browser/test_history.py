"""Back and Forward of the browser, in real Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect
from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.browser.test_app import settled, visit

fixtures = (visit,)


class Wire:
    """The connection between a page and the server, which a test can make slow."""

    def __init__(self) -> None:
        self.is_held = False
        self.waiting: list[bytes | str] = []
        self.sent: list[BackMsg] = []

    def connect(self, browser: WebSocketRoute) -> None:
        """Stand between the page and its server."""
        self.browser, self.server = browser, browser.connect_to_server()
        browser.on_message(self._to_server)
        self.server.on_message(self._to_browser)

    def release(self, page: Page) -> None:
        """Let through what has waited, each message by itself."""
        while self.waiting:
            self.browser.send(self.waiting.pop(0))
            page.wait_for_timeout(50)
        self.is_held = False

    def _to_server(self, message: bytes | str) -> None:
        self.sent.append(BackMsg.FromString(message))
        self.server.send(message)

    def _to_browser(self, message: bytes | str) -> None:
        if self.is_held:
            self.waiting.append(message)
        else:
            self.browser.send(message)


@pytest.fixture
def slow(chromium: Browser, address: str) -> Iterator[Callable[[str], tuple]]:
    """Open a page as a new visitor; what the server answers can be held back."""
    contexts = []

    def go(path: str = "") -> tuple[Page, Wire]:
        contexts.append(chromium.new_context())
        page, wire = contexts[-1].new_page(), Wire()
        page.route_web_socket(re.compile("_stcore/stream"), wire.connect)
        page.goto(address + path)
        return page, wire

    yield go
    for context in contexts:
        context.close()


def is_at(page, address):
    """Wait for the page's address: a beginning with a star, or the whole."""
    whole = re.escape(address.removesuffix("*"))
    end = "" if address.endswith("*") else "$"
    expect(page).to_have_url(re.compile(f"/{whole}{end}"))


def test_back_leaves_a_lesson_as_it_is(visit):
    page = visit("?data=moons&lam=0.01")
    figure = settled(page)
    expect(figure).to_have_attribute("data-last-value", "0.01")
    page.get_by_role("link", name="Lessons").click()
    page.get_by_role("button", name="Start", exact=True).nth(2).click()
    bar = page.locator(".st-key-lesson")
    expect(bar).to_contain_text("step 1 of 3")
    expect(figure).to_have_attribute("data-last-value", "0.02")
    for _ in range(2):
        page.go_back()
        page.wait_for_timeout(500)
    page.get_by_role("link", name="Explore").click()
    expect(bar).to_contain_text("step 1 of 3")
    expect(figure).to_have_attribute("data-last-value", "0.02")


def n_entries(page: Page) -> int:
    return page.evaluate("history.length")


def test_a_page_that_begins_slowly_is_one_entry_of_the_history(slow):
    page, wire = slow("?data=circles&lam=0.01")
    settled(page)
    before = n_entries(page)
    wire.is_held = True
    page.get_by_role("link", name="Trade-off").click()
    page.wait_for_timeout(2000)
    wire.release(page)
    is_at(page, "tradeoff?data=circles*")
    assert n_entries(page) == before + 1
    page.go_back()
    is_at(page, "?data=circles&lam=0.01")
    figure = page.locator("canvas.marks")
    expect(figure).to_have_attribute("data-last-value", "0.01")


def test_back_while_a_page_begins_arrives_where_it_leads(slow):
    page, wire = slow("?data=moons&lam=0.01")
    figure = settled(page)
    page.get_by_role("group", name="Data").get_by_label(
        "Data", exact=True
    ).select_option(label="Circles")
    is_at(page, "?data=circles*")
    settled(page)
    wire.is_held = True
    page.get_by_role("link", name="Trade-off").click()
    page.wait_for_timeout(1000)
    page.go_back()
    page.wait_for_timeout(1000)
    wire.release(page)
    page.wait_for_timeout(500)
    is_at(page, "?data=moons&lam=0.01")
    expect(figure).to_have_attribute("data-last-value", "0.01")
    picker = page.get_by_role("group", name="Data").get_by_label("Data", exact=True)
    expect(picker.locator("option:checked")).to_have_text("Moons")


def test_the_figure_says_nothing_until_the_page_gone_back_to_has_begun(slow):
    page, wire = slow("?data=moons&lam=0.01")
    figure = settled(page)
    page.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page).not_to_have_url(re.compile("lam=0.01$"))
    settled(page)
    wire.is_held = True
    page.go_back()
    page.wait_for_timeout(1500)
    wire.sent.clear()
    page.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(1000)
    assert [message for message in wire.sent if message.rerun_script.fragment_id] == []
    wire.release(page)
    expect(page).to_have_url(re.compile("data=moons&lam="))
    expect(figure).not_to_have_attribute("data-last-value", "0.01")
