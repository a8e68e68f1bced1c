"""Visits in a real browser to a server whose log is read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext
from playwright.sync_api import Error as BrowserError

from tests.bench.classroom import free_port, start_server
from tests.walks.visit import Visit, visiting

WINDOW = {"width": 1280, "height": 720}


class Site:
    """A running app, and what it has logged.

    Parameters
    ----------
    folder : Path
        Where its log is written.
    **environment
        Variables of its process.
    """

    def __init__(self, folder: Path, **environment: str) -> None:
        self.data = folder / "data"  # the operator's tables
        self.data.mkdir()
        environment.setdefault("SPE_DATA", str(self.data))
        self._log = (folder / "server.log").open("w+b")
        self._port = free_port()
        self.address = f"http://127.0.0.1:{self._port}/"
        self.server = start_server(self._port, self._log, **environment)
        self._read = 0

    def log(self) -> str:
        """What was logged since this was asked last."""
        size = self._log.seek(0, 2)
        self._log.seek(self._read)
        self._read = size
        return self._log.read().decode("utf-8", "replace")

    def close(self) -> None:
        """End it."""
        self.server.kill()
        self.server.wait()
        self._log.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The app, started once for all tests of a worker."""
    running = Site(tmp_path_factory.mktemp("site"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def profile(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser profile that has loaded the app: a new one reads all its scripts."""
    context = chromium.new_context(accept_downloads=True, viewport=WINDOW)
    yield context
    context.close()


def _forget(profile: BrowserContext) -> None:
    """Leave a profile as a new visitor has it."""
    for page in profile.pages:
        with contextlib.suppress(BrowserError):  # one that has opened nothing
            page.evaluate("localStorage.clear()")
        page.close()
    profile.clear_cookies()
    profile.clear_permissions()


@pytest.fixture
def visitors(
    chromium: Browser, profile: BrowserContext, site: Site
) -> Iterator[Callable[..., Callable]]:
    """Make visitors, each with a browser profile; their findings fail the test."""
    with contextlib.ExitStack() as stack:

        def come(**options: object) -> Callable[[], Visit]:
            if options or profile.pages:
                options = {"viewport": WINDOW, "accept_downloads": True} | options
                context = chromium.new_context(**options)
                stack.callback(context.close)
            else:
                context = profile
                stack.callback(_forget, profile)
            return stack.enter_context(visiting(context, site.address, site.log))

        yield come


@pytest.fixture
def visit(visitors: Callable) -> Visit:
    """One visitor with one tab."""
    return visitors()()
