"""The app in real Chromium: what a visitor does, from first picture to compiled C."""

from __future__ import annotations

import io
import json
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import (
    ConsoleMessage,
    Locator,
    Page,
    Request,
    expect,
)

from smpcore import METHODS
from tests.browser.canvas_page import wait_quiet, wait_until

ROOT = Path(__file__).parents[2]
PAGES = (
    "",
    "data",
    "prototypes",
    "tradeoff",
    "compare",
    "performance",
    "apply",
    "export",
    "lessons",
    "papers",
)
#: Addresses of what a page makes itself.
OWN = ("data:", "blob:", "about:")


@pytest.fixture
def visit(opened: Callable[..., Page], address: str) -> Iterator[Callable[..., Page]]:
    """Open a page as a new visitor; no console error may appear, nothing may leave."""
    errors = []

    def told(message: ConsoleMessage) -> None:
        if is_ours(message):
            errors.append(message.text)

    def asked(request: Request) -> None:
        if "127.0.0.1" not in request.url and not request.url.startswith(OWN):
            errors.append(f"leaves the machine: {request.url}")

    def go(path: str = "", **options: object) -> Page:
        options.setdefault("viewport", {"width": 1280, "height": 1000})
        listen = {"pageerror": lambda error: errors.append(str(error))}
        listen |= {"console": told, "request": asked}
        return opened(address + path, listen, **options)

    yield go
    assert not errors


def is_ours(message: ConsoleMessage) -> bool:
    """Whether it is an error of the app; Streamlit looks for its own health address
    beside a page's and then above it, and logs the first as not found.
    """
    own = "_stcore/" in message.location.get("url", "")
    return message.type == "error" and not own


def figure(page: Page) -> Locator:
    """The canvas, once it is painted."""
    canvas = page.locator("canvas[data-paint-count]").first
    canvas.wait_for(timeout=60_000)
    return canvas


def settled(page: Page) -> Locator:
    """The canvas, once every knot of the path is there."""
    canvas = figure(page)
    page.wait_for_function(
        "c => Number(c.dataset.knots) >= 51", arg=canvas.element_handle()
    )
    return canvas


def slider(page: Page, name: str) -> Locator:
    return page.locator(f'[data-name="{name}"] input[type=range]')


def rested(page: Page) -> None:
    """Wait until the page's script has run to its end."""
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-script-state", "notRunning")


def moved_on(page: Page, name: str, before: str | None) -> None:
    """Wait until the canvas says something else of itself than before."""
    canvas = page.locator("canvas[data-paint-count]").first
    expect(canvas).not_to_have_attribute(f"data-{name}", before or "")


def drag(page: Page, name: str, *shares: float) -> None:
    """Drag a slider with the mouse over these places, each until it is answered."""
    slider(page, name).scroll_into_view_if_needed()
    box = slider(page, name).bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + shares[0] * box["width"], y)
    page.mouse.down()
    for share in shares[1:]:
        before = figure(page).get_attribute("data-seq")
        page.mouse.move(box["x"] + share * box["width"], y, steps=8)
        moved_on(page, "seq", before)
    page.mouse.up()


@pytest.mark.parametrize("path", PAGES)
def test_every_page_fits_its_window_in_both_themes(visit, path):
    page = visit(path, viewport={"width": 1280, "height": 800}, color_scheme="light")
    page.locator(".stMainBlockContainer").wait_for(timeout=60_000)
    if path == "":
        figure(page)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in (1280, 375):
            page.set_viewport_size({"width": width, "height": 800})
            rested(page)
            page.wait_for_timeout(300)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.locator(".stException")).to_have_count(0)


def test_dragging_a_slider_moves_the_picture_and_the_link(visit):
    page = visit()
    canvas = settled(page)
    before = int(canvas.get_attribute("data-paint-count"))
    drag(page, "mu", 0.5, 0.6, 0.7, 0.75)
    page.wait_for_function("() => location.search.includes('mu=')")
    assert int(canvas.get_attribute("data-paint-count")) > before + 2
    settled(page)


