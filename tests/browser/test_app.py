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
from tests.browser.canvas_page import wait_until

ROOT = Path(__file__).parents[2]
PAGES = (
    *("", "data", "tradeoff", "compare", "apply", "export", "lessons", "papers"),
    *("?data=diabetes", "performance?data=diabetes", "performance?data=breast_cancer"),
    "performance?data=breast_cancer&p.performance_section=Threshold",
    *(
        f"prototypes?data=digits&p.prototypes_section={section}"
        for section in ("All", "One by one", "Why this prediction")
    ),
    "prototypes?data=iris&method=imkpl&p.prototypes_section=Rule in words",
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
    if path.partition("?")[0] == "":
        figure(page)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in (1280, 375):
            page.set_viewport_size({"width": width, "height": 800})
            rested(page)
            page.evaluate("() => new Promise(requestAnimationFrame)")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.locator(".stException")).to_have_count(0)


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


def test_the_downloaded_c_compiles_and_agrees_with_itself(visit, tmp_path):
    page = visit("?data=moons&mu=0.03")
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


def test_nothing_of_a_deleted_upload_stays(visit, address, tmp_path):
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
    before = raw_bytes(address)
    page.get_by_role("button", name="Delete").click()
    wait_until(page, lambda: raw_bytes(address) < before)
