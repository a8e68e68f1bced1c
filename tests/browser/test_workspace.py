"""The state file in real Chromium: saved, opened again, and what a reload keeps."""

from playwright.sync_api import expect

from tests.browser.test_app import settled, slider, visit

fixtures = (visit,)


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