def test_a_long_fit_shows_a_coarse_picture_with_progress_and_stop(visit):
    # Compiled first: a subsampled fit would not be sooner than the other one.
    page = visit("?method=imkpl&data=iris")
    settled(page)
    while page.get_by_text("Still compiling").count():
        page.reload()
        settled(page)
    # A split that no other test fits: what is cached needs no subsampled fit.
    page = visit("?method=imkpl&data=digits&seed=7")
    canvas = page.locator("canvas[data-coarse='1']")
    canvas.wait_for(timeout=60_000)
    said = page.get_by_text("Preview: fitted on 30", exact=False)
    expect(said).to_be_visible()
    expect(said).to_contain_text("of 1,078 rows")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.locator("canvas[data-canonical='1']").wait_for(timeout=60_000)
    expect(said).to_be_hidden()
    expect(page.locator("canvas[data-coarse='1']")).to_have_count(0)


def test_scrubbing_sends_nothing(visit):
    page = visit()
    sent = []
    page.on("websocket", lambda s: s.on("framesent", lambda f: sent.append(f)))
    page.reload()
    canvas = settled(page)
    wait_quiet(page, sent)
    sent.clear()
    box = slider(page, "lam").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.5 * box["width"], y)
    page.mouse.down()
    seen = set()
    for i in range(20):
        page.mouse.move(box["x"] + (0.5 + 0.02 * i) * box["width"], y)
        wait_until(page, lambda: canvas.get_attribute("data-knot") not in seen)
        seen.add(canvas.get_attribute("data-knot"))
    assert len(seen) == 20
    assert not sent
    page.mouse.up()
    page.wait_for_function("() => location.search.includes('lam=')")


def test_zoom_and_node_stay_while_sliders_move(visit):
    page = visit()
    canvas = settled(page)
    node = canvas.element_handle()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.wheel(0, -400)
    expect(page.get_by_text("click the figure first or hold Ctrl")).to_be_visible()
    assert canvas.get_attribute("data-zoom") == "1"
    page.mouse.click(box["x"] + 200, box["y"] + 200)
    page.mouse.wheel(0, -400)
    moved_on(page, "zoom", "1")
    zoom = canvas.get_attribute("data-zoom")
    assert float(zoom) > 1.2
    drag(page, "mu", 0.5, 0.7, 0.6)
    drag(page, "eta", 0.5, 0.7)
    settled(page)
    assert canvas.get_attribute("data-zoom") == zoom
    assert canvas.evaluate("(c, n) => c === n", node)


def test_points_are_sprayed_on_an_empty_picture_and_taken_back(visit):
    page = visit("?data=drawn&d.n_classes=3")
    canvas = settled(page)
    page.get_by_text("Show as a table").click()
    table = page.locator("table").first
    page.get_by_role("button", name="Spray").click()
    page.get_by_label("Class of added points").select_option(index=2)
    box = canvas.bounding_box()
    x, y = box["x"] + 250, box["y"] + 200
    page.mouse.move(x, y)
    page.mouse.down()
    for i in range(10):
        page.mouse.move(x + 8 * i, y + 4 * i)
        page.wait_for_timeout(40)
    page.mouse.up()
    page.wait_for_function("() => location.search.includes('mine=')")
    # Twenty points and one that was there, divided over the three parts.
    row = table.get_by_role("row").filter(has_text=" of 13 right")
    expect(row).to_contain_text("of 13 right4 of 4 right4 of 4 right", timeout=10_000)
    page.get_by_role("button", name="Undo").click()
    expect(table).to_contain_text("1 of 1 right", timeout=10_000)
    expect(table).not_to_contain_text(" of 13 right", timeout=10_000)
    page.wait_for_function("() => location.search.includes('data=drawn')")


def test_with_the_keyboard_alone(visit):
    page = visit()
    canvas = settled(page)
    slider(page, "mu").focus()
    before = canvas.get_attribute("data-seq")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.search.includes('mu=')")
    assert canvas.get_attribute("data-seq") != before
    canvas.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")
    expect(page.get_by_text("runner-up").first).to_be_visible()


def test_the_story_is_set_as_text_and_formulas(visit):
    page = visit()
    settled(page)
    page.get_by_text("How it works").click()
    page.locator(".katex").first.wait_for()
    expect(page.locator(".katex-error")).to_have_count(0)
    expect(page.get_by_text("What each slider does")).to_be_visible()
    page.locator("[data-name=method] select").select_option(
        label=METHODS["imkpl"].title
    )
    expect(page.get_by_text("Hosseini")).to_be_visible(timeout=30_000)


