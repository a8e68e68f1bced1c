"""The fit step by step in real Chromium: played, stepped back, scrubbed by keyboard."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.canvas_page import state, wait_until
from tests.browser.test_app import settled, slider, visit
from tests.browser.test_canvas_picture import PHONE, SMALL

fixtures = (visit,)
OPENER = "▶ Play the fit"
COUNT_MESSAGES = """() => {
  const { send } = WebSocket.prototype;
  window.messages = 0;
  WebSocket.prototype.send = function (...data) {
    window.messages += 1;
    return send.apply(this, data);
  };
}"""


def _stepping(visit, query="data=moons", **options):
    """A page with all states of the fit in the browser, at the first one."""
    page = visit(f"?{query}", **options)
    canvas = settled(page)
    page.get_by_role("button", name=OPENER).click()
    page.wait_for_function(
        "({dataset: {steps, stepsWanted}}) => steps > 0 && steps === stepsWanted",
        arg=canvas.element_handle(),
    )
    wait_until(page, lambda: int(state(page)["step"]) > 0)  # it plays by itself
    page.keyboard.press("Home")
    page.evaluate(COUNT_MESSAGES)
    return page


def _painted(page):
    """What stands on the raster, as a text."""
    return page.locator("canvas.raster").evaluate("c => c.toDataURL()")


def test_the_fit_is_played_stepped_back_and_scrubbed_by_keyboard(visit):
    page = _stepping(visit)
    count = int(state(page)["stepsWanted"])
    assert count > 5
    scrubber = page.get_by_role("slider", name="State of the fit")
    expect(scrubber).to_be_focused()
    wait_until(page, lambda: state(page)["step"] == "0")
    first = _painted(page)
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause the fit")).to_be_visible()
    wait_until(page, lambda: int(state(page)["step"]) >= 2)
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name=OPENER)).to_be_visible()
    at = int(state(page)["step"])
    page.keyboard.press("ArrowLeft")
    wait_until(page, lambda: int(state(page)["step"]) == at - 1)
    sentence = page.locator(".sentence").inner_text()
    assert sentence.startswith(f"Step {at - 1}: ")
    page.keyboard.press("ArrowRight")
    wait_until(page, lambda: int(state(page)["step"]) == at)
    page.keyboard.press("Home")
    wait_until(page, lambda: state(page)["step"] == "0")
    assert _painted(page) == first
    page.keyboard.press("End")
    wait_until(page, lambda: int(state(page)["step"]) == count - 1)
    fitted = _painted(page)
    assert fitted != first
    assert page.evaluate("window.messages") == 0
    page.get_by_role("button", name="Close the steps").click()
    expect(page.get_by_role("button", name=OPENER)).to_be_focused()
    wait_until(page, lambda: state(page)["step"] == "")
    assert _painted(page) == fitted
    page.get_by_role("button", name=OPENER).click()
    panel = page.get_by_role("group", name="Steps of the fit")
    expect(panel).to_be_visible()
    slider(page, "mu").focus()
    page.keyboard.press("ArrowRight")
    expect(panel).to_be_hidden()


def _compared(visit, **options):
    """A page with the algorithm as printed beside our fit."""
    page = _stepping(visit, **options)
    page.get_by_role("button", name="Algorithm as printed").click()
    expect(page.locator(".difference")).to_contain_text("our objective")
    wait_until(page, lambda: state(page)["steps"] == state(page)["stepsWanted"])
    return page


def test_the_printed_algorithm_stands_beside_ours_at_the_same_iteration(visit):
    page = _compared(visit)
    scrubber = page.get_by_role("slider", name="State of the fit")
    printed = page.get_by_role("button", name="As printed", exact=True)
    scrubber.focus()
    page.keyboard.press("End")
    number = str(int(state(page)["stepsWanted"]) - 1)
    wait_until(page, lambda: state(page)["step"] == number)
    ours = _painted(page)
    page.keyboard.press("p")
    expect(printed).to_have_attribute("aria-pressed", "true")
    sentence = page.locator(".sentence")
    expect(sentence).to_contain_text("As printed, step")
    where = page.locator(".where").inner_text()
    wait_until(page, lambda: _painted(page) != ours)
    page.keyboard.press("p")
    wait_until(page, lambda: state(page)["step"] == number)
    assert _painted(page) == ours
    page.keyboard.press("p")
    expect(page.locator(".where")).to_have_text(where)
    page.keyboard.press("End")
    expect(page.locator(".where")).to_contain_text("State 60 of 60, iteration 200")
    expect(page.locator("figure.beside figcaption")).to_have_text("Ours")
    page.get_by_role("button", name="Algorithm as printed").click()
    expect(page.locator("figure.beside")).to_be_hidden()
    wait_until(page, lambda: state(page)["step"] == number)
    assert _painted(page) == ours


def test_steps_and_comparison_fit_on_a_narrow_page(visit):
    page = _compared(visit, **PHONE)
    box = page.locator(".steps").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 375
    assert page.locator("div.spe").evaluate(SMALL) == []
    wide = "document.documentElement.scrollWidth - window.innerWidth"
    assert page.evaluate(wide) <= 0


def test_a_map_that_is_laid_out_closes_no_steps_and_comes_after_them(visit):
    page = visit("?data=digits&seed=41")
    settled(page)
    page.get_by_role("button", name=OPENER).click()
    panel = page.get_by_role("group", name="Steps of the fit")
    expect(panel).to_be_visible()
    page.wait_for_timeout(4000)  # several looks at the map would have been sent
    expect(panel).to_be_visible()
    page.get_by_role("button", name="Close the steps").click()
    expect(panel).to_be_hidden()
    surface = page.locator(".note").filter(has_text="rows placed later")
    expect(surface).to_be_visible()
    high, line = surface.evaluate(
        "n => [n.clientHeight, parseFloat(getComputedStyle(n).lineHeight)]"
    )
    assert high <= 2.4 * line
