"""The state file in real Chromium: saved, opened again, and what a reload keeps."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.test_app import settled, slider, visit

fixtures = (visit,)


def opened_dialog(page):
    """The dialog; on a phone the pages and its button are behind the menu."""
    button = page.get_by_role("button", name="Save and open")
    if not button.is_visible() or button.bounding_box()["x"] < 0:
        page.get_by_test_id("stExpandSidebarButton").click()
    button.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog


def open_file(page, content):
    dialog = opened_dialog(page)
    file = {"name": "s.json", "mimeType": "application/json", "buffer": content}
    picker = dialog.locator("input[type=file]")
    expect(picker).to_have_count(1)  # that of the last time is gone
    picker.set_input_files(file)
    opening = dialog.get_by_role("button", name="Open", exact=True)
    expect(opening).to_be_enabled(timeout=20_000)
    opening.click()
    return dialog


@pytest.mark.parametrize(
    "width", [pytest.param(1280, marks=pytest.mark.exhaustive), 375]
)
def test_a_saved_state_is_opened_by_another_visitor(visit, width):
    options = {"viewport": {"width": width, "height": 800}}
    page = visit("?data=wine&mu=0.0371234567891", **options)
    settled(page)
    dialog = opened_dialog(page)
    with page.expect_download() as download:
        dialog.get_by_role("button", name="Save", exact=True).click()
    content = download.value.path().read_bytes()
    assert json.loads(content)["link"] == {"data": "wine", "mu": "0.0371234567891"}
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    other = visit("", **options)
    settled(other)
    dialog = open_file(other, content.replace(b'"version": 1', b'"version": 9'))
    expect(dialog.get_by_text("has version 9")).to_be_visible(timeout=20_000)
    other.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    dialog = open_file(other, content)
    expect(dialog).to_have_count(0, timeout=20_000)
    other.wait_for_url("**data=wine&mu=0.0371234567891**", timeout=20_000)


def test_undo_takes_settings_back_by_button_and_key(visit):
    page = visit()
    canvas = settled(page)
    undo = page.get_by_role("button", name="Undo")
    for name in ("mu", "lam"):
        slider(page, name).focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"() => location.search.includes('{name}=')")
    expect(undo).to_have_attribute("title", "Undo Merge prototypes (λ); keys Ctrl Z")
    undo.click()
    page.wait_for_function("() => !location.search.includes('lam=')")
    assert "mu=" in page.url
    canvas.focus()
    page.keyboard.press("Control+z")
    page.wait_for_function("() => !location.search.includes('mu=')")
