"""Live loops in a real browser: scrub, steps of a fit, commit, a four-second drag.

    python -m tests.bench.live [method ...] [data ...]

Times are from the slider's input event to the painted picture, in the page. A commit
goes to the server and back; a scrub or a step sends nothing.
"""

from __future__ import annotations

import statistics
import sys
import time

from playwright.sync_api import Page, sync_playwright

from smpcore import METHODS
from tests.bench.classroom import free_port, percentile, start_server

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    # Each page would have another one that waits for words in the address bar.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,MediaRouter,"
    "OptimizationHints,AvoidUnnecessaryBeforeUnloadCheckSync"
).split()
MOVES = 30
#: The slider that is dragged to the server, of each method.
COMMITTED = {
    "smp": "mu",
    "smallk": "lam",
    "mprotsvm": "C",
    "supersparse": "lam",
    "imkpl": "tau",
}
#: Data sets to measure on, with their picture; a method takes those of its tasks.
DATA = {
    "classification": (
        *("moons", "iris", "breast_cancer"),
        *("digits&v.kind=pca", "digits&v.kind=map"),
    ),
    "regression": ("sine", "hills", "diabetes"),
}

#: Moves one slider step by step; resolves to the times to paint in ms.
STEP = """async (canvas, [selector, places]) => {
  const range = canvas.getRootNode().querySelector(selector);
  const times = [];
  range.dispatchEvent(new PointerEvent("pointerdown", {bubbles: true, composed: true}));
  for (const place of places) {
    const low = Number(range.min), high = Number(range.max);
    const before = Number(canvas.dataset.paintCount);
    const start = performance.now();
    range.value = low + place * (high - low);
    range.dispatchEvent(new Event("input", {bubbles: true, composed: true}));
    const end = await new Promise((done) => {
      const look = () => Number(canvas.dataset.paintCount) > before
        ? requestAnimationFrame(() => done(performance.now()))
        : performance.now() - start > 5000 ? done(NaN) : setTimeout(look, 1);
      look();
    });
    times.push(end - start);
    await new Promise((done) => setTimeout(done, 30));
  }
  range.dispatchEvent(new Event("change", {bubbles: true, composed: true}));
  range.dispatchEvent(new PointerEvent("pointerup", {bubbles: true, composed: true}));
  return times;
}"""

#: Drags a slider for four seconds at 60 events a second; pictures and the last value.
DRAG = """async (canvas, name) => {
  const row = canvas.getRootNode().querySelector(`[data-name="${name}"]`);
  const range = row.querySelector("input[type=range]");
  const low = Number(range.min), high = Number(range.max);
  const seen = new Set();
  const start = performance.now();
  range.dispatchEvent(new PointerEvent("pointerdown", {bubbles: true, composed: true}));
  while (performance.now() - start < 4000) {
    const phase = (performance.now() - start) / 4000;
    range.value = low + (0.2 + 0.6 * phase) * (high - low);
    range.dispatchEvent(new Event("input", {bubbles: true, composed: true}));
    await new Promise((done) => requestAnimationFrame(done));
    seen.add(canvas.dataset.seq);
  }
  range.dispatchEvent(new Event("change", {bubbles: true, composed: true}));
  range.dispatchEvent(new PointerEvent("pointerup", {bubbles: true, composed: true}));
  return [seen.size - 1, Number(range.value)];
}"""


def _ready(page: Page) -> float:
    """Seconds until the canonical fit and every knot of its path are there."""
    start = time.perf_counter()
    canvas = page.locator("canvas[data-paint-count]").first
    canvas.wait_for(timeout=60_000)
    page.wait_for_function(
        "({dataset}) => dataset.canonical === '1' && "
        "Number(dataset.knots) >= Number(dataset.wanted)",
        arg=canvas.element_handle(),
        timeout=120_000,
        polling=20,
    )
    return time.perf_counter() - start


def _n_knots(page: Page) -> int:
    """Knots of the path that the figure has, 0 without a path."""
    canvas = page.locator("canvas[data-paint-count]").first
    return int(canvas.get_attribute("data-wanted"))


def _range(name: str) -> str:
    """Selector of a control's slider."""
    return f'[data-name="{name}"] input[type=range]'


