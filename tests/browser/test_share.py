"""The figure as a file, in real Chromium: SVG and PNG show the same."""

import io
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.test_app import visit

fixtures = (visit,)
SVG = "{http://www.w3.org/2000/svg}"


def saved(page: Page, name: str) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    return Path(download.value.path()).read_bytes()


@pytest.mark.parametrize(
    ("query", "scheme"),
    [("?data=iris", "light"), ("?data=moons&method=supersparse", "dark")],
)
def test_svg_and_png_show_the_same(visit, query, scheme):
    size = {"width": 1440, "height": 1000}  # the legend stands beside the plot
    page = visit(query, color_scheme=scheme, viewport=size)
    expect(page.locator("canvas.marks")).to_have_attribute("data-canonical", "1")
    page.get_by_text("Equal axes", exact=True).click()  # the plot fills its canvas
    below = int(page.locator("canvas.marks").bounding_box()["height"]) - 70
    png, svg = saved(page, "Save as PNG"), saved(page, "Save as SVG")
    root = ET.fromstring(svg)
    texts = " ".join(node.text or "" for node in root.iter(f"{SVG}text"))
    assert "Data: " in texts and "Validation accuracy" in texts
    width, height = int(root.get("width")), int(root.get("height"))
    assert len([*root.iter(f"{SVG}use")]) > 100
    shown = page.context.new_page()
    shown.set_viewport_size({"width": width, "height": height})
    shown.set_content(f"<body style='margin:0'>{svg.decode()}</body>")
    ours = Image.open(io.BytesIO(shown.screenshot())).convert("RGB")
    theirs = Image.open(io.BytesIO(png)).convert("RGB")
    theirs = theirs.resize((theirs.width // 3, theirs.height // 3))
    # Fonts differ, of axes and of the caption below.
    inside = (60, 40, width - 30, below)
    both = [np.asarray(image.crop(inside), int) for image in (ours, theirs)]
    difference = np.abs(both[0] - both[1]).mean(axis=2)
    assert difference.mean() < 3  # of 255: edges are smoothed in another way
    assert (difference > 80).mean() < 0.01
    shown.close()
