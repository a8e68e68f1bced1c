"""A teacher and three students, each in a browser of their own."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.walks.visit import Visit

CODE = re.compile(r"Code\s+([A-Z0-9]{6})\b")


def teach(visit: Visit, title: str) -> None:
    """Press the button of a lesson's card, Teach a class or Teach next."""
    card = visit.page.get_by_test_id("stVerticalBlock").filter(has_text=title).last
    card.get_by_role("button", name=re.compile("^Teach")).filter(visible=True).click()
    visit.doing = f"teach {title}"
    visit.rest().reads(f"Class: {title}")


def join(visit: Visit, code: str) -> Visit:
    """Type the code that is on the wall."""
    visit.open("lessons").fill("Join a class: code", code)
    visit.reads(f"Class {code}")
    return visit


def test_a_class_loses_no_answer_from_the_code_to_the_end(visitors):
    teacher = visitors()()
    teacher.open("lessons")
    teach(teacher, "2 · Fusion")
    code = teacher.reads(CODE).group(1)
    typed = join(
        visitors(viewport={"width": 375, "height": 800})(), code.lower().upper()
    )
    linked, third = visitors()(), join(visitors()(), code)
    link = re.search(rf"https?://\S+{code}", teacher.text()).group()
    linked.open(link.split("/", 3)[3]).reads(f"Class {code}")
    students = (typed, linked, third)
    teacher.reads("3 students here")
    teacher.reads("works on this machine only")
    # A number is asked.
    for student, answer in zip(students, ("5", "6", "5"), strict=True):
        student.fill("Your prediction: prototypes", answer)
        student.reads("Measured: 5")
    teacher.reads("3 answers")
    teacher.click("switch", "Show the right answer")
    alt = teacher.page.get_by_role("figure", name="Answers: 5: 2; 6: 1")
    expect(alt).to_be_visible()
    linked.page.reload()
    linked.rest().reads("your prediction: 6")
    teacher.reads("3 students here")
    teacher.reads("3 answers")
    # A choice is asked.
    teach(teacher, "3 · Sparsity")
    for student in students:
        student.click("button", "Next")  # the way to the next lesson comes with a step
        student.click("button", re.compile("^Go on with the class"))
        student.reads("3 · Sparsity")
    for student, choice in zip(students, (0, 1, 0), strict=True):
        bar = student.page.locator(".st-key-lesson").get_by_role("radio")
        bar.nth(choice).click(force=True)
        student.rest().click("button", "Answer")
        student.reads("Measured")
    teacher.reads("3 answers")
    third.page.close()
    teacher.reads("2 students here")
    # A place is asked.
    teach(teacher, "6 · Invented cases")
    typed.click("button", "Next")
    typed.click("button", re.compile("^Go on with the class"))
    typed.reads("6 · Invented cases")
    teacher.click("button", "End the class")
    expect(teacher.page.get_by_text("End the class")).to_have_count(0)
    linked.click("button", "Next")
    linked.reads("The class has ended")
