"""Somebody brings a table as a German spreadsheet saves it, and takes results away."""

from __future__ import annotations

import io
import re
from functools import cache

import numpy as np
import pandas as pd
from playwright.sync_api import expect

from smpcore import METHODS, prepare, read_table, split
from tests.walks.tables import clinic, clinic_table, german_csv, give_role, upload
from tests.walks.visit import Visit

NAME = "Entzündung"
#: What a spreadsheet, a browser or a program could take for more than a name.
AGE, KIND, YES = "=HYPERLINK(1)", "<img src=x onerror=alert(1)>", "@SUM(1)"


def facts(visit: Visit) -> dict[str, int]:
    """Counts that the page Data shows, by name."""
    found = visit.page.get_by_test_id("stMetric").filter(visible=True)
    lines = [one.split("\n") for one in found.all_inner_texts()]
    return {words[0]: int(words[-1].replace(",", "")) for words in lines}


@cache
def fitted(forbidden: str = ""):
    """What the app has to show: table, division, inputs and model, by the library."""
    dataset = read_table(io.BytesIO(german_csv(clinic_table())), "klinik.csv")
    if forbidden:
        dataset = dataset.with_roles({forbidden: "ignore"})
    parts = split(dataset)
    X = prepare(dataset, parts.train).transform(dataset.frame)
    method = METHODS["smp"]
    estimator = method.estimator(method.defaults())
    model = estimator.fit(X[parts.train], dataset.y[parts.train]).model_
    return dataset, parts, X, model


def validated(forbidden: str = "") -> tuple[int, int]:
    """Validation rows that are right, and all of them."""
    dataset, parts, X, model = fitted(forbidden)
    rows = parts.validation
    return int(np.sum(model.predict(X[rows]) == dataset.y[rows])), rows.size


def test_roles_groups_and_parts(visit):
    clinic(visit)
    assert facts(visit)["Rows"] == 160 and facts(visit)["Features"] == 6
    for found in ("; between cells", "decimal comma", "encoding cp1252"):
        visit.reads(found)
    give_role(visit, 0, "group")
    dataset, *_ = fitted()
    grouped = dataset.with_roles({"Patient": "group"})
    for share in (0.2, 0.21, 0.22):
        parts = split(grouped, validation=share)
        visit.reads(re.compile(rf"Validation share\s+{share:.2f}\b"))
        shown = facts(visit)
        assert shown["Features"] == 5
        assert shown["Training"] == parts.train.size
        assert shown["Validation"] == parts.validation.size
        assert shown["Test"] == parts.test.size
        visit.slider(re.compile("^Validation share")).press("ArrowRight")
        visit.rest()
    visit.page.go_back()
    visit.rest().reads(re.compile(r"Validation share\s+0.22\b"))
    assert facts(visit)["Validation"] == split(grouped, validation=0.22).validation.size
    give_role(visit, 5, "target")
    visit.reads("Target: Raucher")
    assert facts(visit)["Classes"] == 3
    for tab in ("Table", "Classes", "Missing values", "Two columns", "Columns"):
        visit.click("tab", tab)
    visit.unfold("Clean").choose("Column", "Alter", exact=False)


def test_what_the_values_show_is_proposed_and_done(visit):
    """Each proposal is pressed; the grid of columns and the parts follow."""
    random = np.random.default_rng(3)
    who = np.repeat(random.permutation(50), random.integers(2, 6, 50))
    sick = random.random(who.size) < 0.45
    days = pd.date_range("2023-01-03", periods=who.size).strftime("%d.%m.%Y")
    seen = sick & (random.random(who.size) < 0.6)
    frame = pd.DataFrame(
        {
            "Пациент": who + 200,
            "Datum": days,
            "Gewicht (kg)": np.round(random.normal(75, 11, who.size), 1),
            "Geschlecht": np.where(random.random(50) < 0.5, "m", "f")[who],
            "Todestag": np.where(seen, random.integers(1, 99, who.size), None),
            "Befund": np.where(sick, "krank", "gesund"),
        }
    )
    data = frame.to_csv(index=False).encode()
    upload(visit, "klinik.csv", data)
    parts = split(read_table(data, "klinik.csv"))
    others = np.r_[parts.validation, parts.test]
    n_known = np.isin(who[others], who[parts.train]).sum()
    visit.reads(f"{n_known} of {others.size} validation and test rows")
    visit.click("button", re.compile("Take these units"))
    visit.reads("Gewicht (kg): in kg.")
    before = facts(visit)["Features"]
    visit.click("button", re.compile("Known only afterwards: Todestag"))
    visit.reads(re.compile(r"Datum orders the rows in time, from 03.01.2023 to"))
    assert facts(visit)["Features"] == before - 1
    visit.click("button", re.compile("Split by time: Datum"))
    visit.reads("The parts are blocks in time")
    visit.click("button", re.compile("Keep the rows of one Пациент together"))
    visit.reads("The same in all rows of one Пациент: Geschlecht")
    chosen = {"Пациент": "group", "Datum": "time", "Todestag": "known afterwards"}
    grouped = split(read_table(data, "klinik.csv", roles=chosen))
    assert facts(visit)["Training"] == grouped.train.size


