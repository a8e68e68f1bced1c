"""Save as a page: the button of Explore, and the file without any network."""

import re

import pytest
from playwright.sync_api import expect

from pages.state.host import resolve
from pages.work import cache
from smpcore.live import Choice
from tests.browser.test_app import visit

fixtures = (visit,)


@pytest.fixture
def opened_file(offline, tmp_path):
    """Open what was downloaded from the disk."""

    def go(download):
        download.save_as(path := tmp_path / "figure.html")
        return offline(path)

    return go


def saved(page):
    # The figure's height moves the button, and what it opened, out of the window.
    expect(page.locator("canvas[data-knots]")).to_be_visible()
    page.get_by_role("button", name="Save as a page").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save", exact=True).click()
    return download.value


def test_it_is_dragged_played_and_pointed_at_without_a_server(visit, opened_file):
    page = opened_file(saved(visit("?data=breast_cancer&method=smp")))
    canvas = page.locator("canvas[data-knots]")
    expect(canvas).to_have_attribute("data-knots", "51")
    slider = page.get_by_role("slider", name="Merge prototypes (λ)", exact=True)
    slider.focus()
    slider.press("End")
    expect(canvas).to_have_attribute("data-knot", "50")
    context = resolve(Choice(data="breast_cancer", method="smp"))
    method = context.method
    off_path = method.off_path(context.values, context.task)
    last = method.grid(context.holding(cache.computed.bounds(*context.request))["lam"])[
        -1
    ]
    model = cache.computed.path_point(context.data, "smp", off_path, float(last)).model_
    X, y = context.data.of("validation")
    share = f"{100 * (model.predict(X) == y).mean():.1f} %"
    numbers = page.get_by_label("Main metrics")
    expect(numbers).to_contain_text(re.compile(f"Validation accuracy.*{share}"))
    page.get_by_role("button", name="Play", exact=False).first.click()
    expect(canvas).not_to_have_attribute("data-knot", "50")
    page.get_by_role("button", name="Pause").click()
    canvas.hover()
    expect(page.locator(".here")).to_contain_text("first component")
    said = re.compile("^(Input: mean radius|Contributions to the lead over)")
    expect(page.locator(".columns")).to_have_text(said)
    page.get_by_role("button", name="Reset", exact=False).first.click()
    expect(canvas).to_have_attribute("data-last-value", "0.003")
    for gone in ("Undo", "Copy link", "Play the fit", "Take the tour"):
        expect(page.get_by_role("button", name=gone)).to_have_count(0)


def test_a_phone_in_the_dark_reads_it(visit, opened_file):
    page = opened_file(saved(visit("?data=wine&method=mprotsvm")))
    page.set_viewport_size({"width": 375, "height": 800})
    page.emulate_media(color_scheme="dark")
    expect(page.locator("canvas[data-knots]")).to_have_attribute("data-knots", "12")
    expect(page.locator(".spe")).to_have_class(re.compile(r"\bdark\b"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_a_frame_shows_the_figure_without_the_bar_of_pages(visit):
    page = visit("?data=iris&method=smp&embed=true")
    canvas = page.locator("canvas[data-knots]")
    expect(canvas).to_have_attribute("data-canonical", "1")
    slider = page.get_by_role("slider", name="Merge prototypes (λ)", exact=True)
    slider.focus()
    slider.press("End")
    expect(page).to_have_url(re.compile("lam=.*embed=true|embed=true.*lam="))
    for name in ("Performance", "Export"):
        expect(page.get_by_role("link", name=name, exact=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Save and open")).to_have_count(0)
