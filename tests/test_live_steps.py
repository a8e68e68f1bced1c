"""The fit step by step: what the figure is sent are the states of that very fit."""

import zlib

import numpy as np
import pytest

from pages.explore.canvas import pack
from pages.explore.steps import LARGE, MOST_LARGE, shown_states
from pages.state.context import resolve
from pages.work import fits
from smpcore import METHODS, figures
from tests.app import session_of
from tests.test_live import Browser, kernels

fixtures = (kernels,)

CASES = [
    (key, data)
    for key, method in METHODS.items()
    for data in ("moons", "sine")
    if ("regression" if data == "sine" else "classification") in method.estimators
]


def all_steps(browser):
    """Every state, asked for as the browser does."""
    answer = browser.send("steps", want=[0])
    count = len(answer["trace"]["objective"])
    pictures = {p["step"]["index"]: p for p in answer["steps"]}
    while len(pictures) < count:
        missing = [i for i in range(count) if i not in pictures]
        found = browser.send("steps", want=missing[:16])["steps"]
        assert found
        pictures |= {p["step"]["index"]: p for p in found}
    return answer["trace"], [pictures[i] for i in range(count)]


def without_clock(readouts):
    return [entry for entry in readouts if entry["name"] != "Solver"]


@pytest.mark.parametrize(("method", "data"), CASES)
def test_the_browsers_states_are_those_of_the_fit_bit_by_bit(method, data):
    browser = Browser(method=method, data=data)
    fitted = browser.last["picture"]
    trace, pictures = all_steps(browser)
    context = resolve(browser.choice)
    unfitted = context.method.estimator(context.values, context.data.dataset.task)
    history = unfitted.set_params(record=1).solve(context.problem()).history_
    view = session_of(browser.app).live.scene.view
    shown = shown_states(history, context.data.of("train")[0].size)
    assert len(shown) == len(pictures) > 1
    for i, picture in zip(shown, pictures, strict=True):
        model = history.step(i)
        if "surface" in picture:
            n_nodes = picture["grid"][0]
            painted = figures.prediction_raster(model, view, n_nodes)
            np.testing.assert_array_equal(picture["surface"], painted)
        else:
            raster = figures.decision_raster(model, view, picture["grid"][0])
            for name in ("winner", "runner", "margin"):
                np.testing.assert_array_equal(picture[name], getattr(raster, name))
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
    answer = browser.send("steps", want=[-1, 10_000, "x", 1.5])
    assert answer["steps"] == [] and answer["trace"]["objective"]
    assert browser.send("steps")["steps"] == []


def test_a_fit_that_goes_on_says_how_far_it_is(monkeypatch):
    browser = Browser(data="iris")
    monkeypatch.setattr(fits.RecordedFit, "wait", lambda self, seconds: False)
    monkeypatch.setattr(fits, "QUICK_SECONDS", 0.0)
    answer = browser.send("steps", want=[0])
    assert (answer["trace"], answer["steps"]) == (None, [])
    assert answer["job"]["text"] == "Fitting again to record the states"


def test_the_trace_of_digits_is_small():
    browser = Browser(data="digits")
    _, pictures = all_steps(browser)
    context = resolve(browser.choice)
    assert context.data.of("train")[0].size > LARGE
    assert len(pictures) <= MOST_LARGE
    size = len(zlib.compress(pack({"steps": pictures})))
    print(f"{len(pictures)} states of digits: {size} bytes compressed")
    assert size <= 3_000_000
