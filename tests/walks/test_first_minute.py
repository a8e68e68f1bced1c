"""What a newcomer asks first is answered at 1280 x 720 without scrolling."""

import re

import numpy as np
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
    button = visit.page.locator("button.play")
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


def test_the_fit_is_played_beside_it_and_space_holds_it(visit):
    visit.page.set_viewport_size(SCREEN)
    visit.open()
    visit.finish()
    fitted = main_number(visit, "Non-zeros").inner_text()
    button = visit.page.get_by_role("button", name="▶ Play the fit")
    in_sight(button)
    button.click()
    in_sight(visit.page.get_by_role("slider", name="State of the fit"))
    # The solver begins with weights of 0, and its first states are other models.
    expect(visit.page.locator(".sentence")).to_contain_text("Step 0: 2 prototypes")
    assert main_number(visit, "Non-zeros").inner_text() == "0" != fitted
    where = visit.page.locator(".where")
    expect(where).to_contain_text(re.compile("State [3-9] of"), timeout=30_000)
    visit.page.keyboard.press(" ")
    held = where.inner_text()
    visit.page.wait_for_timeout(700)
    assert where.inner_text() == held
    visit.page.keyboard.press("End")
    expect(main_number(visit, "Non-zeros")).to_have_text(fitted)


def test_the_tour_has_five_stops_and_leads_to_the_first_lesson(visit):
    visit.page.set_viewport_size(SCREEN)
    visit.open("?mu=0.02")
    offer = visit.page.get_by_role("button", name="Take the tour")
    in_sight(offer)
    offer.click()
    bar = visit.page.locator(".st-key-lesson")
    for stop in range(1, 5):
        expect(bar).to_contain_text(f"step {stop} of 5", timeout=30_000)
        expect(offer).to_be_hidden()
        visit.finish()
        slider = visit.slider("Merge prototypes (λ)")
        in_sight(slider)
        if stop == 2:
            assert bar.get_by_text("Done.").count() == 0
            visit.drag("Merge prototypes (λ)", 0.3, 1.0)
            expect(bar).to_contain_text("Done.", timeout=30_000)
        visit.click("button", "Next")
    expect(bar).to_contain_text("step 5 of 5", timeout=30_000)
    visit.click("button", re.compile("^Start lesson 1 · "))
    expect(bar).to_contain_text("1 · Why several prototypes? · step 1", timeout=30_000)
    visit.click("button", "Leave lesson")
    expect(bar).to_have_count(0)
    assert "mu=0.02" in visit.page.url


def shape(visit: Visit) -> tuple[dict[str, float], float]:
    """Where the map of the figure is drawn, and its height by its width."""
    box = visit.page.locator("canvas.raster").bounding_box()
    return box, box["height"] / box["width"]


def test_figure_and_numbers_fill_the_screen_that_is_presented(visit):
    visit.page.set_viewport_size(SCREEN)
    visit.open()
    box, ratio = shape(visit)

    def place(right: float, down: float) -> np.ndarray:
        at = box["x"] + right * box["width"], box["y"] + down * box["height"]
        visit.page.mouse.move(*at)
        said = visit.page.locator(".here").inner_text().replace("−", "-")
        return np.array(re.search(r"x1 (\S+) · x2 (\S+)", said).groups(), float)

    # A unit of x1 is as long as one of x2, in pixels of both screens.
    wide, high = np.abs(place(0.05, 0.05) - place(0.95, 0.95))
    assert abs(high / wide - ratio) < 0.02
    visit.click("button", "Present")
    assert abs(shape(visit)[1] - ratio) < 0.01
    figure = visit.page.locator(".figure")
    in_sight(figure)
    box = figure.bounding_box()
    assert box["width"] * box["height"] >= 0.6 * SCREEN["width"] * SCREEN["height"]
    legend = visit.page.locator(".legend")
    for text in ("its score rises along the arrow", "Lead over the runner-up"):
        in_sight(legend.get_by_text(text))
    assert legend.bounding_box()["height"] < 30  # one line
    in_sight(main_number(visit, "Non-zeros"))
    in_sight(visit.page.locator("canvas.strip"))


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
