"""What the server makes of a sweep of the eraser: places in, rows out."""

from __future__ import annotations

import numpy as np
import pytest

from tests import test_live
from tests.test_live import Browser

kernels = test_live.kernels


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
