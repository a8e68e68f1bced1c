"""Releases of a slow fit one after the other: who waits, and what is called off."""

import threading
import time

import pytest
import streamlit as st

from pages.explore import live
from pages.work import cache, fits, slots, tasks
from pages.work.tasks import Task
from smpcore import SmpcoreError
from tests.app import kernels, opened
from tests.test_live import Browser

pytestmark = pytest.mark.usefixtures(kernels.__name__)


@pytest.fixture
def line(monkeypatch):
    """Every fit is a job, and none begins before the line is opened."""
    browsers = Browser(), Browser()
    # Streamlit's tests are one session; in the app each tab is one.
    for browser, name in zip(browsers, ("one", "other"), strict=True):
        browser.app.session_state["name"] = name
    monkeypatch.setattr(tasks, "visitor", lambda: st.session_state.get("name", ""))
    monkeypatch.setattr(cache, "is_slow", lambda *_: True)
    opened = threading.Event()
    held = [Task(lambda *_: opened.wait(60)) for _ in range(slots.N_CORES)]
    yield *browsers, opened.set
    opened.set()
    for job in held:
        job.result()


def fit_of(browser):
    """The canonical fit of what the visitor released last."""
    return browser.context.fit()


def shown(browser):
    """Ask until the canonical picture is there, as the browser does."""
    for _ in range(600):
        header = browser.send("poll")
        if header["job"] is None:
            return header["picture"]
        time.sleep(0.05)
    raise AssertionError("the job never ended")


def test_only_the_newest_release_is_fitted(line):
    browser, _, start = line
    fits = []
    for mu in (0.0311, 0.0312, 0.0313):
        browser.drag(mu=mu, release=True)
        fits.append(fit_of(browser))
    start()
    assert shown(browser)["canonical"]
    assert fits[2].estimator is not None
    for older in fits[:2]:
        assert older.task.wait(60.0), "it left the line"
        assert not older.wait(0.0), "and nothing came of it"


@pytest.mark.parametrize("stops", [True, False])
def test_a_fit_that_somebody_else_waits_for_goes_on(line, stops):
    browser, other, start = line
    for visitor in line[:2]:
        visitor.drag(mu=0.0321 + 0.001 * stops, release=True)
    task = fit_of(other).task
    begun = task.started
    if stops:
        told = browser.send("stop")["job"]["text"]
        assert "kept running for another visitor" in told
    else:
        browser.drag(mu=0.0331, release=True)
    start()
    assert shown(other)["canonical"] and shown(browser)["canonical"]
    assert not fit_of(other).was_stopped and task.started == begun


def test_a_page_that_needs_a_fit_keeps_it(line, monkeypatch):
    browser, _, start = line
    browser.drag(mu=0.0337, release=True)
    needed = fit_of(browser)
    with monkeypatch.context() as patch, pytest.raises(SmpcoreError, match="still"):
        patch.setattr(fits, "PATIENCE", 0.0)
        needed.finished()
    browser.drag(mu=0.0332, release=True)
    start()
    assert needed.wait(60.0) and not needed.was_stopped


def test_what_was_called_off_begins_anew_for_who_asks_again(line):
    browser, _, start = line
    for mu in (0.0341, 0.0342, 0.0341):
        browser.drag(mu=mu, release=True)
    start()
    assert shown(browser)["canonical"]
    assert fit_of(browser).finished().history_.status != fits.STOPPED


def test_a_fit_under_way_is_stopped(line, monkeypatch):
    browser, _, start = line
    began, stopped = threading.Event(), threading.Event()

    def work(self, stop, progress):
        began.set()
        while not stop[0]:
            time.sleep(0.01)
        stopped.set()

    with monkeypatch.context() as patch:
        patch.setattr(fits.Fit, "_work", work)
        browser.drag(mu=0.0351, release=True)
        start()
        assert began.wait(60.0)
    browser.drag(mu=0.0352, release=True)
    assert stopped.wait(60.0)
    assert shown(browser)["canonical"]


def test_the_page_begins_no_canonical_fit_while_a_slider_moves(monkeypatch):
    page = opened({"data": "moons"})
    asked, fit = [], fits.fit

    def spy(data, method, values):
        asked.append(values["mu"])
        return fit(data, method, values)

    answer = live.answer
    monkeypatch.setattr(fits, "fit", spy)
    monkeypatch.setattr(live, "answer", lambda _: answer(message))
    for seq, dragging in enumerate((True, False), 1):
        message = {"seq": seq, "kind": "set", "values": {"mu": 0.0361}, "have": ""}
        message["dragging"] = dragging
        page.run()
        assert not page.exception
        assert (0.0361 in asked) != dragging
