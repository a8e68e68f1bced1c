"""The figure in WebKit (Safari's engine) and in Firefox: each slider, each tool."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.walks.engines import ENGINES, Engine

ARROWS = {"ArrowLeft": "\ue012", "ArrowRight": "\ue014"}
PICTURE = "() => all('canvas.marks').map((n) => ({...n.dataset}))[0]"
FITTED = "() => all('canvas.marks').some((node) => node.dataset.canonical === '1')"
#: Whether everything that was done is answered: the path of fits comes last.
ANSWERED = """() => all("canvas.marks").every(({ dataset: { knots, wanted } }) =>
  knots === wanted)"""
#: Labels of the sliders at a place.
SLIDERS = """(place) => all(`${place} input[type=range]`)
  .map((node) => node.labels[0]?.textContent ?? node.ariaLabel).filter(Boolean)"""
#: A slider in the middle of the window: its box, value and ends.
SLIDER = """(label) => {
  const node = all("input[type=range]")
    .find((node) => (node.labels[0]?.textContent ?? node.ariaLabel) === label);
  node.scrollIntoView({ block: "center" });
  const { left, top, width, height } = node.getBoundingClientRect();
  const numbers = [node.value, node.min, node.max, node.step];
  const [value, low, high, step] = numbers.map(Number);
  return { left, top, width, height, value, low, high, step };
}"""
BOX = """(selector, text) => {
  const node = all(selector).find((node) => node.textContent.includes(text));
  node.scrollIntoView({ block: "center" });
  const { left, top, width, height } = node.getBoundingClientRect();
  return { left, top, width, height };
}"""
#: Tables of Streamlit, whose canvas keeps their text for screen readers.
TABLES = """() => [...document.querySelectorAll("[data-testid=stDataFrame] table")]
  .map((node) => node.textContent).join()"""
#: How many rows the figure's numbers count.
ROWS = """() => {
  const text = all("dl.four, dl.numbers").map((node) => node.innerText).join(" ");
  return [...text.matchAll(/ of ([\\d,]+) rows/g)]
    .reduce((sum, [, n]) => sum + Number(n.replace(",", "")), 0);
}"""
#: What scrolls sideways, by its class.
WIDE = """() => all(".spe *")
  .filter((node) => node.scrollWidth > node.clientWidth)
  .filter((node) => /auto|scroll/.test(getComputedStyle(node).overflowX))
  .map((node) => node.className)"""
#: Names of prototypes of which something else lies on top, once scrolled to.
COVERED = """() => all(".card .name").filter((name) => {
  name.scrollIntoView({ block: "center" });
  return [...name.children].some((part) => {
    const { left, top, width, height } = part.getBoundingClientRect();
    const hit = name.getRootNode().elementFromPoint(left + width / 2, top + height / 2);
    return !part.contains(hit);
  });
}).map((name) => name.textContent)"""


@pytest.fixture(scope="module", params=ENGINES)
def engine(request, tool, tmp_path_factory) -> Iterator[Engine]:
    kind = ENGINES[request.param]
    for command in kind.commands:
        tool(command)
    with ExitStack() as stack:
        yield kind(tmp_path_factory.mktemp(request.param), stack)


@pytest.fixture
def opened(engine, site) -> Iterator[Callable[[str], Engine]]:
    """Open an address of the app; whatever fails there is found in the log."""

    def go(path: str) -> Engine:
        engine.open(site.address + path)
        return engine

    site.log()
    yield go
    assert "Traceback" not in site.log()


def explore(opened, query: str) -> Engine:
    browser = opened("?" + query)
    browser.wait(FITTED)
    return browser


def middle(browser: Engine, selector: str, text: str = "") -> tuple[float, float]:
    return at(browser, 0.5, 0.5, selector, text)


def at(
    browser: Engine, right: float, down: float, selector: str, text: str = ""
) -> tuple[float, float]:
    """A place in a node's box, in the window."""
    box = browser.run(BOX, selector, text)
    return box["left"] + right * box["width"], box["top"] + down * box["height"]


def other_picture(browser: Engine, before: dict) -> None:
    """Wait for another picture than this one."""
    browser.wait(
        f"""(seq, value, paints) => {{
          const now = ({PICTURE})();
          const other = now.seq !== seq || now.lastValue !== value;
          return other && now.paintCount > paints;
        }}""",
        *(before["seq"], before["lastValue"], int(before["paintCount"])),
    )