def _step(page: Page, places: list[float]) -> None:
    """Print how long a recorded state takes to be painted, scrubbed to and fro."""
    canvas = page.locator("canvas[data-paint-count]").first
    page.get_by_role("button", name="Play the fit").click()
    page.wait_for_function(
        "({dataset: {steps, stepsWanted}}) => steps > 0 && steps === stepsWanted",
        arg=canvas.element_handle(),
        timeout=120_000,
    )
    page.wait_for_timeout(500)
    times = canvas.evaluate(STEP, [".steps input[type=range]", places])
    count = canvas.get_attribute("data-steps-wanted")
    _row(f"step (of {count})", times, "50 / 60")


def _row(name: str, times: list[float], budget: str) -> None:
    middle, late = statistics.median(times), percentile(times, 0.95)
    print(f"  {name:<28} {middle:6.0f} / {late:4.0f} ms   (budget {budget})")


def measure(page: Page, address: str, method: str, data: str) -> None:
    """Print the figures of one method on one data set."""
    sent: list[int] = []
    page.on("websocket", lambda s: s.on("framesent", lambda f: sent.append(len(f))))
    path, slider = METHODS[method].path, COMMITTED[method]
    places = [0.1 + 0.8 * ((7 * i) % MOVES) / MOVES for i in range(MOVES)]
    print(f"{method} on {data}")
    page.goto(f"{address}?method={method}&data={data}")
    _ready(page)
    n_knots = _n_knots(page)
    if n_knots > 5:
        canvas = page.locator("canvas[data-paint-count]").first
        page.wait_for_timeout(500)
        sent.clear()
        step = STEP.replace('new Event("change"', 'new Event("x"')
        step = step.replace('"pointerup"', '"x"')
        _row("scrub", canvas.evaluate(step, [_range(path), places]), "50 / 60")
        print(f"  websocket messages while scrubbing: {len(sent)}")
    page.goto(f"{address}?method={method}&data={data}")
    _ready(page)
    _step(page, places)
    page.goto(f"{address}?method={method}&data={data}")
    _ready(page)
    canvas = page.locator("canvas[data-paint-count]").first
    node = canvas.element_handle()
    page.wait_for_timeout(500)
    _row("commit", canvas.evaluate(STEP, [_range(slider), places]), "100 / 150")
    page.wait_for_timeout(1500)
    pictures, last = canvas.evaluate(DRAG, slider)
    released = time.perf_counter()
    final = "canvas => canvas.dataset.canonical == '1'"
    page.wait_for_function(final, arg=node, timeout=120_000, polling=20)
    canonical = time.perf_counter() - released
    if n_knots:
        _ready(page)
    knots = time.perf_counter() - released
    now = canvas.evaluate(
        "(c, name) => Number(c.getRootNode()"
        ".querySelector(`[data-name=${name}] input[type=range]`).value)",
        slider,
    )
    print(f"  pictures a second while dragging: {pictures / 4:.1f}   (budget 10)")
    print(f"  the slider stayed where it was let go: {now == last}")
    print(f"  canonical fit painted {canonical:.2f} s after release")
    if n_knots:
        print(f"  every knot ready {knots:.2f} s after release   (budget 1.5)")
    same = canvas.evaluate("(c, n) => c === n", node)
    print(f"  same canvas as at the start: {same}")


def main() -> None:
    """Measure the methods and data named, or all."""
    names = sys.argv[1:]
    methods = [name for name in COMMITTED if name in names] or COMMITTED
    wanted = set(names) - COMMITTED.keys()
    port = free_port()
    server = start_server(port)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path="/usr/bin/chromium", args=FLAGS
            )
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(f"http://127.0.0.1:{port}/")
            page.wait_for_timeout(10_000)
            while page.get_by_text("Still compiling").count():
                page.wait_for_timeout(1000)
                page.reload()
                page.locator("canvas[data-paint-count]").first.wait_for()
            for method in methods:
                for task in METHODS[method].estimators:
                    for data in (d for d in DATA[task] if d in (wanted or DATA[task])):
                        measure(page, f"http://127.0.0.1:{port}/", method, data)
            browser.close()
    finally:
        server.kill()


if __name__ == "__main__":
    main()
