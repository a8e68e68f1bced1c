"""Where the live figure puts things: on a phone, with many settings and classes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.canvas_page import canvas, heard, slider, wait_heard

PHONE = {"viewport": {"width": 375, "height": 800}, "has_touch": True}
SMALL = """root => [...root.querySelectorAll(`button, select, summary, .value,
    .segments span, .flags label, input[type=range]`)]
    .filter((n) => n.checkVisibility())
    .map((n) => {
      const reach = parseFloat(getComputedStyle(n, "::after").inset) || 0;
      const { width, height } = n.getBoundingClientRect();
      return [n.outerHTML.slice(0, 60), width - 2 * reach, height - 2 * reach];
    })
    .filter(([, width, height]) => Math.min(width, height) < 39.5)"""


def top(page, css: str) -> float:
    """Where an element begins, below the top of the figure's own grid."""
    above = page.locator(".grid").bounding_box()["y"]
    return page.locator(css).first.bounding_box()["y"] - above


def fits(page) -> bool:
    wide = "n => n.scrollWidth <= n.clientWidth + 1"
    return page.locator(".grid").evaluate(wide)


def way_d(page) -> None:
    page.locator("[data-name=method] label span").nth(3).click()
    expect(canvas(page)).to_have_attribute("data-knot", "")
    expect(page.locator("canvas.strip")).to_be_hidden()


@pytest.mark.parametrize("scene", ["table", "many"])
def test_on_a_phone_the_settings_follow_the_picture(visit, scene):
    page = visit(f"scene={scene}", **PHONE)
    order = [".figure", ".scrub", "canvas.strip", "[data-name=method]"]
    order += ["[data-name=mu]", "[data-name=n]", ".legend", "[data-name=data]"]
    order += [".numbers", ".prototypes"]
    tops = [top(page, css) for css in order]
    assert tops == sorted(tops)
    between = top(page, "[data-name=method]") - top(page, "canvas.strip")
    assert between < page.locator("canvas.strip").bounding_box()["height"] + 60
    assert fits(page)
    for summary in page.locator("summary:visible").all():
        summary.tap()
    assert fits(page)
    assert page.locator(".spe").evaluate(SMALL) == []


def test_on_a_phone_nothing_of_the_note_is_cut(visit):
    page = visit("scene=table", **PHONE)
    whole = """note => {
      note.textContent = "Some words of what the picture shows and hides. ".repeat(7);
      return note.scrollHeight <= note.clientHeight + 1;
    }"""
    assert page.locator(".note").evaluate(whole)
    assert fits(page)


def test_the_phone_picture_stays_in_sight_of_every_slider(visit):
    page = visit("scene=many", **PHONE)
    for name in ("p6", "data"):
        row = page.locator(f"[data-name={name}]")
        row.evaluate("n => n.scrollIntoView({ block: 'end' })")
        box = page.locator(".figure").bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= row.bounding_box()["y"] + 1
    # What the keyboard reaches is not behind the picture.
    page.locator("[data-name=method] input").first.focus()
    slider(page, "lam").focus()
    box = page.locator(".figure").bounding_box()
    assert box["y"] + box["height"] <= slider(page, "lam").bounding_box()["y"] + 1


def test_a_turned_phone_gets_its_settings_back_in_place(visit):
    page = visit()
    assert page.locator(".stage .controls, .stage [data-name=method]").count() == 0
    page.set_viewport_size({"width": 375, "height": 800})
    expect(page.locator(".stage [data-name=method]")).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator(".stage [data-name=method]")).to_have_count(0)
    names = "nodes => nodes.map((n) => n.dataset.name)"
    rows = page.locator(".controls .row").evaluate_all(names)
    assert rows == ["data", "method", "mu", "n", "bias"]


def test_sliders_of_other_features_are_folded(visit):
    page = visit("scene=many", viewport={"width": 375, "height": 900})
    fold = page.locator(".slices")
    expect(fold.locator("summary")).to_have_text("Other features (12)")
    expect(slider(page, "v.at3")).to_be_hidden()
    before = top(page, ".numbers")
    fold.locator("summary").click()
    expect(slider(page, "v.at3")).to_be_visible()
    assert fold.bounding_box()["height"] < 340
    assert top(page, ".numbers") - before < 300
    slider(page, "v.at11").focus()
    page.keyboard.press("ArrowRight")
    values = wait_heard(page, 1)["heard"][0]["values"]
    assert values == {"v.at11": pytest.approx(0.505)}
    expect(fold).to_have_attribute("open", "")
    assert fits(page)


def test_many_classes_keep_a_legend_of_fixed_height(visit):
    page = visit("scene=many")
    legend = page.locator(".entries")
    names = legend.locator(".word")
    assert names.count() == 26 + 3 + 2
    assert legend.bounding_box()["height"] < 110
    legend.focus()
    page.keyboard.press("End")
    last = names.nth(25)
    assert last.get_attribute("title") == "letter Z, written by hand"
    expect(last).to_be_in_viewport()
    assert fits(page)


def test_without_a_path_there_is_no_hole(visit):
    page = visit()
    way_d(page)
    expect(page.locator(".scrub")).to_be_hidden()
    boxes = [page.locator(name).bounding_box() for name in (".here", ".plays", ".note")]
    for above, below in pairwise(boxes):
        assert below["y"] - above["y"] - above["height"] < 12
    moves = heard_drags(page, slider(page, "lam"))
    assert moves[-1]["dragging"] is False
    assert [list(m["values"]) for m in moves] == [["lam"]] * len(moves)
    expect(page.locator("canvas.strip")).to_be_hidden()
    page.locator("[data-name=method] label span").nth(0).click()
    expect(page.locator("canvas.strip")).to_be_visible()


def heard_drags(page, control: Locator) -> list[dict]:
    """Messages while a slider moves step by step, and when it is let go."""
    box = control.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], middle)
    page.mouse.down()
    found = []
    for share in (0.4, 0.5, 0.6):
        page.mouse.move(box["x"] + share * box["width"], middle)
        shown = page.locator("[data-name=lam] .value").input_value()
        expect(canvas(page)).to_have_attribute("data-last-value", shown)
        expect(page.locator("code")).to_contain_text(f'"lam": {shown}')
        found.append(heard(page)["heard"][0])
        assert found[-1]["dragging"] is True
    before = heard(page)["n"]
    page.mouse.up()
    return [*found, wait_heard(page, before + 1)["heard"][0]]
