"""A teacher writes a lesson by forms, tries it, and gives a class with its file."""

from __future__ import annotations

import json
import re

from playwright.sync_api import expect

from tests.walks.tables import choose_in_grid, type_in_grid
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
    write(visit, "Count", "Question: predict a number", **answer)
    visit.go("Explore").go("Lessons")
    visit.reads("Right within")  # what was typed is still there
    visit.click("button", "Save the step").reads("2. Count")
    answer = {"Question or task": "Where?", "What is said": "There."}
    write(visit, "Place", "Question: mark where a prototype lies", **answer)
    visit.click("button", "Save the step").reads("3. Place")
    visit.click("button", "Up", nth=2).reads("2. Place")
    # Tried as a student sees it, and back again.
    visit.click("button", "Try it", nth=2)
    visit.reads("step 3 of 3")
    visit.fill("Your prediction: prototypes", "2")
    visit.reads("Measured: 2 (as predicted)")
    visit.reads("It has 2.")
    visit.click("button", "Back to the editor").reads("Lesson to edit")
    visit.page.reload()
    visit.rest().reads("2. Place")
    visit.fill("Title of the lesson", "Counting")
    content = visit.take("Download the lesson")
    steps = json.loads(content)["steps"]
    assert [step["title"] for step in steps] == ["Welcome", "Place", "Count"]
    number = {"measure": "n_prototypes", "within": 1.0}
    assert steps[2]["question"]["number"] == number
    # Another teacher opens the file and gives a class with it.
    other, student = visitors()(), visitors()()
    other.open("lessons")
    assert "Counting" not in other.text(), "what is kept is of one browser"
    other.unfold("For teachers: open or make a lesson")
    other.upload("Open a lesson file", "counting.json", content)
    teach(other, "Counting")
    code = other.reads(re.compile(r"Code\s+([A-Z0-9]{8})\b")).group(1)
    join(student, code).reads("Welcome")
    press(other, "Next step")
    student.reads("step 2 of 3")
    # A step is edited and deleted.
    visit.click("button", "Edit", nth=2).fill("Title of the step", "Two or many?")
    visit.click("button", "Save the step").reads("3. Two or many?")
    visit.click("button", "Delete", nth=0).reads("2. Two or many?")
    visit.click("button", "Delete the lesson")
    expect(visit.page.get_by_text("Counting", exact=True)).to_have_count(0)


def test_answers_and_conditions_are_typed_into_grids(visit):
    visit.open("?data=moons&method=supersparse&n_prototypes=2").finish()
    visit.go("Lessons").unfold("For teachers: open or make a lesson")
    answer = {"Question or task": "How many?", "What is said": "Two."}
    write(visit, "Choose", "Question: choose an answer", **answer)
    grid = visit.page.get_by_test_id("stDataFrame").filter(visible=True)
    grid.click(position={"x": 60, "y": 122})  # below two lines: a third one
    answers = ("Three", 3, "3"), ("Two", 4, "2.5"), ("Neither", 0, "")
    for row, (text, column, limit) in enumerate(answers):
        type_in_grid(visit, row, 0, text)
        if limit:
            choose_in_grid(visit, row, 1, "Prototypes", "n_prototypes")
            type_in_grid(visit, row, column, limit)
    for kind in ("Task: reach values", "Question: choose an answer"):
        visit.click("radio", kind)  # another kind and back: nothing is lost
    visit.click("button", "Save the step").reads("1. Choose")
    write(visit, "Reach", "Task: reach values", **{"Question or task": "Get two."})
    choose_in_grid(visit, 0, 0, "Prototypes", "n_prototypes")
    type_in_grid(visit, 0, 2, "2")
    visit.click("button", "Save the step").reads("2. Reach")
    first, second = json.loads(visit.take("Download the lesson"))["steps"]
    whens = [one.get("when", []) for one in first["question"]["choices"]]
    of = {"measure": "n_prototypes"}
    assert whens == [[of | {"at_least": 3.0}], [of | {"at_most": 2.5}], []]
    assert second["task"]["reach"] == [of | {"at_most": 2.0}]
    for choice, words in (("Three", "your prediction: Three"), ("Two", "as predicted")):
        visit.click("button", "Try it", nth=0).click("radio", choice)
        visit.click("button", "Answer").reads(f"Measured: Two ({words})")
        visit.click("button", "Back to the editor")
