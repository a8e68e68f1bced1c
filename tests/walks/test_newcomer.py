"""Somebody opens Explore for the first time and tries everything that is there."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, expect

from smpcore import METHODS, load_dataset, prepare, split
from tests.walks.tables import upload
from tests.walks.visit import PAGES, Visit

#: Names of the sliders that can be seen, as they stand at them; of the data or not.
SLIDERS = """(nodes) => nodes.filter((one) => one.checkVisibility() && one.labels)
.map((one) => [one.labels[0].textContent, one.closest(".row").dataset.name[1] === "."])
"""
KEYS = ("ArrowRight", "ArrowLeft")


def canvas(visit: Visit) -> Locator:
    """The figure."""
    return visit.page.locator("canvas[data-paint-count]").first


def shown(visit: Visit) -> tuple[str, str, int]:
    """Which picture is on the canvas, and how often it was painted."""
    of = canvas(visit).evaluate("(c) => ({...c.dataset})")
    return of["seq"], of["lastValue"], int(of["paintCount"])


def read_outs(visit: Visit) -> str:
    """The list of metrics, without how long the fit took."""
    text = "\n".join(visit.page.locator("dl.four, dl.numbers").all_inner_texts())
    return re.sub(r"[\d.]+ m?s\b", "", text)


def hits(visit: Visit, part: str) -> tuple[int, int]:
    """Rows that are right, and all rows, as the figure says."""
    found = rf"{part} accuracy\s.*\s([\d,]+) of ([\d,]+) rows"
    right, whole = re.search(found, read_outs(visit)).groups()
    return int(right.replace(",", "")), int(whole.replace(",", ""))


def rows(visit: Visit) -> int:
    """Rows of all parts that are open."""
    return sum(hits(visit, part)[1] for part in ("Training", "Validation", "Test"))


def expected_hits(visit: Visit) -> tuple[int, int]:
    """Validation rows that the model of the link gets right, by the library."""
    link = dict(parse_qsl(urlsplit(visit.page.url).query))
    method = METHODS[link.get("method", next(iter(METHODS)))]
    number = {k: float(v) for k, v in link.items() if re.fullmatch(r"-?[\d.e+-]+", v)}
    made = {k[2:]: v for k, v in number.items() if k.startswith("d.")}
    whole = {k: int(v) if v.is_integer() else v for k, v in (number | made).items()}
    dataset = load_dataset(link["data"], **{k: whole[k] for k in made})
    parts = split(dataset)
    X = prepare(dataset, parts.train).transform(dataset.frame)
    values = method.defaults() | {k: whole[k] for k in method.defaults() if k in whole}
    model = method.estimator(values).fit(X[parts.train], dataset.y[parts.train]).model_
    right = model.predict(X[parts.validation]) == dataset.y[parts.validation]
    return int(np.count_nonzero(right)), right.size


@pytest.mark.parametrize("method", METHODS)
def test_each_slider_moves_the_figure_by_mouse_and_by_keys(visit, method):
    visit.open("?d.n_samples=80")
    visit.choose("Method", METHODS[method].title)
    visit.unfold("More settings")
    visit.finish()
    found = visit.page.locator(".spe").get_by_role("slider").evaluate_all(SLIDERS)
    # Those of the data are the same with every method.
    names = [name for name, of_data in found if method == "smp" or not of_data]
    assert names
    for name in names:
        slider = visit.slider(name)
        at, end = int(slider.input_value()), int(slider.get_attribute("max"))
        step = max(1, end // 16) * (1 if at < end / 2 else -1)
        places = (at / end, (at + step) / end)
        for act in (
            lambda name=name, places=places: visit.drag(name, *places, rest=False),
            lambda slider=slider, back=step > 0: slider.press(KEYS[back]),
        ):
            before, field, link = shown(visit), value(visit, name), visit.page.url
            act()
            # The path of fits goes on behind this: nobody waits for it.
            expect(visit.page).not_to_have_url(link)
            assert value(visit, name) != field, f"the number of {name} stands still"
            after = shown(visit)
            assert after[:2] != before[:2], f"no other picture after {name}"
            assert after[2] > before[2], f"nothing painted after {name}"
    visit.rest()
    visit.finish()
    assert hits(visit, "Validation") == expected_hits(visit)


def value(visit: Visit, name: str) -> str:
    """The number beside a slider."""
    return visit.page.get_by_label(f"{name}, value", exact=True).first.input_value()


def own_points() -> bytes:
    """Two numbers and a class, as somebody measured them."""
    draw = np.random.default_rng(3)
    kind = draw.integers(0, 2, 90)
    table = pd.DataFrame(
        draw.normal(kind[:, None] * 2.0, 1, (90, 2)), columns=["a", "b"]
    )
    return table.assign(Sorte=np.array(["rot", "blau"])[kind]).to_csv().encode()


def test_each_tool_of_the_figure_by_mouse(visit):
    visit.open()
    visit.click("checkbox", "Equal axes")  # the picture fills its canvas

    def place(x: float, y: float) -> tuple[float, float]:
        box = canvas(visit).bounding_box()
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    def click(x: float, y: float) -> None:
        visit.page.mouse.click(*place(x, y))
        visit.rest()

    visit.choose("Class of added points", "1")
    count = rows(visit)
    visit.click("button", re.compile(r"^Add"))
    click(0.9, 0.2)
    assert rows(visit) == (count := count + 1)
    expect(visit.page).to_have_url(re.compile("mine="))
    visit.click("button", re.compile(r"^Move"))
    picture = shown(visit)
    click(0.9, 0.2)  # picks it up
    click(0.8, 0.15)
    assert rows(visit) == count and shown(visit)[0] != picture[0]
    visit.click("button", re.compile(r"^Erase"))
    click(0.8, 0.15)
    assert rows(visit) == (count := count - 1)
    visit.click("button", re.compile(r"^Spray"))
    visit.page.mouse.move(*place(0.8, 0.2))
    visit.page.mouse.down()
    visit.page.mouse.move(*place(0.85, 0.3), steps=8)
    visit.page.mouse.up()
    visit.rest()
    assert rows(visit) > count
    visit.click("button", re.compile("^Undo"))
    assert rows(visit) == count
    visit.click("button", re.compile("outliers", re.IGNORECASE))
    click(0.3, 0.8)
    assert rows(visit) == count + 2
    visit.click("button", re.compile("^Undo"))
    assert rows(visit) == count


def test_each_tool_of_the_figure_by_keys(visit):
    visit.open()
    count = rows(visit)
    visit.click("button", re.compile("^Reset all"))
    undo = visit.page.get_by_role("button", name=re.compile("undo", re.IGNORECASE))
    for tool, keys, change in (
        ("Add", ["Enter"], lambda n: n == 1),
        ("Spray", ["Enter"], lambda n: n > 0),
        ("outliers", ["Enter"], lambda n: n == 2),
        ("Move", ["]", "Enter", "ArrowRight", "ArrowRight", "Enter"], lambda n: n == 0),
        ("Erase", ["]", "Delete"], lambda n: n == -1),
    ):
        before = shown(visit)[0]
        visit.click("button", re.compile(tool))
        canvas(visit).focus()
        for key in ("ArrowRight", "ArrowUp", *keys):
            visit.page.keyboard.press(key)
        visit.doing = f"{tool} by keys"
        visit.rest()
        assert shown(visit)[0] != before, tool
        assert change(rows(visit) - count), tool
        undo.first.click()
        visit.rest()
        assert rows(visit) == count, f"{tool} is not undone"
    # Everything is undone: what cannot be done is not offered.
    expect(undo.first).to_be_disabled()


def test_points_of_an_own_table_are_looked_at(visit):
    upload(visit, "punkte.csv", own_points())
    visit.go("Explore")
    visit.finish()
    data = visit.page.get_by_role("combobox", name="Data", exact=True)
    assert data.evaluate("(s) => s.selectedOptions[0].text") == "My table"
    before = shown(visit)
    visit.drag("Switch features off (μ)", 0.5, 0.7)
    assert shown(visit)[0] != before[0]
    visit.page.mouse.move(*middle(visit))
    visit.reads("runner-up")
    for text in ("Save as PNG", "Save as SVG"):
        assert visit.take(text)


def middle(visit: Visit) -> tuple[float, float]:
    """The middle of the figure, in the window."""
    box = canvas(visit).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_what_is_drawn_the_view_and_the_whole(visit):
    visit.open("?data=iris")
    visit.finish()
    at_first = read_outs(visit)
    for name in ("Lead bands", "Prototypes", "Points", "Assignments", "Equal axes"):
        box = visit.page.locator(".spe").get_by_role("checkbox", name=name, exact=True)
        for _ in range(2):
            before, was = shown(visit)[2], box.is_checked()
            visit.click("checkbox", name)
            assert box.is_checked() != was
            assert shown(visit)[2] > before, f"{name} paints nothing"
    for name in ("Zoom in", "Zoom in", "Zoom out", re.compile("^Reset the zoom")):
        visit.click("button", name)
    assert canvas(visit).get_attribute("data-zoom") == "1"
    visit.click("radio", "two features")
    assert "v.kind=axes" in visit.page.url
    before = shown(visit)[0]
    across = visit.page.get_by_role("radiogroup", name="x axis").get_by_role("radio")
    across.nth(2).click(force=True)
    visit.rest()
    assert shown(visit)[0] != before
    visit.click("checkbox", "Open the test set")
    assert hits(visit, "Test")[1] == 30
    visit.drag("Switch features off (μ)", 0.5, 0.75)
    assert read_outs(visit) != at_first
    visit.click("button", re.compile("^Reset all"))
    visit.finish()
    assert "mu=" not in visit.page.url


def test_a_newcomer_presents_steps_and_takes_the_link_along(visit):
    visit.open("?data=iris&mu=0.02")
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.click("button", "Present")
    expect(visit.page.get_by_role("link", name="Performance")).to_be_hidden()
    visit.click("button", "Leave")
    visit.click("button", re.compile("^(Copy link|Link copied)$"))
    copied = visit.page.evaluate("navigator.clipboard.readText()")
    assert copied == visit.page.url and "mu=0.02" in copied
    visit.click("button", "▶ Play the fit")
    state = visit.slider("State of the fit")
    expect(state).not_to_have_attribute("max", "0")
    expect(state).not_to_have_value("0")
    visit.rest()
    before = shown(visit)[2]
    state.press("Home")
    state.press("ArrowRight")
    visit.rest()
    assert state.input_value() == "1" and shown(visit)[2] > before
    visit.click("button", re.compile("^Close"))
    visit.finish()
    figures = hits(visit, "Training"), hits(visit, "Validation")
    visit.open(copied.removeprefix(visit.address))
    visit.finish()
    assert (hits(visit, "Training"), hits(visit, "Validation")) == figures
    visit.unfold("What is minimised").unfold("Show as a table").unfold("How it works")


# What a newcomer asks first is answered at 1280 x 720 without scrolling.

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
        expect(slider).to_have_value(re.compile(f"^({near})$"))
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
    where = visit.page.locator(".where")
    expect(where).to_contain_text("State")
    visit.page.keyboard.press("Home")  # where it stays
    expect(visit.page.locator(".sentence")).to_contain_text("Step 0: 2 prototypes")
    expect(main_number(visit, "Non-zeros")).to_have_text("0")
    assert fitted != "0"
    visit.page.keyboard.press(" ")
    expect(where).to_contain_text(re.compile(r"State ([3-9]|\d\d) of"))
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
        expect(bar).to_contain_text(f"step {stop} of 5")
        expect(offer).to_be_hidden()
        visit.finish()
        slider = visit.slider("Merge prototypes (λ)")
        in_sight(slider)
        if stop == 2:
            assert bar.get_by_text("Done.").count() == 0
            visit.drag("Merge prototypes (λ)", 0.3, 1.0)
            expect(bar).to_contain_text("Done.")
        visit.click("button", "Next")
    expect(bar).to_contain_text("step 5 of 5")
    visit.click("button", re.compile("^Start lesson 1 · "))
    expect(bar).to_contain_text("1 · Why several prototypes? · step 1")
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
