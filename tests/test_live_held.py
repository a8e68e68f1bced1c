"""What is shown while a control is held is the model that a release gives."""

import numpy as np
import pytest

from pages.explore import live
from smpcore import METHODS
from tests.test_live import Browser, kernels  # noqa: F401


@pytest.fixture(params=METHODS)
def browser(request, monkeypatch):
    # However slow the machine is: the clock is no part of what is tested.
    monkeypatch.setattr(live, "CANONICAL_SECONDS", 30.0)
    return Browser(method=request.param, data="moons")


def _same(one, other):
    for name in ("winner", "margin", "predicted"):
        np.testing.assert_array_equal(one[name], other[name])
    assert one["strip"] == other["strip"]


def test_held_and_released_are_one_model(browser):
    sliders = [
        c
        for c in browser.last["controls"]
        if c["group"] == "method" and c["scale"] in ("log", "int", "linear")
    ]
    for control in [c for c in sliders if c["shown"] and not c["advanced"]][:3]:
        low, high = control["low"], control["high"]
        middle = float(np.sqrt(max(low, 1e-4 * high) * high))
        value = round(middle) if control["scale"] == "int" else middle
        held = browser.drag(**{control["name"]: value})["picture"]
        _same(held, browser.drag(**{control["name"]: value}, release=True)["picture"])


def test_the_strip_is_drawn_from_the_models_that_a_release_gives(browser):
    path = browser.last["path"]
    if path is None:
        pytest.skip("nothing is scrubbed")
    middle = len(path["values"]) // 2
    for index in sorted({middle, 0}, reverse=True):
        knot = browser.send("knots", want=[index])["knots"][0]
        value = path["values"][index]
        _same(knot, browser.drag(**{path["param"]: value}, release=True)["picture"])


def test_the_slider_begins_at_the_value_chosen_for_these_rows():
    browser = Browser(method="imkpl", data="xor")
    control = next(c for c in browser.last["controls"] if c["name"] == "kappa")
    said = {r["name"]: r for r in browser.last["picture"]["readouts"]}
    assert said["κ"]["value"] == f"{control['value']:.3g}"
    assert said["κ"]["detail"].startswith("chosen on 5 folds of 180 training rows")
    assert browser.last["picture"]["value"] == control["value"]
    assert browser.context.values["kappa"] is None