def n_printed(visit: Visit, text: str) -> int:
    """Sheets of paper that a document takes."""
    context = visit.page.context.browser.new_context(offline=True)
    page = context.new_page()
    page.set_content(text)
    pdf = page.pdf(prefer_css_page_size=True)
    context.close()
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def test_new_rows_are_answered_and_taken_along(visit):
    clinic(visit)
    visit.go("Apply")
    new = clinic_table(n=70, seed=5)
    visit.upload("New rows", "neu.csv", german_csv(new))
    carried = visit.page.get_by_test_id("stMultiSelect").filter(has_text="to carry")
    carried.locator("input").press_sequentially("Hämo")
    visit.page.keyboard.press("Enter")
    visit.page.keyboard.press("Escape")
    visit.rest()
    table = pd.read_csv(io.BytesIO(visit.take("All predictions as CSV")))
    assert "Hämoglobin" in table and len(table) == len(new)
    np.testing.assert_allclose(table["Hämoglobin"], new["Hämoglobin"])
    hits = int((table["answer"] == new["Befund"].to_numpy()).sum())
    visit.reads(re.compile(rf"Correct rows\s+{hits} of 70\b"))
    visit.reads(re.compile(rf"Accuracy\s+{100 * hits / 70:.1f} %"))
    text = ["row", "answer", "Hämoglobin"]
    for name, read in (("Excel", pd.read_excel), ("Parquet", pd.read_parquet)):
        again = read(io.BytesIO(visit.take(f"All predictions as {name}")))
        pd.testing.assert_frame_equal(again[text], table[text], check_dtype=False)
    visit.unfold("Explanation sheet to print")
    box = visit.page.get_by_label("Rows", exact=True).last
    box.fill("1-3")
    box.press("Enter")
    visit.rest()
    sheets = visit.take("Download the sheet of 3 rows").decode()
    for n in range(3):
        assert f"Row {n + 1} of" in sheets and table["answer"][n] in sheets
    assert "Hämoglobin" in sheets and n_printed(visit, sheets) == 3, "a page a case"
    visit.click("button", "Close")
    expect(visit.page.get_by_text("All predictions as CSV")).to_have_count(0)


def test_prototypes_are_read_named_and_reported(visit):
    clinic(visit)
    visit.go("Prototypes")
    right, rows = validated()
    visit.reads(
        f"Validation accuracy {100 * right / rows:.1f} %: {right} of {rows} rows"
    )
    visit.click("radio", "One by one").fill("Name", NAME)
    visit.choose("Column", "Hämoglobin", exact=False)
    visit.click("button", "Forbid and refit")
    right, rows = validated("Hämoglobin")
    visit.reads(
        f"Validation accuracy {100 * right / rows:.1f} %: {right} of {rows} rows"
    )
    visit.fill("Name", NAME)
    visit.click("radio", "Rule in words")
    text = visit.page.get_by_test_id("stMain").inner_text()
    assert text.count("Hämoglobin") == text.count("Trained without Hämoglobin") == 1
    visit.unfold("As a formula")
    visit.click("radio", "Why this prediction")
    for kind in ("prototypes", "columns", "category levels", "finest exact split"):
        visit.click("radio", kind)
    visit.unfold("Explanation sheet to print")
    box = visit.page.get_by_label("Rows", exact=True).last
    box.fill(str(fitted()[1].train[0] + 1))
    box.press("Enter")
    visit.rest()
    assert b"klinik" in visit.take("Download the sheet of 1 row")
    visit.click("radio", "Stability").click("button", "Refit")
    visit.reads(re.compile(r"by \d+ % of \d+ refits"))
    visit.click("radio", "Report")
    report = visit.take("Download the report").decode()
    assert NAME in report and "CRP mg/l" in report
    assert re.search(rf"\b{right} of {rows} rows", report)
    assert f"{100 * right / rows:.1f} %" in report
    visit.click("checkbox", "Include the most similar training rows")
    assert len(visit.take("Download the report")) > len(report.encode())


