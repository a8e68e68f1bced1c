"""Every download of a table that a visitor has brought, in real Chromium."""

import asyncio
import csv
import io
import json
import re
import threading
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.bench.classroom import Visitor
from tests.browser.test_app import rested, visit
from tests.browser.test_workspace import opened_dialog

fixtures = (visit,)
#: Names that a spreadsheet, a browser or a program could take for more than a name.
AGE, KIND, YES = "=HYPERLINK(1)", "<img src=x onerror=alert(1)>", "@SUM(1)"


@pytest.fixture(scope="module")
def table():
    """A category, a missing value and a column of groups."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(90, 2)), columns=[AGE, "b"])
    frame[KIND] = np.where(frame["b"] > 0.3, "+high", "low")
    frame["label"] = np.where(frame[AGE] + frame["b"] > 0, YES, "no")
    frame["patient"] = np.arange(90) // 3 + 100
    frame.loc[4, AGE] = np.nan
    return frame


def saved(page, name):
    """What a button saves, and the name of the file."""
    rested(page)
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role("button", name=name, exact=isinstance(name, str)).click()
    file = download.value
    assert file.failure() is None
    return Path(file.path()).read_bytes(), file.suggested_filename


def show(page, link, *, section=None):
    page.get_by_role("link", name=link, exact=True).first.click()
    if section:
        page.get_by_role("radio", name=section).click()
    rested(page)


def check_csv(content):
    for row in csv.reader(io.StringIO(content.decode())):
        assert not any(cell.startswith(("=", "@", "+")) for cell in row), row


def test_each_download_of_an_uploaded_table(visit, table, tmp_path):
    file = tmp_path / "mine.csv"
    table.to_csv(file, index=False)
    page = visit("data")
    rested(page)
    page.get_by_text("Upload data").click()
    page.locator("input[type=file]").first.set_input_files(file)
    page.wait_for_url(re.compile("data=mine"), timeout=60_000)
    show(page, "Explore")
    content, name = saved(page, "Download as C")
    assert (
        name == "model.zip" and zipfile.ZipFile(io.BytesIO(content)).testzip() is None
    )
    show(page, "Prototypes", section="Report")
    content, name = saved(page, "Download the report")
    assert name == "prototypes.html"
    assert content.startswith(b"<!doctype html>") and b"<img" not in content
    show(page, "Prototypes", section="Why this prediction")
    page.get_by_text("Explanation sheet to print").click()
    content, name = saved(page, "Download the sheet of 1 row")
    assert b"Model ID" in content and b"<img" not in content
    show(page, "Performance", section="Subgroups")
    page.get_by_role("combobox", name="Column").click()
    page.get_by_role("option", name=KIND).click()
    content, _ = saved(page, "Download all measures as CSV")
    check_csv(content)
    show(page, "Export")
    content, name = saved(page, "Download the zip")
    assert name == "mine.zip" and zipfile.ZipFile(io.BytesIO(content)).testzip() is None
    opened_dialog(page)
    content, name = saved(page, "Save")
    assert name == "state.json" and json.loads(content)["table"]["name"] == "mine"
    page.keyboard.press("Escape")
    show(page, "Apply")
    page.locator("input[type=file]").first.set_input_files(file)
    expect(page.get_by_role("button", name="All predictions as CSV")).to_be_visible()
    check_csv(saved(page, "All predictions as CSV")[0])
    sheet = openpyxl.load_workbook(
        io.BytesIO(saved(page, "All predictions as Excel")[0])
    ).active
    assert sheet.max_row == 91
    kinds = {cell.data_type for row in sheet for cell in row}
    assert kinds <= {"s", "n"}
    back = pd.read_parquet(io.BytesIO(saved(page, "All predictions as Parquet")[0]))
    assert len(back) == 90
    expect(page.get_by_test_id("stAlertContentError")).to_have_count(0)
    # The table's own toolbar would export it with its formulas.
    page.get_by_test_id("stDataFrame").last.hover()
    toolbar = page.get_by_test_id("stElementToolbarButton")
    expect(toolbar.get_by_role("button", name="Search").last).to_be_visible()
    expect(page.get_by_role("button", name="Download as CSV")).to_have_count(0)


@pytest.fixture
def dragging(address):
    """Others drag sliders meanwhile: their pages run dozens of times a second."""
    ends = threading.Event()

    async def drag(number):
        visitor = Visitor(number, int(address.split(":")[-1].strip("/")))
        await visitor.open()
        while not ends.is_set():
            await visitor.drag(0.5)

    async def every():
        await asyncio.gather(*map(drag, range(6)))

    others = threading.Thread(target=lambda: asyncio.run(every()))
    others.start()
    yield
    ends.set()
    others.join()


def test_a_file_arrives_while_others_drag(visit, dragging):
    page = visit("?data=iris")
    button = page.get_by_role("button", name="Download as C")
    expect(button).to_be_enabled(timeout=60_000)
    for _ in range(5):
        with page.expect_download() as download:
            button.click()
        assert download.value.failure() is None
