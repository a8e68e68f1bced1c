"""Explore in real Chromium where a number is predicted: surface, curve, hand."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from scipy.stats import spearmanr

from smpcore import SuperSparseRegressor, load_dataset, prepare, split
from smpcore.figures import axis_view
from tests.browser.canvas_page import wait_until
from tests.browser.test_app import figure, visit

fixtures = (visit,)

#: The raster's colours, every twelfth pixel of every twelfth line.
PIXELS = """canvas => {
  const pen = canvas.getContext("2d");
  const lines = [];
  for (let y = 0; y < canvas.height; y += 12) {
    const { data } = pen.getImageData(0, y, canvas.width, 1);
    const line = [];
    for (let i = 0; i < data.length; i += 48) line.push([...data.slice(i, i + 3)]);
    lines.push(line);
  }
  return [canvas.width, canvas.height, lines];
}"""


def canonical(page: Page) -> Locator:
    """The canvas, once it shows a canonical fit and has the knots of its path."""
    canvas = figure(page)
    page.wait_for_function(
        "({ dataset }) => dataset.canonical === '1' && "
        "Number(dataset.knots) >= Number(dataset.wanted)",
        arg=canvas.element_handle(),
    )
    return canvas


@pytest.fixture(scope="module")
def hills():
    """The model that the page shows at the default values, and its window."""
    dataset = load_dataset("hills")
    division = split(dataset)
    X = prepare(dataset, division.train).transform(dataset.frame)[division.train]
    model = SuperSparseRegressor().fit(X, dataset.y[division.train]).model_
    return model, axis_view(X, ("x1", "x2"), 0, 1)


def place(page: Page, view, x: float, y: float) -> tuple[float, float]:
    """Position on the screen of a place in data units, unzoomed."""
    box = page.locator("canvas.raster").bounding_box()
    across = (x - view.x[0]) / (view.x[1] - view.x[0])
    up = (y - view.y[0]) / (view.y[1] - view.y[0])
    return box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"]


def predicted(here: Locator) -> float:
    """The number that is read at the pointer."""
    return float(here.inner_text().removeprefix("Predicted y ").replace("−", "-"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_surface_has_the_colours_of_its_predictions(visit, hills, theme):
    page = visit("?data=hills", color_scheme=theme)
    canonical(page)
    expect(page.locator(".tones")).to_be_visible()
    # Neither the target's name nor the high end of the scale is cut.
    cut = "node => node.scrollWidth > node.clientWidth"
    assert not page.locator(".legend").evaluate(cut)
    width, height, lines = page.locator("canvas.raster").evaluate(PIXELS)
    model, view = hills
    x = view.x[0] + (np.arange(0, width, 12) + 0.5) / width * np.ptp(view.x)
    y = view.y[1] - (np.arange(0, height, 12) + 0.5) / height * np.ptp(view.y)
    across, up = np.meshgrid(x, y)
    values = model.predict(np.column_stack([across.ravel(), up.ravel()]))
    light = np.array(lines).reshape(-1, 3) @ [0.2126, 0.7152, 0.0722]
    assert np.ptp(light) > 60
    low, high = np.quantile(values, [0.05, 0.95])
    inner = (values > low) & (values < high)
    assert spearmanr(values[inner], light[inner])[0] > 0.995
    for name in ("Points", "Prototypes"):
        page.get_by_role("checkbox", name=name).uncheck()
    page.locator("canvas.raster").scroll_into_view_if_needed()
    here = page.locator(".here div").first
    for x, y in ((-1.9, 0.3), (2.9, -3.4)):
        page.mouse.move(*place(page, view, x, y))
        expect(here).to_contain_text("Predicted y")
        wanted = pytest.approx(model.predict([[x, y]])[0], abs=0.08)
        wait_until(page, lambda: predicted(here) == wanted)  # noqa: B023


def test_a_point_on_the_surface_gets_the_value_that_was_typed(visit, hills):
    page = visit("?data=hills")
    canonical(page)
    field = page.get_by_label("Value of added points")
    field.fill("2,75")
    field.press("Enter")
    field.blur()
    expect(field).to_have_value("2.75")
    page.mouse.click(*place(page, hills[1], -3.2, -3.2))
    page.wait_for_function("() => location.search.includes('mine=')")
    canonical(page)
    page.get_by_role("button", name="Look (tool)").click()
    page.mouse.move(*place(page, hills[1], -3.2, -3.2))
    expect(page.locator(".here div").first).to_contain_text("true y 2.75")


def test_from_classes_to_numbers_and_back(visit):
    page = visit()
    canonical(page)
    expect(page.get_by_label("Lead bands")).to_be_visible()
    data = page.locator("[data-name=data] select")
    for title, shown, hidden in (
        ("Diabetes", ".tones", ".bands"),
        ("Wave", ".tones", ".bands"),
        ("Moons", ".bands", ".tones"),
        ("Hills", ".tones", ".bands"),
    ):
        data.select_option(label=title)
        expect(page.locator(shown)).to_be_visible()
        canonical(page)
        expect(page.locator(hidden)).to_be_hidden()
        if title == "Moons":  # a class is chosen again
            expect(page.get_by_label("Class of added points")).to_have_value("0")
    expect(page.locator(".why").filter(has_text="Not available")).to_be_visible()
    page.get_by_text("Show as a table").click()
    expect(page.locator(".twin .tables")).to_contain_text("Mean error")
