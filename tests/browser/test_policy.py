"""Every page under the content security policy that it comes with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pages.work import middleware

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))


@pytest.fixture
def said(opened: Callable[..., Page], address: str) -> Iterator[tuple[Page, list[str]]]:
    """A page and what its console says about the policy."""
    lines: list[str] = []
    listen = {
        "console": lambda line: lines.append(line.text),
        "pageerror": lambda error: lines.append(f"page error: {error}"),
    }
    page = opened(address, listen, viewport={"width": 1280, "height": 900})
    yield page, lines


def _refused(lines: list[str]) -> list[str]:
    words = ("Content Security Policy", "Refused to", "page error")
    return [line for line in lines if any(word in line for word in words)]


def test_no_page_needs_what_the_policy_forbids(said, address):
    page, lines = said
    figure = page.locator("canvas.marks").first
    expect(figure).to_be_visible(timeout=120_000)
    box = figure.bounding_box()
    slider = page.locator("input[type=range]").first
    slider.focus()
    slider.press("ArrowRight")
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 90, steps=5)
    page.mouse.up()
    assert len(PAGES) > 9
    for name in PAGES:
        if name != "explore":
            answer = page.goto(f"{address}{name}")
            assert "script-src" in answer.headers["content-security-policy"]
        expect(page.get_by_test_id("stMain")).to_be_visible(timeout=60_000)
        running = page.get_by_test_id("stStatusWidget")
        page.wait_for_timeout(300)
        expect(running).to_have_count(0, timeout=120_000)
    # The app asks nothing of other hosts and makes no code from text; we listen.
    page.evaluate("fetch('http://192.0.2.1/').catch(() => 0)")
    page.add_script_tag(content="setTimeout(() => Function('return 1'))")
    page.wait_for_timeout(300)
    refused = _refused(lines)
    own = ("192.0.2.1", "unsafe-eval")
    assert all(any(word in line for line in refused) for word in own), refused
    assert all(any(word in line for word in own) for line in refused), refused


def test_a_visitor_reads_why_an_upload_was_refused(said, address, tmp_path):
    page, _ = said
    expect(page.locator("canvas.marks").first).to_be_visible(timeout=120_000)
    page.goto(f"{address}data")
    page.get_by_text("Upload data").click(timeout=60_000)
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
    expect(alert).to_be_visible(timeout=60_000)
    assert f"{middleware.SESSION_BYTES / 1e6:.0f} MB" in alert.inner_text()
