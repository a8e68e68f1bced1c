"""A teacher writes a lesson by forms, tries it, and gives a class with its file."""

from __future__ import annotations

import contextlib
import json
import re

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import expect

from tests.walks.test_class import join, press, teach
from tests.walks.visit import Visit


def write(visit: Visit, title: str, kind: str = "", **texts: str) -> None:
    """Fill in the form of a step; texts by how their labels begin."""
    if kind:
        visit.click("radio", kind)
    texts = {"Title of the step": title, "Text; formulas": f"About {title}."} | texts
    for label, text in texts.items():
        box = visit.page.get_by_label(re.compile(f"^{label}")).filter(visible=True)
        box.fill(text)
        box.press("Tab")
        visit.rest()


def fill(visit: Visit, row: int, column: int, text: str) -> None:
    """Type into a cell of the table of conditions; of a list, choose an option."""
    page = visit.page
    grid = page.get_by_test_id("stDataFrame").filter(visible=True).first
    cell = grid.locator("[data-testid^=glide-cell-]").nth(5 * row + column)
    for _ in range(5):  # a grid that is drawn anew meanwhile hears no key
        grid.scroll_into_view_if_needed()
        box = grid.bounding_box()
        x, y = box["x"] + 100, box["y"] + 52 + 35 * row
        page.mouse.click(x, box["y"] + 17)  # a list may have the focus
        page.wait_for_timeout(200)
        (page.mouse.click if column else page.mouse.dblclick)(x, y)
        for key in [*["ArrowRight"] * column, "Enter"] * (column > 0):
            page.wait_for_timeout(100)  # the grid takes one key in each picture
            page.keyboard.press(key)
        with contextlib.suppress(BrowserError):
            if column in (1, 2):
                option = page.get_by_role("option", name=text, exact=True)
                option.click(timeout=5_000)
            else:
                page.locator(".gdg-input").wait_for(timeout=5_000)
                page.keyboard.type(text)
                page.keyboard.press("Enter")
        page.wait_for_timeout(800)  # what was edited is sent after a moment
        visit.rest()
        if cell.inner_text():
            return
        page.keyboard.press("Escape")
    visit.found(f"{text} cannot be typed")


def fill_row(visit: Visit, row: int, *cells: str) -> None:
    """Fill in a row of the table of conditions."""
    for column, text in enumerate(cells):
        fill(visit, row, column, text)


def test_a_lesson_is_written_moved_tried_reloaded_and_taught(visitors):
    visit = visitors()()
    visit.open("?data=moons&method=supersparse&n_prototypes=2").finish()
    visit.go("Lessons").unfold("For teachers: open or make a lesson")
    write(visit, "Welcome")
    visit.click("button", "Save the step").reads("1. Welcome")
    answer = {
        "Question or task": "How many?",
        "What is said": "It has {before.n_prototypes}.",
    }
    write(visit, "Count", "Question: choose an answer", **answer)
    fill_row(visit, 0, "Two", "Prototypes", "before the answer", "2", "2")
    visit.go("Explore").go("Lessons")
    visit.reads("An answer is right if")  # what was typed is still there
    fill_row(visit, 1, "Many")
    visit.click("button", "Save the step").reads("2. Count")
    answer = {"Question or task": "Where?", "What is said": "There."}
    write(visit, "Place", "Question: mark where a prototype lies", **answer)
    visit.click("button", "Save the step").reads("3. Place")
    visit.click("button", "Up", nth=2).reads("2. Place")
    # Tried as a student sees it, and back again.
    visit.click("button", "Try it", nth=2)
    visit.reads("step 3 of 3")
    visit.click("radio", "Two").click("button", "Answer")
    visit.reads("Measured: Two (as predicted)")
    visit.reads("It has 2.")
    visit.click("button", "Back to the editor").reads("Lesson to edit")
    visit.page.reload()
    visit.rest().reads("2. Place")
    visit.fill("Title of the lesson", "Counting")
    content = visit.take("Download the lesson")
    steps = json.loads(content)["steps"]
    assert [step["title"] for step in steps] == ["Welcome", "Place", "Count"]
    two = {"measure": "n_prototypes", "of": "before", "at_least": 2, "at_most": 2}
    choices = [{"text": "Two", "when": [two]}, {"text": "Many"}]
    assert steps[2]["question"]["choices"] == choices
    # Another teacher opens the file and gives a class with it.
    other, student = visitors()(), visitors()()
    other.open("lessons")
    assert "Counting" not in other.text(), "what is kept is of one browser"
    other.unfold("For teachers: open or make a lesson")
    other.upload("Open a lesson file", "counting.json", content)
    teach(other, "Counting")
    code = other.reads(re.compile(r"Code\s+([A-Z0-9]{6})\b")).group(1)
    join(student, code).reads("Welcome")
    press(other, "Next step")
    student.reads("step 2 of 3")
    # A step is edited and deleted.
    visit.click("button", "Edit", nth=2).fill("Title of the step", "Two or many?")
    visit.click("button", "Save the step").reads("3. Two or many?")
    visit.click("button", "Delete", nth=0).reads("2. Two or many?")
    visit.click("button", "Delete the lesson")
    expect(visit.page.get_by_text("Counting", exact=True)).to_have_count(0)
