"""Text stands out from its background, in both themes, in real Chromium."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.canvas_page import wait_until
from tests.browser.test_app import rested, visit

fixtures = (visit,)

#: Text of the page below a contrast of 4.5, as "colour contrast: text". What is
#: switched off may be faint; values that float over a slider have no ground of their
#: own.
FAINT = """() => {
  const light = (c) => {
    const [r, g, b] = c.map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const numbers = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const found = new Set();
  for (const node of document.querySelectorAll('[data-testid="stMain"] *')) {
    const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !node.getClientRects().length || node.closest('[disabled], [data-testid="stSlider"]')) continue;
    const style = getComputedStyle(node);
    const colour = numbers(node instanceof SVGElement ? style.fill : style.color);
    let [opacity, ground] = [colour[3] ?? 1, null];
    for (let up = node; up; up = up.parentElement) {
      const here = getComputedStyle(up);
      opacity *= Number(here.opacity);
      const fill = numbers(here.backgroundColor);
      if (!ground && (fill.length < 4 || fill[3] > 0.9)) ground = fill.slice(0, 3);
    }
    const seen = colour.slice(0, 3).map((v, i) => v * opacity + ground[i] * (1 - opacity));
    const [dark, bright] = [light(seen), light(ground)].sort((a, b) => a - b);
    const contrast = (bright + 0.05) / (dark + 0.05);
    if (contrast < 4.5) found.add(`${colour} ${contrast.toFixed(2)}: ${node.textContent.slice(0, 30)}`);
  }
  return [...found];
}"""  # noqa: E501


#: Notes across the page of more than two lines at 1280 pixels, opened or folded away.
LONG = """() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  const lines = (node) => node.getBoundingClientRect().height / parseFloat(getComputedStyle(node).lineHeight);
  return [...document.querySelectorAll('[data-testid="stMain"] [data-testid="stCaptionContainer"] p')]
    .filter((node) => node.getBoundingClientRect().width > 900 && lines(node) > 2.4).map((node) => node.textContent);
}"""  # noqa: E501


@pytest.mark.parametrize("path", ["compare", "tradeoff", "export", "papers"])
def test_no_note_is_longer_than_two_lines(visit, path):
    page = visit(f"{path}?data=digits", viewport={"width": 1280, "height": 720})
    expect(page.get_by_test_id("stCaptionContainer").last).to_be_visible()
    rested(page)
    assert page.evaluate(LONG) == []


@pytest.mark.parametrize("path", ["tradeoff", "performance", "export", "papers"])
def test_text_stands_out(visit, path):
    page = visit(f"{path}?data=moons", color_scheme="dark")
    expect(page.get_by_test_id("stCaptionContainer").last).to_be_visible()
    if path == "tradeoff":
        expect(page.get_by_role("button", name="Refine")).to_be_visible()
    if path == "papers":
        expect(page.locator(".textpoint").first).to_be_visible()
    app, ground = page.locator(".stApp"), "rgb(0, 0, 0)"
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)
        expect(app).not_to_have_css("background-color", ground)
        rested(page)
        # What was stale fades in, on a busy machine slowly.
        wait_until(page, lambda: page.evaluate(FAINT) == [])
        ground = app.evaluate("e => getComputedStyle(e).backgroundColor")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_button_that_waits_and_a_locked_control_are_seen(visit, theme):
    """A lesson asks for a mark: Answer waits for it, the controls are locked."""
    link = "?lesson=06-invented-cases.json&step=2"
    page = visit(link, color_scheme=theme)
    waiting = page.get_by_role("button", name="Answer")
    expect(waiting).to_be_disabled()
    text = waiting.locator("p").evaluate("e => getComputedStyle(e).color")
    ground = page.locator(".stApp").evaluate("e => getComputedStyle(e).backgroundColor")
    assert text != ground
    expect(page.locator(".row.locked").first).to_be_visible()


def test_the_keyboard_shows_where_it_is_and_passes_maps_by(visit):
    page = visit("compare?data=moons")
    expect(page.get_by_text("6 of 6 models fitted")).to_be_visible()
    rested(page)
    # The style sheet may come into force a moment after the page.
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    link = page.get_by_role("link", name="Prototypes")
    for _ in range(8):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getBoundingClientRect().x") >= 0
        if link.evaluate("node => node === document.activeElement"):
            break
    assert link.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
    main = page.get_by_test_id("stMain")  # what scrolls is a stop, too
    main.focus()
    assert main.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
    # One chart, A against B, has buttons to zoom; the maps have none.
    assert page.get_by_role("button", name="Zoom in").count() == 1
