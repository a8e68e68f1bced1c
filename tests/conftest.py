"""What `tests/run` leaves to `tests/run --all`, and how workers share the rest."""

import os
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

from tests import PATIENCE, nightly


def pytest_addoption(parser):
    parser.addoption(
        "--all", action="store_true", help="also the exhaustive matrices, to the full"
    )


def pytest_configure(config):
    # The first call of a kernel may compile it; and every run tries the same examples.
    settings.register_profile("short", deadline=None, derandomize=True, max_examples=25)
    settings.register_profile("all", deadline=None, derandomize=True)
    settings.load_profile("all" if config.getoption("--all") else "short")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Nightly())


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
def tool():
    """Path of a command; without it the test is skipped, in CI it fails."""

    def find(name):
        path = shutil.which(name)
        if path is None and os.environ.get("CI") == "true":
            pytest.fail(f"{name} is missing: install it, CI must not skip this test")
        if path is None:
            pytest.skip(f"{name} is not installed")
        return path

    return find


@pytest.fixture(scope="session")
def chromium(tool):
    """The browser of a worker; a second one could not be started beside it."""
    from playwright.sync_api import expect, sync_playwright

    from tests.bench.live import FLAGS

    path = tool("chromium")
    expect.set_options(timeout=1e3 * PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        new_context = browser.new_context

        def still(**options):
            context = new_context(**options)
            context.set_default_timeout(1e3 * PATIENCE)
            context.add_init_script(path=Path(__file__).with_name("still.js"))
            return context

        browser.new_context = still
        yield browser
        browser.close()


@pytest.fixture(scope="module", autouse=True)
def tasks_end_with_their_file():
    """A study that a test has begun and left would hold up those of the next files."""
    yield
    if tasks := sys.modules.get("pages.work.tasks"):
        begun = list(tasks._watched)
        for task in begun:
            for owner in task.owners:  # not as by Stop: a later page begins it anew
                task.lose(owner)
        for task in begun:
            task.wait(60.0)


@pytest.fixture(scope="module", autouse=True)
def tables_are_of_all_pages():
    """What a test brings itself is there on the pages that it opens, with no cookie."""
    with pytest.MonkeyPatch.context() as patch:
        if visitors := sys.modules.get("pages.work.visitors"):
            patch.setattr(visitors, "owner", lambda: visitors.browser())
        yield


@pytest.fixture(scope="module")
def plain_main():
    """A main module that other processes may import, and not AppTest's last script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        yield


#: Fixtures that are servers: tests that visit the same one share a worker.
SERVERS = ("address", "harness_address")
#: Walks go in two groups: with a browser for each worker they would wait for the cores.
WALKS = sorted(Path(__file__).parent.glob("walks/test_*.py"))


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
    group = next((name for name in SERVERS if name in names), file_of(item.nodeid))
    if item.path in WALKS:
        group = f"walks {WALKS.index(item.path) % 2}"
    item.add_marker(pytest.mark.xdist_group(group))


def file_of(nodeid):
    """The file that a test stands in, from the top of the checkout."""
    return nodeid.split("::")[0]


def pytest_ignore_collect(collection_path, config):
    """Do not even read a file of long tests that nothing can have broken."""
    if config.getoption("--all") or not collection_path.is_relative_to(nightly.ROOT):
        return None
    name = collection_path.relative_to(nightly.ROOT).as_posix()
    return nightly.is_as_it_passed(name) or None


def pytest_collection_modifyitems(config, items):
    """Leave out what only `tests/run --all` runs; begin with what lasts longest.

    A worker that ends with a long walk would let the others wait.
    """
    last = {"walks": 0, "browser": 1}
    items.sort(key=lambda item: last.get(item.path.parent.name, 2))
    if config.getoption("--all"):
        return
    out, kept = [], []
    for item in items:
        (out if item.get_closest_marker("exhaustive") else kept).append(item)
    config.hook.pytest_deselected(items=out)
    items[:] = kept


class Nightly:
    """Remembers which of the long tests passed, in the process that starts workers."""

    def __init__(self):
        self.outcomes = {}

    def pytest_runtest_logreport(self, report):
        """A file has passed if each of its tests has; one that was skipped has not."""
        name = file_of(report.nodeid)
        if name in nightly.WATCHED and report.outcome != "rerun":
            self.outcomes[name] = self.outcomes.get(name, True) and report.passed

    def pytest_sessionfinish(self, session, exitstatus):
        """Write it down, of whole files in a run that came to its end."""
        option = session.config.option
        whole = not (option.keyword or option.markexpr or option.collectonly)
        whole &= not any("::" in argument for argument in session.config.args)
        if whole and exitstatus in (0, 1) and self.outcomes:
            nightly.remember(self.outcomes)
