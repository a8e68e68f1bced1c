"""A teacher and three students in real Chromium, each in a browser of their own."""

import re

from playwright.sync_api import expect

from tests.browser.test_app import visit

fixtures = (visit,)


def test_a_class_from_the_code_to_its_end(visit):
    teacher = visit("lessons", viewport={"width": 1280, "height": 1000})
    teacher.get_by_role("button", name="Teach a class").nth(1).click()
    view = teacher.locator(".st-key-class_view")
    link = view.get_by_test_id("stCode").inner_text().strip()
    code = link[-6:]
    expect(view).to_contain_text(code)
    path = re.sub(r"^http://[^/]+/", "", link)
    students = [visit(path) for _ in range(2)]
    typed = visit("lessons", viewport={"width": 375, "height": 900})
    typed.get_by_label("Join a class: code").fill(code.lower())
    typed.keyboard.press("Enter")
    students.append(typed)
    for student in students:
        expect(student.locator(".st-key-lesson")).to_contain_text(f"Class {code}")
    expect(view).to_contain_text("3 students here")
    for student, answer in zip(students, ("5", "5", "8"), strict=True):
        student.get_by_label("Your prediction: prototypes", exact=True).fill(answer)
        student.keyboard.press("Enter")
        expect(student.locator(".st-key-lesson")).to_contain_text("Measured: 5")
    expect(view).to_contain_text("3 answers")
    view.get_by_text("Show the right answer").click()
    expect(view).to_contain_text("✓ 5")
    students[0].reload()  # goes on where it was
    expect(students[0].locator(".st-key-lesson")).to_contain_text("Measured: 5")
    expect(view).to_contain_text("3 students here")
    expect(view).to_contain_text("3 answers")
    expect(view).to_contain_text("works on this machine only")
    students[1].close()
    expect(view).to_contain_text("2 students here")
    view.get_by_role("button", name="End the class").click()
    expect(view).to_have_count(0)
    typed.get_by_role("button", name="Next").click()
    expect(typed.locator(".st-key-lesson")).to_contain_text("The class has ended")
    assert typed.evaluate("document.documentElement.scrollWidth") <= 375
