"""What the live figure sends, and what it does with the answers."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser import canvas_harness as harness
from tests.browser.canvas_page import (
    PIXELS,
    at,
    canvas,
    heard,
    let_go,
    slider,
    state,
    sweep,
    wait_heard,
    wait_quiet,
    wait_until,
)


def test_scrub_paints_in_the_browser_alone(visit):
    page = visit()
    page.evaluate(
        """() => {
          window.times = [];
          let started = null;
          document.addEventListener("input", () => (started = performance.now()), true);
          new PerformanceObserver(() => {
            if (started === null) return;
            const from = started;
            started = null;
            requestAnimationFrame(() => window.times.push(performance.now() - from));
          }).observe({ entryTypes: ["mark"] });
        }"""
    )
    control = slider(page, "lam")
    box = control.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8, middle)
    page.mouse.down()
    wait_quiet(page, page.sent)
    sent, knots = len(page.sent), set()
    for i in range(1, 31):
        page.mouse.move(box["x"] + 8 + i / 30 * (box["width"] - 16), middle)
        wait_until(page, lambda: state(page)["knot"] not in knots)
        knots.add(state(page)["knot"])
    assert len(page.sent) == sent
    assert len(knots) == 30
    times = page.evaluate("window.times")
    assert len(times) >= 28
    page.mouse.up()
    last = wait_heard(page, 1)["heard"][0]
    assert last["values"] == {"lam": 1} and last["dragging"] is False
    assert state(page)["lastValue"] == "1"


def test_commits_keep_node_zoom_and_slider(visit):
    page = visit()
    node = canvas(page).element_handle()
    page.mouse.move(*at(page, 1, 1))
    page.mouse.wheel(0, -400)
    hint = page.get_by_text("click the figure first or hold Ctrl")
    expect(hint).to_be_visible()
    assert state(page)["zoom"] == "1"
    page.mouse.click(*at(page, 1, 1))
    page.mouse.wheel(0, -400)
    wait_until(page, lambda: state(page)["zoom"] != "1")
    zoom = state(page)["zoom"]
    assert float(zoom) > 1.5
    started = int(state(page)["paintCount"])
    sweep(page, slider(page, "mu"), 12)
    pictures = int(state(page)["paintCount"]) - started
    assert pictures >= 12
    last = let_go(page)
    shown = float(page.locator("[data-name=mu] .value").input_value())
    assert last["values"]["mu"] == pytest.approx(shown, rel=0.01)
    assert state(page)["zoom"] == zoom
    assert node.evaluate("node => node.isConnected")
    expect(page.locator(".badge")).to_be_hidden()


def test_stale_output_is_dimmed_after_300_ms_only(visit):
    root = visit("delay=900").locator(".spe")
    assert "stale" not in root.get_attribute("class")
    waited = root.evaluate(
        """async (root) => {
          const start = performance.now();
          root.querySelectorAll("[data-name=method] label span")[1].click();
          while (!root.classList.contains("stale"))
            await new Promise((done) => setTimeout(done, 5));
          return performance.now() - start;
        }"""
    )
    assert waited >= 290
    expect(root).not_to_have_class("spe stale")


@pytest.mark.slow
def test_lost_answer_is_asked_for_again(visit):
    page = visit("silent=5")
    page.locator("[data-name=method] label span").nth(1).click()
    wait_heard(page, 1)
    assert int(state(page)["seq"]) < heard(page)["heard"][0]["seq"]

    def answered() -> bool:
        return int(state(page)["seq"]) >= heard(page)["heard"][0]["seq"]

    wait_until(page, answered)
    assert heard(page)["heard"][0]["values"] == {"method": "b"}


def test_knots_of_another_scene_are_not_asked_for_again_and_again(visit):
    page = visit()
    slider(page, "mu").press("End")
    wait_until(page, lambda: state(page)["knots"] in ("0", "1"))
    wait_quiet(page, page.sent)


def test_typed_values_are_put_right_aloud(visit):
    page = visit()
    field = page.locator("[data-name=mu] .value")
    field.fill("7,5")
    field.press("Enter")
    row = page.locator("[data-name=mu]")
    expect(row.get_by_role("status")).to_contain_text("maximum is 1")
    assert wait_heard(page, 1)["heard"][0]["values"] == {"mu": 1}
    field.fill("much")
    field.press("Enter")
    expect(row.get_by_role("status")).to_contain_text("Not a number")
    expect(field).to_have_value("1")
    lam = page.locator("[data-name=lam] .value")
    lam.fill("0.0333")
    lam.press("Enter")
    assert wait_heard(page, 2)["heard"][0]["values"] == {"lam": 0.0333}
    expect(lam).to_have_value("0.0333")
    page.locator("[data-name=n] .value").fill("1,000")
    page.locator("[data-name=n] .value").press("Enter")
    status = page.locator("[data-name=n]").get_by_role("status")
    expect(status).to_contain_text("The maximum is")


def test_long_fit_shows_its_progress_and_can_be_stopped(visit):
    page = visit()
    page.locator("[data-name=method] label span").nth(2).click()
    expect(page.locator(".job")).to_contain_text("Fitting Way C")
    expect(page.locator(".spe")).to_have_class("spe working")
    expect(page.locator(".news")).to_contain_text("Warning: Way C takes long.")
    expect(page.locator(".busy")).to_contain_text("5 visitors are fitting")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".job")).to_be_hidden()
    expect(page.locator("code")).to_contain_text('"kind": "stop"')
    page.locator("[data-name=method] label span").nth(0).click()
    page.locator("[data-name=method] label span").nth(2).click()
    expect(page.locator(".job")).to_be_visible()
    expect(page.locator(".job")).to_be_hidden()
    expect(page.locator("code")).to_contain_text('"kind": "poll"')


def test_refusal_is_said_and_the_picture_stays(visit):
    page = visit()
    page.locator("[data-name=data] select").select_option(label="Data set 8")
    expect(page.locator(".news")).to_contain_text("Error: Data set 8 is not here")
    assert int(state(page)["seq"]) > 0
    chosen = "node => node.selectedOptions[0].textContent"
    assert page.locator("[data-name=data] select").evaluate(chosen) == "Data set 2"
    page.locator("[data-name=method] label span").nth(1).click()
    expect(page.locator(".news li")).to_have_count(0)


def test_page_runs_around_it_change_nothing(visit):
    page = visit()
    node = canvas(page).element_handle()
    canvas(page).focus()
    page.keyboard.press("+")
    for _ in range(8):
        page.get_by_role("button", name="Run the page again").click(no_wait_after=True)
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-script-state", "notRunning")
    assert node.evaluate("node => node.isConnected")
    assert state(page)["zoom"] == "1.5"


def test_who_does_not_see_the_figure_can_work_with_it(visit):
    page = visit()
    figure = canvas(page)
    # Arrow keys are the figure's, and not those of a screen reader's own cursor.
    expect(figure).to_have_role("application")
    expect(figure).to_have_accessible_name(re.compile(r"\w+"))
    expect(figure).to_have_accessible_description(re.compile("Arrow keys move"))
    told = page.locator("[aria-live=polite].unseen")
    before = told.inner_text()
    figure.press("]")
    expect(told).not_to_have_text(before)
    slider(page, "lam").press("ArrowRight")
    expect(told).to_contain_text("Validation accuracy")
    name = slider(page, "lam").evaluate("node => node.labels[0].textContent")
    expect(page.get_by_role("button", name=f"Help for {name}")).to_have_count(1)
    details = page.locator("#" + figure.get_attribute("aria-details"))
    details.locator("summary").press("Enter")
    expect(details.get_by_role("table", name="Prototypes")).to_be_visible()


# The visitor's hand on the live figure: keyboard, mouse, touch.


def test_touch(visit):
    page = visit(viewport={"width": 375, "height": 800}, has_touch=True)
    points = heard(page)["points"]
    page.get_by_role("button", name="Add (tool)").tap()
    page.touchscreen.tap(*at(page, 2.5, -2.5))
    assert wait_heard(page, 1)["points"] == points + 1
    page.get_by_role("button", name="Move (tool)").tap()
    page.touchscreen.tap(*at(page, 2.5, -2.5))
    page.touchscreen.tap(*at(page, -2.5, -2.5))
    wait_until(page, lambda: heard(page)["heard"][0]["op"] == "move")
    last = let_go(page)
    assert last["x"] == pytest.approx(-2.5, abs=0.05)


def test_hover_says_scores_and_points(visit):
    page = visit("scene=table")
    page.mouse.move(*at(page, 3.1, -3.1))
    expect(page.locator(".here")).to_contain_text("runner-up")
    expect(page.locator(".here")).to_contain_text("Scores:")
    x, y = (float(harness.start("table")["points"][axis][0]) for axis in "xy")
    page.mouse.move(*at(page, x, y))
    expect(page.locator(".here")).to_contain_text("predicted")


def sweep_over(page, left: float, right: float, steps: int = 12) -> None:
    """Press at x = left and sweep to x = right, at y = 0; the button stays down."""
    page.mouse.move(*at(page, left, 0))
    page.mouse.down()
    for i in range(1, steps + 1):
        page.mouse.move(*at(page, left + (right - left) * i / steps, 0))


def passed(left: float, right: float, reach: float) -> int:
    """Points of the toy within reach of the sweep."""
    points = harness.start("toy")["points"]
    near = np.clip(points["x"], left, right)
    far = np.hypot(points["x"] - near, points["y"])
    return int((far < reach).sum())


def test_a_sweep_erases_what_it_passes_in_one_step(visit):
    page = visit()
    points = heard(page)["points"]
    page.get_by_role("button", name="Erase (tool)").click()
    sweep_over(page, -1.5, 1.5)
    follows = wait_heard(page, 2)
    assert follows["heard"][0]["dragging"] is True
    assert follows["points"] < points, "the fit follows while the sweep lasts"
    page.mouse.up()
    expect(page.locator(".badge")).to_be_hidden()
    expect(page.locator("code")).to_contain_text('"dragging": false')
    last = heard(page)
    assert last["heard"][0]["op"] == "erase"
    width = page.locator("canvas.raster").bounding_box()["width"]
    pixel = 6.4 / width
    least, most = passed(-1.5, 1.5, 6 * pixel), passed(-1.5, 1.5, 14 * pixel)
    assert 3 < least <= points - last["points"] <= most
    page.get_by_role("button", name="Undo").click()
    assert wait_heard(page, last["n"] + 1)["points"] == points


#: The answer that the figure had when its pixels changed, however late that is read.
SEQ_OF_THE_NEXT_PICTURE = f"""(canvas) => {{
  const before = ({PIXELS})(canvas);
  window.next = new Promise((done) => {{
    const look = () => ({PIXELS})(canvas) === before
      ? requestAnimationFrame(look) : done(canvas.dataset.seq);
    look();
  }});
}}"""


def test_swept_points_vanish_before_the_server_answers(visit):
    page = visit("delay=1500")
    page.get_by_role("button", name="Erase (tool)").click()
    page.mouse.move(*at(page, -1.5, 0))
    page.wait_for_timeout(100)
    seq = state(page)["seq"]
    canvas(page).evaluate(SEQ_OF_THE_NEXT_PICTURE)
    sweep_over(page, -1.5, 0.5, steps=4)
    assert page.evaluate("window.next") == seq
    page.mouse.up()


def test_the_strip_is_a_slider_for_the_keyboard(visit):
    page = visit()
    strip = page.get_by_role("slider", name="Path of Fusion λ")
    before = int(strip.get_attribute("aria-valuenow"))
    strip.focus()
    page.keyboard.press("ArrowRight")
    expect(strip).to_have_attribute("aria-valuenow", str(before + 1))
    outline = "n => getComputedStyle(n).outlineStyle"
    assert strip.evaluate(outline) == "solid"
    assert "non-zeros" in strip.get_attribute("aria-valuetext")
    sent = wait_heard(page, 1)["heard"][0]
    assert sent["values"]["lam"] == pytest.approx(harness.PATH[before + 1])
    page.keyboard.press("End")
    expect(strip).to_have_attribute("aria-valuenow", str(len(harness.PATH) - 1))
    page.keyboard.press("Home")
    expect(strip).to_have_attribute("aria-valuenow", "0")
    expect(slider(page, "lam")).to_have_value("0")


def test_everything_in_the_figure_shows_where_the_focus_is(visit):
    page = visit("scene=many")
    page.locator("summary").first.focus()
    page.locator(".spe").evaluate("n => (n.getRootNode().host ?? n).scrollIntoView()")
    seen = set()
    for _ in range(70):
        page.keyboard.press("Tab")
        found = page.evaluate(
            """() => {
              let node = document.activeElement;
              while (node?.shadowRoot?.activeElement)
                node = node.shadowRoot.activeElement;
              if (!node?.closest(".spe")) return null;
              const drawn = node.type === "radio" ? node.nextElementSibling : node;
              const { outlineStyle, outlineWidth } = getComputedStyle(drawn);
              return [node.className || node.tagName, outlineStyle, outlineWidth];
            }"""
        )
        if found is None:
            continue
        seen.add(found[0])
        assert found[1:] == ["solid", "2px"], found
    assert {"marks", "strip", "value", "SUMMARY"} <= seen


# The figure goes on where a part fails, and offers and shows only what is there.

#: Parts of the figure, and a call of the browser that only they make.
PARTS = {
    "regions": ("CanvasRenderingContext2D", "putImageData", ".raster"),
    "points and borders": ("CanvasRenderingContext2D", "strokeRect", ".marks"),
    "the strip": ("CanvasRenderingContext2D", "fillText", ".strip"),
    "prototypes": ("CanvasRenderingContext2D", "putImageData", ".tile"),
    "metrics": ("Element", "setAttribute", ".marks"),
    "settings": ("Element", "querySelectorAll", ".row"),
}
#: Let the call fail for the elements of a selector.
BREAK = """([owner, call, selector]) => {
  const proto = window[owner].prototype;
  const whole = (window.whole ??= proto[call]);
  proto[call] = function (...rest) {
    if ((this.canvas ?? this).matches(selector)) throw new Error("broken");
    return whole.apply(this, rest);
  };
}"""
MEND = """([owner, call]) => {
  window[owner].prototype[call] = window.whole;
  delete window.whole;
}"""
TOOLS = ("Look", "Box", "Add", "Spray", "Outliers", "Move", "Erase")


def press_lam(page, key: str) -> None:
    """Move λ by a key, and wait until its answer is painted and acknowledged."""
    before = heard(page)["n"], state(page)["lastValue"]
    slider(page, "lam").press(key)
    wait_until(page, lambda: heard(page)["n"] > before[0])
    wait_until(page, lambda: state(page)["lastValue"] != before[1])
    expect(page.locator(".spe.stale")).to_have_count(0)


def test_a_part_that_fails_says_so_and_stops_nothing(visit):
    page = visit("scene=digits")
    errors = []
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    failed = page.locator(".failed")
    for name, patch in PARTS.items():
        page.evaluate(BREAK, list(patch))
        for key in ("ArrowRight", "ArrowLeft"):
            press_lam(page, key)
        expect(failed).to_have_text(f"This part could not be drawn ({name}: broken).")
        expect(failed).to_be_visible()
        assert sum(name in text for text in errors) == 1
        page.evaluate(MEND, list(patch))
        press_lam(page, "ArrowRight")
        expect(failed).to_have_count(0)


def test_an_answer_that_cannot_be_read_does_not_hold_up_the_next(visit):
    page = visit()
    page.evaluate(
        """() => {
          const parse = JSON.parse;
          JSON.parse = (text, ...rest) => {
            if (!text.includes('"winner"')) return parse(text, ...rest);
            JSON.parse = parse;
            throw new Error("cut short");
          };
        }"""
    )
    slider(page, "mu").press("ArrowLeft")
    expect(page.locator(".failed")).to_contain_text("the answer: cut short")
    expect(page.locator(".spe.stale")).to_have_count(0)
    press_lam(page, "ArrowRight")
    expect(page.locator(".failed")).to_have_count(0)


def test_what_cannot_be_done_is_not_offered(visit):
    page = visit()
    bar = page.get_by_role("group", name="Figure tools")
    undo = bar.locator("button", has_text="Undo")
    names = "Zoom out", "Zoom in", "Reset the zoom and show everything"
    out, closer, fit = (bar.get_by_role("button", name=name) for name in names)
    for button in (out, fit):
        expect(button).to_be_disabled()
        expect(button).to_have_attribute("title", "Everything is shown")
    n = heard(page)["n"]
    canvas(page).focus()
    page.keyboard.press("Control+z")
    for _ in range(12):
        page.keyboard.press("+")
    expect(closer).to_be_disabled()
    expect(closer).to_have_attribute("title", "This is the closest zoom")
    fit.press("Enter")
    expect(fit).to_be_disabled()
    page.wait_for_timeout(100)
    expect(fit).to_be_focused()  # the keyboard stays where it is
    expect(closer).to_be_enabled()
    points = heard(page)["points"]
    bar.get_by_role("button", name="Add (tool)").press("Enter")
    canvas(page).focus()
    page.keyboard.press("Enter")
    for _ in range(3):  # before the answer, and more often than there are steps
        page.keyboard.press("Control+z")
    assert wait_heard(page, n + 2)["points"] == points
    expect(undo).to_be_disabled()
    page.wait_for_timeout(300)
    assert heard(page)["n"] == n + 2


#: How many pixels of the regions have other colours than the first.
COLOURS = """node => {
  const { data } = node.getContext("2d").getImageData(0, 0, node.width, node.height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""


def test_nothing_of_the_data_before_stays_while_a_model_is_waited_for(visit):
    page = visit("delay=300")
    raster, strip = page.locator("canvas.raster"), page.locator("canvas.strip")
    assert raster.evaluate(COLOURS) > 1
    page.get_by_text("Show as a table").click()
    page.locator("[data-name='data'] select").select_option(label="Data set 7")
    expect(page.locator(".job")).to_contain_text("Fitting Way C")
    expect(page.locator(".badge")).to_have_text("Waiting for the model")
    assert raster.evaluate(COLOURS) == 1
    expect(page.locator(".prototypes")).to_be_hidden()
    expect(page.locator(".prototypes .card")).to_have_count(0)
    expect(page.locator(".numbers > div")).to_have_count(0)
    expect(page.locator(".twin .tables table")).to_have_count(0)
    expect(strip).to_have_attribute("aria-valuetext", "–")
    for name in ("Save as PNG", "Save as SVG", "Play the fit"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".prototypes canvas.tile")).to_have_count(20)
    expect(page.locator(".badge")).to_be_hidden()
    assert raster.evaluate(COLOURS) > 1
    expect(page.get_by_role("button", name="Save as PNG")).to_be_enabled()


def inside(low: tuple[float, float], high: tuple[float, float]) -> list[int]:
    """Rows of the harness's points between two corners."""
    x, y = (harness.start("toy")["points"][name] for name in "xy")
    within = (low[0] <= x) & (x <= high[0]) & (low[1] <= y) & (y <= high[1])
    return np.flatnonzero(within).tolist()


def test_rows_in_a_box_are_selected_with_mouse_and_keys(visit):
    page = visit()
    words = page.get_by_role("status").filter(has_text="rows selected")
    first, second = inside((-0.5, -0.5), (1.5, 1.5)), inside((-2.5, -2.5), (-0.5, 0.5))
    assert first and second

    def selected() -> list[int] | None:
        last = (heard(page)["heard"] or [{}])[0]
        return sorted(last["want"]) if last.get("kind") == "select" else None

    page.keyboard.down("Shift")
    page.mouse.move(*at(page, -0.5, 1.5))
    page.mouse.down()
    page.mouse.move(*at(page, 1.5, -0.5), steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    wait_until(page, lambda: selected() == first)
    expect(words).to_contain_text(f"{len(first)} of 160 rows selected")
    page.get_by_role("button", name="Select rows in a box (tool)").click()
    page.keyboard.down("Control")
    page.mouse.move(*at(page, -2.5, -2.5))
    page.mouse.down()
    page.mouse.move(*at(page, -0.5, 0.5), steps=3)
    page.mouse.up()
    page.keyboard.up("Control")
    both = sorted({*first, *second})
    wait_until(page, lambda: selected() == both)
    row = page.get_by_role("button", name=f"Find row {both[0] + 1} in the figure")
    row.focus()
    expect(page.locator(".halo:not([hidden])")).to_have_count(1)
    row.click()
    expect(page.locator(".cross:not([hidden])")).to_have_count(1)
    page.get_by_role("button", name="Clear the selection").click()
    expect(words).to_have_count(0)
    canvas(page).focus()
    for key in ("Enter", *["Shift+ArrowRight"] * 10, *["Shift+ArrowUp"] * 10, "Enter"):
        page.keyboard.press(key)
    cursor = [both[0]]  # the crosshair stands on that row: the box begins there
    x, y = (harness.start("toy")["points"][name][cursor][0] for name in "xy")
    corner = inside((x - 1e-6, y - 1e-6), (9, 9))
    wait_until(page, lambda: selected() == corner)
