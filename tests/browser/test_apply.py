"""New rows on Apply in real Chromium: what stays over a reload, Back and Forward."""

import re

import pytest
from playwright.sync_api import Page, expect

from smpcore import load_dataset
from tests.browser.test_app import rested, visit

fixtures = (visit,)


def new_rows(data: str, n: int) -> dict[str, object]:
    """A file with so many rows that no data set has."""
    frame = load_dataset(data).frame.iloc[:n]
    first = frame.columns[0]
    content = frame.assign(**{first: frame[first] + 1e-3}).to_csv(index=False)
    return {"name": "new.csv", "mimeType": "text/csv", "buffer": content.encode()}


def bring(page: Page, file: dict[str, object]) -> None:
    page.locator("input[type=file]").first.set_input_files(file)


def are_answered(page: Page, n_rows: int) -> None:
    """Wait until so many rows are answered."""
    expect(page.get_by_text("Open: new.csv.")).to_be_visible(timeout=60_000)
    rows = page.get_by_test_id("stMetric").filter(has_text=re.compile("^Rows"))
    expect(rows.first).to_contain_text(str(n_rows), timeout=60_000)
    expect(page.get_by_text("All predictions as CSV")).to_be_visible(timeout=60_000)
    rested(page)


@pytest.mark.parametrize("first_seen", ["apply?data=iris", "?data=iris"])
def test_answers_stay_over_a_reload_back_and_forward(visit, first_seen):
    page = visit(first_seen)
    if first_seen[0] == "?":
        page.get_by_role("link", name="Apply").click()
    bring(page, new_rows("iris", 40))
    are_answered(page, 40)
    page.reload()
    are_answered(page, 40)
    page.get_by_role("link", name="Guide").click()
    expect(page.get_by_role("heading", name="Guide")).to_be_visible()
    page.go_back()
    are_answered(page, 40)
    page.reload()
    are_answered(page, 40)
    page.go_forward()
    expect(page.get_by_role("heading", name="Guide")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Guide")).to_be_visible()
    page.go_back()
    are_answered(page, 40)


def test_each_data_set_has_its_own_file_of_new_rows(visit):
    """A file for another data set, also in another tab, takes none away."""
    page = visit("apply?data=iris")
    bring(page, new_rows("iris", 40))
    are_answered(page, 40)
    other = page.context.new_page()
    other.goto(page.url.replace("data=iris", "data=wine"))
    bring(other, new_rows("wine", 30))
    are_answered(other, 30)
    page.reload()
    are_answered(page, 40)
    other.reload()
    are_answered(other, 30)
    other.close()
