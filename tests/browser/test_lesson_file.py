"""A lesson as a file: taken offline, kept by the browser, and in a course's player."""

import io
import json
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from pages.ui import lesson_page
from tests.test_lesson_page import NAMES, hostile

NAME = "02-fusion.json"
STRICT = (Path(__file__).parent / "strict_api.js").read_text("utf-8")
PLAYER = "scorm-again@3.4.3"


@pytest.fixture(scope="module")
def package():
    return lesson_page.package(NAMES[NAME], NAME)


@pytest.fixture
def opened(offline):
    """A browser without network."""
    return offline()


def content(package, name="index.html"):
    with zipfile.ZipFile(io.BytesIO(package)) as file:
        return file.read(name)


def answered(page, value):
    """Answer the question of a step with a number or a choice."""
    if isinstance(value, int):
        page.get_by_role("textbox", name="Your prediction").fill(str(value))
    else:
        page.get_by_role("radio", name=value).check()
    page.get_by_role("button", name="Answer", exact=True).click()


def taken(page):
    """Take the lesson on Fusion: one right answer of two, then its task."""
    measures = page.get_by_label("Main metrics")
    expect(page.get_by_text("0 of 3 right, 3 open.")).to_be_visible()
    expect(measures).not_to_contain_text("%")
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    answered(page, 5)
    expect(page.get_by_text("Measured: 5 (as predicted).")).to_be_visible()
    expect(measures).to_contain_text("81.5 %")
    expect(page.get_by_text("1 of 3 right, 2 open.")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    answered(page, re.compile("^It rises"))
    expect(page.get_by_text("your prediction:")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    slider = page.get_by_role("slider", name="Merge prototypes (λ)", exact=True)
    slider.focus()
    slider.press("Home")
    expect(page.get_by_text("Done.", exact=True)).to_be_visible()
    expect(page.get_by_text("2 of 3 right.", exact=True)).to_be_visible()


def test_a_lesson_is_taken_without_network_and_the_browser_keeps_it(
    opened, package, tmp_path
):
    path = tmp_path / "lesson.html"
    path.write_bytes(content(package))
    opened.goto(path.as_uri())
    taken(opened)
    opened.reload()
    expect(opened.get_by_text("2 of 3 right.", exact=True)).to_be_visible()
    expect(opened.get_by_text("Step 3 of 3")).to_be_visible()
    opened.get_by_role("button", name="Start again").click()
    expect(opened.get_by_text("0 of 3 right, 3 open.")).to_be_visible()


def test_a_place_is_marked_and_a_wrong_number_refused(opened, tmp_path):
    name = "06-invented-cases.json"
    lesson, path = NAMES[name], tmp_path / "lesson.html"
    path.write_bytes(lesson_page.lesson_page(lesson, name, only=1))
    opened.goto(path.as_uri())
    send = opened.get_by_role("button", name="Answer", exact=True)
    canvas = opened.locator("canvas[data-knots]")
    expect(canvas).to_have_attribute("data-seq", re.compile(r"\d"))
    canvas.focus()
    canvas.press("ArrowRight")
    canvas.press("Enter")
    expect(opened.get_by_text("Your mark: (")).to_be_visible()
    send.click()
    expect(opened.get_by_text(" is right.")).to_contain_text("Your mark is")


def test_hostile_texts_are_read_as_text(opened, tmp_path):
    path = tmp_path / "lesson.html"
    path.write_bytes(lesson_page.lesson_page(hostile()))
    opened.goto(path.as_uri())
    answered(opened, 5)
    expect(opened.locator("img")).to_have_count(0)
    expect(opened.get_by_text("<img src=x").first).to_be_visible()
    expect(opened.locator("math").first).to_be_visible()


def in_course(page, package, api):
    """Open the package in a frame of a platform, whose API is above it."""
    frame = '<iframe src="index.html" width="1270" height="880"></iframe>'
    player = f"<!doctype html><script>{api}</script>{frame}"
    page.context.set_offline(False)
    page.route(
        "http://course.test/**",
        lambda route: route.fulfill(
            body=content(package)
            if route.request.url.endswith("index.html")
            else player,
            content_type="text/html; charset=utf-8",
        ),
    )
    page.goto("http://course.test/")
    return page.frame_locator("iframe")


def test_a_course_is_called_as_scorm_says(opened, package):
    taken(in_course(opened, package, STRICT + "begin();"))
    record = opened.evaluate("record")
    values = record["values"]
    assert record["wrong"] == [] and record["stage"] == "open" and record["commits"]
    assert values["cmi.core.lesson_status"] == "completed"
    assert values["cmi.core.score.raw"] == "67"
    opened.evaluate("document.querySelector('iframe').src = 'about:blank'")
    opened.wait_for_function("record.stage === 'finished'")
    assert opened.evaluate("record.wrong") == []
    kept = {"cmi.suspend_data": values["cmi.suspend_data"]}
    again = in_course(opened, package, f"{STRICT}begin({json.dumps(kept)});")
    expect(again.get_by_text("2 of 3 right.", exact=True)).to_be_visible()


@pytest.mark.exhaustive
def test_a_real_player_takes_score_and_completion(opened, package, tool, tmp_path):
    subprocess.run([tool("npm"), "install", PLAYER], cwd=tmp_path, check=True)
    api = tmp_path / "node_modules/scorm-again/dist/scorm12.min.js"
    begin = "window.API = new Scorm12API({autocommit: false});"
    taken(in_course(opened, package, f"{api.read_text('utf-8')};{begin}"))
    assert opened.evaluate("API.cmi.core.lesson_status") == "completed"
    assert opened.evaluate("API.cmi.core.score.raw") == "67"
    assert opened.evaluate("API.LMSGetLastError()") == "0"
    opened.evaluate("document.querySelector('iframe').src = 'about:blank'")
    opened.wait_for_function("API.isTerminated()")
