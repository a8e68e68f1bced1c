"""What the server makes of a sweep of the eraser: places in, rows out."""

from __future__ import annotations

import numpy as np
import pytest

from pages.state import table_store
from smpcore import METHODS
from tests import test_live
from tests.test_live import Browser

kernels = test_live.kernels
REGRESSION = next(k for k, m in METHODS.items() if "regression" in m.estimators)


def places(browser: Browser, *rows: int) -> list[list[float]]:
    """Where rows stand, as the live figure knows it."""
    points = browser.scene["points"]
    at = [int(np.flatnonzero(points["row"] == row)[0]) for row in rows]
    return [[float(points["x"][i]), float(points["y"][i])] for i in at]


def standing(browser: Browser) -> set[tuple[float, float]]:
    points = browser.scene["points"]
    return set(zip(points["x"].tolist(), points["y"].tolist(), strict=True))


def test_a_sweep_is_one_step_to_undo_and_takes_nothing_else() -> None:
    browser = Browser()
    before = standing(browser)
    listed = places(browser, 4, 90, 7, 250)
    for n in (1, 3, 4):
        sent = listed[:n]
        browser.send("edit", op="erase", places=sent, dragging=True)
        assert standing(browser) == before - {tuple(place) for place in sent}
        assert not browser.last["picture"]["canonical"]
    done = browser.send("edit", op="erase", places=listed, dragging=False)
    assert done["picture"]["canonical"]
    assert standing(browser) == before - {tuple(place) for place in listed}
    browser.send("edit", op="undo")
    assert standing(browser) == before
    words = browser.send("edit", op="undo")["notices"][0]["text"]
    assert "nothing to undo" in words


def test_two_sweeps_are_two_steps() -> None:
    browser = Browser()
    first, second = places(browser, 3), places(browser, 8)
    before = standing(browser)
    browser.send("edit", op="erase", places=first, dragging=True)
    browser.send("edit", op="erase", places=first, dragging=False)
    browser.send("edit", op="erase", places=second, dragging=True)
    browser.send("edit", op="erase", places=second, dragging=False)
    browser.send("edit", op="undo")
    assert standing(browser) == before - {tuple(first[0])}
    browser.send("edit", op="undo")
    assert standing(browser) == before


def test_of_points_at_one_place_a_click_takes_the_last() -> None:
    browser = Browser()
    for label in (0, 1):
        browser.send("edit", op="add", x=0.25, y=0.5, label=label)
    browser.send("edit", op="erase", places=[[0.25, 0.5]])
    points = browser.scene["points"]
    at = (points["x"] == 0.25) & (points["y"] == 0.5)
    assert points["label"][at].tolist() == [0]


def test_a_sweep_over_a_whole_class_leaves_its_last_training_point() -> None:
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


def test_a_refused_start_of_a_sweep_does_not_swallow_its_undo() -> None:
    browser = Browser()
    before = standing(browser)
    browser.send("edit", op="erase", places=[[50.0, 50.0]], dragging=True)
    assert browser.last["kind"] == "notice"
    browser.send("edit", op="erase", places=places(browser, 5), dragging=True)
    browser.send("edit", op="undo")
    assert standing(browser) == before


@pytest.mark.parametrize(
    "places",
    [
        "all",
        {"0": [1, 2]},
        [],
        [1, 2],
        [[0.5]],
        [["0.5", None]],
        [[float("nan"), 0.0]],
        [[10**400, 0]],
        [[[0.5], {}]],
        [[0.5, 0.5]] * 3001,
    ],
    ids=lambda places: str(places)[:20],
)
def test_places_that_nothing_stands_at_change_nothing(places: object) -> None:
    browser = Browser()
    before = browser.choice
    header = browser.send("edit", op="erase", places=places)
    assert header["kind"] == "notice"
    text = header["notices"][0]["text"]
    assert "no longer there" in text or "unexpected" in text
    assert browser.choice == before
    words = browser.send("edit", op="undo")["notices"][0]["text"]
    assert "nothing to undo" in words


def test_a_stroke_of_the_spray_is_one_step_to_undo() -> None:
    browser = Browser(data="drawn", data_values={"n_classes": 3})
    before = standing(browser)
    assert len(before) == 3
    spray = {"op": "spray", "dx": 0.1, "dy": 0.2, "label": 2}
    browser.send("edit", **spray, places=[[0.0, 0.5]], dragging=True)
    browser.send("edit", **spray, places=[[0.1, 0.5], [0.2, 0.5]], dragging=True)
    done = browser.send("edit", **spray, places=[], dragging=False)
    assert done["picture"]["canonical"]
    points = browser.scene["points"]
    order = np.argsort(points["row"])[3:]
    x, y = points["x"][order], points["y"][order]
    assert len(x) == 12
    middle = np.repeat([0.0, 0.1, 0.2], 4)
    assert (((x - middle) / 0.1) ** 2 + ((y - 0.5) / 0.2) ** 2 <= 1.0001).all()
    assert len(np.unique(x)) == 12
    assert (points["label"][order] == 2).all()
    browser.send("edit", op="undo")
    assert standing(browser) == before


