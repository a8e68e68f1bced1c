"""Back and Forward of the browser, in real Chromium."""

import re

from playwright.sync_api import expect

from tests.browser.test_app import visit

fixtures = (visit,)


def is_at(page, address):
    """Wait for the page's address: a beginning with a star, or the whole."""
    whole = re.escape(address.removesuffix("*"))
    end = "" if address.endswith("*") else "$"
    expect(page).to_have_url(re.compile(f"/{whole}{end}"))


def test_back_and_forward_bring_settings_data_and_pages(visit):
    page = visit()
    figure = page.locator("canvas.marks")
    expect(figure).to_have_attribute("data-last-value", "0.003")
    page.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page).not_to_have_url("data=moons$")
    expect(figure).not_to_have_attribute("data-last-value", "0.003")
    moved = figure.get_attribute("data-last-value")
    is_at(page, f"?data=moons&lam={moved}")
    page.get_by_role("group", name="Data").get_by_label("Data").select_option(
        label="Circles"
    )
    is_at(page, "?data=circles*")
    page.get_by_role("link", name="Trade-off").click()
    is_at(page, "tradeoff?data=circles*")
    page.go_back()
    is_at(page, f"?data=circles&lam={moved}")
    page.go_back()
    is_at(page, f"?data=moons&lam={moved}")
    expect(figure).to_have_attribute("data-last-value", moved)
    page.go_back()
    is_at(page, "?data=moons")
    expect(figure).to_have_attribute("data-last-value", "0.003")
    # The steps that Back has taken are no longer there to be undone.
    expect(page.get_by_role("button", name="Nothing to undo")).to_be_visible()
    page.go_forward()
    is_at(page, f"?data=moons&lam={moved}")
    expect(figure).to_have_attribute("data-last-value", moved)


def test_back_leaves_a_lesson_as_it_is(visit):
    page = visit("?data=moons&lam=0.01")
    figure = page.locator("canvas.marks")
    expect(figure).to_have_attribute("data-last-value", "0.01")
    page.get_by_role("link", name="Lessons").click()
    page.get_by_role("button", name="Start", exact=True).nth(1).click()
    bar = page.locator(".st-key-lesson")
    expect(bar).to_contain_text("step 1 of 3")
    expect(figure).to_have_attribute("data-last-value", "0.02")
    for _ in range(2):
        page.go_back()
        page.wait_for_timeout(500)
    page.get_by_role("link", name="Explore").click()
    expect(bar).to_contain_text("step 1 of 3")
    expect(figure).to_have_attribute("data-last-value", "0.02")
