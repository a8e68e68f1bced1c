"""The app in real Chromium: what a visitor does, from first picture to compiled C."""

from __future__ import annotations

import contextlib
import io
import json
import re
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

from pages.work import middleware
from smpcore import METHODS
from tests import attempts
from tests.browser.canvas_page import hold, wait_until

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
            errors.append(f"{message.text} {message.location}")

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
    canvas.wait_for()
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
    move = hold(page, slider(page, name), shares[0])
    for share in shares[1:]:
        before = figure(page).get_attribute("data-seq")
        move(share, steps=8)
        moved_on(page, "seq", before)
    page.mouse.up()


@pytest.mark.parametrize("path", PAGES)
def test_every_page_fits_its_window_in_both_themes(visit, path):
    page = visit(path, viewport={"width": 1280, "height": 800}, color_scheme="light")
    page.locator(".stMainBlockContainer").wait_for()
    if path.partition("?")[0] == "":
        figure(page)
    # The census of controls looks at each state of a page in a window of 1280, too.
    for theme, width in (("light", 1280), ("dark", 375)):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 800})
        rested(page)
        page.evaluate("() => new Promise(requestAnimationFrame)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.locator(".stException")).to_have_count(0)


def test_a_page_has_one_title_and_numbers_of_one_size(visit):
    size, numbers = None, ".four dd, [data-testid=stMetricValue]"
    for path, title in (
        ("", "Explore"),
        ("data", "Data"),
        ("export", "Export"),
        ("guide", "Guide"),
    ):
        page = visit(path)
        heading = page.locator("[class*=title] h1")
        expect(heading).to_have_text(title)
        expect(heading).to_be_in_viewport()
        if title != "Guide":
            number = page.locator(numbers).first
            expect(number).to_have_css("font-size", size or re.compile("px"))
            size = size or number.evaluate("e => getComputedStyle(e).fontSize")
    page = visit()
    expect(page.get_by_text("Sparse Prototype Explorer")).to_be_in_viewport()
    for place in (page.locator("h1"), page.locator(".controls select").first):
        place.click(trial=True)  # neither lies over the other


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
    expect(page.get_by_text("Hosseini")).to_be_visible()


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
    expect(page.get_by_text("Roles can be changed")).to_be_visible()
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
    expect(page.get_by_text("Roles can be changed")).to_be_visible()
    page.get_by_text("Upload data").click()
    # By name: the picker of the test rows may be drawn first.
    picker = page.get_by_test_id("stFileUploader").filter(has_text="Your table")
    picker.locator("input[type=file]").set_input_files(file)
    told = page.get_by_text("own table.csv").filter(has_text="Source")
    expect(told).to_be_visible()
    before = raw_bytes(address)
    page.get_by_role("button", name="Delete").click()
    wait_until(page, lambda: raw_bytes(address) < before)


# The code of a row on Explore's figure, by pointer and by keyboard.


def test_a_row_pointed_at_shows_its_code_as_lines_words_and_a_table(visit):
    page = visit("?method=imkpl&data=moons")
    figure, code = page.locator("canvas.marks"), page.locator("canvas.code")
    expect(figure).to_have_attribute("data-canonical", "1")
    expect(code).to_be_hidden()
    figure.focus()
    page.keyboard.press("]")
    expect(code).to_be_visible()
    lines = int(code.get_attribute("data-lines"))
    assert lines > 0
    here = page.locator(".here")
    expect(here).to_contain_text(re.compile(r"reconstructed from row \d+ \("))
    page.locator(".twin summary").click()
    table = page.locator(".twin .tables table").filter(has_text="Code of row")
    expect(table.locator("tbody tr")).to_have_count(lines)
    caption = table.locator("caption").inner_text()
    figure.focus()
    page.keyboard.press("]")
    expect(table.locator("caption")).not_to_have_text(caption)
    page.get_by_role("button", name="Add (tool)").click()
    expect(code).to_be_hidden()
    page.get_by_role("button", name="Look (tool)").click()
    figure.focus()
    page.keyboard.press("]")
    expect(code).to_be_visible()


# The formula below the figure, in real Chromium: a term marks what it moves.


def test_a_term_marks_what_it_moves_by_pointer_and_keyboard(visit):
    page = visit("?data=moons")
    root = page.locator(".spe")
    fusion = page.get_by_role("button", name="fusion: moves the prototypes")
    fusion.hover()
    expect(root).to_have_attribute("data-term", "prototypes")
    page.mouse.move(0, 0)
    expect(root).to_have_attribute("data-term", "")
    page.get_by_role("button", name="sparsity: moves the weights").focus()
    expect(root).to_have_attribute("data-term", "weights")
    page.keyboard.press("Tab")
    expect(root).to_have_attribute("data-term", "")
    assert fusion.locator("math msub").count() > 0


def test_a_control_that_moves_lights_its_term(visit):
    page = visit("?data=moons")
    fusion = page.get_by_role("button", name="fusion: moves the prototypes")
    expect(fusion).to_be_visible()
    page.get_by_role("slider", name="Merge prototypes (λ)", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(fusion).to_have_class("term term1 on")
    expect(fusion).to_have_class("term term1")


# The state file in real Chromium: saved, opened again, and what a reload keeps.


def test_undo_takes_settings_back_by_button_and_key(visit):
    page = visit()
    canvas = settled(page)
    undo = page.get_by_role("button", name="Undo")
    for name in ("mu", "lam"):
        slider(page, name).focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"() => location.search.includes('{name}=')")
    expect(undo).to_have_attribute("title", "Undo Merge prototypes (λ); keys Ctrl Z")
    undo.click()
    page.wait_for_function("() => !location.search.includes('lam=')")
    assert "mu=" in page.url
    canvas.focus()
    page.keyboard.press("Control+z")
    page.wait_for_function("() => !location.search.includes('mu=')")


# The trade-off page in real Chromium: points come in, a click opens a model.

POINTS = ".scatterlayer .trace .points path"


def test_a_click_on_a_point_opens_that_model_on_explore(visit):
    page = visit("tradeoff?data=breast_cancer&method=smallk")
    use = page.get_by_role("button", name="Use this model")
    refine = page.get_by_role("button", name="Refine")
    expect(page.locator(POINTS).first).to_be_visible()
    expect(refine).to_be_visible()
    rested(page)
    if not use.is_visible():  # on a busy machine a first sweep may have no point of it
        refine.click()
        expect(use).to_be_visible()
        expect(refine).to_be_visible()
    rested(page)
    # Filled circles: the method's points on the front, dense to sparse.
    point = page.locator(POINTS).nth(1)
    told = page.get_by_text(
        re.compile("Used on every page: .* Features per prototype \\(k\\) = ")
    )
    for _ in attempts():  # a chart that is drawn anew has its points elsewhere
        box = point.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        with contextlib.suppress(AssertionError):
            expect(told).to_be_visible(timeout=10_000)
            break
    k = re.search(r"Features per prototype \(k\) = (\d+)", told.inner_text())[1]
    page.get_by_role("link", name="Open in Explore").click()
    slider = page.get_by_role("slider", name="Features per prototype (k)").first
    expect(slider).to_be_visible()
    assert f"k={k}" in page.url or k == "3"


# Performance in real Chromium: the matrix moves, a cell opens, doubts are said.


def test_the_matrix_moves_while_the_threshold_is_held_and_a_cell_opens_a_case(visit):
    page = visit("performance?data=breast_cancer")
    tables = page.get_by_test_id("stDataFrame")
    expect(tables.first).to_be_visible()
    rested(page)
    slider = page.get_by_role("slider", name="Threshold on the margin")
    move = hold(page, slider, 0.3)
    for share in (0.5, 0.6):
        # Its canvas keeps a table's text for screen readers.
        before = tables.nth(1).locator("table").inner_text()
        move(share, steps=4)
        text = tables.nth(1).locator("table")
        expect(text).not_to_have_text(before, use_inner_text=True)
    page.mouse.up()
    rested(page)
    # The upper right cell: malignant rows below the threshold.
    grid = tables.first.bounding_box()
    page.mouse.click(grid["x"] + 0.8 * grid["width"], grid["y"] + 38 + 22)
    rested(page)
    chosen = page.get_by_test_id("stSelectbox").filter(has_text="Rows of the cell")
    expect(chosen.get_by_role("combobox")).to_have_value(
        "true malignant, predicted benign"
    )
    case = page.get_by_test_id("stSelectbox").filter(has_text=re.compile("^Row"))
    number = case.last.get_by_role("combobox").input_value()
    page.get_by_role("button", name="Open in Why this prediction").click()
    expect(page.get_by_text("True value: malignant")).to_be_visible()
    assert int(number) > 0 and "/prototypes" in page.url
    expect(page.get_by_text("Prediction: ")).to_be_visible()


def test_a_doubt_is_said_where_the_figure_is_pointed_at_and_by_why(visit):
    """The same sentence of the same row, of which another class is more probable."""
    link = "data=breast_cancer&threshold=1.5&p."
    page = visit(f"performance?{link}performance_section=Probabilities")
    scores = page.get_by_text("Brier score: mean")
    calibrate = page.get_by_role("button", name="Calibrate probabilities")
    expect(calibrate.or_(scores).first).to_be_visible()
    if calibrate.is_visible():  # another visitor may have done it
        calibrate.click()
    expect(scores).to_be_visible()
    page.get_by_role("link", name="Explore").first.click()
    figure = page.locator("canvas.marks")
    expect(figure).to_be_visible()
    rested(page)
    here = page.locator(".here")
    doubt = re.compile(", training.*\n.*is more probable, but the prediction follows")
    figure.focus()
    for _ in attempts():  # rows come again until the picture has doubts
        page.keyboard.press("]")
        text = here.inner_text()
        if doubt.search(text):
            break
    number, sentence = re.search(r"Row (\d+), .*\n(.*?) · ", text).groups()
    why = f"prototypes?{link}prototypes_section=Why this prediction"
    page.goto(page.url.partition("?")[0] + why)
    row = page.get_by_role("spinbutton", name="Row")
    row.fill(number)
    row.press("Enter")
    expect(page.get_by_text(sentence)).to_be_visible()


# A visitor reads why an upload was refused, in real Chromium.


def test_a_visitor_reads_why_an_upload_was_refused(opened, address):
    page = opened(address, {}, viewport={"width": 1280, "height": 900})
    expect(page.locator("canvas.marks").first).to_be_visible()
    page.goto(f"{address}data")
    page.get_by_text("Upload data").click()
    picker = page.get_by_test_id("stFileUploader").filter(has_text="Your table")
    # A hostile page of the same tab: files that nothing reads.
    with page.expect_request("**/_stcore/upload_file/**") as request:
        small = {"name": "t.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,x\n2,y\n"}
        picker.locator("input[type=file]").set_input_files(small)
    url = request.value.url.rsplit("/", 1)[0]
    statuses = page.evaluate(
        """async (url) => {
          const token = document.cookie.match(/_streamlit_xsrf=([^;]+)/)[1];
          const statuses = [];
          for (let n = 0; n < 4; n += 1) {
            const form = new FormData();
            form.append("f", new Blob([new Uint8Array(49e6)]), "t.csv");
            const headers = { "X-Xsrftoken": decodeURIComponent(token) };
            statuses.push(await fetch(`${url}/${n}`, { method: "PUT", headers,
              body: form }).then((answer) => answer.status, () => 0));
          }
          return statuses;
        }""",
        url,
    )
    assert statuses[:3] == [204] * 3 and statuses[3] in (413, 0)
    alert = page.get_by_test_id("stAlert").filter(has_text="may hold 150 MB")
    expect(alert).to_be_visible()
    assert f"{middleware.SESSION_BYTES / 1e6:.0f} MB" in alert.inner_text()


def test_settings_are_chosen_by_one_click_and_taken_by_another(visit):
    page = visit("?data=iris&method=supersparse")
    figure(page)
    page.get_by_role("button", name="Choose for me").click()
    take = page.get_by_role("button", name="Use these settings")
    expect(page.get_by_role("dialog")).to_contain_text("numbers stored")
    take.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.wait_for_url("**&n_prototypes=*")
