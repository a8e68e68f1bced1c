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
from tests.walks.visit import Visit

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
