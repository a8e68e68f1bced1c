"""Sliders on Explore hold what was chosen, wherever their ends lie."""

import zlib

import numpy as np
import pytest

from pages.state.host import resolve
from pages.work import cache, fits
from pages.work.fits import difference
from smpcore import METHODS, figures
from smpcore.live import figure, pack
from smpcore.live.path import LARGE, MOST_LARGE, shown_states
from smpcore.model import Step
from smpcore.papers import OTHER_OBJECTIVES, PRINTED
from tests.app import session_of
from tests.test_live import Browser, kernels  # noqa: F401

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
    return cache.computed.bounds(
        resolve(choice).data, choice.method, resolve(choice).values
    )["lam"][1]


def _assert_alike(one, other):
    for name in ("winner", "margin", "predicted"):
        np.testing.assert_array_equal(one[name], other[name])
    weights = (picture["prototypes"]["weights"] for picture in (one, other))
    np.testing.assert_array_equal(*weights)
    assert one["strip"] == other["strip"]


def test_a_figure_that_comes_back_shows_the_chosen_model(browser):
    assert _natural(browser.choice) < CHOSEN["lam"]
    before, picture = browser.choice, browser.last["picture"]
    browser.last = browser.post(None)
    assert browser.choice == before and browser.choice.values == CHOSEN
    assert not browser.last["notices"]
    _assert_alike(browser.last["picture"], picture)


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


def test_a_count_of_features_stays_below_theirs_whatever_begins_anew():
    browser = Browser(method="smallk", data="moons")
    browser.send("reset")
    assert browser.control("k")["value"] == browser.control("k")["high"] == 2
    browser.drag(method="smallk", release=True)  # another one and back at once
    assert browser.control("k")["value"] == browser.control("k")["high"] == 2


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


# What is shown while a control is held is the model that a release gives.


@pytest.fixture(params=METHODS)
def moons(request, monkeypatch):
    # However slow the machine is: the clock is no part of what is tested.
    monkeypatch.setattr(figure, "CANONICAL_SECONDS", 30.0)
    return Browser(method=request.param, data="moons")


def test_held_and_released_are_one_model(moons):
    sliders = [
        c
        for c in moons.last["controls"]
        if c["group"] == "method" and c["scale"] in ("log", "int", "linear")
    ]
    for control in [c for c in sliders if c["shown"] and not c["advanced"]][:3]:
        low, high = control["low"], control["high"]
        middle = float(np.sqrt(max(low, 1e-4 * high) * high))
        value = round(middle) if control["scale"] == "int" else middle
        held, released = (
            moons.drag(**{control["name"]: value}, release=release)["picture"]
            for release in (False, True)
        )
        _assert_alike(held, released)


def test_the_strip_is_drawn_from_the_models_that_a_release_gives(moons):
    path = moons.last["path"]
    if path is None:
        pytest.skip("nothing is scrubbed")
    middle = len(path["values"]) // 2
    for index in sorted({middle, 0}, reverse=True):
        knot = moons.send("knots", want=[index])["knots"][0]
        value = {path["param"]: path["values"][index]}
        _assert_alike(knot, moons.drag(**value, release=True)["picture"])


def test_the_slider_begins_at_the_value_chosen_for_these_rows():
    moons = Browser(method="imkpl", data="xor")
    control = next(c for c in moons.last["controls"] if c["name"] == "kappa")
    said = {r["name"]: r for r in moons.last["picture"]["readouts"]}
    assert said["κ"]["value"] == f"{control['value']:.3g}"
    assert said["κ"]["detail"].startswith("chosen on 5 folds of 180 training rows")
    assert moons.last["picture"]["value"] == control["value"]
    assert moons.context.values["kappa"] is None


# The fit step by step: what the figure is sent are the states of that very fit.

CASES = [
    (key, data)
    for key, method in METHODS.items()
    for data in ("moons", "sine")
    if ("regression" if data == "sine" else "classification") in method.estimators
]


def all_steps(browser, printed=False):
    """Every state, asked for as the browser does."""
    answer = browser.send("steps", want=[0])
    while answer.get("trace") is None or (printed and not answer["printed"]):
        answer = browser.send("steps", want=[0], printed=printed)
    pictures = {}
    while missing := set(range(len(answer["trace"]["objective"]))) - set(pictures):
        want = sorted(missing)[:16]
        states = browser.send("steps", want=want, printed=printed)["steps"]
        assert states
        pictures |= {p["step"]["index"]: p for p in states}
    return answer["trace"], [pictures[i] for i in sorted(pictures)]


def assert_painted(picture, model, view):
    """The picture is that of the model, node by node."""
    n_nodes = picture["grid"][0]
    if "surface" in picture:
        painted = figures.prediction_raster(model, view, n_nodes)
        np.testing.assert_array_equal(picture["surface"], painted)
        return
    raster = figures.decision_raster(model, view, n_nodes)
    for name in ("winner", "runner", "margin"):
        np.testing.assert_array_equal(picture[name], getattr(raster, name))


def without_clock(readouts):
    return [entry for entry in readouts if entry["name"] != "Solver"]


