"""Points by hand, as the server hears of them: places in, rows out."""

import numpy as np
import pytest

from pages.state import table_store
from pages.state.host import resolve
from smpcore import METHODS
from smpcore.live import MINE
from tests.test_live import Browser, kernels  # noqa: F401

REGRESSION = next(k for k, m in METHODS.items() if "regression" in m.estimators)


def places(browser, *rows):
    """Where rows stand, as the live figure knows it."""
    points = browser.scene["points"]
    at = [int(np.flatnonzero(points["row"] == row)[0]) for row in rows]
    return [[float(points["x"][i]), float(points["y"][i])] for i in at]


def standing(browser):
    points = browser.scene["points"]
    return set(zip(points["x"].tolist(), points["y"].tolist(), strict=True))


def test_a_sweep_is_one_step_to_undo_and_takes_nothing_else():
    browser = Browser()
    before = standing(browser)
    browser.send("edit", op="erase", places=[[50.0, 50.0]], dragging=True)
    assert browser.last["kind"] == "notice", "a refused start swallows no undo"
    listed = places(browser, 4, 90, 7, 250)
    for n in (1, 3, 4):
        sent = listed[:n]
        browser.send("edit", op="erase", places=sent, dragging=True)
        assert standing(browser) == before - {tuple(place) for place in sent}
        assert not browser.last["picture"]["canonical"]
    done = browser.send("edit", op="erase", places=listed, dragging=False)
    assert done["picture"]["canonical"]
    after = before - {tuple(place) for place in listed}
    assert standing(browser) == after
    second = places(browser, 8)
    for dragging in (True, False):
        browser.send("edit", op="erase", places=second, dragging=dragging)
    for left in (after, before):
        browser.send("edit", op="undo")
        assert standing(browser) == left
    words = browser.send("edit", op="undo")["notices"][0]["text"]
    assert "nothing to undo" in words


def test_of_points_at_one_place_a_click_takes_the_last():
    browser = Browser()
    for label in (0, 1):
        browser.send("edit", op="add", x=0.25, y=0.5, label=label)
    browser.send("edit", op="erase", places=[[0.25, 0.5]])
    points = browser.scene["points"]
    at = (points["x"] == 0.25) & (points["y"] == 0.5)
    assert points["label"][at].tolist() == [0]


def test_a_sweep_over_a_whole_class_leaves_its_last_training_point():
    browser = Browser(data_values={"n_samples": 20})
    points = browser.scene["points"]
    ones = np.flatnonzero(points["label"] == 1)
    listed = places(browser, *points["row"][ones].tolist())
    browser.send("edit", op="erase", places=listed, dragging=True)
    answer = browser.send("edit", op="erase", places=listed, dragging=False)
    assert answer["picture"]["canonical"]
    points = browser.scene["points"]
    assert points["part"][points["label"] == 1].tolist() == [0]
    last = places(browser, int(points["row"][points["label"] == 1][0]))
    refused = browser.send("edit", op="erase", places=last)
    assert "last training point" in refused["notices"][0]["text"]
    browser.send("edit", op="undo")
    assert (browser.scene["points"]["label"] == 1).sum() == len(ones)


def test_a_stroke_of_the_spray_is_one_step_to_undo():
    browser = Browser(data="drawn", data_values={"n_classes": 3})
    before = standing(browser)
    assert len(before) == 3
    spray = {"op": "spray", "dx": 0.1, "dy": 0.2, "label": 2}
    drawn = []
    for _ in range(2):  # the same strokes give the same points
        browser.send("edit", **spray, places=[[0.0, 0.5]], dragging=True)
        more = [[0.1, 0.5], [0.2, 0.5]]
        browser.send("edit", **spray, places=more, dragging=True)
        done = browser.send("edit", **spray, places=[], dragging=False)
        assert done["picture"]["canonical"]
        points = browser.scene["points"]
        drawn.append(standing(browser))
        browser.send("edit", op="undo")
        assert standing(browser) == before
    assert drawn[0] == drawn[1]
    order = np.argsort(points["row"])[3:]
    x, y = points["x"][order], points["y"][order]
    assert len(x) == len(np.unique(x)) == 12
    middle = np.repeat([0.0, 0.1, 0.2], 4)
    assert (((x - middle) / 0.1) ** 2 + ((y - 0.5) / 0.2) ** 2 <= 1.0001).all()
    assert (points["label"][order] == 2).all()


