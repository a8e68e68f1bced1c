"""Prototypes in real Chromium: every section draws, a row is edited, a report comes."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_app import rested, visit

fixtures = (visit,)


def section(page, name):
    page.get_by_role("radio", name=name).or_(
        page.get_by_role("button", name=name)
    ).first.click()


@pytest.mark.parametrize(
    ("query", "width"),
    [
        ("data=digits", 1280),
        ("data=iris&method=imkpl", 375),
        pytest.param("data=digits", 375, marks=pytest.mark.exhaustive),
        pytest.param("data=iris&method=imkpl", 1280, marks=pytest.mark.exhaustive),
    ],
)
def test_every_section_draws_without_an_error(visit, query, width):
    page = visit(f"prototypes?{query}", viewport={"width": width, "height": 900})
    charts = page.locator(".js-plotly-plot")
    for name in (
        "One by one",
        "Rule in words",
        "Why this prediction",
        "Stability",
        "All",
    ):
        section(page, name)
        if name in ("One by one", "Why this prediction", "All"):
            expect(charts.first).to_be_visible(timeout=60_000)
        rested(page)
        expect(page.locator(".stException")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_another_row_is_explained_and_the_report_comes(visit):
    page = visit("prototypes?data=iris")
    section(page, "Why this prediction")
    verdict = page.get_by_text("Prediction: ")
    expect(verdict).to_be_visible(timeout=60_000)
    before = verdict.inner_text()
    row = page.get_by_role("spinbutton", name="Row", exact=True)
    row.fill("40")
    row.press("Enter")
    expect(verdict).not_to_have_text(before, timeout=20_000)
    expect(page.get_by_text("would change from")).to_be_visible()
    section(page, "Report")
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role("button", name="Download the report").click()
    text = download.value.path().read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "petal" in text


def test_refits_show_their_progress_and_end(visit):
    page = visit("prototypes?data=iris&method=mprotsvm")
    section(page, "Stability")
    page.get_by_role("button", name="Refit").click()
    expect(page.get_by_text("Of 100 refits")).to_be_visible(timeout=120_000)
    expect(page.locator(".stException")).to_have_count(0)
