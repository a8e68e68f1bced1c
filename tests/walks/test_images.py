"""A table becomes pictures or series when the visitor says so."""

import re

import numpy as np
import pandas as pd
from playwright.sync_api import expect
from sklearn.datasets import load_digits


def test_rows_are_pictures_once_the_visitor_says_so(visit):
    digits = load_digits()
    frame = pd.DataFrame(digits.data[:300], columns=[f"p{i}" for i in range(64)])
    frame = frame.assign(digit=[f"d{one}" for one in digits.target[:300]])
    visit.open("data").upload("Your table", "d.csv", frame.to_csv(index=False).encode())
    visit.reads(re.compile("Target: digit"))
    height = visit.page.get_by_test_id("stMetric").filter(has_text="Height")
    expect(height).to_have_count(0)
    visit.choose("Rows as images", "8 × 8")
    expect(height).to_contain_text("8")
    visit.go("Explore").finish()
    visit.go("Prototypes").rest(1_500)
    visit.go("Data").choose("Rows as images", "no")
    expect(height).to_have_count(0)


def test_a_long_table_becomes_series_in_its_own_time(visit):
    draw = np.random.default_rng(0)
    rows = [
        (f"p{i}", t / 50, np.sin(t / 3 + i % 2) + draw.normal(0, 0.1), "xy"[i % 2])
        for i in range(40)
        for t in range(20)
    ]
    frame = pd.DataFrame(rows, columns=["patient_id", "time [s]", "a [g]", "kind"])
    visit.open("data").upload("Your table", "d.csv", frame.to_csv(index=False).encode())
    visit.choose("Rows as series", "yes: a row per sample", exact=False)
    expect(
        visit.page.get_by_test_id("stMetric").filter(has_text="Length")
    ).to_contain_text("20")
    rate = visit.page.get_by_role("spinbutton", name="Samples per second")
    expect(rate).to_have_value("50")
    rate.fill("25")
    rate.press("Enter")
    visit.rest(1_500)
    visit.choose("Rows as series", "no")
