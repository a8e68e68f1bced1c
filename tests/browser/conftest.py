"""A browser, and the live figure's harness page in it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import attempts
from tests.bench.classroom import free_port, start_server
from tests.browser import canvas_harness

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where the app answers."""
    port = free_port()
    server = start_server(port, SPE_METRICS="1")
    yield f"http://127.0.0.1:{port}/"
    server.kill()


@contextmanager
def served(script: str) -> Iterator[str]:
    """Address at which a Streamlit script of the tests answers."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", script]
    command += ["--server.port", str(port), "--server.headless", "true"]
    command += ["--server.fileWatcherType", "none"]
    command += ["--browser.gatherUsageStats", "false"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as server:
        for _ in attempts(0.2):
            with suppress(OSError):
                urlopen(f"http://127.0.0.1:{port}/_stcore/health").close()
                break
        yield f"http://127.0.0.1:{port}/"
        server.terminate()


@pytest.fixture(scope="session")
def harness_address() -> Iterator[str]:
    """Where the live figure's harness answers."""
    with served(canvas_harness.__file__) as address:
        yield address


@pytest.fixture(scope="session")
def kept(chromium: Browser) -> Iterator[Page]:
    """The page that tests use one after another: a new one is slow to be ready."""
    context = chromium.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def opened(chromium: Browser, kept: Page) -> Iterator[Callable[..., Page]]:
    """Open an address as a new visitor, listened to from the start.

    The first visitor of a test has the kept page, if a page can have all the options.
    """
    contexts, listeners = [], []

    def go(url: str, listen: dict[str, Callable], **options: object) -> Page:
        if not contexts and options.keys() <= {"viewport", "color_scheme"}:
            contexts.append(kept.context)
            page = kept
            page.set_viewport_size(options["viewport"])
            page.emulate_media(color_scheme=options.get("color_scheme", "light"))
            listeners.extend(listen.items())
        else:
            contexts.append(chromium.new_context(**options))
            page = contexts[-1].new_page()
        for event, heard in listen.items():
            page.on(event, heard)
        page.goto(url)
        return page

    yield go
    for context in contexts:
        if context != kept.context:
            context.close()
            continue
        kept.evaluate("localStorage.clear(), sessionStorage.clear()")
        kept.goto("about:blank")
        kept.mouse.up()
        kept.mouse.move(0, 0)
        context.clear_cookies()
        for event, heard in listeners:
            kept.remove_listener(event, heard)


@pytest.fixture
def offline(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Open files from the disk without a network; nothing may be logged.

    ``page.wrong`` is what was logged, ``page.asked`` the addresses that were asked for.
    """
    contexts, wrong = [], []

    def go(path: Path | None = None, width: int = 1280) -> Page:
        window = {"width": width, "height": 900}
        contexts.append(chromium.new_context(offline=True, viewport=window))
        page = contexts[-1].new_page()
        page.wrong, page.asked = wrong, []
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("request", lambda request: page.asked.append(request.url))
        if path:
            page.goto(path.as_uri())
        return page

    yield go
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def visit(opened: Callable[..., Page], harness_address: str) -> Iterator[Callable]:
    """Open the harness and wait for the picture and all its knots.

    ``page.sent`` collects what goes over the websocket; an error of the script fails
    the test.
    """
    errors = []

    def go(query: str = "", **options: object) -> Page:
        options.setdefault("viewport", {"width": 1280, "height": 900})
        sent = []

        def keep(frame: object) -> None:
            sent.append(frame)

        listen = {
            "pageerror": lambda error: errors.append(str(error)),
            "websocket": lambda wire: wire.on("framesent", keep),
        }
        page = opened(harness_address + "?" + query, listen, **options)
        page.sent = sent
        every = str(len(canvas_harness.PATH))
        figure = page.locator("canvas.marks")
        expect(figure).to_have_attribute("data-knots", every)
        return page

    yield go
    assert errors == []
