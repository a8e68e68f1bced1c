"""Releases of a slow fit one after the other: who waits, and what is called off."""

import threading
import time

import numpy as np
import pytest
import streamlit as st

from pages.state.host import resolve
from pages.ui import live
from pages.work import cache, fits, slots, studies, tasks
from pages.work.tasks import Task
from smpcore import METHODS, MultiPrototypeSVC, SmpcoreError
from smpcore.live import STOPPED, Choice, Scene, figure
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
    monkeypatch.setattr(cache.computed, "is_slow", lambda *_: True)
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
        assert older.wait(60.0), "it left the line"
        assert not older.ready(0.0), "and nothing came of it"


@pytest.mark.parametrize("stops", [True, False])
def test_a_fit_that_somebody_else_waits_for_goes_on(line, stops):
    browser, other, start = line
    for visitor in line[:2]:
        visitor.drag(mu=0.0321 + 0.001 * stops, release=True)
    begun = fit_of(other).started
    if stops:
        told = browser.send("stop")["job"]["text"]
        assert "kept running for another visitor" in told
    else:
        browser.drag(mu=0.0331, release=True)
    start()
    assert shown(other)["canonical"] and shown(browser)["canonical"]
    assert not fit_of(other).was_stopped and fit_of(other).started == begun


def test_a_page_that_needs_a_fit_keeps_it(line, monkeypatch):
    browser, _, start = line
    browser.drag(mu=0.0337, release=True)
    needed = fit_of(browser)
    with monkeypatch.context() as patch, pytest.raises(SmpcoreError, match="still"):
        patch.setattr(fits, "PATIENCE", 0.0)
        needed.finished()
    browser.drag(mu=0.0332, release=True)
    start()
    assert needed.ready(60.0) and not needed.was_stopped


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


# Fits on part of the rows are shown while a long fit goes on.

#: Breast cancer: 341 rows to learn from, of which a subsampled fit takes so many.
ALL, FEW = 341, 300


@pytest.fixture(params=METHODS)
def browser(request, monkeypatch):
    monkeypatch.setattr(cache.computed, "quick_values", 10)
    # A split that no other test fits: what is cached needs no subsampled fit.
    return Browser(method=request.param, data="breast_cancer", seed=7)


@pytest.fixture
def gate(monkeypatch):
    """Long fits begin when the test opens it."""
    opened, work = threading.Event(), fits.Fit._work
    held = lambda *given: opened.wait(30) and work(*given)  # noqa: E731
    monkeypatch.setattr(fits.Fit, "_work", held)
    return opened


def training(picture):
    """What is said of the training rows."""
    rows = picture["readouts"]
    return next(r["detail"] for r in rows if r["name"] == "Training accuracy")


def test_a_long_fit_is_first_answered_coarsely_and_then_as_always(browser):
    first = browser.last["picture"]
    assert browser.last["job"]["text"].startswith("Fitting")
    assert not first["canonical"] and browser.last["path"] is None
    assert first["coarse"] == f"Preview: fitted on {FEW} of {ALL} rows"
    assert f" of {FEW} rows" in training(first), "the rows it was judged on"
    assert len(first["predicted"]) == 455, "all rows are drawn"
    done = shown(browser)
    assert done["canonical"] and done["coarse"] is None
    assert f" of {ALL} rows" in training(done)
    choice = browser.choice
    data = resolve(choice).data
    method = METHODS[choice.method]
    direct = method.estimator(resolve(choice).values).fit(*data.named("train"))
    scene = Scene(data, studies.view(data, resolve(choice).view), False)
    predicted = direct.model_.scores(scene.X).argmax(axis=1)
    np.testing.assert_array_equal(done["predicted"], predicted)
    name, _ = browser.slider()
    param = METHODS[browser.choice.method].param(name)
    for share in (0.4, 0.6):
        value = param.low + share**4 * (param.high - param.low)
        moved = browser.drag(**{name: value})
        assert moved["job"] is None and not moved["picture"]["canonical"]
        assert moved["picture"]["coarse"] and moved["picture"]["ms"] < 30_000
    last = browser.drag(release=True)
    assert last["job"] and last["picture"]["coarse"]
    assert shown(browser)["coarse"] is None


def test_where_nothing_is_quick_there_is_progress_alone(monkeypatch, gate):
    monkeypatch.setattr(cache.computed, "quick_values", 10)
    monkeypatch.setattr(figure, "MOST_VALUES", 30 * (figure.LEAST_ROWS - 1))
    browser = Browser(data="breast_cancer", seed=8)
    assert browser.last["job"] and "picture" not in browser.last
    assert "picture" not in browser.drag(mu=0.01)
    gate.set()
    browser.drag(release=True)
    assert shown(browser)["canonical"]


def test_a_part_that_cannot_be_fitted_leaves_the_long_fit_alone(monkeypatch, gate):
    monkeypatch.setattr(cache.computed, "quick_values", 10)

    def fails(*_):
        raise live.SmpcoreError("too few")

    monkeypatch.setattr(figure, "preview", fails)
    browser = Browser(data="xor", data_values={"seed": 31})
    assert browser.last["job"] and "picture" not in browser.last
    assert not any(n["level"] == "error" for n in browser.last["notices"])
    gate.set()
    assert shown(browser)["canonical"]


def test_the_whole_is_its_own_part_where_rows_are_few():
    context = resolve(Choice(data="moons"))
    part, data = figure.part_of(context), context.data
    np.testing.assert_array_equal(part.split.train, data.split.train)
    assert figure.words(part, data) == "Preview: short fit"
    few = resolve(Choice(data="moons", data_values={"n_samples": 20}))
    assert figure.part_of(few) is None


def test_a_fit_that_lasts_goes_on_and_is_not_begun_again(monkeypatch):
    monkeypatch.setattr(cache.computed, "quick_seconds", 0.0)
    begun, solve = [], MultiPrototypeSVC.solve
    counted = lambda *args, **kw: begun.append(1) or solve(*args, **kw)  # noqa: E731
    monkeypatch.setattr(MultiPrototypeSVC, "solve", counted)
    context = resolve(Choice(data="breast_cancer", method="mprotsvm", seed=11))
    data, values = context.data, context.values
    fit = fits.Fit(data, "mprotsvm", values)
    assert not fit.is_quick and fit.finished().history_.status != STOPPED
    assert fit.bounds == cache.computed.bounds(data, "mprotsvm", values)
    assert len(begun) == 1
    fit.restart()
    assert fit.finished() and len(begun) == 2
