"""From an upload to a printed sheet, in real Chromium."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from smpcore import load_dataset
from tests.browser.test_app import rested, visit
from tests.smpcore.test_report_calculator import script_of

fixtures = (visit,)
IDS = "<b>patient</b>"


@pytest.fixture
def clinic(tmp_path):
    """A table with an ID that looks like a formula, and new rows with odd values."""
    frame = load_dataset("breast_cancer").frame
    frame.insert(0, IDS, [f"=P{i:04d}" for i in range(len(frame))])
    frame.to_csv(tmp_path / "clinic.csv", index=False)
    new = frame.iloc[:20].drop(
        columns="class" if "class" in frame else frame.columns[-1]
    )
    new["mean texture"] += 0.01
    new.loc[3, "worst radius"] = np.nan
    new.loc[4, "worst radius"] = 420.0
    new.to_csv(tmp_path / "new patients.csv", index=False)
    return tmp_path / "clinic.csv", tmp_path / "new patients.csv"


def upload(page, label, file):
    picker = page.get_by_test_id("stFileUploader").filter(has_text=label)
    picker.locator("input[type=file]").set_input_files(file)


def printed(page, path):
    """Text of the document's title, and how many sheets of paper it takes."""
    page.goto(path.as_uri())
    pdf = page.pdf(prefer_css_page_size=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def sheets(page, rows, real):
    expander = page.get_by_text("Explanation sheet to print")
    expander.click()
    field = page.get_by_role("textbox", name="Rows", exact=True)
    field.fill(rows)
    field.press("Enter")
    if real:
        page.get_by_text("Include the three nearest training rows").click()
        expect(page.get_by_text("and the three nearest training rows")).to_be_visible()
    rested(page)
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role(
            "button", name=re.compile(r"Download the sheet of \d+ row")
        ).click()
    return download.value.path()


def test_from_an_upload_to_a_printed_sheet(visit, clinic, tmp_path, chromium):
    table, new = clinic
    page = visit("data")
    expect(page.get_by_text("Roles can be changed")).to_be_visible(timeout=60_000)
    page.get_by_text("Upload data").click()
    upload(page, "Your table", table)
    told = page.get_by_text("clinic.csv").filter(has_text="Source")
    expect(told).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Apply").first.click()
    expect(page.get_by_text("It should have these")).to_be_visible(timeout=60_000)
    upload(page, "New rows", new)
    expect(page.get_by_text(f"Carried: {IDS}.")).to_be_visible(timeout=60_000)
    rested(page)
    path = sheets(page, "4, 5-6", real=False)
    text = path.read_text("utf-8")
    assert text.count("<article>") == 3
    assert "Row 4 of new patients.csv" in script_of(text)
    assert "not included" in text and "row 1" not in text
    assert (
        "Missing: worst radius (counts as " in text and "worst radius = 420 (" in text
    )
    assert "=P0003" in text and "&lt;b&gt;patient" in text
    sheet = tmp_path / "cases.html"
    sheet.write_text(text, "utf-8")
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    assert printed(context.new_page(), sheet) == 3, "a page per case"
    context.close()


def test_the_row_on_the_page_has_a_sheet(visit, tmp_path, chromium):
    page = visit("prototypes?data=diabetes", viewport={"width": 375, "height": 900})
    page.get_by_role("radio", name="Why this prediction").or_(
        page.get_by_role("button", name="Why this prediction")
    ).first.click()
    expect(page.get_by_text("What moves the prediction")).to_be_visible(timeout=60_000)
    rested(page)
    text = sheets(page, "", real=False).read_text("utf-8")
    assert text.count("<article>") == 1 and "True value" in text
    assert "A change of one column that would move the prediction" in text
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