def drag(browser: Engine, label: str, pointer: str) -> None:
    """Drag a slider to the other side, where the pointer leaves its box, and let go."""
    slider = browser.run(SLIDER, label)
    span, track = slider["high"] - slider["low"], slider["width"] - 16

    def place(share: float, beside: float = 0) -> tuple[float, float]:
        left, middle = slider["left"] + 8, slider["top"] + slider["height"] / 2
        return left + share * track, middle + beside

    start = (slider["value"] - slider["low"]) / span
    end = 0.2 if start > 0.5 else 0.8
    between = [place(start + (end - start) * i / 5) for i in range(1, 5)]
    browser.drag(place(start), *between, place(end, 60), pointer=pointer)
    value = browser.run(SLIDER, label)["value"]
    error = abs(value - slider["low"] - end * span)
    assert error <= max(slider["step"], 0.02 * span), f"{label} by {pointer}: {value}"


def press(browser: Engine, label: str) -> None:
    """Move a slider by a key, by one step."""
    slider = browser.run(SLIDER, label)
    focus = SLIDER.replace("node.scrollIntoView", "node.focus(); node.scrollIntoView")
    browser.run(focus, label)
    key = "ArrowLeft" if slider["value"] > slider["low"] else "ArrowRight"
    browser.press(ARROWS[key])
    step = abs(browser.run(SLIDER, label)["value"] - slider["value"])
    assert step == pytest.approx(slider["step"]), f"{label} by {key}"


@pytest.mark.parametrize(
    ("query", "place"),
    [("d.n_samples=80", ".spe"), ("data=iris&v.kind=axes", ".slices")],
)
def test_each_slider_of_the_figure_is_dragged(opened, query, place):
    browser = explore(opened, query)
    browser.wait(ANSWERED)
    browser.run("() => all('.spe details').forEach((node) => (node.open = true))")
    labels = browser.run(SLIDERS, place)
    assert labels
    for label in labels:
        for pointer in browser.pointers:
            before = browser.run(PICTURE)
            drag(browser, label, pointer)
            other_picture(browser, before)
        before = browser.run(PICTURE)
        press(browser, label)
        other_picture(browser, before)


def test_the_strip_and_the_steps_of_the_fit_are_dragged(opened):
    browser = explore(opened, "data=iris")
    strip = [at(browser, share, 0.5, ".strip") for share in (0.3, 0.45, 0.6)]
    before = browser.run(PICTURE)
    browser.drag(*strip)
    other_picture(browser, before)
    browser.wait(ANSWERED)  # it was let go
    click(browser, "button", "Play the fit")
    browser.wait("() => all('canvas.marks')[0].dataset.step > 1")
    drag(browser, "State of the fit", "mouse")
    press(browser, "State of the fit")


def click(browser: Engine, selector: str, text: str) -> None:
    browser.drag(middle(browser, selector, text))


def test_each_tool_of_the_figure_by_mouse(opened):
    browser = explore(opened, "d.n_samples=80")
    count = browser.run(ROWS)

    def use(tool: str, more: str, *places: tuple[float, float]) -> None:
        """Use it until the rows are so many more than at first."""
        click(browser, "[data-tool]", tool)
        before = browser.run(PICTURE)
        browser.drag(*[at(browser, *place, "canvas.marks") for place in places])
        other_picture(browser, before)
        browser.wait(ANSWERED)
        browser.wait(f"(count) => ({ROWS})() - count {more}", count)

    use("Add", "=== 1", (0.85, 0.2))
    use("Move", "=== 1", (0.85, 0.2), (0.8, 0.3), (0.8, 0.25))
    use("Erase", "=== 0", (0.8, 0.25))
    use("Spray", "> 0", (0.8, 0.2), (0.8, 0.3), (0.85, 0.3))
    count = browser.run(ROWS)
    use("Outliers", "=== 2", (0.3, 0.8))
    click(browser, "[data-tool]", "Look")
    click(browser, ".bar button", "In")
    browser.wait("() => Number(all('canvas.marks')[0].dataset.zoom) > 1")
    seen = "() => all('canvas.marks')[0].toDataURL()"
    picture = browser.run(seen)
    browser.drag(
        *[at(browser, share, 0.5, "canvas.marks") for share in (0.5, 0.6, 0.7)]
    )
    browser.wait(f"(was) => ({seen})() !== was", picture)


@pytest.mark.parametrize("data", ["breast_cancer", "digits", "diabetes"])
def test_names_are_in_sight_and_nothing_scrolls_sideways(opened, data):
    browser = explore(opened, f"data={data}")
    assert browser.run(WIDE) == []
    assert browser.run(COVERED) == []


def test_the_threshold_of_performance_is_dragged(opened):
    browser = opened("performance?data=breast_cancer")
    browser.wait(f"() => ({SLIDERS})('').length")
    (label,) = browser.run(SLIDERS, "")
    for pointer in browser.pointers:
        before = browser.run(TABLES)
        drag(browser, label, pointer)
        browser.wait(f"(before) => ({TABLES})() !== before", before)
    press(browser, label)
