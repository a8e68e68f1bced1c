"""What the live figure sends, and what it does with the answers."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.canvas_page import (
    at,
    canvas,
    heard,
    let_go,
    slider,
    state,
    sweep,
    wait_heard,
    wait_quiet,
    wait_until,
)


def test_scrub_paints_in_the_browser_alone(visit):
    page = visit()
    page.evaluate(
        """() => {
          window.times = [];
          let started = null;
          document.addEventListener("input", () => (started = performance.now()), true);
          new PerformanceObserver(() => {
            if (started === null) return;
            const from = started;
            started = null;
            requestAnimationFrame(() => window.times.push(performance.now() - from));
          }).observe({ entryTypes: ["mark"] });
        }"""
    )
    control = slider(page, "lam")
    box = control.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8, middle)
    page.mouse.down()
    wait_quiet(page, page.sent)
    sent, knots = len(page.sent), set()
    for i in range(1, 31):
        page.mouse.move(box["x"] + 8 + i / 30 * (box["width"] - 16), middle)
        wait_until(page, lambda: state(page)["knot"] not in knots)
        knots.add(state(page)["knot"])
    assert len(page.sent) == sent
    assert len(knots) == 30
    times = page.evaluate("window.times")
    assert len(times) >= 28
    page.mouse.up()
    last = wait_heard(page, 1)["heard"][0]
    assert last["values"] == {"lam": 1} and last["dragging"] is False
    assert state(page)["lastValue"] == "1"


def test_commits_keep_node_zoom_and_slider(visit):
    page = visit()
    node = canvas(page).element_handle()
    page.mouse.move(*at(page, 1, 1))
    page.mouse.wheel(0, -400)
    hint = page.get_by_text("click the figure first or hold Ctrl")
    expect(hint).to_be_visible()
    assert state(page)["zoom"] == "1"
    page.mouse.click(*at(page, 1, 1))
    page.mouse.wheel(0, -400)
    wait_until(page, lambda: state(page)["zoom"] != "1")
    zoom = state(page)["zoom"]
    assert float(zoom) > 1.5
    started = int(state(page)["paintCount"])
    sweep(page, slider(page, "mu"), 12)
    pictures = int(state(page)["paintCount"]) - started
    assert pictures >= 12
    last = let_go(page)
    shown = float(page.locator("[data-name=mu] .value").input_value())
    assert last["values"]["mu"] == pytest.approx(shown, rel=0.01)
    assert state(page)["zoom"] == zoom
    assert node.evaluate("node => node.isConnected")
    expect(page.locator(".badge")).to_be_hidden()


def test_stale_output_is_dimmed_after_300_ms_only(visit):
    root = visit("delay=900").locator(".spe")
    assert "stale" not in root.get_attribute("class")
    waited = root.evaluate(
        """async (root) => {
          const start = performance.now();
          root.querySelectorAll("[data-name=method] label span")[1].click();
          while (!root.classList.contains("stale"))
            await new Promise((done) => setTimeout(done, 5));
          return performance.now() - start;
        }"""
    )
    assert waited >= 290
    expect(root).not_to_have_class("spe stale", timeout=3000)


@pytest.mark.slow
def test_lost_answer_is_asked_for_again(visit):
    page = visit("silent=5")
    page.locator("[data-name=method] label span").nth(1).click()
    wait_heard(page, 1)
    assert int(state(page)["seq"]) < heard(page)["heard"][0]["seq"]

    def answered() -> bool:
        return int(state(page)["seq"]) >= heard(page)["heard"][0]["seq"]

    wait_until(page, answered, seconds=30)
    assert heard(page)["heard"][0]["values"] == {"method": "b"}


def test_typed_values_are_put_right_aloud(visit):
    page = visit()
    field = page.locator("[data-name=mu] .value")
    field.fill("7,5")
    field.press("Enter")
    row = page.locator("[data-name=mu]")
    expect(row.get_by_role("status")).to_contain_text("maximum is 1")
    assert wait_heard(page, 1)["heard"][0]["values"] == {"mu": 1}
    field.fill("much")
    field.press("Enter")
    expect(row.get_by_role("status")).to_contain_text("Not a number")
    expect(field).to_have_value("1")
    lam = page.locator("[data-name=lam] .value")
    lam.fill("0.0333")
    lam.press("Enter")
    assert wait_heard(page, 2)["heard"][0]["values"] == {"lam": 0.0333}
    expect(lam).to_have_value("0.0333")


def test_long_fit_shows_its_progress_and_can_be_stopped(visit):
    page = visit()
    page.locator("[data-name=method] label span").nth(2).click()
    expect(page.locator(".job")).to_contain_text("Fitting Way C")
    expect(page.locator(".spe")).to_have_class("spe working")
    expect(page.locator(".news")).to_contain_text("Warning: Way C takes long.")
    expect(page.locator(".busy")).to_contain_text("5 visitors are fitting")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".job")).to_be_hidden()
    expect(page.locator("code")).to_contain_text('"kind": "stop"')
    page.locator("[data-name=method] label span").nth(0).click()
    page.locator("[data-name=method] label span").nth(2).click()
    expect(page.locator(".job")).to_be_visible()
    expect(page.locator(".job")).to_be_hidden()
    expect(page.locator("code")).to_contain_text('"kind": "poll"')


def test_refusal_is_said_and_the_picture_stays(visit):
    page = visit()
    page.locator("[data-name=data] select").select_option(label="Data set 8")
    expect(page.locator(".news")).to_contain_text("Error: Data set 8 is not here")
    assert int(state(page)["seq"]) > 0
    chosen = "node => node.selectedOptions[0].textContent"
    assert page.locator("[data-name=data] select").evaluate(chosen) == "Data set 2"
    page.locator("[data-name=method] label span").nth(1).click()
    expect(page.locator(".news li")).to_have_count(0)


def test_page_runs_around_it_change_nothing(visit):
    page = visit()
    node = canvas(page).element_handle()
    canvas(page).focus()
    page.keyboard.press("+")
    for _ in range(8):
        page.get_by_role("button", name="Run the page again").click(no_wait_after=True)
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-script-state", "notRunning")
    assert node.evaluate("node => node.isConnected")
    assert state(page)["zoom"] == "1.5"


def test_who_does_not_see_the_figure_can_work_with_it(visit):
    page = visit()
    figure = canvas(page)
    # Arrow keys are the figure's, and not those of a screen reader's own cursor.
    expect(figure).to_have_role("application")
    expect(figure).to_have_accessible_name(re.compile(r"\w+"))
    expect(figure).to_have_accessible_description(re.compile("Arrow keys move"))
    told = page.locator("[aria-live=polite].unseen")
    before = told.inner_text()
    figure.press("]")
    expect(told).not_to_have_text(before)
    details = page.locator("#" + figure.get_attribute("aria-details"))
    details.locator("summary").press("Enter")
    expect(details.get_by_role("table", name="Prototypes")).to_be_visible()