def test_hostile_names_are_only_names_in_every_file(visit):
    draw = np.random.default_rng(0)
    table = pd.DataFrame(draw.normal(size=(90, 2)), columns=[AGE, "b"])
    table[KIND] = np.where(table["b"] > 0.3, "+high", "low")
    table["label"] = np.where(table[AGE] + table["b"] > 0, YES, "no")
    data = table.to_csv(index=False).encode()
    upload(visit, "mine.csv", data).go("Explore").take("Download as C")
    visit.go("Prototypes").click("radio", "Report")
    assert b"<img" not in visit.take("Download the report")
    visit.click("radio", "Why this prediction").unfold("Explanation sheet to print")
    assert b"<img" not in visit.take("Download the sheet of 1 row")
    visit.go("Performance").click("radio", "Subgroups").choose("Column", KIND)
    visit.take("Download all measures as CSV")
    visit.go("Export").take("Download the zip")
    visit.go("Apply").upload("New rows", "mine.csv", data)
    for kind in ("CSV", "Excel", "Parquet"):
        visit.take(f"All predictions as {kind}")
    # The table's own toolbar would export it with its formulas.
    visit.page.get_by_test_id("stDataFrame").last.hover()
    toolbar = visit.page.get_by_test_id("stElementToolbarButton")
    expect(toolbar.get_by_role("button", name="Search").last).to_be_visible()
    expect(visit.page.get_by_role("button", name="Download as CSV")).to_have_count(0)


def test_a_threshold_is_moved_and_groups_are_compared(visit):
    clinic(visit)
    visit.go("Performance")
    dataset, parts, X, model = fitted()
    rows = parts.validation
    scores, y = model.scores(X[rows]), dataset.y[rows]
    visit.click("radio", "Threshold")
    moved = visit.slider(re.compile("^Threshold on the margin"))
    for _ in range(25):
        moved.press("ArrowRight")
    visit.rest()
    threshold = float(moved.input_value())
    assert threshold > 0
    yes = scores[:, 0] - scores[:, 1] > threshold
    counts = np.sum(yes & (y == "ja")), np.sum(y == "ja")
    visit.reads(re.compile(r"Sensitivity: [\d.]+ % \({} of {},".format(*counts)))
    counts = np.sum(~yes & (y == "nein")), np.sum(y == "nein")
    visit.reads(re.compile(r"Specificity: [\d.]+ % \({} of {},".format(*counts)))
    visit.click("button", "Use on every page")
    right = int(np.sum(yes == (y == "ja")))
    assert right != np.sum((scores[:, 0] > scores[:, 1]) == (y == "ja"))
    visit.reads(
        f"Validation accuracy {100 * right / len(y):.1f} %: {right} of {len(y)}"
    )
    visit.unfold("Show as tables")
    visit.click("button", "As fitted")
    visit.click("radio", "Probabilities").click("button", "Calibrate probabilities")
    visit.reads("Brier")
    visit.click("radio", "Subgroups").choose("Column", "Raucher", exact=False)
    table = pd.read_csv(io.BytesIO(visit.take("Download all measures as CSV")))
    assert "früher" in table.to_string()
    visit.click("radio", "Confusion").click("button", "Open in Why this prediction")
    visit.reads("Contributions to the lead by")


def test_a_state_is_saved_and_opened_after_the_table_was_deleted(visit):
    clinic(visit)
    visit.go("Explore").drag("Switch features off (μ)", 0.5, 0.6)
    visit.go("Prototypes").click("radio", "One by one").fill("Name", NAME)
    before = visit.reads(re.compile(r"Validation accuracy [\d.]+ %: \d+ of \d+ rows"))
    visit.click("button", re.compile("Save and open"))
    saved = visit.take("Save")
    visit.click("button", "Close").go("Data").click("button", re.compile("Delete"))
    visit.reads("Two half circles")
    visit.click("button", re.compile("Save and open"))
    visit.upload("Open a saved state", "state.json", saved)
    visit.click("button", "Open")
    visit.reads("whose rows are not in")
    visit.click("button", "Close").go("Data")
    picker = visit.page.get_by_test_id("stFileUploader").filter(has_text="Your table")
    if not picker.is_visible():
        visit.unfold("Upload data")
    visit.upload("Your table", "klinik.csv", german_csv(clinic_table()))
    visit.page.wait_for_url(lambda url: "mine=" in url)
    visit.rest().go("Prototypes")
    visit.reads(before.group())
    visit.click("radio", "One by one")
    assert visit.page.get_by_label("Name", exact=True).input_value() == NAME
