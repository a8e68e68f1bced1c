"""The live figure on a page without Streamlit: its transport is handed in."""

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Error, Page, Route, expect

from tests.browser import canvas_harness
from tests.browser.canvas_page import wait_until

ROOT = Path(__file__).parents[2]
TYPES = {".js": "text/javascript", ".css": "text/css"}
PAGE = """<!doctype html><meta charset="utf-8"><main></main><main></main>
<script type="module">
import { Figure } from "./figure.js";
const style = await (await fetch("./figure.css")).text();
window.figures = [...document.querySelectorAll("main")].map((host, i) => {
  const read = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const answer = async (message) =>
    figure.receive(read(await window.answer(i, message)));
  const figure = new Figure(host, style, { post: answer, begin() {} });
  answer(null);
  return figure;
});
</script>"""


@pytest.fixture
def bare(opened: Callable[..., Page], monkeypatch: pytest.MonkeyPatch) -> Page:
    """Two figures beside each other, each with an engine of its own."""
    monkeypatch.setattr(canvas_harness, "st", SimpleNamespace(query_params={}))
    engines = [canvas_harness.start("toy"), canvas_harness.start("toy")]

    def serve(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        folder = "smpcore/live" if name.endswith(".css") else "assets/canvas"
        path = ROOT / folder / name
        kind = TYPES.get(path.suffix, "text/html")
        body = path.read_text("utf-8") if path.suffix else PAGE
        route.fulfill(body=body, content_type=f"{kind}; charset=utf-8")

    def answer(i: int, message: dict | None) -> str:
        return b64encode(canvas_harness.answer(engines[i], message)).decode()

    page = opened(
        "about:blank", {}, viewport={"width": 1280, "height": 900}, locale="en"
    )
    page.expose_function("answer", answer)
    page.route("http://figures/**", serve)
    page.goto("http://figures/")
    return page


def test_figures_need_no_streamlit_and_do_not_know_of_each_other(bare):
    canvases = bare.locator("canvas.marks")
    for i in range(2):
        every = str(len(canvas_harness.PATH))
        expect(canvases.nth(i)).to_have_attribute("data-knots", every)
    before = canvases.nth(1).get_attribute("data-paint-count")
    bare.locator("[data-name=mu] input[type=range]").first.press("Home")
    value = "({ state }) => state.list.find(({ name }) => name === 'mu').value"
    wait_until(bare, lambda: bare.evaluate(f"figures.map({value})") == [0.01, 0.1])
    assert canvases.nth(1).get_attribute("data-paint-count") == before
    with pytest.raises(Error, match="not extensible"):
        bare.evaluate("() => { 'use strict'; figures[0].state.shown = null; }")
    bare.evaluate("figures[0].stop()")
    expect(canvases).to_have_count(1)