def test_the_choice_survives_a_change_of_page(visit):
    page = visit("?data=wine&mu=0.04")
    settled(page)
    page.get_by_role("link", name="Export").first.click()
    page.wait_for_function("() => location.search.includes('mu=0.04')")
    page.reload()
    expect(page.get_by_text("of 13")).to_be_visible()
    page.get_by_role("link", name="Explore").first.click()
    settled(page)
    field = page.locator('[data-name="mu"] input:not([type=range])')
    assert field.input_value() == "0.04"


@pytest.mark.parametrize(
    "data", ["moons", pytest.param("breast_cancer", marks=pytest.mark.exhaustive)]
)
def test_the_downloaded_c_compiles_and_agrees_with_itself(visit, tmp_path, data):
    page = visit(f"?data={data}&mu=0.03")
    settled(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as C").click()
    content = Path(waiting.value.path()).read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    model = json.loads((folder / f"{folder.name}.json").read_text("utf-8"))
    assert model["provenance"]["parameters"]["mu"] == 0.03
    command = ["make", "host", "CC=gcc -Werror"]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert "0 of" in told.stdout


def test_a_page_stays_that_was_opened_while_the_figure_was_at_work(visit):
    page = visit()
    settled(page)
    slider(page, "mu").evaluate(
        """(slider) => {
          [...document.querySelectorAll("a[href]")]
            .find((link) => link.textContent.includes("Data")).click();
          setTimeout(() => {
            slider.value = String(Number(slider.value) + 1);
            slider.dispatchEvent(new Event("input", { bubbles: true }));
          });
        }"""
    )
    expect(page.get_by_text("Roles can be changed")).to_be_visible(timeout=60_000)
    page.wait_for_timeout(1_500)  # an answer to the figure would empty the page
    expect(page.get_by_text("Validation share").first).to_be_visible()


def raw_bytes(address: str) -> int:
    """Bytes of uploaded files that the server keeps as they came."""
    with urlopen(f"{address}_stcore/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return sum(int(line.split()[-1]) for line in lines if "UploadedFile" in line)


def test_an_upload_is_explored_and_deleted(visit, address, tmp_path):
    rows = [f"{i % 7};{(i * 3) % 5},5;{'a' if i % 7 > 3 else 'b'}" for i in range(80)]
    file = tmp_path / "own table.csv"
    file.write_text("\n".join(["erste;zweite;<b>Klasse</b>", *rows]), "utf-8")
    page = visit("data")
    expect(page.get_by_text("Roles can be changed")).to_be_visible(timeout=60_000)
    page.get_by_text("Upload data").click()
    # By name: the picker of the test rows may be drawn first.
    picker = page.get_by_test_id("stFileUploader").filter(has_text="Your table")
    picker.locator("input[type=file]").set_input_files(file)
    told = page.get_by_text("own table.csv").filter(has_text="Source")
    expect(told).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Explore").first.click()
    settled(page)
    assert "mine=" in page.url
    chosen = page.locator("[data-name=data] select option:checked")
    expect(chosen).to_have_text("My table")
    stranger = visit(page.url.split("/")[-1])
    expect(stranger.get_by_text("only in the browser that brought them")).to_be_visible(
        timeout=20_000
    )
    before = raw_bytes(address)
    page.get_by_role("link", name="Data").first.click()
    page.get_by_role("button", name="Delete").click()
    wait_until(page, lambda: raw_bytes(address) < before)


@pytest.mark.parametrize(
    "path", [pytest.param("", marks=pytest.mark.exhaustive), "compare"]
)
def test_the_pin_can_be_read_beside_an_open_sidebar(visit, path):
    page = visit(path, viewport={"width": 1280, "height": 900})
    pin = page.get_by_role("button", name="Pin as A")
    expect(pin).to_be_visible(timeout=60_000)
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    page.wait_for_timeout(600)  # it slides
    cut = "e => [e, ...e.querySelectorAll('*')].some(n => n.scrollWidth > n.clientWidth"
    assert not pin.evaluate(f"{cut} + 1 && getComputedStyle(n).display !== 'inline')")
