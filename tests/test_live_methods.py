"""What the live dialogue owes to every method, and words that only some use."""

import numpy as np
import pytest

from pages.shared import links
from smpcore import METHODS
from tests.test_live import Browser, kernels  # noqa: F401


@pytest.fixture(params=METHODS)
def browser(request):
    return Browser(method=request.param, data="iris")


def _slider(browser):
    """A control of the method that is committed, and a value for it."""
    control = next(
        c
        for c in browser.last["controls"]
        if c["group"] == "method" and c["scale"] == "log" and c["shown"]
    )
    return control["name"], float(np.sqrt(control["low"] * control["high"]))


def test_the_first_picture_is_canonical_and_described(browser):
    picture = browser.last["picture"]
    assert picture["canonical"]
    names = [readout["name"] for readout in picture["readouts"]]
    wanted = {"Validation accuracy", "Training accuracy", "Prototypes", "Gap", "Solver"}
    assert wanted <= set(names)
    assert all(r["value"] for r in picture["readouts"])
    assert browser.last["scene"]["view"]["note"]


def test_a_preview_is_no_canonical_fit_and_letting_go_gives_it_again(browser):
    name, value = _slider(browser)
    first = browser.drag(**{name: value}, release=True)["picture"]
    preview = browser.drag(**{name: 1.3 * value})["picture"]
    assert not preview["canonical"]
    again = browser.drag(**{name: value}, release=True)["picture"]
    assert again["canonical"]
    np.testing.assert_array_equal(again["winner"], first["winner"])
    np.testing.assert_array_equal(again["margin"], first["margin"])


def test_the_link_gives_the_same_picture_back(browser):
    name, value = _slider(browser)
    picture = browser.drag(**{name: float(f"{value:.3g}")}, release=True)["picture"]
    choice, notices = links.read_url(links.write_url(browser.choice))
    assert not notices
    back = Browser(method=choice.method, data=choice.data, values=choice.values)
    np.testing.assert_array_equal(back.last["picture"]["margin"], picture["margin"])


def test_knots_belong_to_the_path_or_there_is_none(browser):
    path = browser.last["path"]
    row = METHODS[browser.choice.method]
    if row.path is None:
        assert path is None
        assert browser.send("knots", want=[0, 1])["knots"] == []
        assert not any(c["scrub"] for c in browser.last.get("controls", ()))
        return
    assert path["param"] == row.path
    assert path["from_right"] == row.from_right
    knots = browser.send("knots", want=[0, len(path["values"]) - 1])["knots"]
    assert {k["knot"] for k in knots} <= {0, len(path["values"]) - 1}
    assert all(k["value"] == path["values"][k["knot"]] for k in knots)


def test_models_without_weights_show_the_rows_they_are_mixed_from(browser):
    shown = browser.last["picture"]["prototypes"]
    if "marks" not in shown:
        assert shown["weights"] is not None
        return
    assert shown["marks"].shape[1] == 2 and len(shown["marks"])
    assert len(shown["size"]) == len(shown["owner"])
    assert shown["marks_label"]


def _control(browser, name):
    return next(c for c in browser.last["controls"] if c["name"] == name)


def test_counts_are_brought_into_the_range_of_the_data_and_it_is_said():
    browser = Browser(method="smallk", data="moons")
    assert _control(browser, "k")["value"] == 2
    assert not browser.last["notices"], "a default needs no excuse"
    browser.drag(data="breast_cancer", release=True)
    browser.drag(k=9, release=True)
    assert browser.last["picture"]["strip"]["nonzeros"] <= 18
    moved = browser.drag(data="moons", release=True)
    assert [n["text"] for n in moved["notices"]] == [
        "k features: here at most 2, which is set now."
    ]
    assert browser.choice.values["k"] == 2


def test_the_positive_class_is_one_of_the_data_and_can_be_swapped():
    browser = Browser(method="smallk", data="breast_cancer")
    control = _control(browser, "positive_class")
    labels = [option["value"] for option in control["options"]]
    assert labels == ["", "benign", "malignant"] and control["value"] == ""
    before = browser.last["picture"]["prototypes"]["owner"]
    browser.drag(positive_class="benign", release=True)
    after = browser.last["picture"]["prototypes"]["owner"]
    assert (np.bincount(before)[::-1] == np.bincount(after)).all()
    assert browser.choice.all_values["positive_class"] == "benign"
    choice, _ = links.read_url(links.write_url(browser.choice))
    assert choice.all_values == browser.choice.all_values
    browser.drag(data="moons", release=True)
    assert browser.choice.all_values["positive_class"] is None
    browser.drag(data="iris", release=True)
    assert not _control(browser, "positive_class")["shown"]
    assert _control(browser, "multiclass")["shown"]


def test_there_is_no_path_where_its_control_means_nothing():
    browser = Browser(method="imkpl", data="iris")
    assert browser.last["path"]["param"] == "kappa"
    assert browser.drag(kernels="rbf", release=True)["path"] is None
    assert browser.send("knots", want=[0])["knots"] == []
