"""The formula below the figure, in real Chromium: a term marks what it moves."""

from playwright.sync_api import expect

from tests.browser.test_app import visit

fixtures = (visit,)


def test_a_term_marks_what_it_moves_by_pointer_and_keyboard(visit):
    page = visit("?data=moons")
    root = page.locator(".spe")
    fusion = page.get_by_role("button", name="fusion: moves the prototypes")
    fusion.hover()
    expect(root).to_have_attribute("data-term", "prototypes")
    page.mouse.move(0, 0)
    expect(root).to_have_attribute("data-term", "")
    page.get_by_role("button", name="sparsity: moves the weights").focus()
    expect(root).to_have_attribute("data-term", "weights")
    page.keyboard.press("Tab")
    expect(root).to_have_attribute("data-term", "")
    assert fusion.locator("math msub").count() > 0


def test_a_control_that_moves_lights_its_term(visit):
    page = visit("?data=moons")
    fusion = page.get_by_role("button", name="fusion: moves the prototypes")
    expect(fusion).to_be_visible()
    page.get_by_role("slider", name="Merge prototypes (λ)", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(fusion).to_have_class("term term1 on")
    expect(fusion).to_have_class("term term1")
