"""With a folder for their work visitors go on after the server was killed."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, expect

from tests import attempts
from tests.bench.classroom import free_port, start_server
from tests.browser.test_app import drag, settled
from tests.browser.test_two_servers import picture

WIDE = {"width": 1280, "height": 1000}
ROWS = "".join(f"{i % 7}.25,{i % 5}.125,{'xy'[i % 7 > 3]}\n" for i in range(80))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SimpleNamespace]:
    """A server with a store, that can be killed and started again at its address."""
    port, here = free_port(), SimpleNamespace(folder=tmp_path)

    def start() -> None:
        here.process = start_server(port, SPE_STORE=str(tmp_path))

    def kill() -> None:
        here.process.kill()
        here.process.wait()

    here.start, here.kill, here.url = start, kill, f"http://127.0.0.1:{port}/"
    start()
    yield here
    kill()


def bring_table(page: Page, url: str) -> None:
    """Upload a table on Data, and go to Explore with it."""
    page.goto(f"{url}data")
    page.get_by_text("Upload data").click()
    picker = page.get_by_test_id("stFileUploader").filter(has_text="Your table")
    table = {"name": "ward.csv", "mimeType": "text/csv"}
    table["buffer"] = f"weight,height,label\n{ROWS}".encode()
    picker.locator("input[type=file]").set_input_files(table)
    expect(page.get_by_text("ward.csv").filter(has_text="Source")).to_be_visible()
    page.get_by_role("link", name="Explore").click()


def until_stored(folder: Path) -> None:
    """Wait until the store has a table and the visit it belongs to, as they are now."""
    before = None
    for _ in attempts(0.5):
        with contextlib.closing(sqlite3.connect(folder / "work.sqlite")) as database:
            now = database.execute("SELECT id, version FROM item").fetchall()
        if len(now) == 2 and now == before:
            return
        before = now


@pytest.mark.slow
def test_a_visitor_goes_on_as_before_on_a_server_that_was_killed(opened, server):
    page: Page = opened(server.url, {}, viewport=WIDE)
    bring_table(page, server.url)
    settled(page)
    drag(page, "mu", 0.3, 0.55)
    page.wait_for_url("**mu=**")
    before, link = picture(page), page.url
    (key,) = (c for c in page.context.cookies() if c["name"] == "spe_key")
    assert key["httpOnly"] and key["value"] not in page.evaluate("document.cookie")
    until_stored(server.folder)
    server.kill()
    stored = b"".join(path.read_bytes() for path in server.folder.iterdir())
    for word in (
        "ward.csv",
        "weight",
        ".25,",
        key["value"],
        link.split("mine=")[1][:22],
    ):
        assert word.encode() not in stored
    server.start()
    page.goto(link)
    assert picture(page) == before
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_have_attribute("aria-disabled", "false")
    stranger = opened(link, {}, viewport=WIDE, locale="en-GB")
    expect(stranger.get_by_text("not on the server").first).to_be_visible()
    assert "ward" not in stranger.inner_text("body")
    undo.click()
    page.wait_for_url(lambda url: "mu=" not in url)
    page.goto(f"{server.url}data?{link.partition('?')[2]}")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("button", name="Delete")).to_be_hidden()
    server.kill()
    server.start()
    page.goto(link)
    expect(page.get_by_text("not on the server").first).to_be_visible()
