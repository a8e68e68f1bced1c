"""Sliders on Explore hold what was chosen, wherever their ends lie."""

import numpy as np
import pytest

from pages.state.choice import Choice
from pages.state.context import resolve
from pages.work import cache
from tests.test_live import Browser, kernels

fixtures = (kernels,)

#: At this weight of sparsity, Merge prototypes (λ) ends at 0.334 on these data.
CHOSEN = {"lam": 0.408, "mu": 0.001}


@pytest.fixture
def browser():
    """A visitor who has typed a μ that moves the end of λ below what λ is."""
    browser = Browser(data="breast_cancer", values={"lam": CHOSEN["lam"]})
    browser.drag(mu=CHOSEN["mu"], release=True)
    return browser


def _natural(choice):
    """The end of λ that the data give."""
    return cache.bounds(resolve(choice).data, choice.method, resolve(choice).values)[
        "lam"
    ][1]


def _same(picture, other):
    np.testing.assert_array_equal(
        picture["prototypes"]["weights"], other["prototypes"]["weights"]
    )
    np.testing.assert_array_equal(picture["margin"], other["margin"])


def test_a_figure_that_comes_back_shows_the_chosen_model(browser):
    assert _natural(browser.choice) < CHOSEN["lam"]
    before, picture = browser.choice, browser.last["picture"]
    browser.last = browser.post(None)
    assert browser.choice == before and browser.choice.values == CHOSEN
    assert not browser.last["notices"]
    _same(browser.last["picture"], picture)


def test_the_slider_and_its_strip_hold_the_chosen_value(browser):
    for last in (browser.last, browser.post(None)):
        browser.last = last
        control = browser.control("lam")
        assert control["value"] == control["high"] == CHOSEN["lam"]
        assert last["path"]["values"][-1] == CHOSEN["lam"], "its own knot"
    end = len(browser.last["path"]["values"]) - 1
    (knot,) = browser.send("knots", want=[end])["knots"]
    assert knot["value"] == CHOSEN["lam"]
    shown = browser.drag(release=True)["picture"]
    assert knot["chain"] == shown["chain"], "the browser takes the knot"
    assert (knot["winner"] == shown["winner"]).mean() > 0.99


def test_the_ends_stand_still_in_a_drag_and_follow_when_it_ends(browser):
    high, chain = browser.control("lam")["high"], browser.last["picture"]["chain"]
    browser.drag(lam=0.01)
    assert browser.control("lam")["high"] == high
    assert browser.last["picture"]["chain"] == chain
    browser.drag(lam=0.01, release=True)
    assert browser.control("lam")["high"] == _natural(browser.choice) < high
    assert browser.last["path"]["values"][-1] == _natural(browser.choice)
    assert browser.last["picture"]["chain"] != chain, "other knots, another path"


def test_undo_brings_back_a_value_beyond_the_end(browser):
    browser.drag(lam=0.01, release=True)
    browser.drag(method="smallk", release=True)
    for _ in range(2):
        browser.send("edit", op="undo")
    assert browser.choice.values == CHOSEN
    assert browser.control("lam")["high"] == CHOSEN["lam"]


def test_other_data_bring_it_into_their_range_and_it_is_said(browser):
    browser.drag(data="digits", release=True)
    browser.drag(lam=0.6, release=True)
    header = browser.drag(data="breast_cancer", release=True)
    lam = browser.control("lam")
    assert lam["low"] < lam["value"] < lam["high"] == _natural(browser.choice)
    assert "was out of range; reset to" in header["notices"][0]["text"]


def test_another_option_leaves_what_was_chosen(browser):
    header = browser.drag(start="each", release=True)
    assert browser.choice.values["lam"] == CHOSEN["lam"]
    assert browser.control("lam")["high"] == CHOSEN["lam"]
    assert not header["notices"]


def test_a_count_at_its_default_follows_the_data_and_is_the_same_model():
    choice = Choice(method="smallk", data="moons")
    usual = resolve(choice).fit().estimator
    browser = Browser(method="smallk", data="moons")
    k = browser.control("k")
    assert (k["value"], k["high"]) == (2, 2)
    now = browser.choice
    shown = resolve(now).fit().estimator
    scores = [
        one.decision_function(resolve(choice).data.of("train")[0])
        for one in (usual, shown)
    ]
    np.testing.assert_array_equal(*scores)