@pytest.mark.parametrize(("method", "data"), CASES)
def test_the_browsers_states_are_those_of_the_fit_bit_by_bit(method, data):
    browser = Browser(method=method, data=data)
    fitted = browser.last["picture"]
    trace, pictures = all_steps(browser)
    context = browser.context
    unfitted = context.method.estimator(context.values, context.data.dataset.task)
    history = unfitted.set_params(record=1).solve(context.problem()).history_
    view = session_of(browser.app).live.scene.view
    shown = shown_states(history, context.data.of("train")[0].size)
    assert len(shown) == len(pictures) > 1
    for i, picture in zip(shown, pictures, strict=True):
        assert_painted(picture, history.step(i), view)
    places = np.asarray(history.steps.places)[shown]
    assert trace["objective"] == history.objective[places].tolist()
    last = pictures[-1]
    assert last["canonical"] and not any(p["canonical"] for p in pictures[:-1])
    for name in ("winner", "surface", "predicted"):
        if name in fitted:
            np.testing.assert_array_equal(last[name], fitted[name])
    assert without_clock(last["readouts"]) == without_clock(fitted["readouts"])


def test_sentences_and_phases_are_those_of_the_history():
    browser = Browser(method="smallk", data="moons")
    browser.drag(k=1, release=True)
    trace, pictures = all_steps(browser)
    assert {"relaxed", "rounded to k"} == set(trace["phase"])
    assert pictures[0]["step"]["sentence"].startswith("Step 0: ")
    assert "\N{RIGHTWARDS ARROW}" in pictures[1]["step"]["sentence"]
    assert trace["gap"][-1] is not None


def test_a_request_that_means_nothing_brings_no_picture():
    browser = Browser(data="moons")
    answer = browser.send("steps", want=[10_000])
    assert answer["steps"] == [] and answer["trace"]["objective"]
    assert browser.send("steps")["steps"] == []


def test_a_fit_that_goes_on_says_how_far_it_is(monkeypatch):
    browser = Browser(data="iris")
    # However fast it is.
    monkeypatch.setattr(fits.Task, "wait", lambda task, seconds: False)
    answer = browser.send("steps", want=[0])
    assert (answer["trace"], answer["steps"]) == (None, [])
    assert answer["job"]["text"] == "Fitting again to record the states"


#: A fit of seconds is for the whole suite only.
TRACED = [
    pytest.param(key, marks=[pytest.mark.exhaustive] * (key == "imkpl"))
    for key in METHODS
]


@pytest.mark.parametrize("method", TRACED)
def test_the_trace_of_digits_is_small(method):
    browser = Browser(method=method, data="digits")
    _, pictures = all_steps(browser)
    context = browser.context
    assert context.data.of("train")[0].size > LARGE
    assert len(pictures) <= MOST_LARGE
    size = len(zlib.compress(pack({"steps": pictures})))
    assert size <= 3_000_000


PRINTED_CASES = [(key, "moons") for key in PRINTED] + [("supersparse", "sine")]


@pytest.mark.parametrize(("method", "data"), PRINTED_CASES)
def test_the_printed_pictures_are_those_of_the_printed_steps(method, data):
    browser = Browser(method=method, data=data)
    trace, pictures = all_steps(browser, printed=True)
    context = browser.context
    ours = context.fit().finished()
    unfitted = context.method.estimator(context.values, context.data.dataset.task)
    states = PRINTED[method](unfitted, context.problem(), start=ours.start_)
    shown = np.linspace(0, len(states) - 1, min(len(states), 60)).astype(int)
    assert len(pictures) == len(shown) > 1
    view = session_of(browser.app).live.scene.view
    for i, picture in zip(shown, pictures, strict=True):
        assert_painted(picture, states[i].model, view)
        assert picture["step"]["sentence"].startswith(f"As printed, step {i}: ")
        assert not picture["canonical"]
    assert trace["objective"] == [states[i].objective for i in shown]
    has_other = method in OTHER_OBJECTIVES
    words = "cannot be compared" if has_other else "our objective"
    assert words in trace["difference"]


@pytest.mark.parametrize(("method", "data"), [("smallk", "iris"), ("smp", "digits")])
def test_without_a_printed_algorithm_there_is_no_switch(method, data):
    browser = Browser(method=method, data=data)
    answer = browser.send("steps", want=[0], printed=True)
    while answer["trace"] is None:
        answer = browser.send("steps", want=[0], printed=True)
    assert answer["printed"] is None
    assert not answer["steps"][0]["step"]["sentence"].startswith("As printed")


def test_a_difference_is_said_in_the_words_that_suit_it():
    def words(objective, iterations=200.0, other=""):
        step = Step(0, iterations, "", objective, np.nan, None)
        return difference(step, 2.0, other)

    assert (
        words(2.1)
        == "After 200 iterations the printed steps are 5 % above our objective."
    )
    assert "1 iteration the" in words(1.9, 1.0) and "5 % below our" in words(1.9, 1.0)
    assert "at 100 times our objective" in words(200.0)
    assert "at our objective" in words(2.0)
    assert (
        words(1.5, other="No.")
        == "After 200 iterations the printed steps are at 1.5. No."
    )
