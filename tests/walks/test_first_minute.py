"""What a newcomer asks first is answered at 1280 x 720 without scrolling."""

import re

from playwright.sync_api import Locator, expect

from tests.walks.test_newcomer import expected_hits, hits
from tests.walks.visit import PAGES, Visit

SCREEN = {"width": 1280, "height": 720}


def in_sight(place: Locator) -> None:
    """It is on the screen, whole, and nothing was scrolled."""
    expect(place).to_be_in_viewport(ratio=1.0)
    assert place.evaluate("() => document.scrollingElement.scrollTop") == 0


def main_number(visit: Visit, name: str) -> Locator:
    """The value of one of the four numbers beside the figure."""
    cell = visit.page.locator("dl.four > div").filter(has_text=name)
    return cell.locator("dd")


def test_four_questions_are_answered_on_the_first_screen(visit):
    visit.page.set_viewport_size(SCREEN)
    visit.open()
    figure = visit.page.locator(".spe")
    in_sight(figure.get_by_text("A few arrows decide", exact=False))
    # What does the ring mean?
    in_sight(figure.locator(".legend").get_by_title("test", exact=True))
    # How good is it?
    in_sight(main_number(visit, "Validation accuracy"))
    right, whole = expected_hits(visit)
    assert (right, whole) == hits(visit, "Validation")
    said = main_number(visit, "Validation accuracy").inner_text()
    assert said == f"{100 * right / whole:.1f} %"
    # Which features?
    in_sight(figure.locator(".prototypes").get_by_text("x1", exact=True).first)
    # Merge the prototypes.
    in_sight(visit.slider("Merge prototypes (λ)"))
    assert main_number(visit, "Prototypes").inner_text() == "4 of 4"
    visit.drag("Merge prototypes (λ)", 0.5, 1.0)
    expect(main_number(visit, "Prototypes")).to_have_text("2 of 4")
    in_sight(visit.page.locator("canvas.strip"))


def test_play_moves_the_slider_to_its_ends_and_space_holds_it(visit):
    visit.page.set_viewport_size(SCREEN)
    visit.open()
    visit.rest()
    slider = visit.slider("Merge prototypes (λ)")
    start = slider.input_value()
    assert slider.get_attribute("max") == "50" and 10 < int(start) < 40
    button = visit.page.get_by_role("button", name=re.compile("Play|Pause"))
    in_sight(button)
    button.click()
    # It is at an end for a moment only.
    for near in (r"4\d|50", r"\d"):
        expect(slider).to_have_value(re.compile(f"^({near})$"), timeout=30_000)
    visit.page.keyboard.press(" ")
    held = slider.input_value()
    visit.page.wait_for_timeout(500)
    assert slider.input_value() == held != start
    expect(button).to_have_text("▶ Play")


def test_every_page_says_what_it_answers(visit):
    visit.page.set_viewport_size(SCREEN)
    visit.open()
    for name in PAGES:
        if name == "Explore":
            continue
        visit.go(name)
        heading = visit.page.get_by_role("heading", name=name, exact=True)
        in_sight(heading)
        question = visit.page.get_by_test_id("stCaptionContainer").first
        in_sight(question)
        assert re.search(r"[?.]$", question.inner_text())


def test_the_c_file_is_a_press_away(visit):
    visit.page.set_viewport_size(SCREEN)
    visit.open()
    visit.go("Export")
    button = visit.page.get_by_role("button", name="Download the zip")
    in_sight(button)
    said = visit.page.get_by_text(re.compile(r"answers (\d+) of \1 open rows as"))
    in_sight(said)
    with visit.page.expect_download() as saved:
        button.click()
    assert saved.value.suggested_filename == "moons.zip"
