"""A teacher and four students, each in a browser of their own."""

from __future__ import annotations

import io
import re
import time

import pandas as pd
from playwright.sync_api import expect

from pages.lessons.results import COLUMNS
from tests import attempts
from tests.walks.visit import Visit

CODE = re.compile(r"Code\s+([A-Z0-9]{8})\b")


def teach(visit: Visit, title: str) -> None:
    """Press the button of a lesson's card, Teach a class or Teach next."""
    start = visit.page.get_by_role("button", name=re.compile("^Teach"))
    blocks = visit.page.get_by_test_id("stVerticalBlock")
    card = blocks.filter(has_text=title, has=start.filter(visible=True)).last
    card.get_by_role("button", name=re.compile("^Teach")).filter(visible=True).click()
    visit.doing = f"teach {title}"
    visit.rest().reads(f"Class: {title}")


def join(visit: Visit, code: str) -> Visit:
    """Type the code that is on the wall."""
    visit.open("lessons").fill("Join a class: code", code)
    visit.reads(f"Class {code}")
    return visit


def press(visit: Visit, name: str) -> None:
    """Press a button of the teacher's, which goes once the class has moved."""
    visit.click("button", name)


def test_a_class_moves_together_and_loses_no_answer(visitors):
    teacher = visitors()()
    teacher.open("lessons")
    teach(teacher, "2 · Fusion")
    code = teacher.reads(CODE).group(1)
    typed = join(
        visitors(viewport={"width": 375, "height": 800})(), code.lower().upper()
    )
    linked, third = visitors()(), join(visitors()(), code)
    link = re.search(r"https?://\S+class=\S+", teacher.text()).group()
    linked.open(link.split("/", 3)[3]).reads(f"Class {code}")
    students = [typed, linked, third]
    teacher.reads("3 students here")
    teacher.reads("works on this machine only")
    # A number is asked: nobody sees the truth before the teacher shows it.
    for student in students:
        student.reads("Wait here: your teacher opens the question")
    press(teacher, "Open the question")
    for student, answer in zip(students, ("5", "6", "5"), strict=True):
        student.reads("Answer")  # a form sends nothing before its button is there
        student.rest().fill("Your prediction: prototypes", answer)
        student.reads(f"Sent: {answer}")
        assert "Measured" not in student.text()
        expect(student.page.get_by_role("button", name="Next")).to_be_disabled()
    teacher.reads("3 answers")
    press(teacher, "Vote again")
    linked.reads("Your first answer: 6")
    linked.fill("Your prediction: prototypes", "5")
    linked.reads("Sent: 5")
    late = join(visitors()(), code)  # and finds the class where it is
    students.append(late)
    late.reads("Second vote")
    teacher.reads("3 answers, then 1 answer")
    linked.page.reload()
    linked.rest().reads("Sent: 5")
    press(teacher, "Show the answer")
    for student, words in zip(
        students,
        ("as predicted", "as predicted", "as predicted", "no answer"),
        strict=True,
    ):
        student.reads("Measured: 5")
        student.reads(words)
    line = teacher.page.get_by_role("figure", name="Vote 1: 5, 5, 6; Vote 2: 5")
    expect(line).to_be_visible()
    press(teacher, "Next step")
    for student in students:
        student.reads("step 2 of 3")
    # The next lesson comes by itself; a choice is asked.
    teach(teacher, "3 · Sparsity")
    for student in students:
        student.reads("3 · Sparsity")
    press(teacher, "Open the question")
    for student, choice in zip(students, (0, 1, 0, 0), strict=True):
        student.reads("Your prediction")
        bar = student.page.locator(".st-key-lesson").get_by_role("radio")
        bar.nth(choice).click(force=True)
        student.rest().click("button", "Answer")
        student.reads("Sent: ")
    teacher.reads("4 answers")
    third.page.close()
    teacher.reads("3 students here")
    # Who is let go sees the answer at once, as alone.
    teacher.click("switch", "Hold the class together")
    typed.reads("Measured")
    with teacher.page.expect_download() as download:
        teacher.click("button", "All answers as CSV")
    table = pd.read_csv(download.value.path())
    assert list(table) == COLUMNS
    assert list(table["vote"]) == [1, 1, 1, 2, 1, 1, 1, 1]
    assert list(table["answer"][:4]) == ["5", "6", "5", "5"]
    # A place is asked.
    teach(teacher, "6 · Invented cases")
    typed.reads("6 · Invented cases")
    teacher.click("button", "End the class")
    teacher.click("button", "End it")
    expect(teacher.page.get_by_text("End the class")).to_have_count(0)
    linked.reads("The class is over")


