"""The static site: an index whose links lead to pages that hold their figures."""

import re
from pathlib import Path

import smpcore
from smpcore import METHODS, load_dataset
from smpcore.gallery import write_gallery
from tests.test_saved_page import payload_of


def test_each_method_that_learns_a_table_has_a_page(tmp_path):
    pages = write_gallery(tmp_path / "site", ["moons", "sine"])
    index = (tmp_path / "site/index.html").read_text("utf-8")
    *links, reference = re.findall(r'href="([^"]+)"', index)
    assert links == [page.name for page in pages]
    assert reference == "reference/index.html"
    learn = {
        f"{key}-{method.key}.html"
        for key in ("moons", "sine")
        for method in METHODS.values()
        if method.learns(load_dataset(key), load_dataset(key).task)
    }
    assert set(links) == learn and len(learn) > 5
    for page in pages:
        header = payload_of(page.read_bytes())
        assert len(header["knots"]) == len(header["path"]["values"]) >= 2
    assert "<script" not in index and "http" not in index.replace("<!doctype", "")


def test_public_names_and_the_guide_stand_beside_the_figures(tmp_path):
    guide = Path(__file__).parents[2] / "assets" / "guide"
    lessons = [("a", "<b>Title", b"page")]
    write_gallery(tmp_path, ["no such"], guide, lessons)
    index = (tmp_path / "index.html").read_text("utf-8")
    links = [link for link in re.findall(r'href="([^"]+)"', index)]
    assert len(links) == len([*guide.glob("*.md")]) + 2
    assert (tmp_path / links[0]).read_bytes() == b"page" and "&lt;b&gt;Title" in index
    assert all((tmp_path / link).is_file() for link in links)
    reference = (tmp_path / "reference/smpcore.html").read_text("utf-8")
    assert all(name in reference for name in smpcore.__all__)
    datasets = (tmp_path / "reference/smpcore/datasets.html").read_text("utf-8")
    assert "image_shapes" in datasets and "Parameters" in datasets
    for link in links[1:]:
        page = (tmp_path / link).read_text("utf-8")
        fetched = r'<(?:img|script|link|iframe)[^>]* (?:src|href)="(?:https?:)?//'
        assert not re.search(fetched, page), link
        assert "![" not in page and "```" not in page
