"""A lesson in real Chromium: by keyboard alone, by presses at one place, on a phone."""

import json
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
        page.keyboard.type("4")
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
                expect(bar).to_contain_text("Measured: 5 (your prediction: 4).")
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


#: Where the buttons of a lesson stand, and what lies at the middle of each.
BUTTONS = """() => ["leave", "back", "next", "restart"].map((name) => {
  const button = document.querySelector(`.st-key-lesson_${name} button`);
  const {x, y, width, height} = button.getBoundingClientRect();
  const top = document.elementFromPoint(x + width / 2, y + height / 2);
  return [Math.round(x), Math.round(y), button.contains(top)];
})"""


def test_the_tour_is_taken_by_presses_at_one_place(visit):
    page = visit("?lesson=00-tour.json", viewport={"width": 1280, "height": 720})
    bar = page.locator(".st-key-lesson")
    expect(bar).to_contain_text("step 1 of 5")
    stand = page.evaluate(BUTTONS)
    assert all(is_free for *_, is_free in stand)
    next = page.locator(".st-key-lesson_next button").bounding_box()
    at = next["x"] + next["width"] / 2, next["y"] + next["height"] / 2
    for step in range(2, 6):
        page.mouse.click(*at)
        expect(bar).to_contain_text(f"step {step} of 5")
        wait_until(page, lambda: page.evaluate(BUTTONS) == stand)
    page.mouse.click(*at)
    page.mouse.click(*at)
    page.get_by_role("button", name="Finish lesson").hover()
    page.wait_for_timeout(1000)  # a tooltip would come
    expect(bar).to_contain_text("step 5 of 5")
    assert page.evaluate(BUTTONS) == stand


#: Whether the last thing that was asked or revealed is in sight, and free, to its end.
IN_SIGHT = """() => {
  const asked = document.querySelector("[class*=st-key-lesson_asked]");
  const {x, top, bottom, width} = asked.getBoundingClientRect();
  return [top + 4, bottom - 4].every((y) => y > 0 && y < innerHeight
    && asked.contains(document.elementFromPoint(x + width / 2, y)));
}"""
PHONES = [(375, 700), (375, 812), (390, 844)]


@pytest.mark.parametrize(("width", "height"), PHONES)
def test_on_a_phone_question_and_reveal_come_into_sight(visit, width, height):
    page = visit("?lesson=02-fusion.json", viewport={"width": width, "height": height})
    for field, words in (("spinbutton", "Measured: 5"), ("radio", "Measured: ")):
        first = page.locator(".st-key-lesson").get_by_role(field).first
        expect(first).to_be_visible()
        wait_until(page, lambda: page.evaluate(IN_SIGHT))
        # Whoever has looked at the figure meanwhile is brought back by what comes.
        if field == "radio":
            first.click(force=True)
        else:
            first.fill("5")
        page.get_by_role("button", name="Answer").press("Enter")
        expect(page.locator(".st-key-lesson")).to_contain_text(words)
        wait_until(page, lambda: page.evaluate(IN_SIGHT))
        page.get_by_role("button", name="Next", exact=True).click()


#: Texts that Markdown, HTML, formulas or placeholders could make something else of.
TEXTS = (
    "n<m",
    "<b>bold</b>",
    "a &lt; b &amp; c",
    "costs $5 and then $6",
    "{after....}",
    "\"x\" 'y' `z`",
    "*a* _b_ [c](d) # e",
    "-> :smile: ~~f~~ :red[g]",
    "==",
)


def test_texts_of_a_lesson_are_shown_as_text(visit):
    text = " | ".join(TEXTS)[:100]
    formula = r"$\sum_{i<j}\|w_i-w_j\|$"
    choices = [{"text": f"{n} {text}"[:100]} for n in range(2)]
    asked = {"text": f"{text}\n    {text}", "reveal": text, "choices": choices}
    step = {"title": text, "text": f"{text} {formula}", "state": {"data": "moons"}}
    lesson = {"format": lesson_files.FORMAT, "title": text, "minutes": 1, "aim": text}
    lesson["steps"] = [step | {"question": asked}]
    page = visit("lessons")
    page.get_by_text("For teachers: open or make a lesson").click()
    file = {"name": "x.json", "mimeType": "application/json"}
    content = file | {"buffer": json.dumps(lesson).encode()}
    page.locator("input[type=file]").first.set_input_files(content)
    card = page.get_by_test_id("stVerticalBlock").filter(has_text="1 min").last
    expect(card).to_contain_text(text)
    page.get_by_role("button", name="Start", exact=True).last.click()
    bar = page.locator(".st-key-lesson")
    # Title of the lesson and of the step, text, question twice, and two answers.
    expect(bar).to_contain_text("1 " + choices[1]["text"][2:])
    wait_until(page, lambda: bar.inner_text().count(text) >= 5)
    expect(bar.locator(".katex")).to_have_count(1)
    assert bar.locator("b, code, em, a, del, img, .katex-error").count() == 0
    bar.get_by_role("radio").first.click(force=True)
    page.get_by_role("button", name="Answer").click()
    expect(bar).to_contain_text("none of these")
    assert bar.inner_text().count(text) >= 5
