"""A table whose columns are pixels becomes pictures when the visitor says so."""

import re

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
