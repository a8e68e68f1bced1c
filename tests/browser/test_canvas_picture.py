"""What the live figure paints, and that it does not jump."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from tests.browser import canvas_harness as harness
from tests.browser.canvas_page import (
    PIXELS,
    at,
    canvas,
    fits,
    heard,
    hold,
    slider,
    state,
    wait_heard,
    wait_until,
)


def test_hostile_names_are_text(visit):
    page = visit("scene=table")
    page.locator(".twin summary").click()
    expect(page.locator(".twin .tables")).to_contain_text(harness.HOSTILE[0])
    assert page.evaluate("window.hacked") is None
    assert page.locator(".spe img, .spe script, .spe b:has(*)").count() == 0
    assert fits(page)


def test_theme_change_repaints_and_keeps_all(visit):
    page = visit(color_scheme="light")
    canvas(page).focus()
    page.keyboard.press("+")
    corner = "n => n.getContext('2d').getImageData(5, 5, 1, 1).data[0]"
    raster = page.locator("canvas.raster")
    light = raster.evaluate(corner)
    page.emulate_media(color_scheme="dark")
    wait_until(page, lambda: raster.evaluate(corner) < light - 60)
    assert state(page)["zoom"] == "1.5" and state(page)["knots"] == str(
        len(harness.PATH)
    )


@pytest.mark.parametrize("width", [375, 1280])
def test_nothing_jumps_and_nothing_overflows(visit, width):
    page = visit(viewport={"width": width, "height": 800})
    boxes = """node => [...node.querySelectorAll(`section, canvas.marks, canvas.strip,
        .numbers, .here, .row, .legend`)].map((n) => {
          const { left, top, width, height } = n.getBoundingClientRect();
          return [left, top, width, height].map(Math.round).join();
        })"""
    root = page.locator(".grid")
    before = root.evaluate(boxes)
    slider(page, "mu").evaluate(
        """node => { node.value = 20;
        node.dispatchEvent(new Event("input", { bubbles: true, composed: true })); }"""
    )
    wait_heard(page, 1)
    assert root.evaluate(boxes) == before
    wait_heard(page, 2)
    assert root.evaluate(boxes) == before
    assert fits(page)


@pytest.mark.parametrize("kind", ["table", "digits"])
def test_regions_are_exact_between_the_nodes(visit, kind):
    page = visit(f"scene={kind}")
    painted = int(state(page)["paintCount"])
    page.get_by_label("Lead bands").uncheck()
    wait_until(page, lambda: int(state(page)["paintCount"]) > painted)
    width, height, data = page.locator("canvas.raster").evaluate(
        """n => {
          const { data } = n.getContext("2d").getImageData(0, 0, n.width, n.height);
          const [seen, text] = [new Map(), []];
          for (const colour of new Uint32Array(data.buffer)) {
            if (!seen.has(colour)) seen.set(colour, String.fromCharCode(seen.size));
            text.push(seen.get(colour));
          }
          return [n.width, n.height, text.join("")];
        }"""
    )
    colours = np.frombuffer(data.encode("utf-16-le"), "<u2").reshape(height, width)
    made = harness.start(kind)
    _, coef = harness.model(made, made["values"]["lam"])
    x = -3.2 + 6.4 * (np.arange(width) + 0.5) / width
    y = 3.2 - 6.4 * (np.arange(height) + 0.5) / height
    each = np.stack(np.meshgrid(x, y), -1) @ coef[:, :2].T + coef[:, 2]
    classes = range(harness.SIZES[kind][0])
    scores = np.stack([each[..., made["owner"] == k].max(-1) for k in classes], -1)
    exact = scores.argmax(-1)
    painted = {colour: exact[colours == colour] for colour in np.unique(colours)}
    wrong = sum((k != np.bincount(k).argmax()).sum() for k in painted.values())
    assert wrong / exact.size < 0.002


def test_only_weights_that_are_not_zero_get_a_bar(visit):
    page = visit("scene=table")
    made = harness.start("table")
    for lam, knot in ((0.0, "Home"), (1.0, "End")):
        slider(page, "lam").focus()
        page.keyboard.press(knot)
        expect(canvas(page)).to_have_attribute("data-last-value", f"{lam:g}")
        weights, _ = harness.model(made, lam)
        for j, own in enumerate(weights):
            card = page.locator(".card").nth(j)
            used = int((own != 0).sum())
            rows = card.locator(".weight:not(.bias)")
            words = f"{used} weight" if used else "all weights 0"
            expect(card.locator("small")).to_contain_text(words)
            expect(rows).to_have_count(min(used, 12))
            assert "0" not in rows.locator(".number").all_inner_texts()
    assert (weights == 0).all(axis=1).any(), "the last model has an empty prototype"


def test_of_a_level_the_column_is_cut_and_the_level_stays(visit):
    page = visit("scene=table")
    levels = page.locator(".card .weight:not(.bias) .feature").filter(
        has_text=" = level"
    )
    assert len(set(levels.all_text_contents())) > 2
    found = levels.evaluate_all(
        """names => names.map((name) => {
          const [column, level] = name.querySelectorAll("span");
          const ends = [level, name].map((n) => n.getBoundingClientRect().right);
          return ends[0] <= ends[1] + 1 && level.scrollWidth <= level.clientWidth
            && column.scrollWidth > column.clientWidth
            && name.title === name.textContent;
        })"""
    )
    assert all(found)


def test_a_method_without_weights_is_shown_in_words(visit):
    page = visit("scene=digits")
    page.locator("[data-name=method] label span").nth(3).click()
    expect(page.locator(".caption")).to_contain_text("mix of real training rows")
    cards = page.locator(".card")
    assert cards.count() == harness.SIZES["digits"][2]
    expect(cards.first).to_contain_text("made of 3 parts")
    expect(page.locator(".card :is(.weight, .tile)")).to_have_count(0)
    made = page.locator(".entries").get_by_text("training row used in prototypes")
    drawn = page.get_by_role("checkbox", name="Prototypes")
    drawn.check()
    expect(made).to_be_visible()
    page.locator(".twin summary").click()
    expect(page.locator(".twin .tables")).to_contain_text("Number of parts")
    page.mouse.move(100, 100)
    ringed = canvas(page).evaluate(PIXELS)
    drawn.uncheck()
    expect(made).to_be_hidden()
    assert canvas(page).evaluate(PIXELS) != ringed
    drawn.check()
    expect(made).to_be_visible()
    page.locator("[data-name=method] label span").nth(0).click()
    expect(made).to_be_hidden()
    expect(cards.first).to_contain_text("weights")
    expect(cards.first.locator(".tile").first).to_be_visible()


def test_data_too_large_for_previews_say_so_while_dragging(visit):
    page = visit("large=1")
    hold(page, slider(page, "mu"), 0.4)(0.7, steps=4)
    said = page.locator("[data-name=mu]").get_by_role("status")
    expect(said).to_have_text("Release to refit")
    expect(page.locator(".badge")).to_have_text("Release to refit")
    expect(page.locator("[data-name=n]").get_by_role("status")).to_have_count(0)
    page.mouse.up()
    expect(said).to_have_count(0)
    expect(page.locator(".badge")).to_be_hidden()
    expect(page.locator(".waiting")).to_have_count(0)


def test_invented_cases_are_stars_that_say_what_they_are(visit):
    page = visit("cases=stars")
    entries = page.locator(".entries")
    for words in (
        "prototype (invented case)",
        "invented case far from all data",
        "path from its starting position",
    ):
        expect(entries.get_by_text(words)).to_be_visible()
    expect(entries.get_by_text("training row used")).to_have_count(0)
    here = page.locator(".here")
    page.mouse.move(*at(page, 0, 1.9))
    expect(here).to_contain_text("Prototype 2, invented case · class outer · weight +")
    expect(here).not_to_contain_text("far from all data")
    page.mouse.move(*at(page, 0, -1.9))
    expect(here).to_contain_text("Prototype 4, invented")
    expect(here).to_contain_text("far from all data")
    expect(here).to_contain_text("Farther from every training row")
    expect(page.locator(".card").nth(3)).to_contain_text("far from all data")
    page.mouse.move(100, 100)
    starred = canvas(page).evaluate(PIXELS)
    page.get_by_role("checkbox", name="Prototypes").uncheck()
    expect(entries.get_by_text("prototype (invented case)")).to_be_hidden()
    assert canvas(page).evaluate(PIXELS) != starred
    page.locator(".bar").scroll_into_view_if_needed()
    page.mouse.move(*at(page, 0, 1.9))
    expect(here).to_contain_text("lead")


def test_a_star_is_read_with_the_keyboard_and_not_while_points_are_moved(visit):
    page = visit("cases=stars")
    canvas(page).focus()
    for _ in range(15):  # from the middle, 2 % of the height each: on the second star
        page.keyboard.press("ArrowUp")
    expect(page.locator(".here")).to_contain_text("Prototype 2, invented")
    page.get_by_role("button", name="Move (tool)").click()
    page.mouse.move(*at(page, 0, 1.9))
    expect(page.locator(".here")).not_to_contain_text("invented")


def test_the_chart_of_weights_moves_with_the_slider_and_keeps_its_lines(visit):
    page = visit("scene=digits&cases=stars")
    chart = page.get_by_role("group", name="Weights of the cases")
    lines = chart.locator(".weight")
    expect(lines).to_have_count(12)
    expect(chart).to_contain_text("and 8 more")
    page.locator(".twin summary").click()
    table = page.locator(".twin .tables table").filter(has_text="Weights of the cases")
    expect(table.locator("tbody tr")).to_have_count(12)
    numbers = chart.locator(".number").all_inner_texts()
    assert table.locator("td").all_inner_texts() == numbers
    names = chart.locator(".feature").all_inner_texts()
    hold(page, slider(page, "lam"), 0.3)(0.85, steps=10)
    wait_until(page, lambda: chart.locator(".number").all_inner_texts() != numbers)
    stay = chart.locator(".feature").all_inner_texts()
    assert all(new == old for new, old in zip(stay, names, strict=True) if old in stay)
    page.mouse.up()

    def ranked() -> bool:
        values = chart.locator(".number").all_inner_texts()
        sizes = [abs(float(text.replace("−", "-"))) for text in values]
        return sizes == sorted(sizes, reverse=True)

    wait_until(page, ranked)
    long = chart.locator("i").evaluate_all("all => all.map((n) => n.offsetWidth)")
    assert long == sorted(long, reverse=True) and long[0] > 0


@pytest.mark.parametrize(("scene", "width"), [("table", 1280), ("digits", 375)])
def test_a_mix_shows_its_heaviest_cases(visit, scene, width):
    page = visit(f"scene={scene}&cases=mixes", viewport={"width": width, "height": 800})
    n_classes = harness.SIZES[scene][0]
    cards = page.locator(".card")
    four, five = cards.nth(0), cards.nth(1)  # prototypes of the first class have four
    parts = ".faces canvas" if scene == "digits" else ".weight"
    expect(four.locator(parts)).to_have_count(4)
    expect(five.locator(parts)).to_have_count(5)
    expect(five).to_contain_text("50 %")
    expect(cards.nth(n_classes)).to_contain_text(f"{n_classes} not shown")
    if scene == "digits":
        ink = five.locator("canvas").nth(1).evaluate(PIXELS)
        grey = [255 - (64 * 5 + i) % 256 for i in range(64)]
        assert ink == ",".join(f"{v},{v},{v},255" for v in grey)
        expect(five.get_by_role("img", name="row 1 ·")).to_be_visible()
    else:
        expect(five).to_contain_text("row 1 ·")
    assert fits(page)
    page.locator(".twin summary").click()
    expect(page.locator(".twin .tables")).to_contain_text("row 1 50 %, row 2 20 %")


# Where the live figure puts things: on a phone, with many settings and classes.

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


def test_on_a_phone_a_long_fit_can_be_stopped(visit):
    page = visit("scene=table", **PHONE)
    whole = """job => {
      job.hidden = false;
      job.firstElementChild.textContent = "Fitting Super-sparse: invented cases, 116 s";
      const [{ left, right }, around] =
        [job, job.parentElement].map((n) => n.getBoundingClientRect());
      return left >= around.left && right <= around.right;
    }"""
    assert page.locator(".job").evaluate(whole)


def test_presented_on_a_phone_nothing_is_covered_or_cut(visit):
    page = visit(**PHONE)
    page.get_by_role("button", name="Present").tap()
    plays = page.locator(".plays").bounding_box()
    assert (
        plays["y"] + plays["height"]
        <= page.locator(".scrub .value").bounding_box()["y"]
    )
    # Three numbers below one another, above the axis.
    em = page.locator(".spe").evaluate("n => parseFloat(getComputedStyle(n).fontSize)")
    strip = page.locator("canvas.strip").bounding_box()
    assert strip["height"] >= (0.55 + 2 * 1.1 + 1.6) * em
    page.keyboard.press("Escape")
    expect(page.locator(".spe")).not_to_have_class("spe present")
    expect(page.get_by_role("button", name="Present")).to_be_visible()


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
    assert names.nth(25).get_attribute("title") == "letter Z, written by hand"
    last = legend.locator(".entry:visible").last
    expect(last).to_have_text("prototype: its score rises along the arrow")
    expect(last).not_to_be_in_viewport()
    legend.focus()
    page.keyboard.press("End")
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
    move, found = hold(page, control, 0.3), []
    for share in (0.4, 0.5, 0.6):
        move(share)
        shown = page.locator("[data-name=lam] .value").input_value()
        expect(canvas(page)).to_have_attribute("data-last-value", shown)
        expect(page.locator("code")).to_contain_text(f'"lam": {shown}')
        found.append(heard(page)["heard"][0])
        assert found[-1]["dragging"] is True
    before = heard(page)["n"]
    page.mouse.up()
    return [*found, wait_heard(page, before + 1)["heard"][0]]
