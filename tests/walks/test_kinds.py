"""Tables of every kind, from the upload to what can be taken away."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from playwright.sync_api import expect

from smpcore import load_dataset
from tests.walks.tables import (
    followed,
    german_csv,
    give_role,
    numbers,
    read_as,
    regression,
    series,
    upload,
)
from tests.walks.visit import Visit

SECTIONS = ("One by one", "Rule in words", "Why this prediction", "Stability", "Report")
ACCURACY = re.compile(r"Validation accuracy\s+([\d.]+) %:?\s+(\d+) of (\d+) rows")


def whole_accuracy(visit: Visit, name: str) -> None:
    """The share that is shown is that of the rows beside it, and the same elsewhere."""
    share, right, rows = visit.go("Explore").finish().reads(ACCURACY).groups()
    assert share == f"{100 * int(right) / int(rows):.1f}"
    for page in ("Prototypes", "Performance"):
        assert visit.go(page).reads(ACCURACY).groups() == (share, right, rows)
        visit.reads(f"trained on {name}")


def read_prototypes(visit: Visit) -> None:
    """Each section of Prototypes."""
    visit.go("Prototypes")
    for section in SECTIONS:
        visit.click("radio", section)


def applied(visit: Visit, name: str, data: bytes) -> pd.DataFrame:
    """Answers to new rows, as they are downloaded."""
    visit.go("Apply").upload("New rows", name, data)
    return pd.read_csv(io.BytesIO(visit.take("All predictions as CSV")))


def test_a_number_is_predicted(visit):
    regression(visit)
    visit.go("Explore").reads("Validation error")
    read_prototypes(visit)
    visit.go("Performance").reads("predicted = actual")
    visit.click("radio", "Intervals").click("button", "Calibrate intervals")
    visit.reads("coverage is measured, not guaranteed")
    visit.click("radio", "Subgroups").take("Download all measures as CSV")
    new = numbers(n=60, seed=5)
    table = applied(visit, "neu.csv", german_csv(new))
    error = float(np.abs(table["answer"] - new["Alter"]).mean())
    shown = visit.reads(re.compile(r"Mean absolute error\s+([\d.]+)")).group(1)
    assert abs(float(shown) - error) <= 0.5 * 10 ** -len(shown.partition(".")[2])
    visit.go("Export").take("Download the zip")


def test_an_event_within_a_time(visit):
    followed(visit)
    visit.go("Explore").reads("shares weighted for censoring")
    asked = visit.page.url
    visit.slider(re.compile("death within")).press("ArrowRight")
    expect(visit.page).not_to_have_url(asked)
    read_prototypes(visit)
    visit.take("Download the report")
    visit.go("Performance").reads("trained on ")
    visit.go("Export").take("Download the zip")


def test_series_are_compared(visit):
    series(visit)
    whole_accuracy(visit, "motion")
    read_prototypes(visit)
    visit.go("Export").take("Download the zip")


def test_texts_are_compared_letter_by_letter(visit):
    words = load_dataset("words").frame
    data = words.to_csv(index=False).encode()
    visit.open("data").unfold("Upload data").upload("Your table", "worte.csv", data)
    read_as(give_role(visit, 0, "feature"), 0, "text")
    whole_accuracy(visit, "worte")
    read_prototypes(visit)
    visit.reads("There is no report about texts")
    new = words.head(40).assign(word=lambda table: table["word"].str[::-1])
    table = applied(visit, "new.csv", new.to_csv(index=False).encode())
    hits = int((table["answer"] == new["class"]).sum())
    visit.reads(re.compile(rf"Correct rows\s+{hits} of 40\b"))
    visit.go("Export").reads("cannot be exported")


def similarities(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Of points of two classes to 60 samples, and their classes."""

    def points(n: int, seed: int) -> np.ndarray:
        drawn = np.random.default_rng(seed).normal(size=(n, 2))
        return drawn + np.repeat([[-1], [1]], n // 2, 0)

    apart = ((points(n, seed)[:, None] - points(60, 0)) ** 2).sum(axis=2)
    return np.exp(-apart / 4), np.repeat(["a", "b"], n // 2)


def npz(**arrays: np.ndarray) -> bytes:
    """A file of matrices."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def test_matrices_of_similarities_are_learned_from(visit):
    near, y = similarities(60, 0)
    upload(visit, "my.npz", npz(near=near, y=y))
    visit.reads("A smallest eigenvalue of 0")
    whole_accuracy(visit, "my")
    read_prototypes(visit)
    near, y = similarities(20, 1)
    table = applied(visit, "new.npz", npz(near=near, y=y))
    hits = int((table["answer"] == y).sum())
    visit.reads(re.compile(rf"Correct rows\s+{hits} of 20\b"))


def large(n: int) -> pa.Table:
    """Many rows of few columns."""
    draw = np.random.default_rng(2)
    x = draw.integers(0, 100, (2, n), dtype=np.int8)
    return pa.table({"p": x[0], "q": x[1], "kind": (x[0] > x[1]).astype(np.int8)})


def test_a_million_rows_are_sampled_and_all_are_fitted(visit, site):
    name = "large.parquet"
    pq.write_table(large(1_200_000), Path(site.data, name))
    try:
        visit.open("data").choose("Data", name)
        visit.reads("of 1,200,000 rows")
        whole_accuracy(visit, "large")
        visit.go("Data").click("tab", "All rows")
        visit.reads("Of all 1,200,000 rows of the file")
        visit.click("button", "Fit on all rows")
        visit.click("button", re.compile("^Stop"))
        visit.reads("Stopped.")
    finally:
        Path(site.data, name).unlink()
