"""What `tests/run` leaves to `tests/run --all`, and how two workers share the rest."""

import os
import shutil
import sys
from types import ModuleType

import pytest
from hypothesis import settings


def pytest_addoption(parser):
    parser.addoption(
        "--all", action="store_true", help="also the exhaustive matrices, to the full"
    )


def pytest_configure(config):
    # The first call of a kernel may compile it; and every run tries the same examples.
    settings.register_profile("short", deadline=None, derandomize=True, max_examples=25)
    settings.register_profile("all", deadline=None, derandomize=True)
    settings.load_profile("all" if config.getoption("--all") else "short")


@pytest.fixture(scope="session")
def in_turns(request):
    """Of a list every so-many-th from a place on; all of it by `tests/run --all`.

    For the cells of a matrix that all go through the same list.
    """
    whole = request.config.getoption("--all")
    return lambda found, turn, of: list(found)[
        slice(None) if whole else slice(turn, None, of)
    ]


@pytest.fixture(scope="session")
def chromium():
    """The browser of a worker; a second one could not be started beside it."""
    from playwright.sync_api import sync_playwright

    from tests.bench.live import FLAGS

    path = shutil.which("chromium")
    if path is None:
        assert os.environ.get("CI") != "true", "chromium is missing: install it"
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def plain_main():
    """A main module that other processes may import, and not AppTest's last script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        yield


#: Fixtures that are servers: tests that visit the same one share a worker.
SERVERS = ("address", "harness_address")


def pytest_itemcollected(item):
    """Name a test's group, by the server that it visits or else by its file.

    A test of a browser that fails is run once more, and listed: on a busy machine a
    key is lost now and then. What fails twice fails.
    """
    if {"browser", "walks"} & {*item.path.parts}:
        item.add_marker(pytest.mark.flaky(reruns=1))
    if item.get_closest_marker("xdist_group"):
        return
    names = getattr(item, "fixturenames", ())
    of_file = item.nodeid.split("::")[0]
    group = next((name for name in SERVERS if name in names), of_file)
    item.add_marker(pytest.mark.xdist_group(group))


def pytest_collection_modifyitems(config, items):
    """Leave out what only `tests/run --all` runs."""
    if config.getoption("--all"):
        return
    left = [item for item in items if item.get_closest_marker("exhaustive")]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]
