"""A download comes while others drag, in real Chromium."""

import asyncio
import threading

import pytest
from playwright.sync_api import expect

from tests.bench.classroom import Visitor
from tests.browser.test_app import visit

fixtures = (visit,)


@pytest.fixture
def dragging(address):
    """Others drag sliders meanwhile: their pages run dozens of times a second."""
    ends = threading.Event()

    async def drag(number):
        visitor = Visitor(number, int(address.split(":")[-1].strip("/")))
        await visitor.open()
        while not ends.is_set():
            await visitor.drag(0.5)

    async def every():
        await asyncio.gather(*map(drag, range(6)))

    others = threading.Thread(target=lambda: asyncio.run(every()))
    others.start()
    yield
    ends.set()
    others.join()


def test_a_file_arrives_while_others_drag(visit, dragging):
    page = visit("?data=iris")
    button = page.get_by_role("button", name="Download as C")
    expect(button).to_be_enabled()
    for _ in range(5):
        with page.expect_download() as download:
            button.click()
        assert download.value.failure() is None