def test_of_what_is_sprayed_each_part_has_its_share() -> None:
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


def test_the_same_strokes_draw_the_same_points() -> None:
    drawn = []
    for _ in range(2):
        browser = Browser(data="drawn")
        spray = {"op": "spray", "dx": 0.1, "dy": 0.1, "label": 0}
        browser.send("edit", **spray, places=[[0.0, 0.5]], dragging=False)
        drawn.append(standing(browser))
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"places": [[0.0, "a"]]}, "two coordinates"),
        ({"places": [[1e300, 0.0]]}, "two coordinates"),
        ({"places": "here"}, "something unexpected"),
        ({"places": []}, "something unexpected"),
        ({"places": [[0.0, 0.0]] * 201}, "something unexpected"),
        ({"label": 7}, "one of the classes"),
        ({"dx": None}, "two coordinates"),
    ],
)
def test_a_spray_of_nonsense_is_answered_in_words(wrong, words) -> None:
    browser = Browser(data="drawn")
    before = standing(browser)
    spray = {"places": [[0.0, 0.0]], "dx": 0.1, "dy": 0.1, "label": 0} | wrong
    answer = browser.send("edit", op="spray", **spray)
    assert words in answer["notices"][0]["text"]
    assert standing(browser) == before


def test_no_more_points_than_can_be_edited_are_sprayed() -> None:
    browser = Browser(data_values={"n_samples": 2990})
    spray = {"op": "spray", "dx": 0.1, "dy": 0.1, "label": 0, "dragging": False}
    answer = browser.send("edit", **spray, places=[[0.0, 0.0]] * 3)
    assert "At most 3,000 points" in answer["notices"][0]["text"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_begins_with_a_point_of_each_class(method) -> None:
    for n_classes in (2, 5):
        browser = Browser(
            data="drawn", data_values={"n_classes": n_classes}, method=method
        )
        assert browser.last["picture"]["canonical"]
        assert browser.scene["editable"]
    refused = browser.send("edit", op="erase", places=places(browser, 0))
    assert "last training point of its class" in refused["notices"][0]["text"]


def values(browser: Browser, first: int) -> np.ndarray:
    """Targets of the points from a row number on."""
    points = browser.scene["points"]
    return points["value"][points["row"] >= first]


def test_where_a_number_is_predicted_sprayed_points_have_a_value() -> None:
    spray = {"op": "spray", "dx": 0.1, "dy": 0.1, "places": [[0.5, 0.25]]}
    browser = Browser(data="hills", method=REGRESSION)
    n = len(browser.scene["points"]["x"])
    browser.send("edit", **spray, value=0.75)
    assert values(browser, n).tolist() == [0.75] * 4
    curve = Browser(data="sine", method=REGRESSION)
    n = len(curve.scene["points"]["x"])
    curve.send("edit", **spray)
    assert (np.abs(values(curve, n) - 0.25) <= 0.1).all()
    assert "value up to" in browser.send("edit", **spray)["notices"][0]["text"]


def test_two_outliers_are_training_rows_and_one_step_to_undo() -> None:
    browser = Browser()
    before = standing(browser)
    n = len(browser.scene["points"]["x"])
    place = {"x": 1.5, "y": 1.0, "dx": 0.05, "label": 0}
    browser.send("edit", op="outliers", **place)
    points = browser.scene["points"]
    new = points["row"] >= n
    np.testing.assert_allclose(sorted(points["x"][new]), [1.45, 1.55], rtol=1e-6)
    assert points["label"][new].tolist() == [0, 0]
    assert points["part"][new].tolist() == [0, 0]
    assert "two outliers" in browser.last["undo"]
    browser.send("edit", op="undo")
    assert standing(browser) == before


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"dx": None}, "two coordinates"),
        ({"x": 1e300}, "two coordinates"),
        ({"label": 9}, "one of the classes"),
    ],
)
def test_outliers_of_nonsense_are_answered_in_words(wrong, words) -> None:
    browser = Browser()
    place = {"x": 0.0, "y": 0.0, "dx": 0.1, "label": 0} | wrong
    answer = browser.send("edit", op="outliers", **place)
    assert words in answer["notices"][0]["text"]
