"""The figure goes on where a part fails, and offers and shows only what is there."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.canvas_page import (
    canvas,
    heard,
    slider,
    state,
    wait_heard,
    wait_until,
)

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
TOOLS = ("Look", "Add", "Spray", "Outliers", "Move", "Erase")


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
    fit.click()
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
    expect(page.locator(".tables table")).to_have_count(0)
    expect(strip).to_have_attribute("aria-valuetext", "–")
    for name in ("Save as PNG", "Save as SVG", "Play the fit"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".prototypes canvas.tile")).to_have_count(20)
    expect(page.locator(".badge")).to_be_hidden()
    assert raster.evaluate(COLOURS) > 1
    expect(page.get_by_role("button", name="Save as PNG")).to_be_enabled()