def test_a_wall_shows_a_class_and_no_vote_before_its_teacher_does(visitors):
    come = visitors()
    teacher, wall = come(), come()
    teacher.open("lessons")
    teach(teacher, "2 · Fusion")
    code = teacher.reads(CODE).group(1)
    link = teacher.page.get_by_role("link", name="Open the wall")
    wall.open(link.get_attribute("href").split("/", 3)[3])
    wall.reads(code)
    wall.reads("0 students here")
    phone = {"viewport": {"width": 375, "height": 812}, "has_touch": True}
    first, second = phones = [join(visitors(**phone)(), code) for _ in range(2)]
    wall.reads("2 students here")
    press(teacher, "Open the question")
    wall.reads("How many prototypes are left of 8?")
    first.fill("Your prediction: prototypes", "6")
    wall.reads("1 answer, 2 students here")
    began = time.monotonic()
    teacher.click("radio", "30 s")
    for visit in wall, second:
        if time.monotonic() < began + 15:  # a busy machine takes longer for the click
            expect(visit.page.get_by_role("timer")).to_be_visible()
    for visit in wall, second, teacher:
        visit.reads("The vote is closed.")
    press(teacher, "Vote again")
    for student, answer in zip(phones, ("5", "6"), strict=True):
        student.reads("Second vote")
        student.fill("Your prediction: prototypes", answer)
        student.reads(f"Sent: {answer}")
    wall.reads("2 answers, 2 students here")
    assert not wall.page.locator(".js-plotly-plot").count()
    assert "Measured" not in wall.text()
    press(teacher, "Show the answer")
    wall.reads("Measured: 5")
    line = wall.page.get_by_role("figure", name="Vote 1: 6; Vote 2: 5, 6")
    expect(line).to_be_visible()
    press(teacher, "Next step")
    press(teacher, "Skip the question")
    for student in phones:
        student.reads("step 3 of 3")
    wall.reads("3 of 3")
    assert not [one for one in wall.controls() if one.visible and not one.place]
    # The teacher looks at what students see.
    link = re.search(r"https?://\S+class=\S+", teacher.text()).group()
    come().open(link.split("/", 3)[3]).reads("You are not counted")
    teacher.reads("2 students here")
    teacher.click("button", "End the class")
    table = pd.read_csv(io.BytesIO(teacher.take("All answers as CSV")), dtype=str)
    assert [*table["vote"]] == ["1", "2", "2"] and [*table["gain"]] == ["0.5"] * 3
    assert [*table["is right"]] == ["no", "yes", "no"]
    assert table["student"][0] == table["student"][1] != table["student"][2]
    assert b"wrong to right" in teacher.take("Summary to print")
    teacher.click("button", "End it")
    wall.reads("The class is over")


def test_a_class_follows_what_its_teacher_drags(visitors):
    come = visitors()
    teacher, wall = come(), come()
    teacher.open("lessons")
    teach(teacher, "2 · Fusion")
    code = teacher.reads(CODE).group(1)
    link = teacher.page.get_by_role("link", name="Open the wall")
    wall.open(link.get_attribute("href").split("/", 3)[3]).reads("0 students here")
    phone = {"viewport": {"width": 375, "height": 812}, "has_touch": True}
    first, second = students = [join(visitors(**phone)(), code) for _ in range(2)]
    press(teacher, "Open the question")
    wall.reads("How many prototypes are left of 8?")
    press(teacher, "Show the answer")
    # The figure moves to the answer, through values of the slider on the way there.
    painted = "performance.getEntriesByName('spe-paint').map(e => +e.detail.lastValue)"
    for _ in attempts(0.2):
        seen = wall.page.evaluate(painted)
        if any(0.02 < one < 0.04 for one in seen) and seen[-1] == 0.04:
            break
    else:
        raise AssertionError(seen)
    press(teacher, "Next step")
    press(teacher, "Skip the question")
    for student in students:
        student.reads("step 3 of 3")
    figure = come()
    link = teacher.page.get_by_role("link", name="Open the figure")
    figure.open(link.get_attribute("href").split("/", 3)[3]).reads(
        "You are not counted"
    )
    before = lam_in(figure)
    figure.click("switch", "Follow me")
    for student in students:
        student.reads("Follow your teacher's figure")
    figure.drag(LAM, 0.5, 0.3)
    for visit in first, second, wall:
        shows(visit, lam := lam_in(figure))
    assert lam != before
    for _ in range(3):  # looks alone
        second.slider(LAM).press("ArrowRight")
    alone = lam_in(second.rest())
    assert alone != lam
    figure.drag(LAM, 0.3, 0.4)
    shows(first, lam := lam_in(figure))
    assert alone == lam_in(second) != lam
    second.click("switch", "Follow your teacher's figure")
    shows(second, lam)
    figure.click("switch", "Follow me")
    shows(first, before)  # its figure is its own again
    assert not [one for one in wall.controls() if one.visible and not one.place]


LAM = "Merge prototypes (λ)"


def lam_in(visit: Visit) -> str:
    """Where the slider stands; on the wall, too, where it is not to be seen."""
    field = visit.page.locator(f"input[aria-label='{LAM}, value']")
    return field.first.input_value() if field.count() else "nan"


def shows(visit: Visit, lam: str) -> None:
    """Wait until the slider stands there."""
    field = visit.page.locator(f"input[aria-label='{LAM}, value']").first
    expect(field).to_have_value(lam)
