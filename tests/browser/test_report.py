"""A report opened from a file, without a network: its model answers as Python's."""

import re
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from smpcore import METHODS, compile_model, report
from smpcore.report import Calculator, Page, typical_row
from tests.browser.test_app import visit
from tests.smpcore.codegen.models import random_linear
from tests.smpcore.test_report_calculator import fitted

fixtures = (visit,)
HOSTILE = '<img src=x onerror=alert(1)>"&</script><b>'


@pytest.fixture
def read(offline, tmp_path):
    """Open a report from its file; nothing else may be asked for."""

    def go(text, width=1280):
        file = tmp_path / "report.html"
        file.write_text(text, "utf-8")
        page = offline(file, width)
        assert page.asked == [file.as_uri()]
        return page

    return go


def written(model, preparation, frame=None, **parts):
    calculator = Calculator(preparation, frame, **parts)
    return report(model, Page("t", {}, model.prototypes, False, calculator=calculator))


@pytest.mark.parametrize("method", METHODS)
def test_a_changed_value_is_answered_as_python_does(read, method):
    dataset, preparation, model = fitted(method)
    training = dataset.frame.iloc[:40]
    answers = model.predict(preparation.transform(training))
    firsts = training.iloc[[int(np.argmax(answers == k)) for k in model.classes]]
    rows = pd.concat([typical_row(training, preparation), firsts.set_axis(["a", "b"])])
    page = read(written(model, preparation, rows), 375)
    answer, seen = page.locator(".answer"), set()

    def check(row):
        (label,) = model.predict(preparation.transform(row))
        expect(answer).to_have_text(f"Prediction: {label}")
        seen.add(label)

    for name, row in ((name, rows.loc[[name]]) for name in rows.index):
        page.get_by_label("Start from").select_option(label=name)
        check(row)
        for entry in compile_model(model, preparation).inputs:
            field = page.get_by_label(entry.name, exact=True)
            for level in entry.levels:
                field.select_option(label=level)
                check(row := row.assign(**{entry.name: level}))
            if not entry.levels:
                middle = round((entry.low + entry.high) / 2, 2)
                field.fill(str(middle))
                check(row.assign(**{entry.name: middle}))
                field.fill("")
                check(row := row.assign(**{entry.name: np.nan}))
        page.get_by_role("button", name="Reset").click()
        check(rows.loc[[name]])
    assert len(seen) == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_a_slider_moves_by_keys_and_what_is_outside_is_said(read):
    model = random_linear(2, 2, 1, 1.0)
    values = np.linspace(model.low[0], model.high[0], 25).round(3)
    rows = np.column_stack([values, np.full(25, (model.low[1] + model.high[1]) / 2)])
    lead = np.abs(np.diff(model.scores(rows))[:, 0])
    model = replace(model, band=float(np.sort(lead)[[12, 13]].mean()))
    page = read(report(model))
    typed = page.get_by_label("feature 0", exact=True)
    before = float(typed.input_value())
    page.get_by_label("feature 0: slider").focus()
    page.keyboard.press("ArrowRight")
    after = float(typed.input_value())
    assert before < after <= model.high[0]
    page.keyboard.press("End")
    assert float(typed.input_value()) == pytest.approx(model.high[0], rel=1e-3)
    warning = page.locator(".result .warning")
    outside = warning.filter(has_text="Outside the training range: feature 0")
    expect(outside).to_have_count(0)
    typed.fill(str(model.high[0] + 1))
    expect(outside).to_have_count(1)
    typed.fill("")
    answer = page.locator(".answer")
    expect(answer).to_have_text("No prediction: feature 0 should be a number.")
    typed.fill("1e300")
    expect(answer).to_contain_text("feature 0 should be a number")
    # "Not sure" exactly where the library is not.
    for value, is_sure in zip(values, model.sure(rows), strict=True):
        typed.fill(str(value))
        expect(warning.filter(has_text="Not sure")).to_have_count(int(not is_sure))
    assert 5 < model.sure(rows).sum() < 20


def test_names_and_labels_are_text(read):
    model = random_linear(
        2,
        2,
        1,
        1.0,
        feature_names=(HOSTILE, "\u2028${x}`'"),
        classes=np.array([HOSTILE, "no\\u0022"]),
    )
    page = read(report(model))
    expect(page.get_by_label(HOSTILE, exact=True)).to_be_visible()
    expect(page.locator(".bars th").filter(has_text=HOSTILE)).not_to_have_count(0)
    expect(page.locator("img, b")).to_have_count(0)


def test_another_script_does_not_run(read):
    text = report(random_linear(2, 2, 1, 1.0))
    page = read(text)
    page.evaluate("document.title = 'before'")
    blocked = page.evaluate(
        """() => new Promise((done) => {
        const told = (event) => done(event.violatedDirective);
        document.addEventListener("securitypolicyviolation", told);
        const made = document.createElement("script");
        made.textContent = "document.title = 'after'";
        document.body.append(made);
        })"""
    )
    assert blocked.startswith("script-src") and page.title() == "before"
    (told,) = page.wrong
    assert "Content Security Policy" in told
    page.wrong.clear()


def test_what_is_typed_into_the_form_is_in_both_files(visit, read):
    """At once and after a visit to another page; in the document it is text."""
    page = visit("prototypes?data=iris&method=smp&p.prototypes_section=Report")
    page.get_by_text("What only you can state").click()
    field = page.get_by_role("textbox", name="Ethics")
    field.fill(f"{HOSTILE}\nwas approved")
    field.blur()
    page.get_by_role("link", name="Data").click()
    page.get_by_role("link", name="Prototypes").click()
    page.get_by_text("What only you can state").click()
    expect(page.get_by_role("textbox", name="Ethics")).to_have_value(
        f"{HOSTILE}\nwas approved"
    )
    assert "approved" not in page.url
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the report").click()
    text = download.value.path().read_text("utf-8")
    document = read(text)
    stated = document.get_by_role("heading", name="Ethics", exact=True)
    expect(stated.locator("xpath=following-sibling::p[1]")).to_have_text(HOSTILE)
    expect(document.locator("img")).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as Markdown, CSV and SVG").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        written = archive.read("report/report.md").decode()
        assert any(name.endswith(".svg") for name in archive.namelist())
    assert "### Ethics" in written and "was approved" in written
    assert not re.search(r"(?<!\\)<", written)
