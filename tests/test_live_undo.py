"""Steps back on Explore, over points and settings in one order."""

import numpy as np

from pages.state.choice import MINE
from pages.state.context import resolve
from smpcore import METHODS
from tests.test_live import Browser, kernels

fixtures = (kernels,)


def back(browser):
    return browser.send("edit", op="undo")


def test_one_drag_is_one_step():
    browser = Browser()
    start = browser.choice
    for mu in (0.01, 0.02, 0.04):
        browser.drag(mu=mu)
    browser.drag(mu=0.05, release=True)
    browser.drag(lam=0.3, release=True)
    fusion = METHODS[start.method].controls("classification")
    labels = {param.name: param.label for param in fusion}
    assert browser.last["undo"] == labels["lam"]
    header = back(browser)
    assert browser.choice.values == {"mu": 0.05}
    assert header["undo"] == labels["mu"]
    controls = {c["name"]: c["value"] for c in header["controls"]}
    assert controls["mu"] == 0.05
    header = back(browser)
    assert header["picture"]["canonical"]
    assert browser.choice == start
    assert header["undo"] == ""
    assert "nothing to undo" in back(browser)["notices"][0]["text"]


def test_points_and_settings_go_back_in_the_order_they_came():
    browser = Browser(data="xor", data_values={"noise": 0.2})
    before = browser.scene["points"]["x"]
    n = len(before)
    browser.drag(mu=0.05, release=True)
    browser.send("edit", op="add", x=0.5, y=0.5, label=1)
    browser.drag(mu=0.1, release=True)
    assert back(browser)["undo"] == "the added point"
    assert browser.choice.values == {"mu": 0.05}
    assert browser.choice.data == MINE
    assert len(browser.scene["points"]["x"]) == n + 1
    names = {control["name"] for control in back(browser)["controls"]}
    assert (browser.choice.data, browser.choice.values) == ("xor", {"mu": 0.05})
    assert browser.choice.data_values == {"noise": 0.2} and "d.noise" in names
    np.testing.assert_array_equal(browser.scene["points"]["x"], before)
    back(browser)
    assert browser.choice.values == {}


def test_another_method_and_other_data_are_steps():
    browser = Browser()
    other = list(METHODS)[1]
    browser.drag(mu=0.05, release=True)
    browser.drag(method=other, release=True)
    browser.drag(data="xor", release=True)
    browser.drag(**{"d.noise": 0.3}, release=True)
    assert back(browser)["undo"] == "the choice of data"
    assert (browser.choice.data, browser.choice.data_values) == ("xor", {})
    back(browser)
    assert (browser.choice.data, browser.choice.method) == ("moons", other)
    back(browser)
    assert browser.choice.method == next(iter(METHODS))
    assert browser.choice.values == {"mu": 0.05}


def test_drawn_points_outlive_points_drawn_on_other_data():
    browser = Browser()
    browser.send("edit", op="add", x=0.5, y=0.5, label=1)
    drawn = browser.scene["points"]["x"]
    browser.drag(data="xor", release=True)
    browser.send("edit", op="add", x=0.0, y=0.0, label=0)
    back(browser)
    assert browser.choice.data == "xor"
    back(browser)
    assert browser.choice.data == MINE
    np.testing.assert_array_equal(browser.scene["points"]["x"], drawn)
    back(browser)
    assert browser.choice.data == "moons"


def test_every_edit_is_taken_back():
    browser, place = Browser(), {"x": 0.5, "y": 0.5, "label": 1}
    spray = {"places": [[0, 0]], "dx": 0.1, "dy": 0.1, "label": 0}
    edits = {"add": place, "spray": spray, "move": {"row": 0, **place}}
    for op, more in (edits | {"erase": {"row": 0}}).items():
        assert browser.send("edit", op=op, **more)["undo"]
    for _ in range(4):
        assert browser.choice.data == MINE
        back(browser)
    assert browser.choice.data == "moons"


def test_views_and_the_test_set_are_no_steps():
    browser = Browser(data="iris")
    browser.drag(mu=0.05, release=True)
    browser.drag(**{"v.kind": "axes"}, release=True)
    browser.drag(open_test=True, release=True)
    header = back(browser)
    choice = browser.choice
    assert choice.values == {}
    assert choice.view == {"kind": "axes"}
    assert choice.open_test and resolve(choice).times_opened == 1
    assert header["undo"] == ""


def test_a_refused_value_and_a_setting_set_anew_are_no_steps():
    browser = Browser()
    browser.drag(mu="no number", release=True)
    browser.drag(mu=0.05, release=True)
    browser.drag(mu=0.05, release=True)
    back(browser)
    assert browser.last["undo"] == ""
    assert browser.choice.values == {}
