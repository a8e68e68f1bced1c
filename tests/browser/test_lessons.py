"""A lesson in real Chromium, by keyboard alone."""

import re

import pytest
from playwright.sync_api import expect

from pages.state import lesson_files
from smpcore.readouts import READOUTS
from tests.browser.canvas_page import wait_until
from tests.browser.test_app import visit

fixtures = (visit,)


#: The name of what has the focus; of a choice, its kind.
FOCUSED = """(e => e.type === 'radio' ? 'radio'
  : e.getAttribute('aria-label') || e.innerText)(document.activeElement)"""
LESSONS = [*lesson_files.listed().values()]
#: Of fusion: the others are walked by `tests/run --all`.
USUAL = 2


def tab_to(page, name):
    """Press Tab until the control of this name has the focus."""
    for _ in range(90):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if (focused or "").strip() == name:
            return
    raise AssertionError(f"Tab does not lead to {name}")


#: Whether the figure itself has the focus.
ON_FIGURE = """() => {
  let e = document.activeElement;
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
  return e.matches('canvas.marks');
}"""


def mark_a_place(page):
    """Go to the figure, move its crosshair, and mark where it is."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(ON_FIGURE):
            break
    page.keyboard.press("ArrowLeft")

    def is_marked():
        page.keyboard.press("Enter")  # again where the step's picture was not there yet
        page.wait_for_timeout(500)
        return page.get_by_text("Your mark: (").count() > 0

    wait_until(page, is_marked)


def answer(page, question):
    """Answer a question without the mouse, rightly or not."""
    if question.point:
        mark_a_place(page)
        tab_to(page, "Answer")
    elif question.choices:
        tab_to(page, "radio")
        page.keyboard.press("Space")
        tab_to(page, "Answer")
    else:
        row = READOUTS[question.number.measure]
        unit = " (%)" if row.unit == "%" else ""
        tab_to(page, f"Your prediction: {row.label.lower()}{unit}")
        page.keyboard.type("7")
    page.keyboard.press("Enter")


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(n, marks=[pytest.mark.exhaustive] * (n != USUAL))
        for n in range(len(LESSONS))
    ],
)
def test_every_lesson_is_walked_by_keyboard_alone(visit, number):
    page = visit("lessons")
    starts = page.get_by_role("button", name="Start")
    expect(starts).to_have_count(len(LESSONS))
    for _ in range(number + 1):
        tab_to(page, "Start")
    page.keyboard.press("Enter")
    bar, steps = page.locator(".st-key-lesson"), LESSONS[number].steps
    for at, step in enumerate(steps, 1):
        expect(bar).to_contain_text(f"step {at} of {len(steps)}")
        expect(bar).to_contain_text(step.title)
        expect(page.locator(".st-key-lesson:focus-within")).to_have_count(1)
        if step.question:
            # Predict first: no number of the model is on the screen.
            told = page.locator(".four > div, .numbers > div")
            expect(told.locator("dd", has_text=re.compile(r"\d"))).to_have_count(0)
            steps_of_fit = page.get_by_role("button", name="Play the fit")
            expect(steps_of_fit).to_be_disabled()
            answer(page, step.question)
            said = "Your mark is" if step.question.point else "Measured: "
            expect(bar).to_contain_text(said)
            if number == USUAL and at == 1:
                expect(bar).to_contain_text("Measured: 5 (your prediction: 7).")
                expect(bar).to_contain_text("−3 from 8")
                ghost = page.get_by_text("dashed: border before the answer")
                expect(ghost).to_be_visible()
        if at < len(steps):
            name = "Skip this task" if step.task else "Next"
            if page.evaluate(FOCUSED).strip() != name:  # as after the step before
                tab_to(page, name)
            page.keyboard.press("Enter")
    tab_to(page, "Finish lesson")
    page.keyboard.press("Enter")
    expect(bar).to_have_count(0)
