"""Fits on part of the rows are shown while a long fit goes on."""

import threading
import time

import numpy as np
import pytest

from pages.explore import live
from pages.explore.scene import Scene
from pages.state.choice import Choice
from pages.state.context import resolve
from pages.work import cache, fits, studies
from smpcore import METHODS, MultiPrototypeSVC
from tests.test_live import Browser, kernels  # noqa: F401

#: Breast cancer: 341 rows to learn from, of which a subsampled fit takes so many.
ALL, FEW = 341, 300


@pytest.fixture(params=METHODS)
def browser(request, monkeypatch):
    monkeypatch.setattr(cache, "QUICK_VALUES", 10)
    # A split that no other test fits: what is cached needs no subsampled fit.
    return Browser(method=request.param, data="breast_cancer", seed=7)


@pytest.fixture
def gate(monkeypatch):
    """Long fits begin when the test opens it."""
    opened, work = threading.Event(), fits.Fit._work
    held = lambda *given: opened.wait(30) and work(*given)  # noqa: E731
    monkeypatch.setattr(fits.Fit, "_work", held)
    return opened


def until_done(browser):
    """Ask after the job until its picture comes."""
    for _ in range(600):
        answer = browser.send("poll")
        if "picture" in answer:
            return answer["picture"]
        assert answer["job"], "while it goes on, there is something to see"
        time.sleep(0.05)
    raise AssertionError("the fit never ended")


def training(picture):
    """What is said of the training rows."""
    rows = picture["readouts"]
    return next(r["detail"] for r in rows if r["name"] == "Training accuracy")


def test_a_long_fit_is_first_answered_coarsely_and_then_as_always(browser):
    first = browser.last["picture"]
    assert browser.last["job"] and not first["canonical"]
    assert first["coarse"] == f"Preview: fitted on {FEW} of {ALL} rows"
    assert f" of {FEW} rows" in training(first), "the rows it was judged on"
    assert len(first["predicted"]) == 455, "all rows are drawn"
    done = until_done(browser)
    assert done["canonical"] and done["coarse"] is None
    assert f" of {ALL} rows" in training(done)
    choice = browser.choice
    data = resolve(choice).data
    method = METHODS[choice.method]
    direct = method.estimator(resolve(choice).values).fit(*data.named("train"))
    scene = Scene(choice, data, studies.view(data, resolve(choice).view))
    predicted = direct.model_.scores(scene.X).argmax(axis=1)
    np.testing.assert_array_equal(done["predicted"], predicted)
    name = next(
        c["name"]
        for c in browser.last["controls"]
        if c["group"] == "method" and c["scale"] in ("log", "linear") and c["shown"]
    )
    param = METHODS[browser.choice.method].param(name)
    for share in (0.4, 0.6):
        value = param.low + share**4 * (param.high - param.low)
        moved = browser.drag(**{name: value})
        assert moved["job"] is None and not moved["picture"]["canonical"]
        assert moved["picture"]["coarse"] and moved["picture"]["ms"] < 30_000
    last = browser.drag(release=True)
    assert last["job"] and last["picture"]["coarse"]
    assert until_done(browser)["coarse"] is None


def test_where_nothing_is_quick_there_is_progress_alone(monkeypatch, gate):
    monkeypatch.setattr(cache, "QUICK_VALUES", 10)
    monkeypatch.setattr(live, "MOST_VALUES", 30 * (live.LEAST_ROWS - 1))
    browser = Browser(data="breast_cancer", seed=8)
    assert browser.last["job"] and "picture" not in browser.last
    assert "picture" not in browser.drag(mu=0.01)
    gate.set()
    browser.drag(release=True)
    assert until_done(browser)["canonical"]


def test_a_part_that_cannot_be_fitted_leaves_the_long_fit_alone(monkeypatch, gate):
    monkeypatch.setattr(cache, "QUICK_VALUES", 10)

    def fails(*_):
        raise live.SmpcoreError("too few")

    monkeypatch.setattr(live, "preview", fails)
    browser = Browser(data="xor", data_values={"seed": 31})
    assert browser.last["job"] and "picture" not in browser.last
    assert not any(n["level"] == "error" for n in browser.last["notices"])
    gate.set()
    assert until_done(browser)["canonical"]


def test_the_whole_is_its_own_part_where_rows_are_few():
    data = resolve(Choice(data="moons")).data
    part = live.part_of(data, "smp")
    np.testing.assert_array_equal(part.split.train, data.split.train)
    assert live.words(part, data) == "Preview: short fit"
    few = resolve(Choice(data="moons", data_values={"n_samples": 20})).data
    assert live.part_of(few, "smp") is None


def test_a_fit_that_lasts_goes_on_and_is_not_begun_again(monkeypatch):
    monkeypatch.setattr(fits, "QUICK_SECONDS", 0.0)
    begun, solve = [], MultiPrototypeSVC.solve
    counted = lambda *args, **kw: begun.append(1) or solve(*args, **kw)  # noqa: E731
    monkeypatch.setattr(MultiPrototypeSVC, "solve", counted)
    context = resolve(Choice(data="breast_cancer", method="mprotsvm", seed=11))
    data, values = context.data, context.values
    fit = fits.Fit(data, "mprotsvm", values)
    assert fit.task and fit.finished().history_.status != fits.STOPPED
    assert fit.bounds == cache.bounds(data, "mprotsvm", values)
    assert len(begun) == 1
    fit.restart()
    assert fit.finished() and len(begun) == 2
