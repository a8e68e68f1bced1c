"""Tables that visitors bring, and the way to the app."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import Error as BrowserError
from playwright.sync_api import expect

from tests import attempts
from tests.smpcore.datasets.test_time_to_event import followed as followed_table
from tests.walks.visit import Visit


def clinic_table(n: int = 160, seed: int = 0) -> pd.DataFrame:
    """A made clinical table: decimals, gaps, levels, repeated patients, a sex."""
    draw = np.random.default_rng(seed)
    sick = draw.random(n) < 0.45
    table = pd.DataFrame(
        {
            "Patient": [f"P{draw.integers(0, n // 2):03d}" for _ in range(n)],
            "Alter": draw.integers(20, 90, n),
            "CRP mg/l": np.round(draw.gamma(2, 8, n) + 25 * sick, 1),
            "Hämoglobin": np.round(draw.normal(13.5, 1.5, n) - 1.2 * sick, 1),
            "Geschlecht": draw.choice(["m", "w"], n),
            "Raucher": draw.choice(["ja", "nein", "früher"], n),
            "Befund": np.where(sick, "ja", "nein"),
        }
    )
    table.loc[draw.random(n) < 0.08, "Hämoglobin"] = np.nan
    return table


def german_csv(table: pd.DataFrame) -> bytes:
    """As a German spreadsheet saves it."""
    return table.to_csv(index=False, sep=";", decimal=",").encode("cp1252")


def upload(visit: Visit, name: str, data: bytes) -> Visit:
    """Bring a table as the page Data asks for it."""
    visit.open("data")
    picker = visit.page.get_by_test_id("stFileUploader").filter(has_text="Your table")
    if not picker.is_visible():
        visit.page.get_by_text("Upload data").click()
    visit.upload("Your table", name, data)
    visit.page.wait_for_url(lambda url: "mine=" in url, wait_until="commit")
    return visit.rest()


def give_role(visit: Visit, row: int, role: str) -> Visit:
    """Choose a role in the grid of columns."""
    return choose_in_grid(visit, row, 1, role)


def read_as(visit: Visit, row: int, kind: str) -> Visit:
    """Choose in the grid of columns what a column is read as."""
    return choose_in_grid(visit, row, 2, kind)


def choose_in_grid(
    visit: Visit, row: int, column: int, option: str, key: str = ""
) -> Visit:
    """Choose an option of a cell, which says its key to screen readers."""
    item = visit.page.get_by_role("option", name=option, exact=True)
    pick = partial(item.click, timeout=5_000)
    return _edit_cell(visit, row, column, pick, key or option)


def type_in_grid(visit: Visit, row: int, column: int, text: str) -> Visit:
    """Type a text or a number into a cell."""
    entry = visit.page.locator("#portal").locator("input, textarea").first

    def fill() -> None:
        entry.fill(text, timeout=5_000)
        entry.press("Enter")

    return _edit_cell(visit, row, column, fill, text)


def _edit_cell(
    visit: Visit, row: int, column: int, edit: Callable[[], Any], text: str
) -> Visit:
    """A click on the first cell of a row, arrow keys, Enter, and an edit."""
    grid = visit.page.get_by_test_id("stDataFrame").filter(visible=True).first
    cell = grid.locator(f"[data-testid^=glide-cell-][data-testid$='-{row}']").nth(
        column
    )
    visit.doing = f"edit cell {column + 1} of row {row + 1} to {text!r}"
    for _ in attempts():  # a grid that is drawn anew meanwhile hears no key
        expect(cell).to_be_attached()
        grid.scroll_into_view_if_needed()
        box = grid.bounding_box()
        place = box["x"] + 60, box["y"] + 52 + 35 * row
        visit.page.mouse.move(*place)
        visit.page.wait_for_timeout(100)  # the grid sees where the pointer is
        visit.page.mouse.click(*place)
        for key in [*["ArrowRight"] * column, "Enter"]:
            visit.page.wait_for_timeout(50)  # the grid takes one in each picture
            visit.page.keyboard.press(key)
        with contextlib.suppress(BrowserError, AssertionError):
            edit()
            visit.page.wait_for_timeout(500)  # what was edited is sent after a moment
            visit.rest()
            expect(cell).to_have_text(text, timeout=5_000)
            return visit
        visit.page.keyboard.press("Escape")  # a list of another cell
    visit.found("it cannot be edited")
    return visit


def clinic(visit: Visit) -> None:
    """A German clinical table with gaps, levels and repeated patients."""
    upload(visit, "klinik.csv", german_csv(clinic_table()))


def series(visit: Visit) -> None:
    """Two channels of 30 times in sktime's format."""
    draw = np.random.default_rng(1)
    lines = ["@problemName walks", "@timeStamps false", "@univariate false"]
    lines += ["@dimensions 2", "@equalLength true", "@seriesLength 30"]
    lines += ["@classLabel true still moving", "@data"]
    times = np.linspace(0, 6, 30)
    for i in range(60):
        wave = np.sin(times * (1 + 2 * (i % 2)) + draw.normal())
        one = wave + draw.normal(0, 0.2, 30)
        two = draw.normal(0, 1, 30)
        texts = [",".join(f"{v:.3f}" for v in channel) for channel in (one, two)]
        lines.append(":".join([*texts, ("still", "moving")[i % 2]]))
    upload(visit, "motion.ts", "\n".join(lines).encode())


def followed(visit: Visit) -> None:
    """Months until death or the end of observation, and the question switched on."""
    data = followed_table().frame.to_csv(index=False).encode()
    upload(visit, "followed.csv", data)
    visit.click("switch", re.compile("Time to event"), force=True)
    visit.page.wait_for_url(re.compile("within="))
    visit.rest()


def new_rows(visit: Visit) -> None:
    """Rows of other patients, for the model of the clinical table."""
    clinic(visit)
    visit.go("Apply")
    visit.upload("New rows", "neue.csv", german_csv(clinic_table(40, seed=3)))


def numbers(n: int = 160, seed: int = 0) -> pd.DataFrame:
    """A table whose age is to be told."""
    return clinic_table(n, seed).drop(columns=["Befund", "Patient"])


def regression(visit: Visit) -> None:
    """A number to be learned."""
    upload(visit, "zahlen.csv", german_csv(numbers()))
    give_role(visit, 0, "target")


def parquet(table: pd.DataFrame) -> bytes:
    """The table as Parquet."""
    buffer = io.BytesIO()
    table.to_parquet(buffer)
    return buffer.getvalue()