def test_of_what_is_sprayed_each_part_has_its_share():
    browser = Browser(data="drawn")
    spray = {"op": "spray", "dx": 0.1, "dy": 0.1, "dragging": True}
    for label in (0, 1) * 5:
        browser.send("edit", **spray, label=label, places=[[label, 0.5]] * 3)
    browser.send("edit", **spray | {"dragging": False}, label=0, places=[])
    parts = table_store.visit(browser.choice.token)[1]
    n = 2 + 10 * 3 * 4
    counts = [len(part) for part in (parts.train, parts.validation, parts.test)]
    assert sum(counts) == n
    assert counts[1:] == [int(share * n) for share in (0.2, 0.2)]
    rows = np.concatenate([parts.train, parts.validation, parts.test])
    np.testing.assert_array_equal(np.sort(rows), np.arange(n))


NOWHERE = "two coordinates"
FORGED = "something unexpected"
GONE = "no longer there"
#: What a browser may send: operation, what is wrong with it, what is answered.
NONSENSE = [
    ("spray", {"places": [[1e300, 0.0]]}, NOWHERE),
    *(("spray", {"places": p}, FORGED) for p in (None, [], [[0.0, 0.0]] * 201)),
    *((op, {"label": 7}, "one of the classes") for op in ("spray", "outliers", "add")),
    *((op, {"dx": None}, NOWHERE) for op in ("spray", "outliers")),
    *((op, {"x": 1e300}, NOWHERE) for op in ("outliers", "add")),
    ("erase", {"places": [[0.5, 1]] * 3001}, FORGED),
    *(("erase", {"places": p}, GONE) for p in (None, [], [[0.5, 0.125]])),
]


@pytest.mark.parametrize(("op", "wrong", "words"), NONSENSE)
def test_nonsense_changes_nothing_and_is_answered_in_words(op, wrong, words):
    browser = Browser(data="drawn")
    before = browser.choice
    message = {"places": [[0.0, 0.0]], "dx": 0.1, "dy": 0.1, "label": 0, "x": 0, "y": 0}
    answer = browser.send("edit", op=op, **message | wrong)
    assert answer["kind"] == "notice" and words in answer["notices"][0]["text"]
    assert browser.choice == before
    words = browser.send("edit", op="undo")["notices"][0]["text"]
    assert "nothing to undo" in words


def test_no_more_points_than_can_be_edited_are_sprayed():
    browser = Browser(data_values={"n_samples": 2990})
    spray = {"op": "spray", "dx": 0.1, "dy": 0.1, "label": 0, "dragging": False}
    answer = browser.send("edit", **spray, places=[[0.0, 0.0]] * 3)
    assert "At most 3,000 points" in answer["notices"][0]["text"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_begins_with_a_point_of_each_class(method):
    for n_classes in (2, 5):
        values = {"n_classes": n_classes}
        browser = Browser(data="drawn", data_values=values, method=method)
        assert browser.last["picture"]["canonical"]
        assert browser.scene["editable"]
    refused = browser.send("edit", op="erase", places=places(browser, 0))
    assert "last training point of its class" in refused["notices"][0]["text"]


def test_where_a_number_is_predicted_sprayed_points_have_a_value():
    spray = {"op": "spray", "dx": 0.1, "dy": 0.1, "places": [[0.5, 0.25]]}

    def sprayed(data, **more):
        browser = Browser(data=data, method=REGRESSION)
        n = len(browser.scene["points"]["x"])
        answer = browser.send("edit", **spray, **more)
        points = browser.scene["points"]
        return answer, points["value"][points["row"] >= n]

    assert sprayed("hills", value=0.75)[1].tolist() == [0.75] * 4
    assert (np.abs(sprayed("sine")[1] - 0.25) <= 0.1).all()
    assert "value up to" in sprayed("hills")[0]["notices"][0]["text"]


def test_two_outliers_are_training_rows_and_one_step_to_undo():
    browser = Browser()
    before = standing(browser)
    old = browser.scene["points"]
    n = len(old["x"])
    browser.send("edit", op="outliers", x=1.5, y=1.0, dx=0.05, label=0)
    points = browser.scene["points"]
    new = points["row"] >= n
    np.testing.assert_allclose(sorted(points["x"][new]), [1.45, 1.55], rtol=1e-6)
    assert points["label"][new].tolist() == points["part"][new].tolist() == [0, 0]
    assert "two outliers" in browser.last["undo"]
    parts = dict(zip(points["row"].tolist(), points["part"].tolist(), strict=True))
    kept = [parts[row] for row in old["row"].tolist()]
    assert kept == old["part"].tolist(), "all others keep theirs"
    browser.send("edit", op="undo")
    assert standing(browser) == before


# Steps back on Explore, over points and settings in one order.


def back(browser):
    return browser.send("edit", op="undo")


def test_one_drag_is_one_step():
    browser = Browser()
    start = browser.choice
    for mu in (0.01, 0.02, 0.04):
        browser.drag(mu=mu)
    browser.drag(mu=0.05, release=True)
    browser.drag(lam=0.3, release=True)
    browser.drag(mu="no number", release=True)  # refused, and set anew: no steps
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
